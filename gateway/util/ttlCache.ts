/** A response, and for how long others may be given it, in milliseconds from when it was asked for. */
export interface Kept<T> {
	value: T;
	keepMs: number;
}

/** A change to the listing is visible within this time (docs/protocol.md, "Model list"), the gateway's caches included. */
const LONGEST_MS = 60_000;

/** Shares responses that are there for as long as each may be kept, and those that are on their way. */
export class TtlCache<T> {
	private readonly kept = new Map<string, { until: number; value: T }>();

	/** By asker, and key. */
	private readonly onTheirWay = new WeakMap<object, Map<string, Promise<T>>>();

	/** @param now milliseconds since an arbitrary start */
	constructor(private readonly now: () => number) {}

	/**
	 * The response that is kept under a key, else a new one. Who asks again while it is on its way
	 * shares it, its failure too; a failure is not kept. All get the very same response: what is handed
	 * on of it must be a copy.
	 *
	 * @param asker those who share a request on its way: others may wait longer for it, or be stopped
	 */
	async get(key: string, load: () => Promise<Kept<T>>, asker: object = this): Promise<T> {
		const now = this.now();
		for (const [known, { until }] of this.kept) if (until <= now) this.kept.delete(known);
		const onTheirWay = this.onTheirWay.get(asker) ?? new Map();
		this.onTheirWay.set(asker, onTheirWay);
		const known = this.kept.get(key)?.value ?? onTheirWay.get(key);
		if (known !== undefined) return await known;
		const loading = this.load(key, load, now).finally(() => void onTheirWay.delete(key));
		onTheirWay.set(key, loading);
		return await loading;
	}

	private async load(key: string, load: () => Promise<Kept<T>>, askedAt: number): Promise<T> {
		const { value, keepMs } = await load();
		const until = askedAt + keepMs;
		// Of two that were asked for at once the one that is good for longer is kept.
		if (until > (this.kept.get(key)?.until ?? this.now())) this.kept.set(key, { until, value });
		return value;
	}
}

/** Where the response does not say how old it is. */
const USUAL_MS = 5000;

/**
 * For how long a response of the listing may be kept: what `Cache-Control` allows, less its `Age`.
 *
 * @param headers with names in lower case
 * @returns milliseconds
 */
export function keepMsOf(headers: Record<string, string>): number {
	const control = (headers['cache-control'] ?? '').slice(0, 500).toLowerCase();
	if (/\bno-(store|cache)\b/.test(control)) return 0;
	const [, seconds] = /\bmax-age="?(\d{1,9})\b/.exec(control) ?? [];
	if (seconds === undefined) return USUAL_MS;
	const age = Number(headers.age ?? 0);
	const left = Math.min(LONGEST_MS / 1000, Number(seconds)) - age;
	return age >= 0 ? Math.max(0, left * 1000) : 0;
}
