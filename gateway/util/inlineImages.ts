import { isJsonObject } from './json';

/** What may be an address that is the image itself. */
const DATA_URL = /\bdata:[^\s"'<>]*/gi;
/** In characters: what stands before the bytes is shorter. */
const LONGEST_TYPE = 500;
/** In characters: an image in Base64 is longer, and hardly anything else is that long without a blank. */
const SHORTEST_BASE64 = 1000;
/** Fields of an image that comes inside a response, the usual one first. */
export const INLINE_FIELDS = ['b64_json', 'b64', 'base64', 'image_base64'];
/** What a response of the gateway is nested at the most; below that nothing is looked at. */
const DEEPEST = 50;

/**
 * A copy of a JSON value without the images that came inside it: megabytes of Base64 that neither an
 * agent nor the editor can use. In their place stands how large they were.
 */
export function withoutInlineImages(value: unknown, depth = 0): unknown {
	if (typeof value === 'string')
		return isImageData(value) ? removed(value) : withoutDataUrls(value);
	if (typeof value !== 'object' || value === null) return value;
	if (depth >= DEEPEST) return '…';
	if (Array.isArray(value)) return value.map((entry) => withoutInlineImages(entry, depth + 1));
	if (!isJsonObject(value)) return value;
	return Object.fromEntries(
		Object.entries(value).map(([name, field]) => [
			name,
			typeof field === 'string' && INLINE_FIELDS.includes(name.toLowerCase())
				? removed(field)
				: withoutInlineImages(field, depth + 1),
		]),
	);
}

/** Whether a text is nothing but the bytes of an image, with or without the start of a `data:` URL. */
function isImageData(text: string): boolean {
	if (isImageUrl(text.slice(0, LONGEST_TYPE).trimStart())) return true;
	return text.length >= SHORTEST_BASE64 && /^[\w+/=\r\n-]*$/.test(text);
}

/** A text without the bytes of images that are addresses of their own. */
export function withoutDataUrls(text: string): string {
	return text.replace(DATA_URL, (url) => (isImageUrl(url) ? removed(url) : url));
}

function isImageUrl(url: string): boolean {
	if (!/^data:/i.test(url)) return false;
	const comma = url.slice(0, LONGEST_TYPE).indexOf(',');
	const type = url.slice('data:'.length, Math.max(0, comma)).trim().toLowerCase();
	return type.startsWith('image/') || type.endsWith('base64');
}

const removed = (text: string): string => `(image data, ${text.length} characters)`;
