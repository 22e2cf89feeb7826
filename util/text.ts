import { nonEmptyString } from './json';

const LONGEST_QUOTE = 300;
const LONGEST_READ = 2000;
/**
 * Invisible characters: control and zero-width characters, characters that change the writing
 * direction, and unpaired surrogates.
 */
const INVISIBLE = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/gu;
const KEY = /\bsk-[\w-]{6,}/gi;
const BEARER = /(\bbearer\s+)[\w.~+/=-]{12,}/gi;

/** The first candidate that is a text with content, made fit to be shown. */
export function firstText(candidates: unknown[]): string | undefined {
	const text = candidates.map(nonEmptyString).find((candidate) => candidate !== undefined);
	if (text === undefined) return undefined;
	return nonEmptyString(quote(withoutSecrets(text.slice(0, LONGEST_READ))));
}

/** A word however it is written: `TEXT_TO_IMAGE`, `text-to-image`, ` Image `. */
export const asWord = (text: string): string => text.trim().toLowerCase().replace(/[ -]/g, '_');

/** A number with its noun. */
export const counted = (count: number, noun: string): string =>
	`${count} ${count === 1 ? noun : `${noun}s`}`;

/** A text for the beginning of a sentence. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A text without what looks like a key. */
const withoutSecrets = (text: string): string => text.replace(KEY, '…').replace(BEARER, '$1…');

/** A foreign text for a sentence: without markup and invisible characters, and shortened. */
export function quote(text: string): string {
	const plain = text
		// Enough for a quotation, and short enough for patterns.
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

/**
 * A text without the characters that the patterns match at its start and end, in linear time. Those
 * of two UTF-16 units, such as emoji, stay.
 */
export function trimBy(text: string, start: RegExp, end = start): string {
	let from = 0;
	let to = text.length;
	while (from < to && start.test(text.charAt(from))) from += 1;
	while (from < to && end.test(text.charAt(to - 1))) to -= 1;
	return text.slice(from, to);
}

/** A text as one line of a log: a line break in a foreign name would begin a line of its own. */
export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ');

/** A text for HTML, in which its markup is shown and not rendered. */
export function escapeHtml(text: string): string {
	return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** In characters: enough of a response to contain an ID. */
export const LONGEST_EXCERPT = 2048;
/**
 * Runs of Base64 characters: one shorter than `LONGEST_ID` characters may be an ID, a longer one is
 * an inline image.
 */
const BASE64 = /[\w+/=-]+/g;
const LONGEST_ID = 400;

/**
 * The beginning of a response, in which a person may find what was paid for: up to 2,048 characters
 * without images. Undefined without a response.
 */
export function excerpt(text: string | undefined): string | undefined {
	if (text === undefined || text.trim() === '') return undefined;
	return text
		.slice(0, 8 * LONGEST_EXCERPT)
		.replace(BASE64, (word) => (word.length < LONGEST_ID ? word : '…'))
		.slice(0, LONGEST_EXCERPT)
		.replace(/\p{Cs}$/u, '');
}

/** The gateway's own words as the end of a sentence; empty where there are none. */
export const afterColon = (said: string | undefined): string =>
	said === undefined ? '' : `: ${said}`;
