import type { Outcome } from './outcome';

/**
 * Headers with the pause, in this order. The reset headers also come with responses that refuse
 * nothing.
 */
const RETRY_AFTER = ['retry-after'];
const RETRY_AFTER_OR_RESET = [...RETRY_AFTER, 'ratelimit-reset', 'x-ratelimit-reset'];

/** The pause in a response's headers, in milliseconds; undefined if there is none. */
export function requestedPauseMs(outcome: Outcome, now: number): number | undefined {
	if (outcome.kind === 'fault') return undefined;
	const { httpCode, headers } = outcome;
	const names = httpCode === 429 || httpCode === 503 ? RETRY_AFTER_OR_RESET : RETRY_AFTER;
	return names
		.map((name) => retryAfterMs(headers[name], now))
		.find((pauseMs) => pauseMs !== undefined);
}

/** In characters: no date is longer. */
const LONGEST_RETRY_AFTER = 64;
const A_MONTH_MS = 31 * 86_400_000;

/**
 * The pause in a `Retry-After` or reset header, in milliseconds. Its value is seconds, an HTTP
 * date, or (above a month) seconds since 1970. Undefined if it is missing, invalid, in the past, or
 * more than a month.
 *
 * @param now milliseconds since 1970
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
	if (header === undefined || header.length > LONGEST_RETRY_AFTER) return undefined;
	if (header.trim() === '') return undefined;
	const ms = Number(header) * 1000;
	if (ms <= A_MONTH_MS) return ms >= 0 ? ms : undefined;
	const fromNow = (Number.isNaN(ms) ? Date.parse(header) : ms) - now;
	return fromNow > 0 && fromNow <= A_MONTH_MS ? fromNow : undefined;
}
