import { createKeyEraser, erasable } from './keyEraser';

/** Removes secrets from a text that arrives in pieces. */
export interface KeyFilter {
	/** Adds a piece. @returns the text to show so far */
	add(piece: string): string;
	/** @returns the withheld text at the end */
	rest(): string;
}

/**
 * Creates a filter that withholds the end of a text that may be the beginning of a secret, until
 * more is known; never more than the length of a secret.
 */
export function createKeyFilter(secrets: string[]): KeyFilter {
	const withoutKeys = createKeyEraser(secrets);
	// Without the last character, as a whole key has been removed already.
	const beginnings = erasable(secrets).map((key) => key.slice(0, -1));
	let held = '';
	return {
		add: (piece) => {
			const text = withoutKeys(held + piece);
			const shown = text.length - Math.max(0, ...beginnings.map((key) => lengthAtEnd(text, key)));
			held = text.slice(shown);
			return text.slice(0, shown);
		},
		rest: () => {
			const text = held;
			held = '';
			return text;
		},
	};
}

/** The length of the longest beginning of a key at the end of a text, in characters. */
function lengthAtEnd(text: string, key: string): number {
	let length = Math.min(key.length, text.length);
	while (!text.endsWith(key.slice(0, length))) length -= 1;
	return length;
}
