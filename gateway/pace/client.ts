import type { Clock } from '../protocol/clock';
import { errorFor, refusedBefore } from '../errors/errorMessages';
import {
	isGood,
	withLocationOnly,
	type GoodResponse,
	type HttpResponse,
	type Outcome,
} from '../protocol/outcome';
import type { FreePlan, PaidPlan, RequestPlan } from '../protocol/requestPlan';
import type { SendOnce } from '../wire/sendOnce';
import { isQuotaRefusal } from '../responses/quota';
import { AccountRefusals } from './accountRefusals';
import { KnownAddresses } from './knownAddresses';
import { CanceledInQueue, type RateLimiter, type StartedRequest } from './rateLimiter';
import { decideRetry, isRateLimited, retryAfter } from './retryPolicy';

export interface ClientOptions {
	/** Sends a plan once, unless a request brings a sender of its own. */
	sendOnce: SendOnce;
	limiter: RateLimiter;
	clock: Clock;
	/** Milliseconds since 1970, for `Retry-After` with a date. */
	wallClock: () => number;
	/**
	 * Called for each request that is repeated after a refusal for the rate limit, and for each status
	 * check that was refused for it.
	 */
	onRepeat?: () => void;
}

/** The outcome of a plan after all its attempts. */
export interface Sent {
	/** The last outcome, good or not. */
	outcome: Outcome;
	attempts: number;
}

export interface RequestOptions {
	/** The sender of this request's attempts. */
	sendOnce?: SendOnce;
	/**
	 * Whether the request is about something that was paid for: then an unreachable address is tried
	 * for longer. True for status checks and downloads by default.
	 */
	isForPaid?: boolean;
}

/** Sends plans through the rate limiter, and repeats them where the retry rules allow it. */
export class Client {
	private readonly addresses: KnownAddresses;

	private readonly refusals = new AccountRefusals();

	constructor(private readonly options: ClientOptions) {
		this.addresses = new KnownAddresses(options.wallClock);
	}

	/** The pauses of the run in a row in which the gateway has accepted nothing. */
	get pausesInARow(): number {
		return this.options.limiter.pausesInARow;
	}

	/**
	 * Sends a plan once when the rate limiter lets it. The status checks of a wait are sent in this
	 * way: the poller repeats them, not the table of retries.
	 *
	 * @param timeLeftMs time limit of the attempt in milliseconds, read when the attempt starts; with
	 *   0 the plan isn't sent
	 * @throws CanceledInQueue if the plan wasn't sent because no time was left
	 */
	async attempt(plan: FreePlan, timeLeftMs?: () => number): Promise<Outcome> {
		return await this.attemptInTurn(plan, this.options.sendOnce, timeLeftMs);
	}

	/** Sends a free plan as often as the retry rules allow (`decideRetry`), until a response is good. */
	async request(plan: FreePlan, options: RequestOptions = {}): Promise<Sent> {
		const { isForPaid = plan.call === 'poll' || plan.call === 'download' } = options;
		return await this.requestWithRetries(plan, options.sendOnce, isForPaid);
	}

	/**
	 * Sends a paid plan in the same way and returns a good response. Only `pay` calls this, with attempts
	 * that the journal is told of.
	 *
	 * @param isOfBatch whether it isn't sent once another one of the run was refused for the key or quota
	 * @throws GatewayError that says what happened and what to do
	 */
	async requestPaid(plan: PaidPlan, attempt: SendOnce, isOfBatch = false): Promise<GoodResponse> {
		const sent = await this.requestWithRetries(plan, attempt, false, isOfBatch);
		this.refusals.note(plan, sent.outcome);
		return responseOf(plan, sent);
	}

	private async requestWithRetries(
		plan: RequestPlan,
		sendOnce = this.options.sendOnce,
		isForPaid: boolean,
		isOfBatch = false,
	): Promise<Sent> {
		const { clock, onRepeat, wallClock } = this.options;
		let rateRefusals = 0;
		let quotaRefusals = 0;
		for (let attempts = 1; ; attempts += 1) {
			// Where quota is missing, the request's own second attempt shows whether it stays so.
			const refusal = (): HttpResponse | undefined =>
				isOfBatch && quotaRefusals === 0 ? this.refusals.find(plan) : undefined;
			const outcome = await this.attemptUnless(refusal, plan, sendOnce);
			if (isRateLimited(outcome)) rateRefusals += 1;
			if (isQuotaRefusal(outcome)) quotaRefusals += 1;
			const decision = decideRetry({
				plan,
				outcome,
				attempts,
				rateRefusals,
				quotaRefusals,
				refusalsInARow: Math.max(attempts, plan.call === 'download' ? 0 : this.pausesInARow),
				random: clock.random(),
				nowMs: wallClock(),
				nothingForMs: this.addresses.nothingForMs(plan, outcome, isForPaid),
			});
			if (!decision.again) return { outcome, attempts };
			if (isRateLimited(outcome) && plan.call !== 'poll') onRepeat?.();
			// After a rate limit refusal by the gateway, the rate limiter makes the pause.
			if (!decision.rateLimited) await clock.sleep(decision.afterMs);
		}
	}

	/** @throws GatewayError in place of an attempt that would be refused like another request */
	private async attemptUnless(
		refusal: () => HttpResponse | undefined,
		plan: RequestPlan,
		sendOnce: SendOnce,
	): Promise<Outcome> {
		let response: HttpResponse | undefined;
		// With no time left it isn't sent.
		const timeLeftMs = (): 0 | undefined => {
			response = refusal();
			return response && 0;
		};
		try {
			return await this.attemptInTurn(plan, sendOnce, timeLeftMs);
		} catch (error) {
			throw error instanceof CanceledInQueue && response ? refusedBefore(plan, response) : error;
		}
	}

	/** One attempt through the rate limiter. */
	private async attemptInTurn(
		plan: RequestPlan,
		sendOnce: SendOnce,
		timeLeftMs?: () => number | undefined,
	): Promise<Outcome> {
		let timeoutMs: number | undefined;
		const isWanted = (): boolean => (timeoutMs = timeLeftMs?.()) !== 0;
		return await this.options.limiter.run(async (started) => {
			const outcome = await sendOnce(plan, timeoutMs);
			this.note(plan, outcome, started);
			started.mayEndRun = !isGood(outcome) && !isRateLimited(outcome);
			return outcome;
		}, isWanted);
	}

	/** Records what an outcome says about the address and the gateway's rate limit. */
	private note(plan: RequestPlan, outcome: Outcome, started: StartedRequest): void {
		const { limiter, onRepeat, wallClock } = this.options;
		this.addresses.note(plan, outcome);
		// An image may be on any host, whose responses say nothing about the gateway.
		if (plan.call === 'download') return;
		if (outcome.kind !== 'response' || outcome.httpCode >= 500) return;
		if (!isRateLimited(outcome)) {
			// An error response also counts as accepted by the rate limit.
			if (outcome.httpCode !== 429) limiter.accepted();
			return;
		}
		// Polls count here and not in `request`, because the poller sends its polls by `attempt`.
		if (plan.call === 'poll') onRepeat?.();
		const { pauseMs, isTooLong } = retryAfter(outcome, wallClock());
		// A pause that is too long to be waited for is that of this request alone.
		if (!isTooLong) limiter.refused(started, pauseMs);
	}
}

/** The good response of a paid plan. @throws GatewayError if there is none */
function responseOf(plan: PaidPlan, { outcome, attempts }: Sent): GoodResponse {
	const response = withLocationOnly(outcome);
	if (isGood(response)) return response;
	throw errorFor(plan, outcome, attempts);
}
