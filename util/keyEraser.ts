import { isJsonObject } from './json';

/** The shortest key that is erased, in characters: a shorter key could be an ordinary word. */
const SHORTEST_KEY = 8;

/** The replacement of the key. */
export const ERASED = '***';

/** The secrets that are removed, the longest first, because it may contain another one. */
export const erasable = (secrets: string[]): string[] =>
	secrets
		.filter(({ length }) => length >= SHORTEST_KEY)
		.sort((one, other) => other.length - one.length);

/** A key as it is, in JSON (some writers escape slashes), and percent-encoded, in either case. */
function formsOf(key: string): Set<string> {
	const inJson = JSON.stringify(key).slice(1, -1);
	// Half of a character can't be percent-encoded.
	const encoded = encodeURIComponent(key.replace(/\p{Surrogate}/gu, ''));
	const inSmallLetters = encoded.replace(/%../g, (escape) => escape.toLowerCase());
	return new Set([key, inJson, inJson.replaceAll('/', '\\/'), encoded, inSmallLetters]);
}

/**
 * Creates a function that removes secrets from texts that people read, because some gateways quote
 * them. Takes linear time.
 *
 * @param secrets as they are sent; one with fewer than 8 characters isn't removed
 */
export function createKeyEraser(secrets: string[]): (text: string) => string {
	const forms = erasable(secrets).flatMap((key) => [...formsOf(key)]);
	return (text) => forms.reduce((rest, form) => rest.replaceAll(form, ERASED), text);
}

/** Removes the key from the text of a field. */
export type EraseField = (text: string, field: string) => string;

/**
 * A copy of JSON without the key in its names and texts.
 *
 * @param name of the field; that of a list for its entries
 */
export function eraseInJson(value: unknown, erase: EraseField, name = ''): unknown {
	if (Array.isArray(value)) return value.map((entry) => eraseInJson(entry, erase, name));
	if (isJsonObject(value)) {
		const fields = Object.entries(value);
		return Object.fromEntries(
			fields.map(([at, field]) => [erase(at, ''), eraseInJson(field, erase, at)]),
		);
	}
	return typeof value === 'string' ? erase(value, name) : value;
}
