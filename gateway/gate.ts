import type { Clock } from './clock';

export interface GateOptions {
	/** How many requests may be under way at the same time. */
	concurrency: number;
	/** How many requests may start in a second; undefined: as many as the gateway takes. */
	requestsPerSecond?: number;
	clock: Clock;
	/** What an earlier gate to the same gateway found out, on the same clock. */
	learnt?: Learnt;
}

/** What a gate has found out about the limit of its gateway. */
export interface Learnt {
	pace: number;
	ceiling: number;
	learning: boolean;
	nextStartAt: number;
	/** Until when it asked for quiet. */
	pausedUntil: number;
	/** When the gateway last refused for haste: near its limit the pace recovers slowly from then. */
	loweredAt: number;
	/** When it was found out. */
	at: number;
}

/** What an earlier gate has found out holds for so long. */
const LEARNT_HOLDS_MS = 60_000;

/**
 * Where nothing is known of the gateway's limit, so many may be under way at any pace: each waits for
 * an answer of its own, so that the first refusal finds only a handful more on their way …
 */
const FIRST_IN_FLIGHT = 10;
/** … and others may start so many in a second, and soon many more. */
const FIRST_PER_SECOND = 50;
const LEARNING_GROWTH_PER_SECOND = 8;
/** The pace is never raised beyond so many times what was sent in the last second. */
const MOST_AHEAD = 4;
/** The first refusal shows the limit: the pace goes a little below it. */
const BELOW_THE_LIMIT = 0.95;
/**
 * A refusal soon after the one before, though at less than this share of its pace, has another
 * reason than the pace.
 */
const EXPLAINED = 0.98;
const SOON = 20;
/** Near the limit the pace recovers slowly: to go beyond it costs a pause of the whole run. */
const RECOVERY_NEAR_THE_LIMIT = 0.001;
/** Who is that far above the old limit without a refusal has left it behind. */
const BEYOND_THE_LIMIT = 1.05;

/**
 * After that each refusal lowers the pace by a little, and all that were sent together by a fifth at
 * the most: some gateways refuse a share of the requests at any pace.
 */
const SLOW_DOWN = 0.96;
const MOST_SLOW_DOWN = 0.8;
const SLOWEST_PER_SECOND = 0.2;
const RECOVERY_PER_SECOND = 0.04;
/** The recovery is twice as fast after so many seconds without a refusal, and so on for a minute. */
const RECOVERY_QUICKENS_AFTER_S = 10;
const RECOVERY_QUICKENS_FOR_S = 60;

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 30_000;
/** After so long with nothing but refusals nobody is kept waiting for more of them. */
const PATIENCE_MS = 300_000;
/** What a timer of the platform may be late is made up for. */
const LATE_TIMER_MS = 10;
/** At a high pace what is due within this time is let out by one timer: timers cost a good deal. */
const TOGETHER_MS = 5;
const STARTS_KEPT = 5000;

/** The gateway refuses everything for haste: a request that was waiting for its turn was not sent. */
export class NotSent extends Error {
	override name = 'NotSent';
}

/** What a request gets when it is let out. */
export interface Pass {
	startedAt: number;
}

/**
 * The one way out for all requests of a run: bounded in flight and in requests per second. It finds
 * the gateway's own limit by itself: it begins gently and speeds up until a 429 shows what is too
 * much; a 429 halts the whole run for a moment and lowers the pace, every second without one raises
 * it by a few percent, and by next to nothing where it was refused before. While the pauses do not
 * help, only one request at a time tries whether the gateway is ready again.
 */
export class Gate {
	/** The gateway has refused everything for minutes: trying again is of no use. */
	hopeless = false;

	private readonly queue: Array<{
		enter: (pass: Pass) => void;
		refuse: (reason: unknown) => void;
	}> = [];

	private closed?: { reason: unknown };

	private readonly inFlight = new Set<Pass>();

	private nextStartAt = -Infinity;

	/** Until then nothing starts, whatever the pace. */
	private pausedUntil = -Infinity;

	private wakeAt = Infinity;

	/** Requests per second allowed now. */
	private pace: number;

	/** Until the first refusal; never where the user has set the pace. */
	private learning: boolean;

	/** The pace at which the gateway refused last, as far as the pace was the reason. */
	private ceiling = Infinity;

	/** When the requests started that were not refused so far, the oldest first. */
	private readonly starts: number[] = [];

	/** Which of them is the first within the last second. */
	private recent = 0;

	/** How many requests were taken since the last refusal that was new. */
	private takenInARow = 0;

