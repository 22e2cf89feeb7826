import { requestedPauseMs } from '../protocol/retryAfter';
import { keyConflict } from '../protocol/idempotency';
import { isGood, isOverloaded, isSuccess, type Outcome } from '../protocol/outcome';
import type { Fault } from '../protocol/networkFault';
import type { RequestPlan } from '../protocol/requestPlan';
import { is429ForQuota } from '../responses/quota';

const FIRST_PAUSE_MS = 1000;
const LONGEST_BACKOFF_MS = 20_000;

/** A longer `Retry-After` isn't waited for: the request fails with an error that says so. */
export const LONGEST_RETRY_AFTER_MS = 300_000;

/** The tries of a free request, and those of any request that is refused for the rate. */
export const MOST_FREE_TRIES = 6;
export const MOST_RATE_REFUSALS = 15;

/** The attempts while a gateway is busy with the request of the same key: about five minutes. */
const MOST_KEY_WAITS = 24;

type Decision =
	| { again: false }
	/** `rateLimited`: the rate limiter makes the pause, for all requests to the gateway. */
	| { again: true; afterMs: number; rateLimited: boolean };

/** What a rule asks a plan. */
type RuledPlan = Pick<RequestPlan, 'call' | 'isIdempotent'>;

/**
 * Whether a gateway takes no more for now: a 429 for the rate limit, not for quota or the request's key,
 * or an overload.
 */
export function isRateLimited(outcome: Outcome, plan?: RuledPlan): boolean {
	if (isOverloaded(outcome, plan?.call)) return true;
	const is429 = outcome.kind === 'response' && outcome.httpCode === 429;
	return is429 && !is429ForQuota(outcome) && conflictOf(outcome, plan) === undefined;
}

/** What a response says about the key of its request, if that has one. */
const conflictOf = (outcome: Outcome, plan?: RuledPlan): ReturnType<typeof keyConflict> =>
	plan?.isIdempotent === true && outcome.kind === 'response' ? keyConflict(outcome) : undefined;

const isFault =
	(...faults: Fault[]) =>
	(outcome: Outcome): boolean =>
		outcome.kind === 'fault' && faults.includes(outcome.fault);

const isStatus =
	(matches: (httpCode: number) => boolean) =>
	(outcome: Outcome): boolean =>
		outcome.kind === 'response' && matches(outcome.httpCode);

interface RetryRule {
	/** The maximum number of attempts of a paid request, and of a free one; 0 means no retry. */
	paid: number;
	free: number;
	/** That of a paid request with an idempotency key, where it is another one. */
	keyed?: number;
	/** Whether the rule applies to an outcome. */
	after: (outcome: Outcome, plan?: RuledPlan) => boolean;
	/** The counter that is compared with the maximum; by default all attempts but those refused for the rate. */
	counted?: 'quotaRefusals' | 'refusalsInARow';
	/** Whether the pause applies to all requests to the gateway. */
	rateLimited?: true;
}

/**
 * Which outcomes are retried: the first rule that matches an outcome decides. A paid request is
 * retried only if the gateway can't have accepted it, unless it knows the payment by a key; a listing, a
 * download or a single status check, whenever the same request may succeed a little later. The poller of
 * a wait asks again by itself, and as often as it likes: by `free` it only knows which errors may pass
 * (`isTransient`).
 */
// prettier-ignore
const RETRY_RULES: readonly RetryRule[] = [
	// Before a good outcome: an error can come in place of a message, with a success status. The send rate
	// adapts, so more attempts help.
	{ paid: MOST_RATE_REFUSALS, free: MOST_RATE_REFUSALS, after: isRateLimited, counted: 'refusalsInARow', rateLimited: true },
	{ paid: 0, free: 0, after: isGood },
	{ paid: 2, free: 2, after: is429ForQuota, counted: 'quotaRefusals' },
	{ paid: 0, free: 0, keyed: MOST_KEY_WAITS, after: (outcome, plan) => conflictOf(outcome, plan) === 'inProgress' },
	{ paid: 6, free: MOST_FREE_TRIES, after: isFault('refused', 'notFound', 'unconnected') },
	// It was never sent either, but six whole timeouts may be half an hour.
	{ paid: 0, free: MOST_FREE_TRIES, after: isFault('connectTimeout') },
	{ paid: 0, free: MOST_FREE_TRIES, keyed: 3, after: isFault('timeout') },
	{ paid: 0, free: MOST_FREE_TRIES, keyed: 6, after: isFault('reset', 'other') },
	{ paid: 0, free: MOST_FREE_TRIES, keyed: 6, after: isStatus((code) => code === 408 || code === 425 || code >= 500) },
	// An unusable response with status 200 comes from something between n8n and the gateway.
	{ paid: 0, free: MOST_FREE_TRIES, keyed: 6, after: isStatus(isSuccess) },
	// A retry would bring the same result: other statuses, certificates, too large a response.
	{ paid: 0, free: 0, after: () => true },
];

const ruleFor = (outcome: Outcome, plan?: RuledPlan): RetryRule =>
	RETRY_RULES.find(({ after }) => after(outcome, plan)) as RetryRule;

/** Whether a retry of a free request may succeed a little later. */
export function isTransient(outcome: Outcome): boolean {
	return ruleFor(outcome).free > 0;
}

/**
 * The pause before a retry. It doubles with each attempt and has a random part, so that requests
 * that failed together don't come back together.
 *
 * @param attempt 1 after the first attempt
 * @returns milliseconds
 */
export function backoffMs(attempt: number, random: number): number {
	const full = Math.min(LONGEST_BACKOFF_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
	return full * (0.5 + random / 2);
}

/** The facts that decide about a retry. */
export interface Attempted {
	plan: Pick<RequestPlan, 'paid' | 'call' | 'isIdempotent'>;
	/** The outcome of the last attempt. */
	outcome: Outcome;
	/** The number of attempts. */
	attempts: number;
	/** The number of attempts refused for the rate limit: they don't count among other faults. */
	rateRefusals: number;
	/** The number of attempts refused for quota. */
	quotaRefusals: number;
	/**
	 * The number of attempts, or of the pauses of the run in which the gateway has accepted nothing,
	 * if there were more: hundreds of requests don't each try for minutes.
	 */
	refusalsInARow: number;
	/** A random number from 0 to below 1, for the pause. */
	random: number;
	/** Milliseconds since 1970, for `Retry-After` with a date. */
	nowMs: number;
}

/**
 * Decides whether a plan is sent again after an outcome, by `RETRY_RULES`, and after which pause.
 * There is no retry after a `Retry-After` of more than five minutes.
 */
export function decideRetry(attempted: Attempted): Decision {
	const { plan, outcome, random, nowMs } = attempted;
	const rule = ruleFor(outcome, plan);
	const tries = attempted.attempts - attempted.rateRefusals;
	const counted = rule.counted === undefined ? tries : attempted[rule.counted];
	const { paid, free, keyed = paid } = rule;
	const most = plan.isIdempotent === true ? keyed : plan.paid ? paid : free;
	if (counted >= most) return { again: false };
	const pauseMs = requestedPauseMs(outcome, nowMs) ?? 0;
	if (pauseMs > LONGEST_RETRY_AFTER_MS) return { again: false };
	// An image may be on any host, so the pause is that of its download alone.
	const rateLimited = rule.rateLimited === true && plan.call !== 'download';
	if (rateLimited) return { again: true, afterMs: pauseMs, rateLimited };
	return { again: true, afterMs: Math.max(pauseMs, backoffMs(counted, random)), rateLimited };
}
