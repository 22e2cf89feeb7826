import type { Clock } from './clock';

/** A timer of the platform cannot always be taken back: none is set for longer than this. */
const LONGEST_SLEEP_MS = 5000;

/** Many events on one timer of the clock: a thousand of them cost what a list of a thousand costs. */
export class TimerQueue<T> {
	/** Sorted by time, the earliest last, so that taking it away is cheap. */
	private readonly timeline: Array<{ at: number; event: T }> = [];

	private wakeAt = Infinity;

	/**
	 * @param onDue called with each event when its time comes
	 * @param onReject called with the events that are left, and the reason, if the clock rejects
	 */
	constructor(
		private readonly clock: Clock,
		private readonly onDue: (event: T) => void,
		private readonly onReject: (event: T, reason: unknown) => void,
	) {}

	/** Adds an event at a time of the clock, in milliseconds; of several at once, the earliest first. */
	add(at: number, event: T): void {
		let low = 0;
		let high = this.timeline.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if ((this.timeline[middle]?.at ?? 0) > at) low = middle + 1;
			else high = middle;
		}
		this.timeline.splice(low, 0, { at, event });
		this.start();
	}

	/** Sets the timer to the first event. */
	private start(): void {
		const next = this.timeline.at(-1);
		if (next === undefined) return;
		const now = this.clock.now();
		const at = Math.min(Math.max(next.at, now), now + LONGEST_SLEEP_MS);
		if (at >= this.wakeAt) return;
		this.wakeAt = at;
		this.clock.sleep(at - now).then(
			() => {
				// The timer was set to an earlier event meanwhile.
				if (this.wakeAt !== at) return;
				this.wakeAt = Infinity;
				this.runDue();
			},
			(reason) => {
				this.wakeAt = Infinity;
				for (const { event } of this.timeline.splice(0)) this.onReject(event, reason);
			},
		);
	}

	/** Forgets all events. */
	clear(): void {
		this.timeline.length = 0;
	}

	private runDue(): void {
		const now = this.clock.now();
		const isDue = (at: number | undefined): boolean => at !== undefined && at <= now;
		while (isDue(this.timeline.at(-1)?.at)) {
			const due = this.timeline.pop();
			if (due !== undefined) this.onDue(due.event);
		}
		this.start();
	}
}
