import type { Clock } from '../protocol/clock';
import { INITIAL_WINDOW, SendRate } from './sendRate';

export interface RateLimiterOptions {
	/** The maximum number of requests in flight. */
	concurrency: number;
	/**
	 * The maximum number of requests per second; if undefined, the limiter finds the gateway's own
	 * limit.
	 */
	requestsPerSecond?: number;
	clock: Clock;
	/** The state of an earlier limiter for the same gateway and account, on the same clock. */
	rateState?: RateState;
}

/** A limiter's knowledge of its gateway. Plain data; all times on the run's clock. */
export interface RateState {
	/** The gateway's limit, if it was met, and the time until which the rate stays below it. */
	limit?: { perSecond: number; holdsUntil: number };
	/** The end of the last `Retry-After`. */
	retryAfterEndsAt: number;
	/** When this state was recorded. */
	at: number;
}

/**
 * Merges the states of two limiters for one gateway and account. The later one may have met no
 * limit and no `Retry-After`, which doesn't cancel those of the earlier one.
 *
 * @param known the earlier state, if any
 */
export function mergeRateStates(known: RateState | undefined, found: RateState): RateState {
	if (!isRecent(known, found.at)) return found;
	const isLess = found.limit === undefined && known.limit !== undefined;
	return {
		...(isLess ? known : found),
		retryAfterEndsAt: Math.max(known.retryAfterEndsAt, found.retryAfterEndsAt),
	};
}

/** How long the state of an earlier limiter is valid. */
const RATE_STATE_HOLDS_MS = 60_000;

/** Whether a state still counts. One from a later time belongs to another clock. */
const isRecent = (state: RateState | undefined, now: number): state is RateState =>
	state !== undefined && now >= state.at && now - state.at <= RATE_STATE_HOLDS_MS;

/** The largest delay of a late timer that the limiter makes up for. */
const LATE_TIMER_MS = 10;

/**
 * A little more than a second: a request may arrive sooner after its start than an earlier one did,
 * at a gateway that counts.
 */
const COUNTED_SECOND_MS = 1050;

/** The pause after the first refusal; each further one in a row doubles it. */
const FIRST_PAUSE_MS = 400;
/** The longest pause. */
const LONGEST_PAUSE_MS = 30_000;

/**
 * The error of a request that wasn't sent because, when its turn came, its caller didn't want it to be
 * sent anymore.
 */
export class CanceledInQueue extends Error {}

/** A request in flight, with the state of the run at its start. */
export interface StartedRequest {
	startedAt: number;
	/** The number of requests started in the second up to this one, including this one. */
	sentRate: number;
	/** When the first request of that second started. */
	secondBeganAt: number;
	/** Set when its response is an error that may end the run. */
	mayEndRun?: boolean;
}

/** A queued request. */
interface QueuedRequest {
	start: (request: StartedRequest) => void;
	reject: (reason: unknown) => void;
	isWanted: () => boolean;
}

/**
 * Limits all requests of a run, in flight and per second. A `SendRate` sets the rate; a refusal
 * pauses the whole run; other requests wait in a queue.
 *
 * A pause is a circuit breaker (M. Nygard, "Release It!"): one request at a time tries, after pauses
 * that double, until one is accepted.
 */
export class RateLimiter {
	private readonly sendRate: SendRate;

	private readonly queue: QueuedRequest[] = [];

	private closed?: { reason: unknown };

	private readonly inFlight = new Set<StartedRequest>();

	/** The earliest start of the next request by the send rate. */
	private nextStartAt = 0;

	/** The end of the present pause, in which no request starts. */
	private pauseEndsAt = 0;

	/** The end of the last `Retry-After`. */
	private retryAfterEndsAt = 0;

	private wakeAt = Infinity;

	/** The starts of the requests of the last second, the oldest first. */
	private readonly starts: number[] = [];

	/** The starts of as many requests as the user allows in a second. */
	private readonly allowedStarts: number[] = [];

