import type { FormFile } from '../../gateway/protocol/requestPlan';
import type { JsonObject } from '../../gateway/util/json';
import { MB } from '../../gateway/util/megabyte';
import { openFile, openImageRefs, readImageRefs } from '../shared/images/inputFiles';
import type { ItemParameters } from '../shared/parameters/itemParameters';
import type { Run } from '../shared/run/runContext';

/** The limit for all images of a message, which are in memory, a third larger as Base64. */
const MOST_MB = 20;

/**
 * The images of the option "Image Fields" in order, as blocks of a message.
 *
 * @throws NodeOperationError if one is missing, empty or not an image, or if they are too large
 */
export async function readImageBlocks(item: ItemParameters, run: Run): Promise<JsonObject[]> {
	if (!item.options.has('imageFields')) return [];
	const given = item.options.value('imageFields');
	const label = 'Image Fields';
	const refs = readImageRefs(item, given, { label, takes: 'both' });
	const images = await openImageRefs(item, run, refs, { label, maxMb: MOST_MB, orOnly: true });
	const uploads = images.map((image) => ({ ...image, part: '', imageOnly: true }));
	const files = await Promise.all(uploads.map(async (upload) => await openFile(item, run, upload)));
	const sizeMb = files.reduce((sum, { size }) => sum + size, 0) / MB;
	if (sizeMb <= MOST_MB) return await Promise.all(files.map(blockOf));
	throw item.refusal(
		`The images in 'Image Fields' have ${sizeMb.toFixed(1)} MB; allowed: at most ${MOST_MB} MB`,
		'Use smaller or fewer images.',
	);
}

async function blockOf({ mimeType, open }: FormFile): Promise<JsonObject> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of open()) chunks.push(chunk);
	const data = Buffer.concat(chunks).toString('base64');
	return { type: 'image', source: { type: 'base64', media_type: mimeType, data } };
}
