/** How much of a file is looked at: what stands before the `<svg` of a drawing may be long. */
export const FIRST_BYTES = 4096;

/** Image formats by their first bytes, with the extension that a file of the kind gets. */
const FORMATS: Array<{ mimeType: string; extension: string; is: (bytes: Uint8Array) => boolean }> =
	[
		{
			mimeType: 'image/png',
			extension: 'png',
			is: (bytes) => startsWith(bytes, [0x89, 0x50, 0x4e, 0x47]),
		},
		{
			mimeType: 'image/jpeg',
			extension: 'jpg',
			is: (bytes) => startsWith(bytes, [0xff, 0xd8, 0xff]),
		},
		{ mimeType: 'image/gif', extension: 'gif', is: (bytes) => text(bytes, 0, 4) === 'GIF8' },
		{
			mimeType: 'image/webp',
			extension: 'webp',
			is: (bytes) => text(bytes, 0, 4) === 'RIFF' && text(bytes, 8, 12) === 'WEBP',
		},
		{
			mimeType: 'image/avif',
			extension: 'avif',
			is: (bytes) => text(bytes, 4, 8) === 'ftyp' && /^avi[fs]/.test(text(bytes, 8, 12)),
		},
		{
			mimeType: 'image/heic',
			extension: 'heic',
			is: (bytes) => text(bytes, 4, 8) === 'ftyp' && /^(hei[cx]|mif1)/.test(text(bytes, 8, 12)),
		},
		{ mimeType: 'image/bmp', extension: 'bmp', is: (bytes) => text(bytes, 0, 2) === 'BM' },
		{
			mimeType: 'image/tiff',
			extension: 'tiff',
			is: (bytes) => ['II*\0', 'MM\0*'].includes(text(bytes, 0, 4)),
		},
		{
			mimeType: 'image/svg+xml',
			extension: 'svg',
			is: (bytes) => isSvg(text(bytes, 0, FIRST_BYTES)),
		},
	];

function startsWith(bytes: Uint8Array, start: number[]): boolean {
	return start.every((byte, index) => bytes[index] === byte);
}

function text(bytes: Uint8Array, from: number, to: number): string {
	return Buffer.from(bytes.subarray(from, to)).toString('latin1');
}

/** What may stand before the first element of an XML file, by how it begins and ends. */
const BEFORE_ROOT: Array<[start: string, end: string]> = [
	['<?', '?>'],
	['<!--', '-->'],
];

/**
 * Whether the first element of an XML file is `<svg`. Each character is looked at a bounded number
 * of times: a pattern for this takes exponential time on a file made for it.
 */
function isSvg(start: string): boolean {
	const isBlank = (at: number): boolean => /\s/.test(start.charAt(at));
	// The byte order mark, read byte by byte.
	let at = start.startsWith('\xef\xbb\xbf') ? 3 : 0;
	for (;;) {
		while (isBlank(at)) at += 1;
		const known = BEFORE_ROOT.find(([opening]) => start.startsWith(opening, at));
		if (known === undefined && !/^<!doctype$/i.test(start.slice(at, at + 9))) break;
		const end = known === undefined ? endOfDoctype(start, at) : endOf(start, known, at);
		if (end === undefined) return false;
		at = end;
	}
	return start.startsWith('<svg', at) && /[\s>/]/.test(start.charAt(at + 4));
}

function endOf(text: string, [opening, closing]: [string, string], at: number): number | undefined {
	const end = text.indexOf(closing, at + opening.length);
	return end < 0 ? undefined : end + closing.length;
}

/** It may hold declarations of its own in brackets, as those that drawing programs write do. */
function endOfDoctype(text: string, at: number): number | undefined {
	const end = text.indexOf('>', at);
	const bracket = text.indexOf('[', at);
	if (bracket < 0 || (end >= 0 && end < bracket)) return end < 0 ? undefined : end + 1;
	const closing = text.indexOf(']', bracket);
	const behind = closing < 0 ? -1 : text.indexOf('>', closing);
	return behind < 0 ? undefined : behind + 1;
}

/**
 * The MIME type of an image from its first bytes, or undefined if it is none. Few bytes are enough
 * for most; of a drawing (SVG) 4096 are looked at.
 */
export function detectImageType(bytes: Uint8Array): string | undefined {
	return FORMATS.find((format) => format.is(bytes))?.mimeType;
}

/** The file extension for an image's MIME type, without a dot; `bin` for what is not known. */
export function extensionFor(mimeType: string): string {
	const known = FORMATS.find((format) => format.mimeType === mimeType);
	if (known !== undefined) return known.extension;
	const subtype = /^image\/([a-z0-9]{2,8})$/.exec(mimeType)?.[1];
	return subtype ?? 'bin';
}

const LONGEST_STEM = 80;
const LONGEST_MIME_TYPE = 200;

/**
 * A file name made from a foreign text: no path, no control character, no markup, nothing hidden,
 * at most 80 characters. Empty where nothing is left.
 */
export function safeFileStem(foreign: string): string {
	const plain = foreign
		// First of all, so that a name of a million characters is not looked through.
		.slice(0, 2 * LONGEST_STEM)
		.replace(/[^\p{L}\p{M}\p{N}._ -]+/gu, '-')
		.replace(/\.{2,}/g, '.')
		.replace(/^[.\-_ ]+/, '');
	const stem = Array.from(plain).slice(0, LONGEST_STEM);
	while (/^[.\-_ ]$/.test(stem.at(-1) ?? '')) stem.pop();
	return stem.join('');
}

/**
 * A MIME type as it may stand in a header, with its parameters where they are plain words; undefined
 * for what begins like none. Nothing in it can begin a header of its own.
 */
export function safeMimeType(foreign: unknown): string | undefined {
	if (typeof foreign !== 'string') return undefined;
	const [type = '', ...parameters] = foreign.slice(0, LONGEST_MIME_TYPE).trim().split(';');
	const essence = /^[\w.+-]+\/[\w.+-]+/.exec(type)?.[0];
	if (essence === undefined || essence !== type.trim()) return essence;
	const plain = parameters.map((parameter) => parameter.trim());
	const arePlain = plain.every((parameter) => /^[\w-]+="?[\w.+-]+"?$/.test(parameter));
	return arePlain ? [essence, ...plain].join('; ') : essence;
}

/**
 * A sensible file name for a downloaded image: the last part of its address where that is one,
 * else `fallback`; always with the extension of what it really is.
 *
 * @param chosen by the user, safe as it is; undefined or empty: none
 */
export function imageFileName(
	url: string,
	mimeType: string,
	fallback: string,
	chosen?: string,
): string {
	if (chosen !== undefined && chosen !== '') return `${chosen}.${extensionFor(mimeType)}`;
	let stem = '';
	try {
		const { pathname, protocol } = new URL(url);
		if (protocol !== 'data:')
			stem = decodeURIComponent(pathname.slice(pathname.lastIndexOf('/') + 1));
	} catch {
		stem = '';
	}
	const withoutExtension = stem.replace(/\.[A-Za-z0-9]{1,5}$/, '');
	return `${safeFileStem(withoutExtension) || safeFileStem(fallback) || 'image'}.${extensionFor(mimeType)}`;
}
