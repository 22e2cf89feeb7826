import { isJsonObject } from './json';

/** In characters: a longer address isn't read, and of a longer text only the beginning. */
const LONGEST_ADDRESS = 2000;
const LONGEST_TEXT = 20_000;
/** The most addresses of a response that are shown. */
const MOST_SHOWN = 5;
/** The most addresses of a value that are read. */
const MOST_ADDRESSES = 100;
/** The deepest level of a value that is searched. */
const DEEPEST = 50;

/** Names of what is no source in a request: its prompt, and where its result is to be put. */
const NO_SOURCE =
	/^(negative_?)?prompts?$|^text$|output|result|upload(?!ed)|(^|_)put|save|destination|webhook|callback/i;

/** The http addresses in the fields of a request that may be those of its images, each once. */
export const sourcesIn = (fields: unknown): string[] =>
	addressesIn(fields, MOST_ADDRESSES, NO_SOURCE);

/** The http addresses in the texts of a JSON value, each once, but for the fields of some names. */
function addressesIn(value: unknown, most: number, unread?: RegExp): string[] {
	const found = new Set<string>();
	const search = (part: unknown, depth: number): void => {
		if (found.size >= most || depth > DEEPEST) return;
		const inside = Array.isArray(part) || isJsonObject(part) ? Object.entries(part) : [];
		for (const [name, field] of inside) {
			if (unread?.test(name) !== true) search(field, depth + 1);
		}
		if (typeof part !== 'string') return;
		for (const address of addressesOf(part.slice(0, LONGEST_TEXT).trim())) {
			if (address.length <= LONGEST_ADDRESS && found.size < most) found.add(address);
		}
	};
	search(value, 0);
	return [...found];
}

/** The addresses in a text. In a sentence, brackets around one don't belong to it. */
const addressesOf = (text: string): string[] =>
	/^https?:\/\/\S+$/i.test(text) ? [text] : (text.match(/https?:\/\/[^\s"'<>()[\]\\]+/gi) ?? []);

/** The addresses in a response as the end of a text, one of which may be what was paid for. */
export function namedAddresses(response: unknown): string {
	const found = addressesIn(response, MOST_SHOWN);
	return found.length === 0 ? '' : ` The response names ${found.join(' , ')}`;
}
