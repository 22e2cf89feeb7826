import { askedPauseMs, isGood, type Fault, type Outcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { isQuotaRefusal } from '../protocol/quota';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 20_000;

/** The same number of attempts within 5 s, where waiting longer is of no use. */
const FIRST_QUICK_PAUSE_MS = 150;
const MOST_QUICK_MS = 4800;

/** A `Retry-After` beyond this is too long to wait for: the user is told instead. */
export const LONGEST_RETRY_AFTER_MS = 300_000;

export type Decision =
	| { again: false }
	/** `rateLimited`: the pause is for the whole run, not for this request alone. */
	| { again: true; afterMs: number; rateLimited: boolean };

/** Whether an outcome is a 429 for sending too often. */
export function isRateLimited(outcome: Outcome): boolean {
	return outcome.kind === 'response' && outcome.httpCode === 429 && !isQuotaRefusal(outcome);
}

const isFault =
	(...faults: Fault[]) =>
	(outcome: Outcome): boolean =>
		outcome.kind === 'fault' && faults.includes(outcome.fault);

const isStatus =
	(matches: (httpCode: number) => boolean) =>
	(outcome: Outcome): boolean =>
		outcome.kind === 'response' && matches(outcome.httpCode);

const isSuccess = isStatus((code) => code >= 200 && code < 300);

interface RetryRule {
	/** How many attempts a paid request gets in all, and how many any other; 0: it is not sent again. */
	paid: number;
	free: number;
	/** Which outcomes the rule is about. */
	after: (outcome: Outcome) => boolean;
	/** What the attempts are counted by, if not by all. */
	counted?: 'quotaRefusals';
	/** Whether the pause is for the whole run. */
	rateLimited?: true;
}

/**
 * What is sent again: the first rule that fits an outcome holds. A paid request is repeated only
 * where the gateway cannot have accepted it; a status check, a listing or a download wherever the
 * same request may succeed a little later.
 */
// prettier-ignore
const RETRY_RULES: readonly RetryRule[] = [
	{ paid: 0,  free: 0,  after: isGood },
	{ paid: 2,  free: 2,  after: isQuotaRefusal, counted: 'quotaRefusals' },
	// The send rate adapts to the gateway, and more attempts help.
	{ paid: 15, free: 15, after: isRateLimited, rateLimited: true },
	{ paid: 6,  free: 6,  after: isFault('refused', 'notFound') },
	{ paid: 0,  free: 6,  after: isFault('unconnected', 'reset', 'timeout', 'other') },
	{ paid: 0,  free: 6,  after: isStatus((code) => code === 408 || code === 425 || code >= 500) },
	// A page or half a document with status 200 comes from something between us and the gateway.
	{ paid: 0,  free: 6,  after: isSuccess },
	// The same request gets the same again: other statuses, certificates, too large a response.
	{ paid: 0,  free: 0,  after: () => true },
];

const ruleFor = (outcome: Outcome): RetryRule =>
	RETRY_RULES.find(({ after }) => after(outcome)) as RetryRule;

/** Whether the same request may succeed a little later. For requests that cost nothing. */
export function isTransient(outcome: Outcome): boolean {
	return ruleFor(outcome).free > 0;
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

const isConnectionFault = isFault('refused', 'notFound', 'unconnected', 'reset', 'other');

/**
 * Whether an outcome is what a wrong address gives: no connection at all, or a web page. A gateway
 * that restarts gives the same, so it depends on whether anything has come from that address before.
 */
export function isLikelyWrongAddress(outcome: Outcome): boolean {
	return isConnectionFault(outcome) || (isSuccess(outcome) && !isGood(outcome));
}

/**
 * Whether a plan is sent again after an outcome, as `RETRY_RULES` say, and after which pause. A
 * `Retry-After` of more than five minutes, and a wrong address for five seconds, end it early.
 */
export function decideRetry(attempted: Attempted): Decision {
	const { plan, outcome, attempts, random, nowMs, nothingForMs } = attempted;
	const { paid, free, counted = 'attempts', rateLimited = false } = ruleFor(outcome);
	if (attempted[counted] >= (plan.paid ? paid : free)) return { again: false };
	const asked = askedPauseMs(outcome, nowMs) ?? 0;
	if (asked > LONGEST_RETRY_AFTER_MS) return { again: false };
	if (rateLimited) return { again: true, afterMs: asked, rateLimited };
	const firstMs = nothingForMs === undefined ? FIRST_PAUSE_MS : FIRST_QUICK_PAUSE_MS;
	const afterMs = Math.max(asked, backoffMs(attempts, random, firstMs));
	const isTooLate = nothingForMs !== undefined && nothingForMs + afterMs > MOST_QUICK_MS;
	return isTooLate ? { again: false } : { again: true, afterMs, rateLimited };
}
