import type { Clock } from './clock';

/** A timer of the platform cannot always be taken back: none is set for longer than this. */
const LONGEST_SLEEP_MS = 5000;

/** Many appointments on one timer: a thousand of them cost what a list of a thousand costs. */
export class TimerQueue<T> {
	/** Sorted by time, the earliest last, so that taking it away is cheap. */
	private readonly timeline: Array<{ at: number; appointment: T }> = [];

	private wakeAt = Infinity;

	/**
	 * @param keep called with each appointment when it is due
	 * @param drop called with those that are left, and the reason, if the clock rejects
	 */
	constructor(
		private readonly clock: Clock,
		private readonly keep: (appointment: T) => void,
		private readonly drop: (appointment: T, reason: unknown) => void,
	) {}

	/** Adds an appointment, in milliseconds of the clock. It needs `start` to be kept. */
	add(at: number, appointment: T): void {
		let low = 0;
		let high = this.timeline.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if ((this.timeline[middle]?.at ?? 0) > at) low = middle + 1;
			else high = middle;
		}
		this.timeline.splice(low, 0, { at, appointment });
	}

	/** Sets the timer to the first appointment, after all that are made together were added. */
	start(): void {
		const next = this.timeline.at(-1);
		if (next === undefined) return;
		const now = this.clock.now();
		const at = Math.min(Math.max(next.at, now), now + LONGEST_SLEEP_MS);
		if (at >= this.wakeAt) return;
		this.wakeAt = at;
		this.clock.sleep(at - now).then(
			() => {
				// Another one was set meanwhile, for an earlier appointment.
				if (this.wakeAt !== at) return;
				this.wakeAt = Infinity;
				this.keepDue();
			},
			(reason) => {
				this.wakeAt = Infinity;
				for (const { appointment } of this.timeline.splice(0)) this.drop(appointment, reason);
			},
		);
	}

	/** Forgets all appointments. */
	clear(): void {
		this.timeline.length = 0;
	}

	private keepDue(): void {
		const now = this.clock.now();
		const isDue = (at: number | undefined): boolean => at !== undefined && at <= now;
		while (isDue(this.timeline.at(-1)?.at)) {
			const due = this.timeline.pop();
			if (due !== undefined) this.keep(due.appointment);
		}
		this.start();
	}
}
