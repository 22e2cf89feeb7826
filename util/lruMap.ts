/** A map of limited size, which drops the least recently used entry. */
export class LruMap<Key, Value> {
	private readonly entries = new Map<Key, Value>();

	/** @param most the maximum number of entries */
	constructor(private readonly most: number) {}

	/** The value of a key, which counts as used. */
	get(key: Key): Value | undefined {
		const value = this.entries.get(key);
		if (value !== undefined) this.set(key, value);
		return value;
	}

	set(key: Key, value: Value): void {
		this.entries.delete(key);
		this.entries.set(key, value);
		const [oldest] = this.entries.keys();
		if (this.entries.size > this.most && oldest !== undefined) this.entries.delete(oldest);
	}
}
