import { messageRefusal } from '../http/gateway-response.mjs';
import { formatOf } from '../images/image-format.mjs';

/** A block of a message that may have a file. */
interface Block {
	type: string;
	source?: unknown;
}

interface Source {
	type?: unknown;
	url?: unknown;
	data?: unknown;
	media_type?: unknown;
}

/** Checks a picture or document as the endpoint does: its bytes have to be what its type says. */
export function checkAttachment({ type, source }: Block, at: string): void {
	const { type: form, url, data, media_type: mimeType } = (source ?? {}) as Source;
	if (form === 'url') {
		if (/^https?:\/\/./i.test(String(url))) return;
		throw messageRefusal(400, `${at}.source.url: only http and https addresses are supported`);
	}
	// A document may also hold its text.
	if (form === 'text' && type === 'document') return;
	if (form !== 'base64' || typeof data !== 'string' || data === '') {
		throw messageRefusal(400, `${at}.source: a base64 or url source is required`);
	}
	const found = typeOf(bytesOf(data));
	if (found === mimeType && (found === 'application/pdf') === (type === 'document')) return;
	throw messageRefusal(
		400,
		`${at}: the ${type} was specified as ${String(mimeType)}, but appears to be ${found ?? 'something else'}`,
	);
}

/** What can be said about the pictures and documents of a message: a type and a size each. */
export function seen(blocks: readonly Block[]): string[] {
	const listed = (type: string, word: string): string[] => {
		const found = blocks.filter((block) => block.type === type);
		if (found.length === 0) return [];
		return [`I see ${found.length} ${word}(s): ${found.map(described).join('; ')}.`];
	};
	return [...listed('image', 'picture'), ...listed('document', 'document')];
}

function described({ source }: Block): string {
	const { url, data } = (source ?? {}) as Source;
	if (typeof data !== 'string') return `one at ${String(url)}`;
	const bytes = bytesOf(data);
	const edges = edgesOf(bytes);
	const pixels = edges === undefined ? '' : ` of ${edges.join(' × ')} pixels`;
	return `${typeOf(bytes) ?? 'text'}${pixels}, ${bytes.length} bytes`;
}

const bytesOf = (data: string): Buffer => Buffer.from(data, 'base64');

function typeOf(bytes: Buffer): string | undefined {
	if (bytes.toString('latin1', 0, 5) === '%PDF-') return 'application/pdf';
	const format = formatOf(bytes);
	return format === undefined ? undefined : `image/${format}`;
}

/** Width and height of a PNG, GIF or JPEG in pixels. */
function edgesOf(bytes: Buffer): [number, number] | undefined {
	const format = formatOf(bytes);
	if (format === 'png' && bytes.length >= 24)
		return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
	if (format === 'gif' && bytes.length >= 10) return [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
	if (format !== 'jpeg') return undefined;
	// One segment after the other, up to that of the frame.
	for (
		let at = 2;
		at + 9 <= bytes.length && bytes[at] === 0xff;
		at += 2 + bytes.readUInt16BE(at + 2)
	) {
		const marker = bytes[at + 1]!;
		if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
			return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
		}
	}
	return undefined;
}
