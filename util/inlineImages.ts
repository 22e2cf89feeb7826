import { isJsonObject, mapValues } from './json';

/** A `data:` URL in a text. */
const DATA_URL = /\bdata:[^\s"'<>]*/gi;
/** In characters: the part of a `data:` URL before its bytes is shorter. */
const LONGEST_TYPE = 500;
/** In characters: an image in Base64 is longer. */
const SHORTEST_BASE64 = 1000;
/** The first bytes of an image or a film in Base64; a long prompt without spaces is neither. */
const IMAGE_IN_BASE64 = /^\s*(iVBOR|\/9j\/|R0lGOD|UklGR|AAAA|Qk|SUkq|TU0A|PHN2Zy|PD94bW|GkXf)/;
/** The fields of an image inside a response, the usual one first. */
export const INLINE_FIELDS = ['b64_json', 'b64', 'base64', 'image_base64'];
const INLINE_NAMES = new Set(INLINE_FIELDS.map((name) => name.replaceAll('_', '')));
const isInlineField = (name: string): boolean =>
	INLINE_NAMES.has(name.toLowerCase().replaceAll('_', ''));
/** In place of an image. It has no size: a plan has the digest of a file where its bytes are sent. */
const REMOVED = '(image data)';
/** The deepest level of a response that is searched. */
const DEEPEST = 50;

/**
 * A copy of a JSON value without the images inside it: megabytes of Base64 are useless for agents and
 * the editor.
 */
export function withoutInlineImages(value: unknown, depth = 0): unknown {
	if (typeof value === 'string') return isImageData(value) ? REMOVED : withoutDataUrls(value);
	if (typeof value !== 'object' || value === null) return value;
	if (depth >= DEEPEST) return '…';
	if (Array.isArray(value)) return value.map((entry) => withoutInlineImages(entry, depth + 1));
	if (!isJsonObject(value)) return value;
	return mapValues(value, (field, name) =>
		typeof field === 'string' && isInlineField(name)
			? REMOVED
			: withoutInlineImages(field, depth + 1),
	);
}

/** Whether a text consists of an image in Base64, with or without the start of a `data:` URL. */
function isImageData(text: string): boolean {
	if (isImageUrl(text.slice(0, LONGEST_TYPE).trimStart())) return true;
	if (text.length < SHORTEST_BASE64 || !IMAGE_IN_BASE64.test(text)) return false;
	return /^[\w+/=\r\n-]*$/.test(text);
}

/** A text without the bytes of its `data:` URLs. */
export function withoutDataUrls(text: string): string {
	return text.replace(DATA_URL, (url) => (isImageUrl(url) ? REMOVED : url));
}

function isImageUrl(url: string): boolean {
	if (!/^data:/i.test(url)) return false;
	const comma = url.slice(0, LONGEST_TYPE).indexOf(',');
	const type = url.slice('data:'.length, Math.max(0, comma)).trim().toLowerCase();
	return type.startsWith('image/') || type.endsWith('base64');
}
