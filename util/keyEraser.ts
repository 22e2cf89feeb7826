import { isJsonObject } from './json';

/** The shortest key that is erased, in characters: a shorter key could be an ordinary word. */
const SHORTEST_KEY = 8;

/** The replacement of the key, which no gateway has in an address by itself. */
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

/** Whether a value stays as it came. @param name of the field; that of a list for its entries */
export type Stays = (name: string, value: unknown) => boolean;

/** A copy of JSON without secrets in its names and texts. @param erase removes them from a text */
export function eraseInJson(
	value: unknown,
	erase: (text: string) => string,
	stays: Stays = () => false,
	name = '',
): unknown {
	if (stays(name, value)) return value;
	if (Array.isArray(value)) return value.map((entry) => eraseInJson(entry, erase, stays, name));
	if (isJsonObject(value)) {
		const fields = Object.entries(value);
		return Object.fromEntries(
			fields.map(([at, field]) => [erase(at), eraseInJson(field, erase, stays, at)]),
		);
	}
	return typeof value === 'string' ? erase(value) : value;
}
