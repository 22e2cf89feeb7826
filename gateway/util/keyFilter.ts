import { lengthOfBeginning, SHORTEST_KEY } from './keyEraser';

/** Gives out a text that arrives in pieces, without the key. */
export interface KeyFilter {
	/** Takes in a piece. @returns what can be shown of everything so far */
	add(piece: string): string;
	/** @returns what was held back, when nothing more will come */
	rest(): string;
}

/**
 * Keeps a key from being shown where a gateway quotes it in pieces: what may be its beginning is
 * held back until more of the text is known. That is never more than the key is long.
 *
 * @param withoutKey takes the key out of a text that holds all of it
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
