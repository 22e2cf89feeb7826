import { safeFileStem } from './fileName';

/** The number of bytes to read from a file: an SVG can have a long part before its `<svg`. */
export const FIRST_BYTES = 4096;

/**
 * Image formats by the first bytes read as Latin-1; SVG by its first element.
 * An AVIF file can have another major brand, and list its own among the compatible ones.
 */
const FORMATS: Array<[mimeType: string, start: RegExp]> = [
	['image/png', /^\x89PNG/],
	['image/jpeg', /^\xff\xd8\xff/],
	['image/gif', /^GIF8[79]a/],
	['image/webp', /^RIFF[^]{4}WEBP/],
	['image/avif', /^[^]{4}ftyp(?:[^]{4}){0,16}?avi[fs]/],
	['image/heic', /^[^]{4}ftyp(he[iv][cmsx]|mif1|msf1)/],
	['image/bmp', /^BM[^]{4}\0{4}/],
	['image/tiff', /^(II\*\0|MM\0\*)/],
	['image/jxl', /^\0\0\0\fJXL \r\n\x87\n/],
	['image/x-icon', /^\0\0[^\0]\0[^\0]\0/],
	// Before its root are only declarations and comments. A web page is no image, whatever it draws.
	[
		'image/svg+xml',
		/^(\xef\xbb\xbf)?\s*((<!--([^-]|-(?!->))*-->|<[?!](?!--|doctype html))[^<]*)*<([\w.-]{1,100}:)?svg[\s>/]/i,
	],
];

/** The MIME type of an image by its first bytes (4096 for SVG); undefined for other files. */
export function detectImageType(bytes: Uint8Array): string | undefined {
	const start = Buffer.from(bytes.subarray(0, FIRST_BYTES)).toString('latin1');
	return FORMATS.find(([, pattern]) => pattern.test(start))?.[0];
}

/**
 * The MIME type of a PDF document by its first bytes, before which there may be a byte order mark and
 * blanks; undefined for other files.
 */
export const detectPdf = (bytes: Uint8Array): 'application/pdf' | undefined =>
	/^(\xef\xbb\xbf)?\s{0,50}%PDF-/.test(Buffer.from(bytes.subarray(0, 100)).toString('latin1'))
		? 'application/pdf'
		: undefined;

/**
 * The first bytes of files that are no images, whatever their type says: films, sounds, documents,
 * archives.
 */
// prettier-ignore
const OTHER_FILES = [
	'\x1aE\xdf\xa3', '\0\0\x01\xb3', '\0\0\x01\xba', 'OggS', 'FLV', 'ID3', '%PDF', 'PK\x03', '\x1f\x8b',
];
/** Films and sounds whose name comes later. */
const FILM_LATER = /^[^]{4}(ftyp|[^]{4}(AVI |WAVE))/;

/** The type of a drawing, which is text. */
export const SVG = 'image/svg+xml';

/** The control characters of text: tabs, line breaks and escape. */
const OF_TEXT = [9, 10, 11, 12, 13, 27];

/**
 * Whether bytes are text, such as a web page: unknown image formats have other control characters.
 */
export const isText = (bytes: Uint8Array): boolean =>
	bytes.every((byte) => byte >= 32 || OF_TEXT.includes(byte));

/**
 * The MIME type of an image: by its bytes if their format is known, else the claimed one, unless they
 * are something else.
 *
 * @param claimed a Content-Type; any other type than that of an image is no claim
 * @returns undefined for other files
 */
export function imageTypeOf(bytes: Uint8Array, claimed?: string): string | undefined {
	const detected = detectImageType(bytes);
	if (detected !== undefined) return detected;
	const start = bytes.subarray(0, FIRST_BYTES);
	const text = Buffer.from(start).toString('latin1');
	const type = safeMimeType(claimed)?.toLowerCase();
	if (isText(start) || FILM_LATER.test(text)) return undefined;
	if (OTHER_FILES.some((first) => text.startsWith(first))) return undefined;
	return type?.startsWith('image/') === true ? type : undefined;
}

/** The file extension of an image's MIME type, without a dot; `bin` for unknown types. */
export function extensionFor(mimeType: string): string {
	if (mimeType === 'image/jpeg') return 'jpg';
	if (/^image\/(x-icon|vnd\.microsoft\.icon)$/.test(mimeType)) return 'ico';
	return /^image\/([a-z0-9]{2,8})(\+xml)?$/.exec(mimeType)?.[1] ?? 'bin';
}

/**
 * A foreign MIME type made safe for a header: its type alone, without parameters; undefined if it
 * isn't one.
 */
export const safeMimeType = (foreign: unknown): string | undefined =>
	typeof foreign === 'string'
		? /^\s*([\w.+-]{1,100}\/[\w.+-]{1,100})/.exec(foreign)?.[1]
		: undefined;

/** A name without extension, already safe. `end` tells it from others. */
export interface FileName {
	stem?: string;
	end?: string;
}

/**
 * The file name of an image with the extension of its real type. Without a stem, that is the last part of
 * its address.
 */
export function imageFileName(
	url: string,
	mimeType: string,
	{ stem: chosen, end }: FileName = {},
): string {
	const stem = chosen || safeFileStem(lastPartOf(url)) || 'image';
	return `${end === undefined ? stem : `${stem}-${end}`}.${extensionFor(mimeType)}`;
}

/** The last part of an address's path without extension, or an empty text. */
function lastPartOf(url: string): string {
	try {
		const { pathname, protocol } = new URL(url);
		if (protocol === 'data:') return '';
		const part = decodeURIComponent(pathname.slice(pathname.lastIndexOf('/') + 1));
		return part.replace(/\.[A-Za-z0-9]{1,5}$/, '');
	} catch {
		return '';
	}
}
