/** The shortest key that is erased, in characters: a shorter key could be an ordinary word. */
const SHORTEST_KEY = 8;

/** A key that is a word, for a server that needs none: it may be in any text. */
const WORD = /^[A-Z]?[a-z _-]{1,12}$/;

/** The replacement of the key, which no gateway has in an address by itself. */
export const ERASED = '***';

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
 * @param secrets as they are sent; one with fewer than 8 characters, or that is a word, isn't removed
 */
export function createKeyEraser(secrets: string[]): (text: string) => string {
	const forms = secrets
		.filter((key) => key.length >= SHORTEST_KEY && !WORD.test(key))
		// The longest first, because it may contain another one.
		.sort((one, other) => other.length - one.length)
		.flatMap((key) => [...formsOf(key)]);
	return (text) =>
		forms.reduce(
			withoutCut,
			forms.reduce((rest, form) => rest.replaceAll(form, ERASED), text),
		);
}

/** A text without a form of a key that was cut off in its second half. */
function withoutCut(text: string, form: string): string {
	const half = Math.max(SHORTEST_KEY, Math.ceil(form.length / 2));
	const [start = '', ...rest] = text.split(form.slice(0, half));
	const ending = form.slice(half);
	return start + rest.map((part) => ERASED + part.slice(lengthInCommon(part, ending))).join('');
}

function lengthInCommon(one: string, other: string): number {
	let length = 0;
	while (length < other.length && one[length] === other[length]) length += 1;
	return length;
}

/** A copy of a value without secrets in its texts and names. @param erase removes them from a text */
export function eraseIn<T>(value: T, erase: (text: string) => string): T;
export function eraseIn(value: unknown, erase: (text: string) => string): unknown {
	if (typeof value === 'string') return erase(value);
	if (Array.isArray(value)) return value.map((entry: unknown) => eraseIn(entry, erase));
	if (!isPlain(value)) return value;
	const fields = Object.entries(value);
	return Object.fromEntries(fields.map(([name, field]) => [erase(name), eraseIn(field, erase)]));
}

/** Whether a value is an object of JSON: an item may also have dates of an expression. */
function isPlain(value: unknown): value is object {
	if (typeof value !== 'object' || value === null) return false;
	const prototype: unknown = Object.getPrototypeOf(value);
	return prototype === null || Object.getPrototypeOf(prototype) === null;
}