	private refusedWhileLearning = false;

	/** When the refusal came that ended the learning: others that were sent with it may follow. */
	private learntAt?: number;

	private loweredAt = -Infinity;

	/** What was sent before the pace was last lowered cannot lower it further than this. */
	private lowest = SLOWEST_PER_SECOND;

	private raisedAt?: number;

	private throttlesInARow = 0;

	/** When the first of them came. */
	private throttledSince = 0;

	constructor(private readonly options: GateOptions) {
		this.learning = options.requestsPerSecond === undefined;
		this.pace = options.requestsPerSecond ?? FIRST_PER_SECOND;
		const { learnt, clock } = options;
		if (!this.learning || learnt === undefined) return;
		const age = clock.now() - learnt.at;
		if (age < 0 || age > LEARNT_HOLDS_MS) return;
		this.pace = learnt.pace;
		this.ceiling = learnt.ceiling;
		this.learning = learnt.learning;
		this.nextStartAt = learnt.nextStartAt;
		this.pausedUntil = learnt.pausedUntil;
		this.loweredAt = learnt.loweredAt;
	}

	/** What it has found out so far, for the next gate to the same gateway. */
	learnt(): Learnt | undefined {
		// A limit that the user has set says nothing about the gateway.
		if (this.options.requestsPerSecond !== undefined) return undefined;
		const { pace, ceiling, learning, nextStartAt, pausedUntil, loweredAt } = this;
		const at = this.options.clock.now();
		return { pace, ceiling, learning, nextStartAt, pausedUntil, loweredAt, at };
	}

	/**
	 * Runs `send` as soon as there is room for it.
	 *
	 * @param send gets a pass, to be shown at `throttled`
	 * @throws NotSent if the gateway has been refusing everything for minutes
	 */
	async run<T>(send: (pass: Pass) => Promise<T>): Promise<T> {
		const pass = await new Promise<Pass>((enter, refuse) => {
			if (this.closed !== undefined) return refuse(this.closed.reason);
			this.queue.push({ enter, refuse });
			this.admit();
		});
		try {
			return await send(pass);
		} finally {
			this.inFlight.delete(pass);
			this.admit();
		}
	}

	/** Lets nobody in any more: whoever waits, and whoever comes, is refused with `reason`. */
	close(reason: unknown): void {
		this.closed ??= { reason };
		this.dismiss(reason);
	}

	private dismiss(reason: unknown): void {
		this.queue.splice(0).forEach(({ refuse }) => refuse(reason));
	}

	/** The gateway took a request: the pace may recover. */
	succeeded(): void {
		const now = this.options.clock.now();
		this.throttlesInARow = 0;
		this.takenInARow += 1;
		this.hopeless = false;
		const seconds = Math.max(0, Math.min(1, (now - (this.raisedAt ?? now)) / 1000));
		this.raisedAt = Math.max(now, this.raisedAt ?? now);
		if (this.learning) {
			// Only a pace that was kept up says that the gateway bears more of it.
			const borne = Math.max(this.pace, MOST_AHEAD * this.startedWithinASecond(now));
			this.pace = Math.min(borne, this.pace * LEARNING_GROWTH_PER_SECOND ** seconds);
			return;
		}
		if (this.pace > this.ceiling * BEYOND_THE_LIMIT) this.ceiling = Infinity;
		const quietSeconds = Math.min(RECOVERY_QUICKENS_FOR_S, (now - this.loweredAt) / 1000);
		const isNear = this.pace >= this.ceiling * BELOW_THE_LIMIT;
		const recovery =
			(isNear ? RECOVERY_NEAR_THE_LIMIT : RECOVERY_PER_SECOND) *
			(1 + quietSeconds / RECOVERY_QUICKENS_AFTER_S);
		const raised = this.pace * (1 + recovery * seconds);
		this.pace = Math.min(this.options.requestsPerSecond ?? Infinity, raised);
	}

