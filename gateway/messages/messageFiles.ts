import type { FormFile } from '../protocol/requestPlan';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../util/json';
import type { Turn } from './message';

/** The types of images that no endpoint takes, which are refused before they are paid. */
export const isRefusedImage = (mimeType: string): boolean =>
	/^image\/(hei[cf]|avif|tiff|(x-|x-ms-)?bmp|jxl)/.test(mimeType);

/** The block of a file at an address. The path is the only hint at its type; most are images. */
export function addressBlock(url: string): JsonObject {
	const type = /\.pdf([?#]|$)/i.test(url) ? 'document' : 'image';
	return { type, source: { type: 'url', url } };
}

/** The block of an image or PDF document inside the message. @param data in Base64, or its digest */
export const bytesBlock = (mimeType: string, data: string): JsonObject => ({
	type: mimeType === 'application/pdf' ? 'document' : 'image',
	source: { type: 'base64', media_type: mimeType, data },
});

/**
 * The same turns with a short text in place of each image and document, because twenty photos fill
 * n8n's database with a hundred megabytes. The assistant's turns stay unchanged.
 *
 * @param fileOf the files by their blocks, where they are known
 */
export function withoutFiles(
	turns: Turn[],
	fileOf = new Map<unknown, NamedFile | undefined>(),
): Turn[] {
	return turns.map((turn) =>
		turn.role === 'assistant' ? turn : { ...turn, content: leaveOut(turn.content, fileOf) },
	);
}

/** @param content of a turn, or of a tool's result in it */
function leaveOut<T>(content: T, fileOf: Map<unknown, NamedFile | undefined>): T | unknown[] {
	if (!Array.isArray(content)) return content;
	return content.map((block: unknown) => {
		if (!isJsonObject(block)) return block;
		if (isFile(block)) return { type: 'text', text: noteOf(block, fileOf.get(block)) };
		return 'content' in block ? { ...block, content: leaveOut(block.content, fileOf) } : block;
	});
}

/** Whether a block is an image in any form, or another file inside the message. */
function isFile({ type, source }: JsonObject): boolean {
	const isImage = typeof type === 'string' && type.startsWith('image');
	return isImage || (isJsonObject(source) && source.type === 'base64');
}

const LONGEST_NAME = 200;

/** The text in place of a file, by which `namesLeftOutFiles` knows it again. */
function noteOf({ type, source }: JsonObject, file?: NamedFile): string {
	const { url, media_type: mimeType } = isJsonObject(source) ? source : {};
	const texts = [file?.fileName, url, mimeType].flatMap((text) => nonEmptyString(text) ?? []);
	const kind = type === 'document' ? 'document' : 'image';
	const shown = texts.map((text) => text.slice(0, LONGEST_NAME)).join(', ');
	return `[Sent ${kind}, not kept here${shown === '' ? '' : `: ${shown}`}]`;
}

/** A file whose bytes aren't in its block. */
type NamedFile = Pick<FormFile, 'fileName'>;

const NOTE = /^\[Sent (image|document), not kept here(: |\])/;

/** Whether a conversation has texts in place of files: the model can't see those any more. */
export const namesLeftOutFiles = (turns: Turn[]): boolean =>
	turns.some(({ content }) => {
		const blocks: unknown[] = Array.isArray(content) ? content : [];
		return blocks.some(
			(block) => isJsonObject(block) && typeof block.text === 'string' && NOTE.test(block.text),
		);
	});
