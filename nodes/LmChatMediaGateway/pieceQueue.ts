/** Hands on what one side puts in to the other side that waits for it, in order. */
export class Queue<T> implements AsyncIterable<T> {
	private entries: T[] = [];

	private closed = false;

	private wake: () => void = () => undefined;

	put(entry: T): void {
		this.entries.push(entry);
		this.wake();
	}

	/** Nothing more will come; what is there can still be taken out. */
	close(): void {
		this.closed = true;
		this.wake();
	}

	async *[Symbol.asyncIterator](): AsyncGenerator<T> {
		for (;;) {
			while (this.entries.length > 0) {
				// All at once: taking them out one by one moves all others each time.
				const taken = this.entries;
				this.entries = [];
				yield* taken;
			}
			if (this.closed) return;
			await new Promise<void>((resolve) => {
				this.wake = resolve;
			});
		}
	}
}
