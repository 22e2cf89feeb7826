/** A map of bounded size: the entry that was not used for longest makes room for a new one. */
export class LruMap<Key, Value> {
	private readonly entries = new Map<Key, Value>();

	/** @param most how many entries are kept */
	constructor(private readonly most: number) {}

	/** The value under a key; looking at it counts as a use. */
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

	/** The value under a key, made and kept where there is none. */
	getOrAdd(key: Key, make: () => Value): Value {
		const value = this.get(key) ?? make();
		this.set(key, value);
		return value;
	}
}
