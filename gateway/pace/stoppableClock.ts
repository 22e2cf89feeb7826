import { orEnded } from '../wire/inFlight';

/** Time and random numbers, passed in so that tests control them. */
export interface Clock {
	/** Milliseconds since an arbitrary start. */
	now(): number;
	/** Resolves after a number of milliseconds; rejects when the run is stopped, or by the signal of a call. */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
	/** A random number from 0 to below 1. */
	random(): number;
}

/** Resolves after a number of milliseconds, or at once when the signal is aborted. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/**
 * The longest timer of Node.js: a longer one fires at once. Callers check the time after each
 * sleep.
 */
const LONGEST_SLEEP_MS = 2 ** 31 - 1;

/** The real clock. Closing it ends all its sleeps at once. */
export class StoppableClock implements Clock {
	private readonly sleeping = new Map<AbortController, (reason: unknown) => void>();

	private closed?: { reason: unknown };

	constructor(private readonly sleepFor: Sleep) {}

	now(): number {
		return performance.now();
	}

	random(): number {
		return Math.random();
	}

	async sleep(ms: number, signal?: AbortSignal): Promise<void> {
		if (this.closed !== undefined) throw this.closed.reason;
		// Each sleep has a signal of its own: with many listeners on one, Node.js warns of a leak. A
		// `Sleep` may ignore it.
		const timer = new AbortController();
		try {
			const sleep = (resolve: () => void, reject: (reason: unknown) => void): void => {
				this.sleeping.set(timer, reject);
				this.sleepFor(Math.min(ms, LONGEST_SLEEP_MS), timer.signal).then(resolve, () => undefined);
			};
			await new Promise(orEnded<void>(signal, sleep));
		} finally {
			this.sleeping.delete(timer);
			if (signal?.aborted === true) timer.abort();
		}
	}

	close(reason: unknown): void {
		this.closed ??= { reason };
		for (const [timer, reject] of this.sleeping) {
			reject(reason);
			timer.abort();
		}
		this.sleeping.clear();
	}
}
