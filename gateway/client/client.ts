import type { Clock } from '../util/clock';
import { errorFor } from '../errors/errorMessages';
import type { JsonObject } from '../util/json';
import { isGood, retryAfterMs, type Outcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { isQuotaRefusal } from '../protocol/quota';
import { NotSent, type RateLimiter } from './rateLimiter';
import { decideRetry, isRateLimited, LONGEST_RETRY_AFTER_MS } from './retryPolicy';

/** One attempt to send a plan. It never throws, except when the run is stopped. */
export type SendOnce = (plan: RequestPlan, timeoutMs?: number) => Promise<Outcome>;

export interface ClientOptions {
	/** The usual way to make an attempt. */
	sendOnce: SendOnce;
	limiter: RateLimiter;
	clock: Clock;
	/** Milliseconds since 1970, for `Retry-After` with a date. */
	wallClock: () => number;
	/** Called for each request that was refused for the rate limit and is repeated. */
	onRepeat?: () => void;
}

/** What came of a plan, after as many attempts as the rules of sending again allow. */
export interface Sent {
	/** The last one, good or not. */
	outcome: Outcome;
	attempts: number;
}

/** Sends plans through the rate limiter, again where the rules allow it. */
export interface Client {
	/** One attempt, in turn. */
	sendOnce(plan: RequestPlan, timeoutMs?: number, way?: SendOnce): Promise<Outcome>;
	/** @param way how to make the attempts, if not in the usual way */
	sendWithRetry(plan: RequestPlan, way?: SendOnce): Promise<Sent>;
	/**
	 * The same for who can only work with a good answer.
	 *
	 * @returns the JSON of the answer
	 * @throws GatewayError or UnknownOutcomeError that says what happened and what to do
	 */
	send(plan: RequestPlan, way?: SendOnce): Promise<JsonObject>;
}

/** @see Client */
export function createClient({
	sendOnce: usualWay,
	limiter,
	clock,
	wallClock,
	onRepeat,
}: ClientOptions): Client {
	let lastRefusal: Outcome | undefined;

	async function sendOnce(plan: RequestPlan, timeoutMs?: number, way?: SendOnce): Promise<Outcome> {
		try {
			return await sendInTurn(plan, timeoutMs, way);
		} catch (reason) {
			// What the gateway said to the others holds for this one.
			if (reason instanceof NotSent && lastRefusal !== undefined) return lastRefusal;
			return await Promise.reject(reason);
		}
	}

	async function sendInTurn(
		plan: RequestPlan,
		timeoutMs?: number,
		way: SendOnce = usualWay,
	): Promise<Outcome> {
		return await limiter.run(async (permit) => {
			const outcome = await way(plan, timeoutMs);
			if (isRateLimited(outcome) && outcome.kind === 'answer') {
				lastRefusal = outcome;
				// Polls are repeated until their deadline, by whoever waits.
				if (plan.call === 'poll') onRepeat?.();
				const asked = retryAfterMs(outcome.headers['retry-after'], wallClock()) ?? 0;
				// A pause longer than that is no pause: the request fails and says so.
				limiter.refused(permit, asked > LONGEST_RETRY_AFTER_MS ? 0 : asked);
			} else if (outcome.kind === 'answer' && outcome.httpCode < 500 && outcome.httpCode !== 429) {
				// Good or not: it was not refused for its rate.
				limiter.accepted(permit);
			}
			return outcome;
		});
	}

	async function sendWithRetry(plan: RequestPlan, way?: SendOnce): Promise<Sent> {
		let quotaRefusals = 0;
		for (let attempts = 1; ; attempts += 1) {
			const outcome = await sendOnce(plan, undefined, way);
			if (isQuotaRefusal(outcome)) quotaRefusals += 1;
			const random = clock.random();
			const nowMs = wallClock();
			const decision = decideRetry({ plan, outcome, attempts, quotaRefusals, random, nowMs });
			if (!decision.again || (decision.rateLimited && limiter.circuitOpen)) {
				return { outcome, attempts };
			}
			if (decision.rateLimited && plan.call !== 'poll') onRepeat?.();
			// The rate limiter itself holds back what was sent too fast.
			if (!decision.rateLimited) await clock.sleep(decision.afterMs);
		}
	}

	async function send(plan: RequestPlan, way?: SendOnce): Promise<JsonObject> {
		const { outcome, attempts } = await sendWithRetry(plan, way);
		if (isGood(outcome)) return outcome.json;
		throw errorFor(plan, outcome, attempts);
	}

	return { sendOnce, sendWithRetry, send };
}
