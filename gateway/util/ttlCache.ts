/** A response, and for how long others may be given it, in milliseconds from when it was asked for. */
export interface Kept<T> {
	value: T;
	keepMs: number;
}

/** A change to the listing is visible within this time (specification, 4.7), the gateway's caches included. */
const LONGEST_MS = 60_000;

/** Shares responses that are there for as long as each may be kept, and those that are on their way. */
export class TtlCache<T> {
	private readonly kept = new Map<string, { until: number; value: T }>();

	/** By policy and key. */
	private readonly onTheirWay = new Map<string, { until: number; value: Promise<T> }>();

	/** @param now milliseconds since an arbitrary start */
	constructor(private readonly now: () => number) {}

	/**
	 * The response that is kept under a key, else a new one. Who asks while it is on its way shares it,
	 * its failure too, if both would wait as long for it; a failure is not kept. All get the very same
	 * response: what is handed on of it must be a copy.
	 *
	 * @param policy how long `load` waits and how often it tries, in any words: nobody is to give up
	 *   sooner, or later, because of whoever happened to ask first
	 */
	async get(key: string, load: () => Promise<Kept<T>>, policy = ''): Promise<T> {
		const now = this.now();
		for (const entries of [this.kept, this.onTheirWay]) {
			for (const [known, { until }] of entries) if (until <= now) entries.delete(known);
		}
		const kept = this.kept.get(key);
		if (kept !== undefined) return kept.value;
		const way = `${policy} ${key}`;
		const shared = this.onTheirWay.get(way);
		if (shared !== undefined) return await shared.value;
		// Longer than that nobody waits for what another has asked.
		const entry = { until: now + LONGEST_MS, value: this.load(key, load, now) };
		this.onTheirWay.set(way, entry);
		const end = (): void => {
			if (this.onTheirWay.get(way) === entry) this.onTheirWay.delete(way);
		};
		entry.value.then(end, end);
		return await entry.value;
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
	const directives = (headers['cache-control'] ?? '')
		.slice(0, 500)
		.toLowerCase()
		.split(',')
		.map((directive) => directive.trim());
	if (directives.includes('no-store') || directives.includes('no-cache')) return 0;
	const ages = directives.filter((directive) => directive.startsWith('max-age'));
	if (ages.length === 0) return USUAL_MS;
	const seconds = ages.map((age) => wholeNumber(age.split('=')[1]?.replaceAll('"', '')) ?? 0);
	const age = headers.age === undefined ? 0 : (wholeNumber(headers.age) ?? Infinity);
	const left = (Math.min(...seconds) - age) * 1000;
	return Math.max(0, Math.min(LONGEST_MS - age * 1000, left));
}

function wholeNumber(text: string | undefined): number | undefined {
	const digits = text?.trim().slice(0, 20) ?? '';
	return /^\d+$/.test(digits) ? Number(digits) : undefined;
}
