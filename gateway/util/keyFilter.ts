import { createKeyEraser, lengthOfBeginning, SHORTEST_KEY } from './keyEraser';

/** Removes the key from a text that arrives in pieces. */
export interface KeyFilter {
	/** Adds a piece. @returns the text to show so far */
	add(piece: string): string;
	/** @returns the withheld text at the end */
	rest(): string;
}

/**
 * Creates a filter that withholds the end of a text that may be the beginning of the key, until
 * more is known; never more than the length of the key.
 *
 * @param withoutKey removes a complete key from a text
 */
export function createKeyFilter(key: string, withoutKey: (text: string) => string): KeyFilter {
	if (key.length < SHORTEST_KEY) return { add: (piece) => piece, rest: () => '' };
	let held = '';
	return {
		add: (piece) => {
			const text = withoutKey(held + piece);
			const length = lengthOfBeginning(text, key.slice(0, -1));
			held = text.slice(text.length - length);
			return text.slice(0, text.length - length);
		},
		rest: () => {
			const text = held;
			held = '';
			return text;
		},
	};
}

/** The same for several secrets. */
export function createKeyFilters(secrets: string[]): KeyFilter {
	const filters = secrets.map((secret) => createKeyFilter(secret, createKeyEraser(secret)));
	return {
		add: (piece) => filters.reduce((text, filter) => filter.add(text), piece),
		rest: () => filters.reduce((text, filter) => filter.add(text) + filter.rest(), ''),
	};
}
