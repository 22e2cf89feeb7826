import { nonEmptyString } from './json';

const LONGEST_QUOTE = 300;
const LONGEST_READ = 2000;
/** Control characters, those that turn the direction of writing, and halves of characters. */
const INVISIBLE = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/gu;
const KEY = /\bsk-[\w-]{6,}/gi;
const BEARER = /(\bbearer\s+)[\w.~+/=-]{12,}/gi;

/** The first of these that is a text with something in it, as it may be shown. */
export function firstText(candidates: unknown[]): string | undefined {
	const text = candidates.map(nonEmptyString).find((candidate) => candidate !== undefined);
	if (text === undefined) return undefined;
	const read = text.slice(0, LONGEST_READ);
	const shown = quote(read.replace(KEY, '…').replace(BEARER, '$1…'));
	return shown === '' ? undefined : shown;
}

/** Foreign text made fit to stand in a sentence: no markup, nothing invisible, not too long. */
export function quote(text: string): string {
	const plain = text
		// Enough to fill a quotation, and never so much that looking through it takes time.
		.slice(0, LONGEST_READ)
		.replace(INVISIBLE, ' ')
		.replace(/<[a-z/!?][^>]*(>|$)/gi, ' ')
		.replace(/\s+/g, ' ')
		.trim();
	const characters = Array.from(plain);
	return characters.length > LONGEST_QUOTE
		? `${characters.slice(0, LONGEST_QUOTE).join('')}…`
		: plain;
}

/** A text without the characters at its start, and at its end, that the patterns match; in linear time. */
export function trimBy(text: string, start: RegExp, end = start): string {
	const characters = Array.from(text);
	const from = characters.findIndex((character) => !start.test(character));
	const to = characters.findLastIndex((character) => !end.test(character));
	return from < 0 ? '' : characters.slice(from, to + 1).join('');
}

/** A text for where HTML is rendered, whose markup is shown instead of rendered. */
export function escapeHtml(text: string): string {
	return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** As much of a response is kept as may hold an ID, in characters. */
const LONGEST_EXCERPT = 2048;
/** No ID is longer than this, in characters; images that come inside a response are. */
const BASE64 = /[\w+/=-]+/g;
const LONGEST_ID = 400;

/**
 * How a response begins, for whoever looks for what was paid for: up to 2,048 characters, images
 * left out. Undefined where nothing came.
 */
export function excerpt(text: string | undefined): string | undefined {
	if (text === undefined || text.trim() === '') return undefined;
	return text
		.slice(0, 8 * LONGEST_EXCERPT)
		.replace(BASE64, (word) => (word.length < LONGEST_ID ? word : '…'))
		.slice(0, LONGEST_EXCERPT)
		.replace(/\p{Cs}$/u, '');
}
