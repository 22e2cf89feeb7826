import type { Clock } from '../../gateway/pace/stoppableClock.js';

interface Sleeper {
	at: number;
	wake: () => void;
	refuse: (reason: unknown) => void;
}

/** Lets everything run that does not wait for the clock. */
const settled = async () => await new Promise<void>((resolve) => setImmediate(resolve));

/** Virtual time: it passes only while `run` or `pass` is waited for, and then in jumps. */
export class FakeClock implements Clock {
	private at = 0;
	private closed?: { reason: unknown };
	private readonly sleepers: Sleeper[] = [];

	/**
	 * @param seed for `random`: the same seed, the same chances
	 * @param lateMs how late each sleep ends: a real timer is never on time
	 */
	constructor(
		private seed = 1,
		private readonly lateMs = 0,
	) {}

	/** Milliseconds. */
	now = (): number => this.at;

	random = (): number => {
		this.seed = (this.seed + 0x6d2b79f5) | 0;
		let mixed = Math.imul(this.seed ^ (this.seed >>> 15), 1 | this.seed);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};

	sleep = async (ms: number): Promise<void> => {
		// The platform's timer would fire at once for these.
		if (!(ms >= 0 && ms < 2 ** 31)) throw new Error(`A sleep of ${ms} ms`);
		if (this.closed !== undefined) throw this.closed.reason;
		await new Promise<void>((wake, refuse) => {
			const at = this.at + ms + this.lateMs;
			let low = 0;
			let high = this.sleepers.length;
			while (low < high) {
				const middle = (low + high) >> 1;
				if (this.sleepers[middle].at > at) low = middle + 1;
				else high = middle;
			}
			this.sleepers.splice(low, 0, { at, wake, refuse });
		});
	};

	/** As when the user presses Stop: every sleep ends, and none begins. */
	close(reason: unknown): void {
		this.closed = { reason };
		this.sleepers.splice(0).forEach(({ refuse }) => refuse(reason));
	}

	/** How many sleeps are under way. */
	get sleeping(): number {
		return this.sleepers.length;
	}

	/** Lets that many milliseconds pass. */
	async pass(ms: number): Promise<void> {
		const end = this.at + ms;
		for (;;) {
			await settled();
			const next = this.sleepers.at(-1);
			if (next === undefined || next.at > end) break;
			this.wakeAllAt(next.at);
		}
		this.at = end;
	}

	/**
	 * Lets time pass until the promise is settled.
	 *
	 * @throws if it cannot be settled by waiting, or not within `longestMs`
	 */
	async run<T>(promise: Promise<T>, longestMs = 86_400_000): Promise<T> {
		let done = false;
		const finish = () => {
			done = true;
		};
		promise.then(finish, finish);
		const end = this.at + longestMs;
		for (;;) {
			await settled();
			if (done) return await promise;
			const next = this.sleepers.at(-1);
			if (next === undefined) throw new Error(`Nothing more happens after ${this.at} ms`);
			if (next.at > end) throw new Error(`Still waiting after ${longestMs} ms`);
			this.wakeAllAt(next.at);
		}
	}

	private wakeAllAt(at: number): void {
		this.at = at;
		while (this.sleepers.at(-1)?.at === at) this.sleepers.pop()?.wake();
	}
}
