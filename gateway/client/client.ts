import type { Clock } from '../util/clock';
import { errorFor } from '../errors/errorMessages';
import type { JsonObject } from '../util/json';
import { askedPauseMs, isGood, type Outcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { isQuotaRefusal } from '../protocol/quota';
import { addressOf, KnownAddresses } from './knownAddresses';
import { NotSent, TakenBack, type Permit, type RateLimiter } from './rateLimiter';
import { decideRetry, isRateLimited, LONGEST_RETRY_AFTER_MS } from './retryPolicy';

/** One attempt to send a plan. It never throws, except when the run is stopped. */
export type SendOnce = (plan: RequestPlan, timeoutMs?: number) => Promise<Outcome>;

export interface ClientOptions {
	/** The usual way to make an attempt. */
	sendOnce: SendOnce;
	limiter: RateLimiter;
	/**
	 * Of a foreign host on which images lie: what it refuses says nothing about the gateway. Undefined
	 * where the gateway's own is meant.
	 *
	 * @param origin of the image's address
	 */
	hostLimiter?: (origin: string) => RateLimiter | undefined;
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

export interface RequestOptions {
	/** How to make the attempts, if not in the usual way. */
	sendOnce?: SendOnce;
	/**
	 * Whether the request leads to something that was paid for: then an address that does not respond
	 * is waited for, even if it has never responded in this run. Status checks and downloads do,
	 * unless told otherwise.
	 */
	isForPaid?: boolean;
}

/** @see Client */
export const createClient = (options: ClientOptions): Client => new Client(options);

/** Sends plans through the rate limiter, again where the rules allow it. */
export class Client {
	private readonly addresses: KnownAddresses;

	/** What was last refused for its rate. */
	private lastRefusal?: Outcome;

	/** A refusal of a paid request for so long that the others need not be sent, and until when. */
	private longRefusal?: { outcome: Outcome; until: number };

	constructor(private readonly options: ClientOptions) {
		this.addresses = new KnownAddresses(options.wallClock);
	}

	/**
	 * One attempt, in turn.
	 *
	 * @param timeLeftMs what the attempt may take, in milliseconds, when its turn has come; with 0 it is
	 *   not sent
	 * @throws TakenBack if it was not sent for that reason
	 */
	async attempt(plan: RequestPlan, timeLeftMs?: () => number): Promise<Outcome> {
		return await this.attemptInTurn(plan, this.options.sendOnce, timeLeftMs);
	}

	/** As many attempts in turn as the rules allow (`decideRetry`), until a response is good. */
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
			// The rate limiter itself holds back what was sent too fast.
			if (!decision.rateLimited) await clock.sleep(decision.afterMs);
		}
	}

	/**
	 * The same for who can only work with a good response.
	 *
	 * @returns the JSON of the response
	 * @throws GatewayError or UnknownOutcomeError that says what happened and what to do
	 */
	async send(plan: RequestPlan, options?: RequestOptions): Promise<JsonObject> {
		const { outcome, attempts } = await this.request(plan, options);
		if (isGood(outcome)) return outcome.json;
		throw errorFor(plan, outcome, attempts);
	}

	/** One attempt in turn; what was said to other requests may hold for this one, which is not sent. */
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
		const send = async (permit: Permit): Promise<Outcome> => {
			const outcome = await sendOnce(plan, timeoutMs);
			this.note(plan, outcome, permit);
			return outcome;
		};
		try {
			if (host === undefined) return await limiter.run(send, isWanted);
			return await this.sendInBothTurns(host, send);
		} catch (reason) {
			let known: Outcome | undefined;
			if (reason instanceof NotSent) known = this.lastRefusal;
			if (reason instanceof TakenBack) known = this.longRefusalOf(plan);
			return known ?? (await Promise.reject(reason));
		}
	}

	/** Sends to a foreign host: in its turn, and in that of the run, whose limits hold for all requests. */
	private async sendInBothTurns(
		host: RateLimiter,
		send: (permit: Permit) => Promise<Outcome>,
	): Promise<Outcome> {
		const { limiter } = this.options;
		for (;;) {
			try {
				return await host.run(async (permit) => {
					// The host may ask for a pause while this request waits for the run's turn.
					return await limiter.run(
						async () => await send(permit),
						() => !host.isPaused,
					);
				});
			} catch (reason) {
				if (!(reason instanceof TakenBack)) return await Promise.reject(reason);
			}
		}
	}

	/** What an outcome says about the rate, about the address, and to other requests. */
	private note(plan: RequestPlan, outcome: Outcome, permit: Permit): void {
		const { limiter, onRepeat, wallClock } = this.options;
		const judge = this.hostLimiter(plan) ?? limiter;
		this.addresses.note(plan, outcome);
		if (outcome.kind !== 'response' || outcome.httpCode >= 500) return;
		if (!isRateLimited(outcome)) {
			// Good or not: it was not refused for its rate.
			if (outcome.httpCode !== 429) judge.accepted();
			return;
		}
		this.lastRefusal = outcome;
		// Polls are repeated until their deadline, by whoever waits.
		if (plan.call === 'poll') onRepeat?.();
		const now = wallClock();
		const asked = askedPauseMs(outcome, now) ?? 0;
		// A pause longer than that is no pause: the request fails and says so, and so do the others.
		const isTooLong = asked > LONGEST_RETRY_AFTER_MS;
		if (isTooLong && plan.paid) this.longRefusal = { outcome, until: now + asked };
		judge.refused(permit, isTooLong ? 0 : asked);
	}

	private longRefusalOf(plan: RequestPlan): Outcome | undefined {
		const { longRefusal } = this;
		if (!plan.paid || longRefusal === undefined) return undefined;
		return this.options.wallClock() < longRefusal.until ? longRefusal.outcome : undefined;
	}

	/** The limiter of a foreign host of images, if that is where a plan leads. */
	private hostLimiter(plan: RequestPlan): RateLimiter | undefined {
		return plan.call === 'download' ? this.options.hostLimiter?.(addressOf(plan)) : undefined;
	}
}
