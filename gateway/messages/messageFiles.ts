import { MB } from '../util/megabyte';
import { isJsonObject, nonEmptyString, type JsonObject } from '../util/json';
import type { Turn } from './message';

/** The block of a file at an address. The path is the only hint at its type; most are images. */
export function addressBlock(url: string): JsonObject {
	const type = /\.pdf([?#]|$)/i.test(url) ? 'document' : 'image';
	return { type, source: { type: 'url', url } };
}

/** The block of an image or PDF document inside the message. */
export const bytesBlock = (mimeType: string, data: string): JsonObject => ({
	type: mimeType === 'application/pdf' ? 'document' : 'image',
	source: { type: 'base64', media_type: mimeType, data },
});

/**
 * The same turns with a short text in place of each image and document, because twenty photos fill
 * n8n's database with a hundred megabytes. The assistant's turns stay unchanged.
 *
 * @param nameOf the names of files by their blocks, where they are known
 */
export function withoutFiles(
	turns: Turn[],
	nameOf = new Map<unknown, string | undefined>(),
): Turn[] {
	return turns.map((turn) =>
		turn.role === 'assistant' ? turn : { ...turn, content: leaveOut(turn.content, nameOf) },
	);
}

/** @param content of a turn, or of a tool's result in it */
function leaveOut<T>(content: T, nameOf: Map<unknown, string | undefined>): T | unknown[] {
	if (!Array.isArray(content)) return content;
	return content.map((block: unknown) => {
		if (!isJsonObject(block)) return block;
		if (isFile(block)) return { type: 'text', text: noteOf(block, nameOf.get(block)) };
		return 'content' in block ? { ...block, content: leaveOut(block.content, nameOf) } : block;
	});
}

/** Whether a block is an image in any form, or another file inside the message. */
function isFile({ type, source }: JsonObject): boolean {
	const isImage = typeof type === 'string' && type.startsWith('image');
	return isImage || (isJsonObject(source) && source.type === 'base64');
}

const LONGEST_NAME = 200;

/** The text in place of a file, by which `namesLeftOutFiles` knows it again. */
function noteOf({ type, source }: JsonObject, name?: string): string {
	const { url, media_type: mimeType, data } = isJsonObject(source) ? source : {};
	const facts = [name ?? nonEmptyString(url), mimeType, sizeOf(data)];
	const known = facts.filter((fact): fact is string => nonEmptyString(fact) !== undefined);
	const kind = type === 'document' ? 'document' : 'image';
	const shown = known.map((fact) => fact.slice(0, LONGEST_NAME)).join(', ');
	return `[Sent ${kind}, not kept here${shown === '' ? '' : `: ${shown}`}]`;
}

const NOTE = /^\[Sent (image|document), not kept here(: |\])/;

/** The size of Base64 data as a text; undefined if it is none. */
function sizeOf(data: unknown): string | undefined {
	if (typeof data !== 'string') return undefined;
	const bytes = (data.length * 3) / 4;
	return bytes < MB / 10 ? `${Math.ceil(bytes / 1024)} kB` : `${(bytes / MB).toFixed(1)} MB`;
}

/** Whether a conversation has texts in place of files: the model can't see those any more. */
export const namesLeftOutFiles = (turns: Turn[]): boolean =>
	turns.some(({ content }) => {
		const blocks: unknown[] = Array.isArray(content) ? content : [];
		return blocks.some(
			(block) => isJsonObject(block) && typeof block.text === 'string' && NOTE.test(block.text),
		);
	});
