import { readDataUrl } from '../../util/dataUrl';
import { detectImageType, FIRST_BYTES, isText } from '../../util/imageType';

/** Where a text stands: under the name of an address, in a list, or alone. */
export type Place = 'named' | 'listed' | 'alone';

const IMAGE_FILE = /^[^\s:?#]+\.(png|jpe?g|webp|gif|avif|svg|ico|bmp|tiff?|heic|jxl)([?#]\S*)?$/i;

/** The same below the gateway's server, where its name may contain spaces. */
const SPACED_FILE =
	/^\.{0,2}\/[^\r\n:?#]+\.(png|jpe?g|webp|gif|avif|svg|ico|bmp|tiff?|heic|jxl)([?#]\S*)?$/i;

const isFile = (text: string): boolean => IMAGE_FILE.test(text) || SPACED_FILE.test(text);

/** What an address relative to the gateway looks like; an ID in its place looks otherwise. */
const isRelative: Record<Place, (text: string) => boolean> = {
	named: (text) => /^\S+$/.test(text) || isFile(text),
	listed: (text) => /^\/\S+$/.test(text) || isFile(text),
	alone: isFile,
};

/** Some gateways write the start of a `data:` URL twice. */
const REPEATED_START = /^(?:data:[^,]{0,200},\s*){1,9}(?=data:)/i;

/**
 * The address of an image, of a text that is an address, a `data:` URL or, from some gateways,
 * Base64; undefined for any other text.
 */
export function imageUrl(text: string, place: Place): string | undefined {
	const url = text
		.trim()
		.replace(REPEATED_START, '')
		.replace(/^data:/i, 'data:');
	const isBytes = url.length >= 100 && /^[\w+/=-]{64}/.test(url);
	if (isBytes && detectImageType(firstBytes(url)) !== undefined) return `data:;base64,${url}`;
	const isFound = url.startsWith('data:')
		? place === 'named' || /^data:(image\/|;)/i.test(url) || isImageData(url)
		: /^https?:\/\//i.test(url) || isRelative[place](beginning(url));
	return isFound ? url : undefined;
}

/**
 * Base64 as a `data:` URL; undefined for any other text, and for Base64 of a text. Some gateways send a
 * whole one there.
 */
export function bytesUrl(text = ''): string | undefined {
	const base64 = text.trim();
	if (/^data:/i.test(base64)) return imageUrl(base64, 'named');
	if (base64 === '' || /[^\w+/=\r\n-]/.test(base64)) return undefined;
	const bytes = firstBytes(base64);
	return isText(bytes) && detectImageType(bytes) === undefined
		? undefined
		: `data:;base64,${base64}`;
}

/** Whether the bytes of a `data:` URL are an image, whatever its type says. */
export const isImageData = (url: string): boolean =>
	detectImageType(firstBytes(readDataUrl(beginning(url))?.base64)) !== undefined;

const beginning = (text: string): string => text.slice(0, 2 * FIRST_BYTES);

const firstBytes = (base64 = ''): Buffer => Buffer.from(beginning(base64), 'base64');
