import type { Clock } from './clock';

export interface GateOptions {
	/** How many requests may be under way at the same time. */
	concurrency: number;
	/** How many requests may start in a second; undefined: as many as the gateway takes. */
	requestsPerSecond?: number;
	clock: Clock;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const SLOWEST_PER_SECOND = 0.2;
const SLOW_DOWN = 0.85;
const RECOVERY_PER_SECOND = 0.04;

interface Pass {
	startedAt: number;
}

/**
 * The one way out for all requests of a run: bounded in flight and in requests per second. It
 * finds the gateway's own limit by itself: a 429 halts the whole run for a moment and lowers the
 * pace to a little below what was accepted just before; every second without one raises it by a
 * few percent.
 */
export class Gate {
	private readonly queue: Array<{ enter: () => void; refuse: (reason: unknown) => void }> = [];

	private closed?: { reason: unknown };

	private inFlight = 0;

	private nextStartAt = 0;

	private wakeAt = Infinity;

	/** Requests per second allowed now. */
	private pace: number;

	private pausedUntil = 0;

	private loweredAt = -Infinity;

	private raisedAt = 0;

	private throttlesInARow = 0;

	/** When the requests of the last second were accepted. */
	private accepted: number[] = [];

	constructor(private readonly options: GateOptions) {
		this.pace = options.requestsPerSecond ?? Infinity;
	}

	/**
	 * Runs `send` as soon as there is room for it.
	 *
	 * @param send gets a pass, to be shown at `succeeded` or `throttled`
	 */
	async run<T>(send: (pass: Pass) => Promise<T>): Promise<T> {
		await new Promise<void>((enter, refuse) => {
			if (this.closed !== undefined) return refuse(this.closed.reason);
			this.queue.push({ enter, refuse });
			this.admit();
		});
		try {
			return await send({ startedAt: this.options.clock.now() });
		} finally {
			this.inFlight -= 1;
			this.admit();
		}
	}

	/** Lets nobody in any more: whoever waits, and whoever comes, is refused with `reason`. */
	close(reason: unknown): void {
		this.closed ??= { reason };
		this.queue.splice(0).forEach(({ refuse }) => refuse(reason));
	}

	/** The gateway took a request: the pace may recover. */
	succeeded(): void {
		const now = this.options.clock.now();
		this.throttlesInARow = 0;
		this.accepted.push(now);
		if (this.accepted.length >= 256) this.forgetOld(now);
		if (this.pace === Infinity) return;
		const seconds = Math.min(1, Math.max(0, now - this.raisedAt) / 1000);
		this.raisedAt = now;
		const highest = this.options.requestsPerSecond ?? Infinity;
		this.pace = Math.min(highest, this.pace * (1 + RECOVERY_PER_SECOND * seconds));
	}

	/**
	 * The gateway refused a request for haste: nothing starts for a moment, then more slowly.
	 *
	 * @param pauseMs what the gateway asked for by `Retry-After`, in milliseconds
	 */
	throttled(pass: Pass, pauseMs = 0): void {
		const now = this.options.clock.now();
		// Requests that were already under way when the pace was lowered say nothing new.
		if (pass.startedAt >= this.loweredAt) {
			this.forgetOld(now);
			const reached = this.accepted.length > 0 ? this.accepted.length : this.pace / 2;
			const from = Math.min(this.pace, Number.isFinite(reached) ? reached : 1);
			this.pace = Math.max(SLOWEST_PER_SECOND, from * SLOW_DOWN);
			this.loweredAt = now;
			this.raisedAt = now;
			const own = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.throttlesInARow);
			this.throttlesInARow += 1;
			this.pause(now + own * (0.75 + this.options.clock.random() / 2));
		}
		if (pauseMs > 0) this.pause(now + pauseMs);
	}

	private pause(until: number): void {
		this.pausedUntil = Math.max(this.pausedUntil, until);
		this.nextStartAt = Math.max(this.nextStartAt, this.pausedUntil);
	}

	private forgetOld(now: number): void {
		const recent = this.accepted.findIndex((at) => at >= now - 1000);
		this.accepted = recent < 0 ? [] : this.accepted.slice(recent);
	}

	private admit(): void {
		const { clock, concurrency } = this.options;
		while (this.queue.length > 0 && this.inFlight < concurrency) {
			const now = clock.now();
			if (this.nextStartAt > now) {
				this.wake(this.nextStartAt, now);
				return;
			}
			if (this.pace !== Infinity) {
				const spacing = 1000 / this.pace;
				// A timer that fires late may catch up by one request, no more.
				this.nextStartAt = Math.max(this.nextStartAt, now - spacing) + spacing;
			}
			this.inFlight += 1;
			this.queue.shift()?.enter();
		}
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
