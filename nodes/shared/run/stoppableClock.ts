import { sleep } from 'n8n-workflow';
import type { Clock } from '../../../gateway/util/clock';

/** A timer of Node.js that is set for longer fires at once. Whoever wakes too early looks again. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1;

/** The platform's time, all of whose sleeps end at once when it is closed. */
export class StoppableClock implements Clock {
	private readonly sleeping = new Map<AbortController, (reason: unknown) => void>();

	private closed?: { reason: unknown };

	now(): number {
		return performance.now();
	}

	random(): number {
		return Math.random();
	}

	async sleep(ms: number): Promise<void> {
		if (this.closed !== undefined) return await Promise.reject(this.closed.reason);
		// Each sleep has its own signal: n8n before 2.34 ignores it, and many listeners on one signal
		// make Node.js warn of a leak.
		const timer = new AbortController();
		await new Promise<void>((resolve, reject) => {
			this.sleeping.set(timer, reject);
			sleep(Math.min(ms, LONGEST_SLEEP_MS), timer.signal).then(resolve, () => undefined);
		});
		this.sleeping.delete(timer);
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
