import { isJsonObject } from './json';

/** The shortest key that is erased, in characters: a shorter key could be an ordinary word. */
const SHORTEST_KEY = 8;

/** The replacement of the key. */
const ERASED = '***';

/**
 * An escape of JSON (`\/`, `\u002d`), of an address (`%2D`) or of a web page (`&#45;`, `&amp;`).
 */
const ESCAPE =
	/\\{1,7}(?:u00|x)[0-9a-f]{2}|\\{1,7}["\\/]|%(?:25){0,3}[0-9a-f]{2}|&#(?:x[0-9a-f]{2}|[0-9]{2,3});|&(?:amp|lt|gt|quot);/gi;

/** The number of nested escapes that are decoded, such as an address in JSON. */
const LAYERS = 2;

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' };

/** In characters: a shorter beginning of a key could be a word. */
const SHORTEST_BEGINNING = 4;

/** In characters with escapes: the longest part at the end of a text that is searched for a key. */
const LONGEST_BEGINNING = 2000;

/** The character that an escape stands for. */
function meaningOf(escape: string): string {
	const hex = /^(?:\\+[ux]|%|&#x)[0-9a-f]*?([0-9a-f]{2});?$/i.exec(escape)?.[1];
	if (hex !== undefined) return String.fromCharCode(parseInt(hex, 16));
	if (escape.startsWith('&#')) return String.fromCharCode(parseInt(escape.slice(2), 10));
	return ENTITIES[escape.slice(1, -1).toLowerCase()] ?? escape.slice(-1);
}

/** The secrets that are removed, the longest first, because it may contain another one. */
export const erasable = (secrets: string[]): string[] =>
	secrets
		.filter(({ length }) => length >= SHORTEST_KEY)
		.sort((one, other) => other.length - one.length);

/**
 * Creates a function that removes secrets from texts that people read, because some gateways quote
 * them. A text with an escaped secret is returned without escapes. Takes linear time.
 *
 * @param secrets as they are sent; one with fewer than 8 characters isn't removed
 */
export function createKeyEraser(secrets: string[]): (text: string) => string {
	const keys = erasable(secrets);
	return (given) => keys.reduce(withoutKey, given);
}

function withoutKey(text: string, key: string): string {
	let shown = text.replaceAll(key, ERASED);
	let plain = shown;
	for (let layer = 0; layer < LAYERS && /[\\%&]/.test(plain); layer += 1) {
		plain = plain.replace(ESCAPE, meaningOf);
		if (plain.includes(key)) shown = plain = plain.replaceAll(key, ERASED);
	}
	return shown;
}

/**
 * Creates a function that removes the last word of a truncated text if a secret begins in it.
 *
 * @param secrets as they are sent; one with fewer than 8 characters isn't removed
 */
export function createCutKeyEraser(secrets: string[]): (text: string) => string {
	const starts = erasable(secrets).map((key) => key.slice(0, SHORTEST_BEGINNING));
	return (text) => {
		const words = text.slice(-LONGEST_BEGINNING).split(/[\s"'<>]/);
		const word = words.at(-1) ?? '';
		const plain = word.replace(ESCAPE, meaningOf);
		const forms = [word, plain, plain.replace(ESCAPE, meaningOf)];
		const isKey = starts.some((start) => forms.some((form) => form.includes(start)));
		return isKey ? text.slice(0, text.length - word.length) + ERASED : text;
	};
}

/**
 * A copy of JSON without the key in its texts. Data stays unchanged, because it is fetched or sent
 * back, and a key that is a word may be part of it.
 *
 * @param isData whether a text under this name is data and no text for people
 * @param name of the field; that of a list for its entries
 */
export function eraseInJson(
	value: unknown,
	withoutKey: (text: string) => string,
	isData: (name: string, text: string) => boolean,
	name = '',
): unknown {
	if (Array.isArray(value)) {
		return value.map((entry) => eraseInJson(entry, withoutKey, isData, name));
	}
	if (isJsonObject(value)) {
		const fields = Object.entries(value);
		return Object.fromEntries(
			fields.map(([at, field]) => [withoutKey(at), eraseInJson(field, withoutKey, isData, at)]),
		);
	}
	if (typeof value !== 'string') return value;
	const erased = withoutKey(value);
	return erased !== ERASED && isData(name, value) ? value : erased;
}
