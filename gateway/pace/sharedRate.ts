import type { Clock } from './stoppableClock';
import { INITIAL_WINDOW, SendRate } from './sendRate';

/** A request in flight, with the state of its rate at its start. */
export interface StartedRequest {
	startedAt: number;
	/** The number of requests started in the second up to this one, including this one. */
	sentRate: number;
	/** When the first request of that second started. */
	secondBeganAt: number;
	/** Set when its response is an error that may end the run. */
	mayEndRun?: boolean;
}

/** The requests of a run that share a rate. */
export interface WaitingLane {
	readonly limiter: {
		readonly clock: Clock;
		/** Starts what may start of the run, whichever rate it has. */
		startNext: () => void;
		/** Rejects all requests of the run. */
		close: (reason: unknown) => void;
	};
	/** `isSet`: whether the user has set a rate, which doesn't begin with a guess. */
	readonly own: { isSet: boolean };
	/** Rejects requests whose callers don't wait so long. @returns whether others are queued */
	isWaiting: (startsAt: number) => boolean;
	/** The earliest start of its next request by the limits of its run; infinite if none may start. */
	nextAt: () => number;
	/**
	 * Starts its next request, whose record `begin` returns.
	 *
	 * @returns whether a further request waits
	 */
	startOne: (begin: () => StartedRequest) => boolean;
}

/** Whose request starts next, and when. */
interface Turn {
	lane: WaitingLane;
	at: number;
}

/** How long what a rate has found is valid without a request, in milliseconds. */
const FINDINGS_HOLD_MS = 60_000;

/** The largest delay of a late timer that is made up for, in milliseconds. */
export const LATE_TIMER_MS = 10;

/** The pause after the first refusal; each further one in a row doubles it. */
const FIRST_PAUSE_MS = 400;
/** The longest pause. */
const LONGEST_PAUSE_MS = 30_000;
/** How long the one request that tries after a pause holds others back, in milliseconds. */
const PROBE_MS = 2000;

/**
 * The rate of what the gateway may count together, which all runs of this process share. They take
 * turns: each start goes to the run that has waited longest for one. A `SendRate` sets the rate; a
 * refusal pauses them all.
 *
 * A pause is a circuit breaker (M. Nygard, "Release It!"): one request at a time tries, after pauses
 * that double, until one is accepted.
 *
 * It has no clock: each run brings one, of the same origin, and a run's end stops only its own.
 */
export class SharedRate {
	/** The number of all pauses, and what it was when a request was last accepted. */
	pauses = 0;
	private pausesAtAcceptance = 0;

	private readonly sendRate = new SendRate();

	/** The runs with queued requests, in the order of their turns. */
	private readonly waiting = new Set<WaitingLane>();

	private readonly inFlight = new Set<StartedRequest>();

	/** The earliest start of the next request by the send rate. */
	private nextStartAt = 0;

	/** The end of the present pause, in which no request starts. */
	private pauseEndsAt = 0;

	/** The end of the last `Retry-After`. */
	private retryAfterEndsAt = 0;

	/** When the timer of a run will go off. */
	private timer?: Turn;

	/** The starts of the requests of the last second, the oldest first. */
	private readonly starts: number[] = [];

	/** The starts of requests that were refused lately. */
	private refusedStarts: number[] = [];

	/** When the last refusal paused the runs. */
	private lastPauseAt = -Infinity;

	/** Infinite before the first one: a rate that has found nothing is never outdated. */
	private lastStartAt = Infinity;

	/** Whether what it has found is no longer valid: no request has started for a minute. */
	isOutdated(now: number): boolean {
		if (this.inFlight.size > 0 || this.waiting.size > 0) return false;
		return now > Math.max(this.lastStartAt + FINDINGS_HOLD_MS, this.retryAfterEndsAt);
	}

	/**
	 * The number of pauses since a request was accepted.
	 *
	 * @param since counts those after this number of `pauses` only
	 */
	pausesInARow(since = 0): number {
		return this.pauses - Math.max(this.pausesAtAcceptance, since);
	}

	/** Adds a run to those that wait for their turns. */
	enter(lane: WaitingLane, now: number): void {
		this.waiting.add(lane);
		this.startNext(now);
	}

	/** Removes a run that has ended. The others go on. */
	leave(lane: WaitingLane): void {
		this.waiting.delete(lane);
		if (this.timer?.lane === lane) this.timer = undefined;
		this.startNext(lane.limiter.clock.now());
	}

	/** Makes room for the next request. */
	finished(request: StartedRequest): void {
		this.inFlight.delete(request);
	}

	/** Records that the gateway accepted a request: the rate may rise. */
	accepted(now: number): void {
		this.pausesAtAcceptance = this.pauses;
		this.sendRate.accepted(now, this.waiting.size > 0);
	}

