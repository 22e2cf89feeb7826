import { isJsonObject } from './json';

/** In characters: a longer address isn't shown, and of a longer text only the beginning is read. */
const LONGEST_SHOWN = 2000;
const LONGEST_TEXT = 20_000;
/** The most addresses of a response that are shown. */
const MOST_ADDRESSES = 5;
/** The deepest level of a response that is searched. */
const DEEPEST = 50;

/** Finds the http addresses in the texts of a JSON value: one of them may be what was paid for. */
function search(value: unknown, found: Set<string>, depth: number): void {
	if (found.size >= MOST_ADDRESSES || depth > DEEPEST) return;
	if (Array.isArray(value)) value.forEach((entry) => search(entry, found, depth + 1));
	if (isJsonObject(value)) {
		Object.values(value).forEach((field) => search(field, found, depth + 1));
	}
	if (typeof value !== 'string') return;
	for (const [address] of value.slice(0, LONGEST_TEXT).matchAll(/https?:\/\/[^\s"'<>()[\]\\]+/gi)) {
		const isShown = address.length <= LONGEST_SHOWN && found.size < MOST_ADDRESSES;
		if (isShown) found.add(address);
	}
}

/** The addresses in a response as the end of a text; empty where there are none. */
export function namedAddresses(response: unknown): string {
	const found = new Set<string>();
	search(response, found, 0);
	return found.size === 0 ? '' : ` The response names ${[...found].join(' , ')}`;
}
