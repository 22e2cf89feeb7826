import { CircuitBreaker } from './circuitBreaker';
import type { Clock } from '../util/clock';
import { INITIAL_WINDOW, SendRate, type SendRateState } from './sendRate';

export interface RateLimiterOptions {
	/** How many requests may be in flight at the same time. */
	concurrency: number;
	/** How many requests may start in a second; undefined: as many as the gateway takes. */
	requestsPerSecond?: number;
	clock: Clock;
	/** What an earlier limiter of the same gateway and account found out, on the same clock. */
	rateState?: RateState;
}

/** What a limiter has found out about its gateway. Plain data. */
export interface RateState {
	sendRate: SendRateState;
	nextStartAt: number;
	/** When it was found out. */
	at: number;
}

/** A rate at which nothing waits, until a refusal says otherwise: of a host that is no gateway. */
export function unlimitedRate(at: number): RateState {
	const perSecond = 1000;
	const unknown = { inSlowStart: true, wasRefused: false, elapsedS: 0, chance: 0 };
	return { sendRate: { perSecond, lastMaxRate: perSecond, ...unknown }, nextStartAt: at, at };
}

/**
 * Puts together what two limiters of one gateway and account have found out, of which one ended after
 * the other: it may have met no limit, and know of no pause that the gateway asked the other for.
 *
 * @param known what was found out before, if anything
 */
export function mergeRateStates(known: RateState | undefined, found: RateState): RateState {
	const age = found.at - (known?.at ?? NaN);
	if (known === undefined || !(age >= 0 && age <= RATE_STATE_HOLDS_MS)) return found;
	const isLess = isUnknown(found.sendRate) && !isUnknown(known.sendRate);
	return {
		...(isLess ? known : found),
		nextStartAt: Math.max(known.nextStartAt, found.nextStartAt),
	};
}

/** Whether no limit was given or met. */
function isUnknown({ inSlowStart, wasRefused }: SendRateState): boolean {
	return inSlowStart && !wasRefused;
}

/** What an earlier limiter has found out holds this long: test "is forgotten after a minute". */
const RATE_STATE_HOLDS_MS = 60_000;
/** What a timer of the platform may be late is made up for: test "are at most %d", with 400. */
const LATE_TIMER_MS = 10;
/**
 * At a high rate what is due within this time starts with one timer: test "of a high number need few
 * timers".
 */
const TOGETHER_MS = 5;

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
}

/**
 * All requests of a run go through it: bounded in flight and in requests per second. It spaces
 * them by a `SendRate`, halts the whole run for as long as `Retry-After` or the `CircuitBreaker`
 * says, and queues what cannot start yet.
 */
export class RateLimiter {
	private readonly sendRate: SendRate;

	private readonly breaker = new CircuitBreaker();

	private readonly queue: Array<{
		enter: (permit: Permit) => void;
		refuse: (reason: unknown) => void;
		isWanted: () => boolean;
		first: boolean;
	}> = [];

	private closed?: { reason: unknown };

	private readonly inFlight = new Set<Permit>();

	private nextStartAt = -Infinity;

	private wakeAt = Infinity;

	/** When the last requests started, the oldest first. */
	private readonly starts: number[] = [];

	/** Which of them is the first within the last second. */
	private recent = 0;

	private lastRefusalAt = -Infinity;

	/** When a pause was last asked for. */
	private pausedAt = -Infinity;

	/** How many were sent in the second before that, less those of them that were refused as well. */
	private sentAtRefusal = 0;

	private lastAcceptedAt: number;

	constructor(private readonly options: RateLimiterOptions) {
		const { clock, requestsPerSecond, rateState } = options;
		const now = clock.now();
		this.lastAcceptedAt = now;
		const age = now - (rateState?.at ?? NaN);
		const isKnown = requestsPerSecond === undefined && age >= 0 && age <= RATE_STATE_HOLDS_MS;
		if (!isKnown || rateState === undefined) {
			this.sendRate = new SendRate(requestsPerSecond);
			return;
		}
		this.sendRate = new SendRate(undefined, { ...rateState.sendRate });
		this.nextStartAt = rateState.nextStartAt;
	}

	/** The gateway has refused everything for minutes: trying again is of no use. */
	get circuitOpen(): boolean {
		return this.breaker.isOpen;
	}

	/** What it has found out so far, for the next limiter of the same gateway and account. */
	rateState(): RateState | undefined {
		// A limit that the user has set says nothing about the gateway.
		if (this.options.requestsPerSecond !== undefined) return undefined;
		const at = this.options.clock.now();
		return { sendRate: this.sendRate.snapshot(), nextStartAt: this.nextStartAt, at };
	}