	/**
	 * Records a refusal for the rate limit. A sporadic refusal affects only its request; any other
	 * one, and `Retry-After`, pauses all runs.
	 *
	 * @param retryAfterMs the gateway's `Retry-After`, in milliseconds
	 */
	refused(request: StartedRequest, retryAfterMs: number, clock: Clock): void {
		const now = clock.now();
		this.retryAfterEndsAt = Math.max(this.retryAfterEndsAt, now + retryAfterMs);
		this.pauseUntil(this.retryAfterEndsAt);
		const { startedAt, sentRate, secondBeganAt } = request;
		this.refusedStarts.push(startedAt);
		// One that was sent before the last pause says nothing new.
		if (startedAt < this.lastPauseAt) return;
		this.refusedStarts = this.refusedStarts.filter((at) => at > startedAt - 1000);
		const accepted = this.acceptedUpTo(request);
		const isUsed = this.waiting.size > 0;
		if (this.sendRate.refused(now, { sent: sentRate, accepted }, isUsed) === 'sporadic') return;
		const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.pausesInARow());
		this.pauses += 1;
		this.lastPauseAt = now;
		// A gateway that counts requests per second accepts more once the first of them is a second
		// old.
		this.pauseUntil(secondBeganAt + 1000);
		this.pauseUntil(now + pause * (0.75 + clock.random() / 2));
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
	startNext(now: number): void {
		for (;;) {
			const next = this.nextTurn(now);
			if (next === undefined) return;
			if (next.at > now) return this.wake(next, now);
			this.waiting.delete(next.lane);
			if (next.lane.startOne(() => this.begin(next, now))) this.waiting.add(next.lane);
		}
	}

	/** The run whose request starts next: the earliest, and of several the one whose turn it is. */
	private nextTurn(now: number): Turn | undefined {
		let next: Turn | undefined;
		for (const lane of this.waiting) {
			const allowedAt = this.allowedAt(lane);
			if (!lane.isWaiting(allowedAt)) this.waiting.delete(lane);
			const at = Math.max(allowedAt, lane.nextAt());
			// A timer is late: of those that may start already, none is earlier than another.
			if (Math.max(now, at) < Math.max(now, next?.at ?? Infinity)) next = { lane, at };
		}
		return next;
	}

	/** The earliest start of a run's next request by what all runs share. */
	private allowedAt(lane: WaitingLane): number {
		const bySendRate = this.isBeforeRate(lane) ? 0 : this.nextStartAt;
		return Math.max(this.pauseEndsAt, bySendRate, this.probeEndsAt());
	}

	/**
	 * Whether a request may start at any rate: while none was met, so few are in flight, or the run
	 * keeps a rate of its own.
	 */
	private isBeforeRate({ own }: WaitingLane): boolean {
		return this.sendRate.isGuess && (own.isSet || this.inFlight.size < INITIAL_WINDOW);
	}

	/**
	 * Until when the request that tries after a pause holds others back. Requests sent before the
	 * pause may take long and hold back none; nor does a try that takes as long as an image.
	 */
	private probeEndsAt(): number {
		if (this.pausesInARow() === 0) return 0;
		const tries = [...this.inFlight].filter(({ startedAt }) => startedAt >= this.lastPauseAt);
		return Math.max(0, ...tries.map(({ startedAt }) => startedAt + PROBE_MS));
	}

	/** Records the start of a request. */
	private begin({ lane, at }: Turn, now: number): StartedRequest {
		// In the initial window, spacings don't add up; otherwise requests beyond the window would
		// have to wait for all of them.
		const from = this.isBeforeRate(lane) ? now : Math.max(at, now - LATE_TIMER_MS);
		this.nextStartAt = Math.max(this.nextStartAt, from + 1000 / this.sendRate.perSecond);
		const { starts } = this;
		this.lastStartAt = now;
		starts.push(now);
		while (starts[0]! <= now - 1000) starts.shift();
		const request = { startedAt: now, sentRate: starts.length, secondBeganAt: starts[0]! };
		this.inFlight.add(request);
		return request;
	}

	/** Wakes up at a time, on the clock of the run that is next. */
	private wake(timer: Turn, now: number): void {
		// One that is overdue may never go off: its run may be gone without an end.
		const isSet = this.timer !== undefined && this.timer.at > now && this.timer.at <= timer.at;
		if (isSet) return;
		this.timer = timer;
		const { limiter } = timer.lane;
		limiter.clock.sleep(timer.at - now).then(
			() => {
				if (this.timer === timer) this.timer = undefined;
				limiter.startNext();
			},
			(reason) => limiter.close(reason),
		);
	}
}
