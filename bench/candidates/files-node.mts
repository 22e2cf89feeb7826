import { Readable } from 'node:stream';
import { smallNode, type BuiltInNode } from '../../harness/engine/built-in-nodes.mjs';
import { imageInPieces } from '../test-images.mjs';

/**
 * Gives out items with files from n8n's binary store, as Read File or HTTP Request do. The files
 * are streamed into it, so that making them takes no memory.
 */
export const filesNode: Record<string, BuiltInNode> = {
	'bench.files': smallNode('files', async function () {
		const { count, bytes } = this.getInputData()[0]!.json as { count: number; bytes: number };
		const items = [];
		for (let item = 0; item < count; item += 1) {
			const file = Readable.from(imageInPieces(bytes));
			const data = await this.helpers.prepareBinaryData(file, 'one.png', 'image/png');
			items.push({ json: {}, binary: { data }, pairedItem: { item: 0 } });
		}
		return [items];
	}),
};
