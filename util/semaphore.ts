/** Lets a number of functions run at once; the others wait for their turn. */
export class Semaphore {
	private readonly waiting: Array<() => void> = [];

	/** @param free how many more may start now */
	constructor(private free: number) {}

	async run<T>(work: () => Promise<T>): Promise<T> {
		if (this.free > 0) this.free -= 1;
		else await new Promise<void>((start) => this.waiting.push(start));
		try {
			return await work();
		} finally {
			const next = this.waiting.shift();
			if (next === undefined) this.free += 1;
			else next();
		}
	}
}
