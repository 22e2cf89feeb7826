import type { Clock } from '../util/clock';
import { INITIAL_WINDOW, SendRate } from './sendRate';

export interface RateLimiterOptions {
	/** How many requests may be in flight at the same time. */
	concurrency: number;
	/** How many requests may start in a second; undefined: as many as the gateway takes. */
	requestsPerSecond?: number;
	clock: Clock;
	/** What an earlier limiter of the same gateway and account found out, on the same clock. */
	rateState?: RateState;
}

/** What a limiter has found out about its gateway. Plain data; all times on the run's clock. */
export interface RateState {
	/** The limit that was met, if any, and until when the rate stays below it. */
	limit?: { perSecond: number; holdsUntil: number };
	/** The end of the pause that the gateway asked for by `Retry-After`. */
	nextStartAt: number;
	/** When it was found out. */
	at: number;
}

/**
 * Combines what two limiters of one gateway and account have found out, of which one ended after the
 * other: the later one may have met no limit, and know of no pause that the gateway asked for.
 *
 * @param known what was found out before, if anything
 */
export function mergeRateStates(known: RateState | undefined, found: RateState): RateState {
	const age = found.at - (known?.at ?? NaN);
	if (known === undefined || !(age >= 0 && age <= RATE_STATE_HOLDS_MS)) return found;
	const isLess = found.limit === undefined && known.limit !== undefined;
	return {
		...(isLess ? known : found),
		nextStartAt: Math.max(known.nextStartAt, found.nextStartAt),
	};
}

/** What an earlier limiter has found out holds this long. */
const RATE_STATE_HOLDS_MS = 60_000;
/** A timer of the platform may be late; up to this much is made up for. */
const LATE_TIMER_MS = 10;

/** The pause after a refusal, doubled with each one in a row. */
const FIRST_PAUSE_MS = 400;
/** It doubles up to this. */
const LONGEST_PAUSE_MS = 30_000;
/** After nothing but refusals for this long the circuit opens. */
const OPEN_AFTER_MS = 300_000;

/** The circuit is open: a request that was waiting for its turn was not sent. */
export class NotSent extends Error {
	override name = 'NotSent';
}

/** Nobody waited any more for what a request would have brought when its turn came: it was not sent. */
export class TakenBack extends Error {
	override name = 'TakenBack';
}

/** What a request gets when it may start. */
export interface Permit {
	startedAt: number;
	/** How many requests started in the second up to this one, itself included. */
	sentRate: number;
	/** When the first of them started. */
	secondBeganAt: number;
}

/** A request that waits for its turn. */
interface Waiting {
	enter: (permit: Permit) => void;
	refuse: (reason: unknown) => void;
	isWanted: () => boolean;
}

/**
 * All requests of a run go through it: bounded in flight and in requests per second. It spaces
 * them by a `SendRate`, halts the whole run after a refusal, and queues what cannot start yet.
 *
 * After a halt it is a circuit breaker (M. Nygard, "Release It!"): one request at a time tries, after
 * pauses that double, until one is accepted; after minutes of refusals the circuit opens.
 */
export class RateLimiter {
	private readonly sendRate: SendRate;

	private readonly queue: Waiting[] = [];

	private closed?: { reason: unknown };

	private readonly inFlight = new Set<Permit>();

	/** When the next request may start: the send rate spaces them. */
	private nextStartAt = 0;

	/** Until when nothing starts, at whatever rate. */
	private pauseEndsAt = 0;

	/** The end of the last pause that the gateway asked for by `Retry-After`. */
	private retryAfterEndsAt = 0;

	private wakeAt = Infinity;

	/** When the requests of the last second started, the oldest first. */
	private readonly starts: number[] = [];

	/** When those requests started that were refused lately. */
	private refusedStarts: number[] = [];

	/** When a refusal last halted the run. */
	private lastHaltAt = -Infinity;

	/** The request whose refusal halted it, if that has shown a limit. */
	private lastLimit?: Permit;

	/** How many halts there were since a request was accepted, and when the first of them was. */
	private haltsInARow = 0;

	private haltingSince = 0;

	/** The gateway has refused everything for minutes: trying again is of no use. */
	circuitOpen = false;

	constructor(private readonly options: RateLimiterOptions) {
		const { clock, requestsPerSecond, rateState } = options;
		const age = clock.now() - (rateState?.at ?? NaN);
		const isKnown = requestsPerSecond === undefined && age >= 0 && age <= RATE_STATE_HOLDS_MS;
		const known = isKnown ? rateState : undefined;
		this.sendRate = new SendRate(requestsPerSecond, known?.limit);
		this.pauseEndsAt = this.retryAfterEndsAt = known?.nextStartAt ?? 0;
	}

	/** Whether nothing may start now, at whatever rate. */
	get isPaused(): boolean {
		return this.pauseEndsAt > this.options.clock.now();
	}

	/** What it has found out so far, for the next limiter of the same gateway and account. */
	rateState(): RateState | undefined {
		// A limit that the user has set says nothing about the gateway.
		if (this.options.requestsPerSecond !== undefined) return undefined;
		const { limit } = this.sendRate;
		return { limit, nextStartAt: this.retryAfterEndsAt, at: this.options.clock.now() };
	}

