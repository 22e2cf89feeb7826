/** A response with its time to live, in milliseconds from the start of its request. */
export interface Cached<T> {
	value: T;
	ttlMs: number;
}

/** The longest time to live: the protocol allows 60 seconds (docs/protocol.md, "Model list"). */
const LONGEST_TTL_MS = 60_000;

/** Shares responses for their time to live, and requests in progress. */
export class TtlCache<T> {
	private readonly cache = new Map<string, { until: number; value: T }>();

	/** Requests in progress, by owner and key. */
	private readonly pending = new WeakMap<object, Map<string, Promise<T>>>();

	/** @param now milliseconds since an arbitrary start */
	constructor(private readonly now: () => number) {}

	/**
	 * The cached response of a key, else a new one. Calls of the same owner share a request in
	 * progress, also its failure, which isn't cached. All callers get the same object, so they must
	 * copy what they return.
	 *
	 * @param owner the owner of a request in progress: others may wait longer for it, or be stopped
	 */
	async get(key: string, load: () => Promise<Cached<T>>, owner: object = this): Promise<T> {
		const now = this.now();
		for (const [cachedKey, { until }] of this.cache) if (until <= now) this.cache.delete(cachedKey);
		const pending = this.pending.get(owner) ?? new Map();
		this.pending.set(owner, pending);
		const shared = this.cache.get(key)?.value ?? pending.get(key);
		if (shared !== undefined) return await shared;
		const loading = this.load(key, load, now).finally(() => void pending.delete(key));
		pending.set(key, loading);
		return await loading;
	}

	private async load(key: string, load: () => Promise<Cached<T>>, startedAt: number): Promise<T> {
		const { value, ttlMs } = await load();
		const until = startedAt + ttlMs;
		// Of two requests at the same time, the response with the longer time to live is cached.
		if (until > (this.cache.get(key)?.until ?? this.now())) this.cache.set(key, { until, value });
		return value;
	}
}

/** The time to live of a response without caching headers. */
const DEFAULT_TTL_MS = 5000;

/**
 * The time to live of a model list: the `max-age` of `Cache-Control`, less `Age`.
 *
 * @param headers with names in lower case
 * @returns milliseconds
 */
export function ttlMsOf(headers: Record<string, string>): number {
	const control = (headers['cache-control'] ?? '').slice(0, 500).toLowerCase();
	if (/\bno-(store|cache)\b/.test(control)) return 0;
	const [, seconds] = /\bmax-age="?(\d{1,9})\b/.exec(control) ?? [];
	if (seconds === undefined) return DEFAULT_TTL_MS;
	const age = Number(headers.age ?? 0);
	const left = Math.min(LONGEST_TTL_MS / 1000, Number(seconds)) - age;
	return age >= 0 ? Math.max(0, left * 1000) : 0;
}
