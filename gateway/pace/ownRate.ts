import { LATE_TIMER_MS } from './sharedRate';

/**
 * A little more than the second in which a gateway counts: a request may arrive sooner after its
 * start than an earlier one did. In milliseconds.
 */
const COUNTING_MARGIN_MS = 50;

/** The number of requests per second that the user has set for a run, if any. */
export class OwnRate {
	/** The earliest start of the next request. */
	private nextStartAt = 0;

	/** The starts of as many requests as the user allows in `countedMs`. */
	private readonly starts: number[] = [];

	constructor(private readonly perSecond?: number) {}

	get isSet(): boolean {
		return this.perSecond !== undefined;
	}

	/** The earliest start of the next request. */
	get allowedAt(): number {
		const [oldest = 0] = this.starts;
		const isFull = this.starts.length >= this.mostCounted;
		return Math.max(this.nextStartAt, isFull ? oldest + this.countedMs : 0);
	}

	/** Records the start of a request. */
	count(now: number): void {
		const { allowedAt, perSecond = Infinity } = this;
		if (perSecond === Infinity) return;
		this.starts.push(now);
		if (this.starts.length > this.mostCounted) this.starts.shift();
		this.nextStartAt = Math.max(allowedAt, now - LATE_TIMER_MS) + 1000 / perSecond;
	}

	/** The whole number of requests that may start in `countedMs`. */
	private get mostCounted(): number {
		return Math.ceil(this.perSecond ?? Infinity);
	}

	/** The time in which a gateway may count that many: a second for a whole number of them. */
	private get countedMs(): number {
		const { perSecond = Infinity } = this;
		return (1000 * this.mostCounted) / perSecond + COUNTING_MARGIN_MS;
	}
}
