/** Holds answers for a while, so that a batch asks for the same thing once. */
export class AnswerCache<T> {
	private readonly entries = new Map<string, { until: number; answer: Promise<T> }>();

	/**
	 * @param keepMs how long an answer is kept, in milliseconds
	 * @param now milliseconds since an arbitrary start
	 */
	constructor(
		private readonly keepMs: number,
		private readonly now: () => number,
	) {}

	/**
	 * The answer that is kept under a key, else a new one. Who asks while it is on its way shares it;
	 * a failure is not kept.
	 */
	async get(key: string, load: () => Promise<T>): Promise<T> {
		const now = this.now();
		for (const [known, { until }] of this.entries) {
			if (until <= now) this.entries.delete(known);
		}
		const kept = this.entries.get(key);
		if (kept !== undefined) return await kept.answer;
		const entry = { until: now + this.keepMs, answer: load() };
		this.entries.set(key, entry);
		entry.answer.catch(() => {
			if (this.entries.get(key) === entry) this.entries.delete(key);
		});
		return await entry.answer;
	}
}