	/** The starts of requests that were refused lately. */
	private refusedStarts: number[] = [];

	/** When the last refusal paused the run. */
	private lastPauseAt = -Infinity;

	/** The request whose refusal caused the last pause, if it showed a limit. */
	private lastLimit?: StartedRequest;

	/** The number of pauses since a request was accepted. */
	pausesInARow = 0;

	constructor(private readonly options: RateLimiterOptions) {
		const { clock, requestsPerSecond, rateState } = options;
		const isKnown = requestsPerSecond === undefined && isRecent(rateState, clock.now());
		const known = isKnown ? rateState : undefined;
		this.sendRate = new SendRate(requestsPerSecond, known?.limit);
		this.pauseEndsAt = this.retryAfterEndsAt = known?.retryAfterEndsAt ?? 0;
	}

	/** The milliseconds until the present pause ends; negative if there is none. */
	get pauseLeftMs(): number {
		return this.pauseEndsAt - this.options.clock.now();
	}

	/** The state for the next limiter of the same gateway and account. */
	rateState(): RateState | undefined {
		// A limit that the user has set is no knowledge of the gateway.
		if (this.options.requestsPerSecond !== undefined) return undefined;
		const { retryAfterEndsAt } = this;
		return { limit: this.sendRate.limit, retryAfterEndsAt, at: this.options.clock.now() };
	}

	/**
	 * Calls `send` as soon as the limits allow it.
	 *
	 * @param send gets what `refused` takes
	 * @param isWanted whether the caller still wants it to be sent when it may start
	 * @throws CanceledInQueue
	 */
	async run<T>(send: (request: StartedRequest) => Promise<T>, isWanted = () => true): Promise<T> {
		const request = await new Promise<StartedRequest>((start, reject) => {
			if (this.closed !== undefined) return reject(this.closed.reason);
			this.queue.push({ start, reject, isWanted });
			this.startNext();
		});
		try {
			return await send(request);
		} finally {
			this.release(request);
		}
	}

	/**
	 * Makes room for the next request. After an error, whatever follows from it happens first: if it
	 * ends the run, no other paid request is sent.
	 */
	private release(request: StartedRequest): void {
		const makeRoom = (): void => {
			this.inFlight.delete(request);
			this.startNext();
		};
		if (request.mayEndRun !== true) return makeRoom();
		this.options.clock.sleep(0).then(makeRoom, (reason) => this.close(reason));
	}

	/** Rejects all queued and future requests with `reason`. */
	close(reason: unknown): void {
		this.closed ??= { reason };
		this.queue.splice(0).forEach(({ reject }) => reject(reason));
	}

	/** Records that the gateway accepted a request: the rate may rise. */
	accepted(): void {
		this.pausesInARow = 0;
		this.sendRate.accepted(this.options.clock.now(), this.queue.length > 0);
	}

	/**
	 * Records a refusal for the rate limit. A sporadic refusal affects only its request; any other
	 * one, and `Retry-After`, pauses the run.
	 *
	 * @param retryAfterMs the gateway's `Retry-After`, in milliseconds
	 */
	refused(request: StartedRequest, retryAfterMs = 0): void {
		const now = this.options.clock.now();
		this.retryAfterEndsAt = Math.max(this.retryAfterEndsAt, now + retryAfterMs);
		this.pauseUntil(this.retryAfterEndsAt);
		this.pauseFor(request, now);
	}