	/**
	 * The gateway refused a request for haste: nothing starts for a moment, then more slowly.
	 *
	 * @param pauseMs what the gateway asked for by `Retry-After`, in milliseconds
	 */
	throttled(pass: Pass, pauseMs = 0): void {
		const now = this.options.clock.now();
		if (pauseMs > 0) this.pause(now + pauseMs);
		// Whatever was under way at the last refusal was sent before the run had slowed down.
		const isNew = pass.startedAt >= this.loweredAt;
		const taken = this.takenJustBefore(pass);
		if (isNew) {
			// Who counts by the second takes more when the first of them is a second old.
			if (this.learning) this.pause((taken[0] ?? -Infinity) + 1000);
			const own = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.throttlesInARow);
			this.pause(now + own * (0.75 + this.options.clock.random() / 2));
			if (this.throttlesInARow === 0) this.throttledSince = now;
			this.throttlesInARow += 1;
			this.loweredAt = now;
			// While nothing starts the pace does not recover either.
			this.raisedAt = this.nextStartAt;
			this.lowest = Math.max(SLOWEST_PER_SECOND, this.pace * MOST_SLOW_DOWN);
		}
		this.slowDown(Math.max(1, taken.length), isNew, now);
		// With others under way it may be their number that is too much, and that passes.
		this.hopeless = now - this.throttledSince > PATIENCE_MS && this.inFlight.size <= 1;
		if (this.hopeless) this.dismiss(new NotSent('The gateway refuses everything'));
	}

	private slowDown(taken: number, isNew: boolean, now: number): void {
		if (this.learning || (!isNew && this.learntAt === this.loweredAt)) {
			this.pace = Math.min(this.pace, taken * BELOW_THE_LIMIT);
			this.ceiling = taken;
			if (!isNew) return;
			// The first handful alone says little: what was sent before this run may have counted.
			if (this.refusedWhileLearning || taken > FIRST_IN_FLIGHT) this.learning = false;
			this.refusedWhileLearning = true;
			this.learntAt = now;
			return;
		}
		// Refused again before anything was taken, it is the gateway that has become slower.
		const isExplained = this.throttlesInARow > 1 || this.ceiling === Infinity;
		const isSoon = this.takenInARow < SOON && this.pace < this.ceiling * EXPLAINED;
		if (isNew) this.takenInARow = 0;
		if (isNew && !isExplained && isSoon) {
			this.ceiling = Infinity;
			return;
		}
		if (isNew) this.ceiling = this.pace;
		this.pace = Math.max(this.lowest, this.pace * SLOW_DOWN);
	}

	/** When the requests started that the gateway took in the second before one that it refused. */
	private takenJustBefore({ startedAt }: Pass): number[] {
		const index = this.starts.indexOf(startedAt);
		if (index >= 0) this.starts.splice(index, 1);
		if (index >= 0 && index < this.recent) this.recent -= 1;
		return this.starts.filter((at) => at > startedAt - 1000 && at <= startedAt);
	}

	private pause(until: number): void {
		this.pausedUntil = Math.max(this.pausedUntil, until);
		this.nextStartAt = Math.max(this.nextStartAt, until);
	}

	private admit(): void {
		const { clock } = this.options;
		while (this.queue.length > 0 && this.hasRoom()) {
			const now = clock.now();
			const spacing = 1000 / this.pace;
			if (this.isAmongTheFirst(now)) {
				// Not added up: it would keep those waiting that come when more are under way.
				this.nextStartAt = Math.max(this.nextStartAt, now + spacing);
			} else if (this.nextStartAt > now) {
				this.wake(this.nextStartAt + Math.max(0, TOGETHER_MS - spacing), now);
				return;
			} else {
				this.nextStartAt = Math.max(this.nextStartAt, now - LATE_TIMER_MS) + spacing;
			}
			const pass = { startedAt: now };
			this.inFlight.add(pass);
			this.raisedAt ??= now;
			this.noteStart(now);
			this.queue.shift()?.enter(pass);
		}
	}

	private hasRoom(): boolean {
		if (this.inFlight.size >= this.options.concurrency) return false;
		if (this.throttlesInARow <= 1) return true;
		// What was sent before the refusal may take long; it says nothing about now.
		return ![...this.inFlight].some(({ startedAt }) => startedAt >= this.loweredAt);
	}

	/** Whether a request may start at any pace, because so few are under way and none was refused. */
	private isAmongTheFirst(now: number): boolean {
		const isNew = this.learning && !this.refusedWhileLearning && now >= this.pausedUntil;
		return isNew && this.inFlight.size < FIRST_IN_FLIGHT;
	}

	private noteStart(now: number): void {
		this.starts.push(now);
		if (this.starts.length <= STARTS_KEPT) return;
		this.starts.splice(0, STARTS_KEPT / 2);
		this.recent = Math.max(0, this.recent - STARTS_KEPT / 2);
	}

	private startedWithinASecond(now: number): number {
		while ((this.starts[this.recent] ?? Infinity) <= now - 1000) this.recent += 1;
		return this.starts.length - this.recent;
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