	/**
	 * Runs `send` as soon as there is room for it.
	 *
	 * @param send gets a permit, to be shown at `refused`
	 * @param isWanted whether it is still to be sent, when its turn has come
	 * @throws NotSent if the gateway has been refusing everything for minutes; TakenBack
	 */
	async run<T>(send: (permit: Permit) => Promise<T>, isWanted = () => true): Promise<T> {
		const permit = await new Promise<Permit>((enter, refuse) => {
			if (this.closed !== undefined) return refuse(this.closed.reason);
			this.queue.push({ enter, refuse, isWanted });
			this.admit();
		});
		try {
			return await send(permit);
		} finally {
			this.inFlight.delete(permit);
			this.admit();
		}
	}

	/** Nothing starts any more: what waits, and what comes, is refused with `reason`. */
	close(reason: unknown): void {
		this.closed ??= { reason };
		this.dismiss(reason);
	}

	/** The gateway accepted a request: the rate may rise. */
	accepted(): void {
		this.haltsInARow = 0;
		this.circuitOpen = false;
		this.sendRate.accepted(this.options.clock.now(), this.queue.length > 0);
	}

	/**
	 * The gateway refused a request for its rate. A refusal by chance concerns that request alone; any
	 * other halts the run for a moment, and so does `Retry-After`.
	 *
	 * @param retryAfterMs what the gateway asked for by `Retry-After`, in milliseconds
	 */
	refused(permit: Permit, retryAfterMs = 0): void {
		const now = this.options.clock.now();
		if (retryAfterMs > 0) {
			this.retryAfterEndsAt = Math.max(this.retryAfterEndsAt, now + retryAfterMs);
			this.pauseUntil(this.retryAfterEndsAt);
		}
		this.judge(permit, now);
		// With others in flight it may be their number that is too much, and that passes.
		const isLasting = this.haltsInARow > 0 && now - this.haltingSince > OPEN_AFTER_MS;
		this.circuitOpen ||= isLasting && this.inFlight.size <= 1;
		if (this.circuitOpen) this.dismiss(new NotSent('The gateway refuses everything'));
	}

	private judge(permit: Permit, now: number): void {
		const { lastLimit, sendRate } = this;
		const { startedAt, secondBeganAt } = permit;
		this.refusedStarts.push(startedAt);
		if (startedAt < this.lastHaltAt) {
			// Sent before the halt, it only tells more exactly how many were accepted until then.
			if (lastLimit) sendRate.lowerTo(this.acceptedUpTo(lastLimit));
			return;
		}
		this.refusedStarts = this.refusedStarts.filter((at) => at > startedAt - 1000);
		const shown = sendRate.refused(now, this.acceptedUpTo(permit), this.queue.length > 0);
		if (shown === 'chance') return;
		this.lastLimit = shown === 'limit' ? permit : undefined;
		if (this.haltsInARow === 0) this.haltingSince = now;
		const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.haltsInARow);
		this.haltsInARow += 1;
		this.lastHaltAt = now;
		// Who counts by the second accepts more when the first of them is a second old.
		this.pauseUntil(secondBeganAt + 1000);
		this.pauseUntil(now + pause * (0.75 + this.options.clock.random() / 2));
	}

	/** How many requests of the second up to this one were accepted, as far as is known. */
	private acceptedUpTo({ startedAt, sentRate }: Permit): number {
		const isOfSecond = (at: number): boolean => at > startedAt - 1000 && at <= startedAt;
		return sentRate - this.refusedStarts.filter(isOfSecond).length;
	}

	private dismiss(reason: unknown): void {
		this.queue.splice(0).forEach(({ refuse }) => refuse(reason));
	}

	private pauseUntil(at: number): void {
		this.pauseEndsAt = Math.max(this.pauseEndsAt, at);
	}

	private admit(): void {
		for (let next = this.queue[0]; next !== undefined && this.hasRoom(); next = this.queue[0]) {
			if (!next.isWanted()) {
				this.queue.shift();
				next.refuse(new TakenBack('Nobody waits for it'));
				continue;
			}
			const now = this.options.clock.now();
			const spacing = 1000 / this.sendRate.perSecond;
			const mayStartAt = Math.max(
				this.pauseEndsAt,
				this.isInInitialWindow() ? 0 : this.nextStartAt,
			);
			if (mayStartAt > now) {
				this.wake(mayStartAt, now);
				return;
			}
			// In the initial window not added up: those would wait that come when more are in flight.
			const from = this.isInInitialWindow() ? now : Math.max(mayStartAt, now - LATE_TIMER_MS);
			this.nextStartAt = Math.max(this.nextStartAt, from + spacing);
			this.queue.shift();
			next.enter(this.permit(now));
		}
	}

	private permit(now: number): Permit {
		const { starts } = this;
		starts.push(now);
		while (starts[0]! <= now - 1000) starts.shift();
		const permit = { startedAt: now, sentRate: starts.length, secondBeganAt: starts[0]! };
		this.inFlight.add(permit);
		return permit;
	}

	private hasRoom(): boolean {
		if (this.inFlight.size >= this.options.concurrency) return false;
		if (this.haltsInARow === 0) return true;
		// What was sent before the halt may take long; it says nothing about now.
		return ![...this.inFlight].some(({ startedAt }) => startedAt >= this.lastHaltAt);
	}

	/** Whether a request may start at any rate, because so few are in flight and none was refused. */
	private isInInitialWindow(): boolean {
		return this.sendRate.isGuess && this.inFlight.size < INITIAL_WINDOW;
	}

	private wake(at: number, now: number): void {
		if (this.wakeAt <= at) return;
		this.wakeAt = at;
		this.options.clock.sleep(at - now).then(
			() => {
				if (this.wakeAt === at) this.wakeAt = Infinity;
				this.admit();
			},
			(reason) => this.close(reason),
		);
	}
}
