import { isJsonObject } from './json';

/** What is as short as a word is no key, and would take words away. */
export const SHORTEST_KEY = 8;

/** What is put in the place of the key. */
const ERASED = '***';

/** An escape of JSON (`\/`, `\u002d`), of an address (`%2D`) or of a web page (`&#45;`, `&amp;`). */
const ESCAPE =
	/\\{1,7}(?:u00|x)[0-9a-f]{2}|\\{1,7}["\\/]|%(?:25){0,3}[0-9a-f]{2}|&#(?:x[0-9a-f]{2}|[0-9]{2,3});|&(?:amp|lt|gt|quot);/gi;

/** How often it is looked for escapes in what an escape stood for: an address in JSON. */
const LAYERS = 2;

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' };

/** In characters: a shorter beginning of a key may as well be a word. */
const SHORTEST_BEGINNING = 4;

/** In characters, escapes included: more of a key is not looked for at the end of a text. */
const LONGEST_BEGINNING = 2000;

/** The character that an escape stands for. */
function meaningOf(escape: string): string {
	const hex = /^(?:\\+[ux]|%|&#x)[0-9a-f]*?([0-9a-f]{2});?$/i.exec(escape)?.[1];
	if (hex !== undefined) return String.fromCharCode(parseInt(hex, 16));
	if (escape.startsWith('&#')) return String.fromCharCode(parseInt(escape.slice(2), 10));
	return ENTITIES[escape.slice(1, -1).toLowerCase()] ?? escape.slice(-1);
}

/**
 * Makes the function that takes a key out of texts that people read: some gateways quote the key
 * that they refuse. A text in which characters of the key are escaped comes back without escapes.
 * In time that grows with the length of the text.
 *
 * @param key as it is sent; nothing is erased where it has less than 8 characters
 */
export function createKeyEraser(key: string): (text: string) => string {
	if (key.length < SHORTEST_KEY) return (text) => text;
	return (text) => {
		let shown = text.replaceAll(key, ERASED);
		let plain = shown;
		for (let layer = 0; layer < LAYERS && /[\\%&]/.test(plain); layer += 1) {
			plain = plain.replace(ESCAPE, meaningOf);
			if (plain.includes(key)) shown = plain = plain.replaceAll(key, ERASED);
		}
		return shown;
	};
}

/**
 * Makes the function that takes the last word of a text away in which a key begins: what follows was
 * cut off.
 *
 * @param key as it is sent; nothing is taken away where it has less than 8 characters
 */
export function createCutKeyEraser(key: string): (text: string) => string {
	if (key.length < SHORTEST_KEY) return (text) => text;
	const start = key.slice(0, SHORTEST_BEGINNING);
	return (text) => {
		const words = text.slice(-LONGEST_BEGINNING).split(/[\s"'<>]/);
		const word = words.at(-1) ?? '';
		const plain = word.replace(ESCAPE, meaningOf);
		const isKey = [word, plain, plain.replace(ESCAPE, meaningOf)].some((one) =>
			one.includes(start),
		);
		return isKey ? text.slice(0, text.length - word.length) + ERASED : text;
	};
}

/** How much of the beginning of a key stands at the end of a text, in characters. */
export function lengthOfBeginning(text: string, key: string): number {
	let length = Math.min(key.length, text.length);
	while (!text.endsWith(key.slice(0, length))) length -= 1;
	return length;
}

/**
 * A copy of JSON without the key in its texts. Addresses stay as they are, because they are fetched:
 * a key that is a word may be a part of their path.
 */
export function eraseInJson(value: unknown, withoutKey: (text: string) => string): unknown {
	if (typeof value === 'string') return withoutKey(value);
	if (Array.isArray(value)) return value.map((entry) => eraseInJson(entry, withoutKey));
	if (!isJsonObject(value)) return value;
	return Object.fromEntries(
		Object.entries(value).map(([name, field]) => {
			const isAddress =
				name === 'url' && typeof field === 'string' && /^\s*(https?:|data:|\/)/i.test(field);
			return [withoutKey(name), isAddress ? field : eraseInJson(field, withoutKey)];
		}),
	);
}
