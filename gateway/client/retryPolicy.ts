import { isGood, retryAfterMs, type Fault, type Outcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { isQuotaRefusal } from '../protocol/quota';

/** How often one request is tried at the most; waiting for tasks has its own deadline instead. */
const MOST_ATTEMPTS = 6;

/** A request over the rate limit is tried again for longer: the send rate adapts to the gateway. */
const MOST_RATE_LIMITED_ATTEMPTS = 15;

/**
 * After so many it goes before others, such as status checks, which would take what the gateway
 * accepts each time. Not from the first: where everything is refused, each try is to be another one.
 */
const ATTEMPTS_IN_TURN = 7;

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 20_000;

/** The same number of attempts within 5 s, where waiting longer is of no use. */
const FIRST_QUICK_PAUSE_MS = 150;
const MOST_QUICK_MS = 4800;

/** A `Retry-After` beyond this is too long to wait for: the user is told instead. */
export const LONGEST_RETRY_AFTER_MS = 300_000;

export type Decision =
	| { again: false }
	/**
	 * `rateLimited`: the pause is for the whole run, not for this request alone. `first`: the request
	 * goes before those that wait.
	 */
	| { again: true; afterMs: number; rateLimited: boolean; first?: boolean };

/** Whether an outcome is a 429 for sending too often. */
export function isRateLimited(outcome: Outcome): boolean {
	return outcome.kind === 'response' && outcome.httpCode === 429 && !isQuotaRefusal(outcome);
}

const PASSING_FAULTS: readonly Fault[] = [
	'refused',
	'notFound',
	'unconnected',
	'reset',
	'timeout',
	'other',
];

/** Whether the same request may succeed a little later. For requests that cost nothing. */
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
export function backoffMs(attempt: number, random: number, firstMs = FIRST_PAUSE_MS): number {
	const full = Math.min(LONGEST_PAUSE_MS, firstMs * 2 ** (attempt - 1));
	return full * (0.5 + random / 2);
}

/** What is known when it is decided whether a plan is sent again. */
export interface Attempted {
	plan: Pick<RequestPlan, 'paid'>;
	/** Of the last attempt. */
	outcome: Outcome;
	/** How many were made. */
	attempts: number;
	/** How many of them were refused for quota. */
	quotaRefusals: number;
	/** From 0 up to, but not including, 1: for the spread of the pause. */
	random: number;
	/** Milliseconds since 1970, for `Retry-After` with a date. */
	nowMs: number;
	/**
	 * Set where the address is likely to be wrong (`isLikelyWrongAddress`): for how long nothing of
	 * use has come from it, in milliseconds.
	 */
	nothingForMs?: number;
}

/**
 * Whether an outcome is what a wrong address gives: no connection at all, or a web page. A gateway
 * that restarts gives the same, so it depends on whether anything has come from that address before.
 */
export function isLikelyWrongAddress(outcome: Outcome): boolean {
	if (outcome.kind === 'fault') return OF_WRONG_ADDRESSES.includes(outcome.fault);
	return outcome.httpCode >= 200 && outcome.httpCode < 300 && !isGood(outcome);
}

const OF_WRONG_ADDRESSES: readonly Fault[] = [
	'refused',
	'notFound',
	'unconnected',
	'reset',
	'other',
];

/**
 * Whether a plan is sent again after an outcome: the table of the design, section 4, in code. A
 * paid request is repeated only where the gateway cannot have accepted it.
 */
export function decideRetry({
	plan,
	outcome,
	attempts,
	quotaRefusals,
	random,
	nowMs,
	nothingForMs,
}: Attempted): Decision {
	if (isGood(outcome)) return { again: false };
	const asked =
		outcome.kind === 'response' ? retryAfterMs(outcome.headers['retry-after'], nowMs) : undefined;
	if (asked !== undefined && asked > LONGEST_RETRY_AFTER_MS) return { again: false };
	const isQuick = nothingForMs !== undefined;
	const firstMs = isQuick ? FIRST_QUICK_PAUSE_MS : FIRST_PAUSE_MS;
	const afterMs = Math.max(asked ?? 0, backoffMs(attempts, random, firstMs));

	if (isQuotaRefusal(outcome)) {
		return quotaRefusals <= 1 ? { again: true, afterMs, rateLimited: false } : { again: false };
	}
	if (isRateLimited(outcome)) {
		return attempts < MOST_RATE_LIMITED_ATTEMPTS
			? {
					again: true,
					afterMs: asked ?? 0,
					rateLimited: true,
					first: attempts >= ATTEMPTS_IN_TURN,
				}
			: { again: false };
	}
	if (attempts >= MOST_ATTEMPTS) return { again: false };
	if (isQuick && nothingForMs + afterMs > MOST_QUICK_MS) return { again: false };
	const mayBeSentAgain = plan.paid
		? outcome.kind === 'fault' && (outcome.fault === 'refused' || outcome.fault === 'notFound')
		: isTransient(outcome);
	return mayBeSentAgain ? { again: true, afterMs, rateLimited: false } : { again: false };
}
