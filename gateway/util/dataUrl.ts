/** The MIME type and its parameters; what is longer is none. */
const LONGEST_HEADER = 200;

/** What a `data:` URL holds. */
export interface DataUrl {
	/** As it is written; empty where it is left out. */
	mimeType: string;
	base64: string;
}

/**
 * Takes a `data:` URL apart (RFC 2397), in base64 or percent-encoded. Without a pattern: it may be
 * megabytes long, for which the stack of a pattern is too small.
 *
 * @returns undefined for anything else
 */
export function readDataUrl(url: string): DataUrl | undefined {
	const comma = url.slice(0, LONGEST_HEADER).indexOf(',');
	const header = url.slice(0, Math.max(0, comma));
	if (!/^data:/i.test(header)) return undefined;
	const [mimeType = ''] = header.slice('data:'.length).split(';');
	const data = decoded(url.slice(comma + 1));
	const isBase64 = /;\s*base64\s?$/i.test(header);
	const base64 = isBase64 ? data : Buffer.from(data, 'utf8').toString('base64');
	return { mimeType: mimeType.trim(), base64 };
}

/** A text without percent-encoding; as it is where it is wrongly encoded. */
export function decoded(text: string): string {
	try {
		return text.includes('%') ? decodeURIComponent(text) : text;
	} catch {
		return text;
	}
}
