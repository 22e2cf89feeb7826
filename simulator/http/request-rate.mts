/** Lets at most so many requests through within any second, whole or not. */
export class RequestRate {
	private readonly accepted: number[];
	private next = 0;

	constructor(perSecond: number) {
		this.accepted = new Array<number>(Math.max(1, Math.floor(perSecond))).fill(-Infinity);
	}

	/** Whether a request at this moment (milliseconds) may pass; if so, it is counted. */
	pass(now: number): boolean {
		if (now - this.accepted[this.next]! < 1000) return false;
		this.accepted[this.next] = now;
		this.next = (this.next + 1) % this.accepted.length;
		return true;
	}
}
