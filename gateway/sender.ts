import type { Clock } from './clock';
import { errorFor } from './errorMap';
import { NotSent, type Gate } from './gate';
import type { JsonObject } from './json';
import { isGood, retryAfterMs, type Outcome } from './outcome';
import type { RequestPlan } from './plan';
import { isQuotaRefusal } from './quota';
import { decideResend, isThrottle, LONGEST_RETRY_AFTER_MS } from './resend';

/** One attempt to send a plan. It never throws, except when the run is stopped. */
export type Exchange = (plan: RequestPlan, timeoutMs?: number) => Promise<Outcome>;

export interface SenderOptions {
	exchange: Exchange;
	gate: Gate;
	clock: Clock;
	/** Milliseconds since 1970, for `Retry-After` with a date. */
	wallClock: () => number;
}

/** Sends plans through the gate, again where the rules allow it. */
export interface Sender {
	/** One attempt through the gate. */
	attempt(plan: RequestPlan, timeoutMs?: number, exchange?: Exchange): Promise<Outcome>;
	/** As many attempts as the rules of sending again allow; the last outcome, good or not. */
	deliver(plan: RequestPlan, exchange?: Exchange): Promise<{ outcome: Outcome; attempts: number }>;
	/**
	 * The same for who can only work with a good answer.
	 *
	 * @param exchange another way to make the attempts than the usual one
	 * @returns the JSON of the answer
	 * @throws GatewayError or UnknownOutcomeError that says what happened and what to do
	 */
	send(plan: RequestPlan, exchange?: Exchange): Promise<JsonObject>;
}

/** @see Sender */
export function createSender({ exchange: usual, gate, clock, wallClock }: SenderOptions): Sender {
	let lastRefusal: Outcome | undefined;

	async function attempt(
		plan: RequestPlan,
		timeoutMs?: number,
		exchange?: Exchange,
	): Promise<Outcome> {
		try {
			return await attemptInTurn(plan, timeoutMs, exchange);
		} catch (reason) {
			// What the gateway said to the others holds for this one.
			if (reason instanceof NotSent && lastRefusal !== undefined) return lastRefusal;
			return await Promise.reject(reason);
		}
	}

	async function attemptInTurn(
		plan: RequestPlan,
		timeoutMs?: number,
		exchange: Exchange = usual,
	): Promise<Outcome> {
		return await gate.run(async (pass) => {
			const outcome = await exchange(plan, timeoutMs);
			if (isThrottle(outcome) && outcome.kind === 'answer') {
				lastRefusal = outcome;
				const asked = retryAfterMs(outcome.headers['retry-after'], wallClock()) ?? 0;
				// A pause longer than that is no pause: the request fails and says so.
				gate.throttled(pass, asked > LONGEST_RETRY_AFTER_MS ? 0 : asked);
			} else if (outcome.kind === 'answer' && outcome.httpCode < 500 && outcome.httpCode !== 429) {
				// Good or not: it was not refused for haste.
				gate.succeeded();
			}
			return outcome;
		});
	}

	async function deliver(
		plan: RequestPlan,
		exchange?: Exchange,
	): Promise<{ outcome: Outcome; attempts: number }> {
		let quotaRefusals = 0;
		for (let attempts = 1; ; attempts += 1) {
			const outcome = await attempt(plan, undefined, exchange);
			if (isQuotaRefusal(outcome)) quotaRefusals += 1;
			const decision = decideResend(
				plan,
				outcome,
				attempts,
				quotaRefusals,
				clock.random(),
				wallClock(),
			);
			if (!decision.again || (decision.throttled && gate.hopeless)) return { outcome, attempts };
			// The gate itself holds back what was refused for haste.
			if (!decision.throttled) await clock.sleep(decision.afterMs);
		}
	}

	async function send(plan: RequestPlan, exchange?: Exchange): Promise<JsonObject> {
		const { outcome, attempts } = await deliver(plan, exchange);
		if (isGood(outcome)) return outcome.json;
		throw errorFor(plan, outcome, attempts);
	}

	return { attempt, deliver, send };
}
