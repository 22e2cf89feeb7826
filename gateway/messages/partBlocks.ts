import { detectImageType, detectPdf, FIRST_BYTES, isText, SVG } from '../../util/imageType';
import { readDataUrl } from '../../util/dataUrl';
import { GatewayError } from '../protocol/gatewayError';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../util/json';
import { quote } from '../../util/text';
import { addressBlock, bytesBlock, isRefusedImage } from './messageFiles';

/**
 * The kinds of parts of a message that are sent. Agents, chains, tools and the SDK each have their
 * own names.
 */
const KINDS = new Map<unknown, (part: JsonObject) => JsonObject[]>([
	...['text', 'input_text', 'output_text'].map((kind) => [kind, textBlock] as const),
	['refusal', ({ refusal }) => textBlock({ text: refusal })],
	['resource', ({ resource }) => resourceBlock(resource)],
	// A tool names a document that it doesn't send.
	['resource_link', (part) => textBlock({ text: JSON.stringify(part) })],
	...[
		'audio',
		'document',
		'file',
		'image',
		'image_url',
		'input_audio',
		'input_file',
		'input_image',
		'media',
		'text-plain',
		'video',
	].map((kind) => [kind, fileBlock] as const),
]);

/** Whether a part is of a kind that `contentBlocks` knows. */
export const isContentPart = (part: unknown): part is JsonObject =>
	isJsonObject(part) && KINDS.has(part.type);

/**
 * Whether a part has the bytes of a file in it. Entries in the list of an API are of the same kinds,
 * with an address, an ID or a text for `data`.
 */
export function hasBytes({ resource, source, ...part }: JsonObject): boolean {
	if (isJsonObject(resource)) return isBase64(resource.blob);
	const { data, url, mimeType } = readFile(isJsonObject(source) ? source : part);
	const inline = readDataUrl(data ?? url ?? '');
	return inline === undefined ? mimeType?.includes('/') === true && isBase64(data) : true;
}

/**
 * The blocks of the request for a text, image or other file of a message.
 *
 * @throws GatewayError if the part can't be sent: it must not be left out, because the model would
 *   respond, and charge, without having seen it
 */
export function contentBlocks(part: unknown): JsonObject[] {
	if (typeof part === 'string') return textBlock({ text: part });
	const kind = isJsonObject(part) ? part.type : typeof part;
	const read = KINDS.get(kind);
	if (read === undefined || !isJsonObject(part))
		throw notSent(`a part of the kind "${quote(String(kind))}"`);
	return read(part);
}

/** The endpoint rejects blank texts. */
function textBlock({ text }: JsonObject): JsonObject[] {
	return nonEmptyString(text) === undefined ? [] : [{ type: 'text', text }];
}

function fileBlock(part: JsonObject): JsonObject[] {
	const { data, url, text, name, mimeType = String(part.type) } = readFile(part);
	if (isJsonObject(part.source)) {
		// In the gateway's own form already.
		const { type, data: bytes, media_type: claimed } = part.source;
		if (type !== 'base64' || typeof bytes !== 'string') return [part];
		const block = fileOfBytes(bytes, String(claimed), name);
		return [block.type === 'text' ? block : part];
	}
	const inline = readDataUrl(data ?? url ?? '');
	const base64 = inline?.base64 ?? data ?? '';
	if (base64 !== '')
		return [fileOfBytes(base64, nonEmptyString(inline?.mimeType) ?? mimeType, name)];
	if (url === undefined && text !== undefined) return textBlock({ text });
	if (url === undefined) throw notSent('a file without content');
	if (!/^https?:/i.test(url)) throw notSent(`a file at "${quote(url)}", which is no web address`);
	if (mimeType === 'application/pdf') return [{ ...addressBlock(url), type: 'document' }];
	return [addressBlock(url)];
}

/** The blocks of a file that a tool returns, whose `uri` is a name and not always an address. */
function resourceBlock(resource: unknown): JsonObject[] {
	const { text, blob, mimeType, uri } = isJsonObject(resource) ? resource : {};
	if (nonEmptyString(text) !== undefined) return textBlock({ text });
	return fileBlock({
		type: 'file',
		data: blob,
		mimeType,
		url: blob === undefined ? uri : undefined,
	});
}

/** The facts of a file, each with the names that it has. */
function readFile(part: JsonObject) {
	const inner = part[String(part.type)];
	const places = [part, inner, part.file, part.providerMetadata, part.metadata].filter(
		isJsonObject,
	);
	const find = (...names: string[]): unknown =>
		places
			.flatMap((place) => names.map((name) => place[name]))
			.find((value) => nonEmptyString(value) !== undefined || value instanceof Uint8Array);
	const textOf = (value: unknown): string | undefined =>
		value instanceof Uint8Array ? Buffer.from(value).toString('base64') : nonEmptyString(value);
	return {
		data: textOf(find('data', 'file_data')),
		url: textOf(find('url', 'image_url', 'file_url', 'fileUri', 'uri')),
		mimeType: textOf(find('mimeType', 'mime_type', 'mediaType', 'media_type'))?.toLowerCase(),
		text: textOf(find('text')),
		name: textOf(find('filename', 'fileName', 'file_name', 'name', 'title')),
	};
}

/** The block of a file by its bytes; their claimed type counts where they don't tell. */
function fileOfBytes(base64: string, claimed: string, name = ''): JsonObject {
	const start = Buffer.from(base64.slice(0, 2 * FIRST_BYTES), 'base64');
	const type = detectImageType(start) ?? detectPdf(start) ?? claimed.toLowerCase();
	const shownName = name === '' ? '' : `"${quote(name)}", `;
	const refused = (): GatewayError => notSent(`${shownName}a file of the type "${quote(type)}"`);
	if (isRefusedImage(type)) throw refused();
	// Models refuse a drawing as an image: its text is sent.
	const isImage = type.startsWith('image/') && type !== SVG;
	if (isImage || type === 'application/pdf') return bytesBlock(type, base64);
	const bytes = Buffer.from(base64, 'base64');
	if (/audio|video/.test(type) || !isText(bytes)) throw refused();
	return { type: 'text', text: bytes.toString('utf8') };
}

const isBase64 = (text: unknown): boolean =>
	nonEmptyString(text) !== undefined && !/[^\w+/=\r\n-]/.test(String(text));

const notSent = (what: string): GatewayError =>
	new GatewayError({
		message: `The message contains ${what}, which can't be sent to the model`,
		description: 'Use text, images, PDF documents or text files. Nothing was sent.',
	});