	/** Pauses the run after a refusal, unless it's sporadic. */
	private pauseFor(request: StartedRequest, now: number): void {
		const { lastLimit, sendRate } = this;
		const { startedAt, secondBeganAt } = request;
		this.refusedStarts.push(startedAt);
		if (startedAt < this.lastPauseAt) {
			// A refusal of a request sent before the pause only corrects the number accepted until then.
			if (lastLimit) sendRate.lowerTo(this.acceptedUpTo(lastLimit));
			return;
		}
		this.refusedStarts = this.refusedStarts.filter((at) => at > startedAt - 1000);
		const cause = sendRate.refused(now, this.acceptedUpTo(request), this.queue.length > 0);
		if (cause === 'sporadic') return;
		this.lastLimit = cause === 'limit' ? request : undefined;
		const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.pausesInARow);
		this.pausesInARow += 1;
		this.lastPauseAt = now;
		// A gateway that counts requests per second accepts more once the first of them is a second
		// old.
		this.pauseUntil(secondBeganAt + 1000);
		this.pauseUntil(now + pause * (0.75 + this.options.clock.random() / 2));
	}

	/** The number of accepted requests in the second up to this one, as far as is known. */
	private acceptedUpTo({ startedAt, sentRate }: StartedRequest): number {
		const isOfSecond = (at: number): boolean => at > startedAt - 1000 && at <= startedAt;
		return sentRate - this.refusedStarts.filter(isOfSecond).length;
	}

	private pauseUntil(at: number): void {
		this.pauseEndsAt = Math.max(this.pauseEndsAt, at);
	}

	/** Starts what may start, and wakes up for the next request. */
	private startNext(): void {
		for (let next = this.queue[0]; next !== undefined && this.hasRoom(); next = this.queue[0]) {
			if (!next.isWanted()) {
				this.queue.shift();
				next.reject(new CanceledInQueue('Canceled before its turn'));
				continue;
			}
			const now = this.options.clock.now();
			const spacing = 1000 / this.sendRate.perSecond;
			const mayStartAt = Math.max(
				this.pauseEndsAt,
				this.isInInitialWindow() ? 0 : this.nextStartAt,
				this.allowedAt(),
			);
			if (mayStartAt > now) {
				this.wake(mayStartAt, now);
				return;
			}
			// In the initial window, spacings don't add up; otherwise requests beyond the window would
			// have to wait for all of them.
			const from = this.isInInitialWindow() ? now : Math.max(mayStartAt, now - LATE_TIMER_MS);
			this.nextStartAt = Math.max(this.nextStartAt, from + spacing);
			this.queue.shift();
			next.start(this.started(now));
		}
	}

	/** The earliest start of the next request by the number per second that the user has set. */
	private allowedAt(): number {
		const [oldest = 0] = this.allowedStarts;
		return this.allowedStarts.length < this.mostPerSecond ? 0 : oldest + COUNTED_SECOND_MS;
	}

	private get mostPerSecond(): number {
		return Math.max(1, Math.floor(this.options.requestsPerSecond ?? Infinity));
	}

	private started(now: number): StartedRequest {
		const { starts } = this;
		starts.push(now);
		if (this.options.requestsPerSecond !== undefined) this.allowedStarts.push(now);
		if (this.allowedStarts.length > this.mostPerSecond) this.allowedStarts.shift();
		while (starts[0]! <= now - 1000) starts.shift();
		const request = { startedAt: now, sentRate: starts.length, secondBeganAt: starts[0]! };
		this.inFlight.add(request);
		return request;
	}

	private hasRoom(): boolean {
		if (this.inFlight.size >= this.options.concurrency) return false;
		if (this.pausesInARow === 0) return true;
		// Requests sent before the pause may take long and don't block the next one.
		return ![...this.inFlight].some(({ startedAt }) => startedAt >= this.lastPauseAt);
	}

	/** Whether so few requests are in flight that one more may start at any rate. */
	private isInInitialWindow(): boolean {
		return this.sendRate.isGuess && this.inFlight.size < INITIAL_WINDOW;
	}

	private wake(at: number, now: number): void {
		if (this.wakeAt <= at) return;
		this.wakeAt = at;
		this.options.clock.sleep(at - now).then(
			() => {
				if (this.wakeAt === at) this.wakeAt = Infinity;
				this.startNext();
			},
			(reason) => this.close(reason),
		);
	}
}
