import type { Clock } from './stoppableClock';
import { errorFor } from '../errors/errorFor';
import { isGood, isOverloaded, type GoodResponse, type Outcome } from '../protocol/outcome';
import type { FreePlan, PaidPlan, RequestPlan } from '../protocol/requestPlan';
import { requestedPauseMs } from '../protocol/retryAfter';
import { parseUrl } from '../../util/parseUrl';
import { throwIfEnded } from '../wire/inFlight';
import type { SendOnce } from '../wire/sendOnce';
import { is429ForQuota } from '../responses/quota';
import { CanceledInQueue, TooLateInQueue, type Lane, type RateLimiter } from './rateLimiter';
import { decideRetry, isRateLimited, LONGEST_RETRY_AFTER_MS } from './retryPolicy';
import type { StartedRequest } from './sharedRate';
import { SharedRefusals } from './sharedRefusals';

export interface ClientOptions {
	/** Sends a plan once, unless a request brings a sender of its own. */
	sendOnce: SendOnce;
	limiter: RateLimiter;
	/** The gateway's address: downloads from other hosts have no part in its rate. */
	gatewayUrl?: string;
	clock: Clock;
	/**
	 * Called for each request that is repeated after a refusal for the rate limit, and for each status
	 * check that was refused for it.
	 */
	onRateLimited?: () => void;
}

/** The outcome of a plan after all its attempts. */
export interface Sent {
	/** The last outcome, good or not. */
	outcome: Outcome;
	/** 0 if it wasn't sent, because an earlier request got this outcome. */
	attempts: number;
}

interface AttemptOptions {
	/** The time limit in milliseconds, read when the attempt starts; with 0 it isn't sent. */
	timeLeftMs?: () => number;
	/** Until when somebody waits for its start; by default for ever. */
	until?: number;
	/** Whether it is still to be sent when it may start. */
	isWanted?: () => boolean;
}

/** The refusal of a request that isn't sent because of an earlier one's `Retry-After`. */
const refusalFor = (pauseMs: number): Outcome => ({
	kind: 'response',
	httpCode: 429,
	headers: { 'retry-after': String(Math.ceil(pauseMs / 1000)) },
	text: '',
	json: undefined,
});

/** Why a request isn't sent, where its turn would come too late. @throws any other error */
const tooLate = (error: unknown): TooLateInQueue => {
	if (error instanceof TooLateInQueue) return error;
	throw error as Error;
};

/** Sends plans through the rate limiter, and repeats them where the retry rules allow it. */
export class Client {
	private readonly refusals = new SharedRefusals();

	constructor(private readonly options: ClientOptions) {}

	/** The pauses in a row, of all runs that share the rate of status checks, since it accepted a request. */
	get pausesInARow(): number {
		return this.options.limiter.laneOf({ call: 'poll' }).pausesInARow;
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
		return await this.attemptInTurn(plan, this.options.sendOnce, { timeLeftMs });
	}

	/** Sends a free plan as often as the retry rules allow (`decideRetry`), until a response is good. */
	async request(plan: FreePlan, sendOnce?: SendOnce): Promise<Sent> {
		return await this.requestWithRetries(plan, sendOnce);
	}

	/**
	 * Sends a paid plan in the same way and returns a good response. Only `pay` calls this.
	 *
	 * @param send one attempt, of which the journal is told
	 * @throws GatewayError that says what happened and what to do
	 */
	async requestPaid(plan: PaidPlan, send: SendOnce): Promise<GoodResponse> {
		let isSent = false;
		const watched: SendOnce = async (...args) => {
			isSent = true;
			return await this.refusals.watch(plan, send(...args));
		};
		let refusal: Outcome | undefined;
		const isWanted = (): boolean => {
			refusal = isSent ? undefined : this.refusals.shared;
			return refusal === undefined;
		};
		const { outcome, attempts } = await this.requestWithRetries(plan, watched, isWanted).catch(
			(error: unknown) => {
				if (!(error instanceof CanceledInQueue) || refusal === undefined) throw error as Error;
				return { outcome: refusal, attempts: 0 };
			},
		);
		if (isGood(outcome) && !isOverloaded(outcome, plan.call)) return outcome;
		throw errorFor(plan, outcome, attempts);
	}