	/**
	 * Runs `send` as soon as there is room for it.
	 *
	 * @param send gets a permit, to be shown at `refused`
	 * @param isWanted whether it is still to be sent, when its turn has come
	 * @param first whether it goes before those that wait, except for others that do
	 * @throws NotSent if the gateway has been refusing everything for minutes; TakenBack
	 */
	async run<T>(
		send: (permit: Permit) => Promise<T>,
		isWanted = () => true,
		first = false,
	): Promise<T> {
		const permit = await new Promise<Permit>((enter, refuse) => {
			if (this.closed !== undefined) return refuse(this.closed.reason);
			const place = first ? this.queue.findIndex((waiting) => !waiting.first) : -1;
			const entry = { enter, refuse, isWanted, first };
			this.queue.splice(place < 0 ? this.queue.length : place, 0, entry);
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
	accepted(permit?: Permit): void {
		const now = this.options.clock.now();
		this.breaker.accepted();
		const seconds = Math.max(0, Math.min(1, (now - this.lastAcceptedAt) / 1000));
		this.lastAcceptedAt = Math.max(now, this.lastAcceptedAt);
		this.sendRate.accepted(seconds, this.sentWithinASecond(now), permit?.sentRate);
	}

	/**
	 * The gateway refused a request for its rate: nothing starts for a moment, then more slowly.
	 *
	 * @param retryAfterMs what the gateway asked for by `Retry-After`, in milliseconds
	 */
	refused({ startedAt, sentRate }: Permit, retryAfterMs = 0): void {
		const { clock } = this.options;
		const now = clock.now();
		if (retryAfterMs > 0) this.pauseUntil(now + retryAfterMs);
		const isNew = startedAt >= this.lastRefusalAt;
		if (isNew) {
			// Who counts by the second accepts more when the first of them is a second old.
			if (this.sendRate.inSlowStart && sentRate > 1) this.pauseUntil(this.firstOfSecond() + 1000);
			this.pauseUntil(now + this.breaker.refused(now, clock.random()));
			this.lastRefusalAt = now;
			this.sentAtRefusal = this.sentWithinASecond(now);
			// While nothing starts the rate does not rise either.
			this.lastAcceptedAt = this.nextStartAt;
		} else if (startedAt > this.lastRefusalAt - 1000) {
			// Requests do not arrive in the order in which they start: only their number is certain.
			this.sentAtRefusal -= 1;
		}
		this.sendRate.refused(this.sentAtRefusal, isNew, this.breaker.isHalfOpen);
		// With others in flight it may be their number that is too much, and that passes.
		if (this.inFlight.size <= 1) this.breaker.openIfLasting(now);
		if (this.circuitOpen) this.dismiss(new NotSent('The gateway refuses everything'));
	}

	/** Whether a pause holds that was asked for after this permit was given. */
	isPausedSince({ startedAt }: Permit): boolean {
		return this.pausedAt >= startedAt && this.nextStartAt > this.options.clock.now();
	}

	private dismiss(reason: unknown): void {
		this.queue.splice(0).forEach(({ refuse }) => refuse(reason));
	}

	private pauseUntil(at: number): void {
		this.pausedAt = this.options.clock.now();
		this.nextStartAt = Math.max(this.nextStartAt, at);
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
			if (this.isInInitialWindow()) {
				// Not added up: it would keep those waiting that come when more are in flight.
				this.nextStartAt = Math.max(this.nextStartAt, now + spacing);
			} else if (this.nextStartAt > now) {
				this.wake(this.nextStartAt + Math.max(0, TOGETHER_MS - spacing), now);
				return;
			} else {
				this.nextStartAt = Math.max(this.nextStartAt, now - LATE_TIMER_MS) + spacing;
			}
			this.starts.push(now);
			const permit = { startedAt: now, sentRate: this.sentWithinASecond(now) };
			this.inFlight.add(permit);
			this.queue.shift();
			next.enter(permit);
		}
	}

	private hasRoom(): boolean {
		if (this.inFlight.size >= this.options.concurrency) return false;
		if (!this.breaker.isHalfOpen) return true;
		// What was sent before the refusal may take long; it says nothing about now.
		return ![...this.inFlight].some(({ startedAt }) => startedAt >= this.lastRefusalAt);
	}

	/** Whether a request may start at any rate, because so few are in flight and none was refused. */
	private isInInitialWindow(): boolean {
		return this.sendRate.isUnknown && this.inFlight.size < INITIAL_WINDOW;
	}

	private sentWithinASecond(now: number): number {
		while ((this.starts[this.recent] ?? Infinity) <= now - 1000) this.recent += 1;
		// What is over is taken away now and then: each time would move all the others.
		if (this.recent > 1000) this.starts.splice(0, this.recent);
		if (this.recent > 1000) this.recent = 0;
		return this.starts.length - this.recent;
	}

	private firstOfSecond(): number {
		return this.starts[this.recent] ?? -Infinity;
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
