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
	private readonly onTheirWay = new WeakMap<
		object,
		Map<string, { until: number; value: Promise<T> }>
	>();

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
		const onTheirWay = this.onTheirWay.get(asker) ?? new Map();
		this.onTheirWay.set(asker, onTheirWay);
		for (const entries of [this.kept, onTheirWay]) {
			for (const [known, { until }] of entries) if (until <= now) entries.delete(known);
		}
		const known = this.kept.get(key) ?? onTheirWay.get(key);
		if (known !== undefined) return await known.value;
		// Longer than that nobody waits for what another has asked.
		const entry = { until: now + LONGEST_MS, value: this.load(key, load, now) };
		onTheirWay.set(key, entry);
		const end = (): void => {
			if (onTheirWay.get(key) === entry) onTheirWay.delete(key);
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
