import { detectImageType } from '../../../util/imageType';
import { readDataUrl } from '../../../util/dataUrl';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../../util/json';
import { textIn } from '../parameters/itemParameters';

/** An image that a parameter names. */
export type ImageRef =
	/** A binary field of the item, which may be missing. */
	| { kind: 'field'; field: string }
	/** Binary data from an expression. */
	| { kind: 'file'; file: JsonObject }
	/** A web address. */
	| { kind: 'address'; url: string }
	/** The ID of a file at the gateway. */
	| { kind: 'id'; id: string }
	/** The image itself, as a `data:` URL or Base64. */
	| { kind: 'inline'; mimeType: string; base64: string }
	/** A value that names no image. */
	| { kind: 'none'; value: unknown };

/**
 * The images that a parameter names, in order: one, several, or a list. In a text, commas and line
 * breaks separate them; a comma that nothing but text follows is part of an address. Empty entries
 * are left out.
 *
 * @param fields the names of the item's binary fields, which may contain commas
 * @param takesIds whether a name like `file-…` that no field has is the ID of a file at the gateway
 */
export function imageRefsIn(given: unknown, fields: string[], takesIds = false): ImageRef[] {
	const refs = allRefsIn(given, fields);
	if (!takesIds) return refs;
	return refs.map((ref) =>
		ref.kind === 'field' && !fields.includes(ref.field) && FILE_ID.test(ref.field)
			? { kind: 'id', id: ref.field }
			: ref,
	);
}

const FILE_ID = /^file[-_][\w-]{6,200}$/;

function allRefsIn(given: unknown, fields: string[]): ImageRef[] {
	return [given].flat().flatMap((entry): ImageRef[] => {
		if (isJsonObject(entry)) return [refInObject(entry)];
		const text = textIn(entry ?? '')?.trim();
		if (text === undefined) return [{ kind: 'none', value: entry }];
		if (fields.includes(text)) return [{ kind: 'field', field: text }];
		return text.split(BEFORE_ADDRESS).flatMap((part) => refsInPart(part, fields));
	});
}

/** An image as the image nodes return it, with its address, or a file, which may have one too. */
function refInObject(entry: JsonObject): ImageRef {
	const url = nonEmptyString(entry.url)?.trim() ?? '';
	const isAddress = entry.mimeType === undefined && /^https?:\/\//i.test(url);
	return isAddress ? { kind: 'address', url } : { kind: 'file', file: entry };
}

/** The places in a text at which an address begins. */
const BEFORE_ADDRESS = /(?<=[\s,])(?=https?:\/\/|data:[\w.+/-]{0,200}[;,])/i;

/** @param part a text that contains an address only at its beginning */
function refsInPart(part: string, fields: string[]): ImageRef[] {
	if (/^https?:\/\//i.test(part)) {
		const [word = ''] = part.split(/\s/, 1);
		const url = addressIn(word, fields);
		return [{ kind: 'address', url }, ...refsInNames(part.slice(url.length), fields)];
	}
	const comma = /^data:/i.test(part) ? part.indexOf(',') : -1;
	if (comma < 0) return refsInNames(part, fields);
	const next = part.indexOf(',', comma + 1);
	const end = next < 0 ? part.length : next;
	const inline = readDataUrl(part.slice(0, end).replace(/\s+/g, ''));
	return [
		inline === undefined ? { kind: 'none', value: part } : { kind: 'inline', ...inline },
		...refsInNames(part.slice(end), fields),
	];
}

/** The address at the beginning of a word: a comma may be part of it, unless only names of fields follow. */
function addressIn(word: string, fields: string[]): string {
	const parts = word.split(',');
	const isName = (part: string): boolean => part === '' || fields.includes(part);
	return parts
		.slice(0, 1 + parts.findLastIndex((part, index) => index === 0 || !isName(part)))
		.join(',');
}

/** Names of binary fields, and Base64. */
function refsInNames(text: string, fields: string[]): ImageRef[] {
	const refs: ImageRef[] = [];
	for (let at = 0; ; ) {
		at = indexOf(/[^\s,]/g, text, at);
		if (at === text.length) return refs;
		const entry = text.slice(at, indexOf(/,/g, text, at));
		const inline = imageInBase64(entry);
		const name = longestAt(at, text, fields) ?? text.slice(at, indexOf(/[,\r\n]/g, text, at));
		refs.push(inline ?? { kind: 'field', field: name.trim() });
		at += (inline === undefined ? name : entry).length;
	}
}

/** The index of the first match from a position on; that of the end if there is none. */
function indexOf(pattern: RegExp, text: string, from: number): number {
	pattern.lastIndex = from;
	return pattern.exec(text)?.index ?? text.length;
}

/** The longest of the names that are in a text at a position, up to a separator. */
function longestAt(at: number, text: string, fields: string[]): string | undefined {
	const able = fields.filter((field) => {
		const end = at + field.length;
		return (
			text.startsWith(field, at) && indexOf(/[,\r\n]/g, text, end) === indexOf(/[^ \t]/g, text, end)
		);
	});
	return able.sort((one, other) => other.length - one.length)[0];
}

/** In characters: enough to see what kind of image it is. */
const SHORTEST_BASE64 = 64;

/** An image in Base64, which may be in lines; undefined for any other text. */
function imageInBase64(text: string): ImageRef | undefined {
	const start = text.slice(0, 2 * SHORTEST_BASE64).replace(/\s+/g, '');
	if (start.length < SHORTEST_BASE64 || !/^[\w+/=-]+$/.test(start)) return undefined;
	const mimeType = detectImageType(Buffer.from(start, 'base64'));
	if (mimeType === undefined) return undefined;
	return { kind: 'inline', mimeType, base64: text.replace(/\s+/g, '') };
}
