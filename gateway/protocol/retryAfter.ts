import type { Outcome } from './outcome';

/** The pause in a response's `Retry-After`, or in the words of a 429, in milliseconds; undefined if there is none. */
export function requestedPauseMs(outcome: Outcome, now: number): number | undefined {
	if (outcome.kind === 'fault') return undefined;
	const { httpCode, headers, text } = outcome;
	const inHeader = retryAfterMs(headers['retry-after'], now);
	return inHeader ?? (httpCode === 429 ? pauseInWords(text) : undefined);
}

/** In characters: what of a body is searched for a time. */
const LONGEST_SEARCHED = 2000;

const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A time such as `6h12m0s` or `2 minutes`, behind words that say that it is a pause, and not how often. */
const IN_WORDS =
	/\b(?:again|retry|resets?|wait)(?:[ _"':]|in|after|for|at|least|about|another|delay|your|request){0,12}?((?:\d{1,7}(?:\.\d{1,9})? ?(?:ms|s|m|h|d|(?:sec|second|min|minute|hr|hour|day)s?)(?![a-z])[, ]{0,2}){1,4})/i;
const PART = /(\d{1,7}(?:\.\d{1,9})?) ?(ms|[a-z])/gi;
/** A longer time in a field of a body may be one in milliseconds: four hours. */
const LONGEST_SECONDS = 14_400;
const FIELD = /\bretry_?after"?\s{0,3}:\s{0,3}"?(\d{1,7}(?:\.\d{1,9})?)(?![\w.-])/i;

/** The pause that a body asks for, in a field or in words. */
function pauseInWords(body: string): number | undefined {
	const said = body.slice(0, LONGEST_SEARCHED);
	const seconds = Number(FIELD.exec(said)?.[1]);
	// Some gateways write milliseconds there.
	if (seconds >= 0 && seconds <= LONGEST_SECONDS) return seconds * 1000;
	const time = IN_WORDS.exec(said)?.[1] ?? '';
	const parts = [...time.matchAll(PART)];
	if (parts.length === 0) return undefined;
	const unitMs = (unit = ''): number => UNIT_MS[unit.toLowerCase()] ?? 0;
	const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitMs(unit), 0);
	return ms <= A_MONTH_MS ? ms : undefined;
}

/** In characters: no date is longer. */
const LONGEST_RETRY_AFTER = 64;
const A_MONTH_MS = 31 * 86_400_000;

/**
 * The pause in a `Retry-After`, in milliseconds. Its value is seconds, or an HTTP date. Undefined if it is
 * missing, invalid, in the past, or more than a month.
 *
 * @param now milliseconds since 1970
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
	if (header === undefined || header.length > LONGEST_RETRY_AFTER) return undefined;
	if (header.trim() === '') return undefined;
	const seconds = Number(header);
	const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000;
	return ms >= 0 && ms <= A_MONTH_MS ? ms : undefined;
}