	private async requestWithRetries(
		plan: RequestPlan,
		sendOnce = this.options.sendOnce,
		isWanted?: () => boolean,
	): Promise<Sent> {
		const { clock, onRateLimited } = this.options;
		const lane = this.laneOf(plan);
		let rateRefusals = 0;
		let quotaRefusals = 0;
		const until = clock.now() + (plan.patienceMs ?? Infinity);
		let last: Sent | undefined;
		for (let attempts = 1; ; attempts += 1) {
			const outcome = await this.attemptInTurn(plan, sendOnce, { until, isWanted }).catch(tooLate);
			if (outcome instanceof TooLateInQueue) {
				const leftMs = outcome.startsAt - clock.now();
				return last ?? { outcome: refusalFor(leftMs), attempts: 0 };
			}
			last = { outcome, attempts };
			if (isRateLimited(outcome, plan)) rateRefusals += 1;
			if (is429ForQuota(outcome)) quotaRefusals += 1;
			const decision = decideRetry({
				plan,
				outcome,
				attempts,
				rateRefusals,
				quotaRefusals,
				refusalsInARow: Math.max(attempts, plan.call === 'download' ? 0 : lane.pausesInARow),
				random: clock.random(),
				nowMs: Date.now(),
			});
			if (!decision.again || this.isTooLong(decision.afterMs, until)) return last;
			if (isRateLimited(outcome, plan) && plan.call !== 'poll') onRateLimited?.();
			// After a rate limit refusal by the gateway, the rate limiter makes the pause.
			if (!decision.rateLimited) await clock.sleep(decision.afterMs, plan.signal);
		}
	}

	/** One attempt through the rate limiter. */
	private async attemptInTurn(
		plan: RequestPlan,
		sendOnce: SendOnce,
		{ timeLeftMs, until = Infinity, isWanted = () => true }: AttemptOptions,
	): Promise<Outcome> {
		const lane = this.laneOf(plan);
		let timeoutMs: number | undefined;
		const hasTime = (): boolean => (timeoutMs = timeLeftMs?.()) !== 0;
		const { signal } = plan;
		const send = async (started: StartedRequest): Promise<Outcome> => {
			throwIfEnded(signal);
			const outcome = await sendOnce(plan, timeoutMs);
			// What is paid for may be charged, which its outcome says.
			if (!plan.paid) throwIfEnded(signal);
			this.tellRate(plan, outcome, started, lane, until);
			started.mayEndRun = !isGood(outcome) && !isRateLimited(outcome, plan);
			return outcome;
		};
		return await lane.send(send, { until, isWanted: () => isWanted() && hasTime(), signal });
	}

	private laneOf(plan: RequestPlan): Lane {
		const { limiter, gatewayUrl = '' } = this.options;
		if (plan.call !== 'download') return limiter.laneOf(plan);
		const host = parseUrl(gatewayUrl)?.host;
		const isAtGateway = host !== undefined && parseUrl(plan.path)?.host === host;
		return isAtGateway ? limiter.laneOf(plan) : limiter.elsewhere;
	}

	private isTooLong(pauseMs: number, until: number): boolean {
		return pauseMs > LONGEST_RETRY_AFTER_MS || this.options.clock.now() + pauseMs > until;
	}

	/** Records what an outcome says about the gateway's rate limit. */
	private tellRate(
		plan: RequestPlan,
		outcome: Outcome,
		started: StartedRequest,
		{ rate }: Lane,
		until: number,
	): void {
		const { clock, onRateLimited } = this.options;
		// An image may be on any host, whose responses say nothing about the gateway.
		if (plan.call === 'download') return;
		if (outcome.kind !== 'response') return;
		if (!isRateLimited(outcome, plan)) {
			// An error response of the gateway also counts as accepted by the rate limit.
			if (outcome.httpCode < 500 && outcome.httpCode !== 429) rate.accepted(clock.now());
			return;
		}
		// Polls count here and not in `requestWithRetries`, because the poller sends its polls by `attempt`.
		if (plan.call === 'poll') onRateLimited?.();
		const pauseMs = requestedPauseMs(outcome, Date.now()) ?? 0;
		// A pause that is too long to be waited for is that of this request alone.
		if (!this.isTooLong(pauseMs, until)) rate.refused(started, pauseMs, clock);
	}
}
