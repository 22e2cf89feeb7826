/** In characters: the longest MIME type with its parameters. */
const LONGEST_HEADER = 200;

/** The content of a `data:` URL. */
export interface DataUrl {
	/** The MIME type as written; empty if it is omitted. */
	mimeType: string;
	base64: string;
}

/**
 * Parses a `data:` URL (RFC 2397), in Base64 or percent-encoded. Without a pattern for all of it,
 * because it may be megabytes long, too long for a pattern's stack.
 *
 * @returns undefined for any other text
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

/** A text without percent-encoding; unchanged if the encoding is invalid. */
export function decoded(text: string): string {
	try {
		return text.includes('%') ? decodeURIComponent(text) : text;
	} catch {
		return text;
	}
}
