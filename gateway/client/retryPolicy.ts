import { isGood, retryAfterMs, type Fault, type Outcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { isQuotaRefusal } from '../protocol/quota';

/** How often one request is tried at the most; waiting for tasks has its own deadline instead. */
const MOST_ATTEMPTS = 6;

/** A gateway that only says "too often" is asked again for longer: the run's pace adapts to it. */
const MOST_THROTTLED_ATTEMPTS = 15;

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 20_000;

/** A `Retry-After` beyond this is no pause but an answer: the user is told instead. */
export const LONGEST_RETRY_AFTER_MS = 300_000;

export type Decision =
	| { again: false }
	/** `throttled`: the pause is for the whole run, not for this request alone. */
	| { again: true; afterMs: number; throttled: boolean };

/** Whether an outcome is a 429 for sending too often. */
export function isRateLimited(outcome: Outcome): boolean {
	return outcome.kind === 'answer' && outcome.httpCode === 429 && !isQuotaRefusal(outcome);
}

const PASSING_FAULTS: readonly Fault[] = [
	'refused',
	'notFound',
	'unconnected',
	'reset',
	'timeout',
	'other',
];

/** Whether the same question may bring an answer a little later. For requests that cost nothing. */
export function isTransient(outcome: Outcome): boolean {
	if (outcome.kind === 'fault') {
		return PASSING_FAULTS.includes(outcome.fault);
	}
	if (outcome.httpCode >= 500 || [408, 425, 429].includes(outcome.httpCode)) return true;
	// A page or half a document with status 200 comes from something between us and the gateway.
	return outcome.httpCode >= 200 && outcome.httpCode < 300 && !isGood(outcome);
}

/**
 * A pause that doubles with each attempt and is spread by chance, so that many requests that
 * failed together do not come back together.
 *
 * @param attempt 1 after the first attempt
 * @returns milliseconds
 */
export function backoffMs(attempt: number, random: number): number {
	const full = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
	return full * (0.5 + random / 2);
}

/**
 * Whether a plan is sent again after an outcome: the table of the design, section 4, in code. A
 * paid request is repeated only where the gateway cannot have accepted it.
 *
 * @param attempt how many attempts were made, this one included
 * @param quotaRefusals how many of them were refused for quota, this one included
 * @param random a number from 0 up to 1, for the spread of the pause
 * @param nowMs milliseconds since 1970, for `Retry-After` with a date
 */
export function decideRetry(
	plan: Pick<RequestPlan, 'paid'>,
	outcome: Outcome,
	attempt: number,
	quotaRefusals: number,
	random: number,
	nowMs: number,
): Decision {
	if (isGood(outcome)) return { again: false };
	const asked =
		outcome.kind === 'answer' ? retryAfterMs(outcome.headers['retry-after'], nowMs) : undefined;
	if (asked !== undefined && asked > LONGEST_RETRY_AFTER_MS) return { again: false };
	const afterMs = Math.max(asked ?? 0, backoffMs(attempt, random));

	if (isQuotaRefusal(outcome)) {
		return quotaRefusals <= 1 ? { again: true, afterMs, throttled: false } : { again: false };
	}
	if (isRateLimited(outcome)) {
		return attempt < MOST_THROTTLED_ATTEMPTS
			? { again: true, afterMs: asked ?? 0, throttled: true }
			: { again: false };
	}
	if (attempt >= MOST_ATTEMPTS) return { again: false };
	const mayBeSentAgain = plan.paid
		? outcome.kind === 'fault' && (outcome.fault === 'refused' || outcome.fault === 'notFound')
		: isTransient(outcome);
	return mayBeSentAgain ? { again: true, afterMs, throttled: false } : { again: false };
}
