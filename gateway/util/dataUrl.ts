/** The MIME type and its parameters; what is longer is none. */
const LONGEST_HEADER = 200;

/** What a `data:` URL holds. */
export interface DataUrl {
	/** As it is written; empty where it is left out. */
	mimeType: string;
	base64: string;
}

/**
 * Takes a `data:` URL in base64 apart. Without a pattern: it may be megabytes long, for which the
 * stack of a pattern is too small.
 *
 * @returns undefined for anything else
 */
export function readDataUrl(url: string): DataUrl | undefined {
	const comma = url.slice(0, LONGEST_HEADER).indexOf(',');
	const header = url.slice(0, Math.max(0, comma));
	const isBase64 = /^data:/i.test(header) && /;\s*base64\s?$/i.test(header);
	if (!isBase64) return undefined;
	const [mimeType = ''] = header.slice('data:'.length).split(';');
	return { mimeType: mimeType.trim(), base64: url.slice(comma + 1) };
}
