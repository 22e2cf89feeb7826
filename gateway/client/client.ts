import type { Clock } from '../util/clock';
import { errorFor } from '../errors/errorMessages';
import { isGood, withLocationOnly, type GoodResponse, type Outcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { isQuotaRefusal } from '../protocol/quota';
import { addressOf, KnownAddresses } from './knownAddresses';
import { CanceledInQueue, NotSent, type RateLimiter, type StartedRequest } from './rateLimiter';
import { decideRetry, isRateLimited, retryAfter } from './retryPolicy';

/** One attempt to send a plan. It never throws, except when the run is stopped. */
export type SendOnce = (plan: RequestPlan, timeoutMs?: number) => Promise<Outcome>;

export interface ClientOptions {
	/** Sends a plan once, unless a request brings a sender of its own. */
	sendOnce: SendOnce;
	limiter: RateLimiter;
	/**
	 * The rate limiter of a foreign image host, whose refusals say nothing about the gateway;
	 * undefined for the gateway's own address.
	 *
	 * @param origin of the image's address
	 */
	hostLimiter?: (origin: string) => RateLimiter | undefined;
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

	/** The last refusal for the rate limit. */
	private lastRefusal?: Outcome;

	/**
	 * A refusal of a paid request with a long `Retry-After`: until then no other paid request is
	 * sent.
	 */
	private longRefusal?: { outcome: Outcome; until: number };

	constructor(private readonly options: ClientOptions) {
		this.addresses = new KnownAddresses(options.wallClock);
	}

	/**
	 * Sends a plan once when the rate limiter lets it. The status checks of a wait are sent in this
	 * way: the poller repeats them, not the table of retries.
	 *
	 * @param timeLeftMs time limit of the attempt in milliseconds, read when the attempt starts; with
	 *   0 the plan isn't sent
	 * @throws CanceledInQueue if the plan wasn't sent because no time was left
	 */
	async attempt(plan: RequestPlan, timeLeftMs?: () => number): Promise<Outcome> {
		return await this.attemptInTurn(plan, this.options.sendOnce, timeLeftMs);
	}

	/** Sends a plan as often as the retry rules allow (`decideRetry`), until a response is good. */
	async request(plan: RequestPlan, options: RequestOptions = {}): Promise<Sent> {
		const { clock, limiter, onRepeat, sendOnce, wallClock } = this.options;
		const { isForPaid = plan.call === 'poll' || plan.call === 'download' } = options;
		let quotaRefusals = 0;
		for (let attempts = 1; ; attempts += 1) {
			const outcome = await this.attemptInTurn(plan, options.sendOnce ?? sendOnce);
			if (isQuotaRefusal(outcome)) quotaRefusals += 1;
			const decision = decideRetry({
				plan,
				outcome,
				attempts,
				quotaRefusals,
				random: clock.random(),
				nowMs: wallClock(),
				nothingForMs: this.addresses.nothingForMs(plan, outcome, isForPaid),
			});
			const { circuitOpen } = this.hostLimiter(plan) ?? limiter;
			if (!decision.again || (decision.rateLimited && circuitOpen)) return { outcome, attempts };
			if (decision.rateLimited && plan.call !== 'poll') onRepeat?.();
			// After a rate limit refusal, the rate limiter makes the pause.
			if (!decision.rateLimited) await clock.sleep(decision.afterMs);
		}
	}

	/**
	 * Sends a plan like `request` and returns a good response.
	 *
	 * @throws GatewayError or UnknownOutcomeError that says what happened and what to do
	 */
	async send(plan: RequestPlan, options?: RequestOptions): Promise<GoodResponse> {
		const { outcome, attempts } = await this.request(plan, options);
		const response = withLocationOnly(outcome);
		if (isGood(response)) return response;
		throw errorFor(plan, outcome, attempts);
	}

	/**
	 * One attempt through the rate limiter. Instead of being sent, a request can get the refusal that
	 * another request got.
	 */
	private async attemptInTurn(
		plan: RequestPlan,
		sendOnce: SendOnce,
		timeLeftMs?: () => number,
	): Promise<Outcome> {
		const { limiter } = this.options;
		const host = this.hostLimiter(plan);
		let timeoutMs: number | undefined;
		const isWanted = (): boolean => {
			timeoutMs = timeLeftMs?.();
			return timeoutMs !== 0 && this.longRefusalOf(plan) === undefined;
		};
		const send = async (started: StartedRequest): Promise<Outcome> => {
			const outcome = await sendOnce(plan, timeoutMs);
			this.note(plan, outcome, started);
			return outcome;
		};
		try {
			if (host === undefined) return await limiter.run(send, isWanted);
			return await this.sendInBothTurns(host, send);
		} catch (reason) {
			let known: Outcome | undefined;
			if (reason instanceof NotSent) known = this.lastRefusal;
			if (reason instanceof CanceledInQueue) known = this.longRefusalOf(plan);
			return known ?? (await Promise.reject(reason));
		}
	}

	/**
	 * Sends to a foreign host through two rate limiters: the host's own and that of the run, whose
	 * limits apply to all requests.
	 */
	private async sendInBothTurns(
		host: RateLimiter,
		send: (started: StartedRequest) => Promise<Outcome>,
	): Promise<Outcome> {
		const { limiter } = this.options;
		for (;;) {
			try {
				return await host.run(async (started) => {
					// The host may ask for a pause while this request waits for the run's turn.
					return await limiter.run(
						async () => await send(started),
						() => !host.isPaused,
					);
				});
			} catch (reason) {
				if (!(reason instanceof CanceledInQueue)) return await Promise.reject(reason);
			}
		}
	}

	/**
	 * Records what an outcome says about the address, the rate limit, and the requests that follow.
	 */
	private note(plan: RequestPlan, outcome: Outcome, started: StartedRequest): void {
		const { limiter, onRepeat, wallClock } = this.options;
		const target = this.hostLimiter(plan) ?? limiter;
		this.addresses.note(plan, outcome);
		if (outcome.kind !== 'response' || outcome.httpCode >= 500) return;
		if (!isRateLimited(outcome)) {
			// An error response also counts as accepted by the rate limit.
			if (outcome.httpCode !== 429) target.accepted();
			return;
		}
		this.lastRefusal = outcome;
		// Polls count here and not in `request`, because the poller sends its polls by `attempt`.
		if (plan.call === 'poll') onRepeat?.();
		const now = wallClock();
		const { pauseMs, isTooLong } = retryAfter(outcome, now);
		// This request and all other paid ones fail instead of waiting.
		if (isTooLong && plan.paid) this.longRefusal = { outcome, until: now + pauseMs };
		target.refused(started, isTooLong ? 0 : pauseMs);
	}

	private longRefusalOf(plan: RequestPlan): Outcome | undefined {
		const { longRefusal } = this;
		if (!plan.paid || longRefusal === undefined) return undefined;
		return this.options.wallClock() < longRefusal.until ? longRefusal.outcome : undefined;
	}

	/** The rate limiter of the foreign image host that a plan leads to; undefined for other plans. */
	private hostLimiter(plan: RequestPlan): RateLimiter | undefined {
		return plan.call === 'download' ? this.options.hostLimiter?.(addressOf(plan)) : undefined;
	}
}
