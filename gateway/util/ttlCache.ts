/** A response, and for how long others may be given it, in milliseconds from when it was asked for. */
export interface Kept<T> {
	value: T;
	keepMs: number;
}

/** A change to the listing is visible within this time (specification, 4.7), the gateway's caches included. */
const LONGEST_MS = 60_000;

/** Shares responses that are on their way, and those that are there for as long as each may be kept. */
export class TtlCache<T> {
	private readonly entries = new Map<string, { until: number; value: Promise<T> }>();

	/** @param now milliseconds since an arbitrary start */
	constructor(private readonly now: () => number) {}

	/**
	 * The response that is kept under a key, else a new one. Who asks while it is on its way shares it;
	 * a failure is not kept. All get the very same response: what is handed on of it must be a copy.
	 */
	async get(key: string, load: () => Promise<Kept<T>>): Promise<T> {
		const now = this.now();
		for (const [known, { until }] of this.entries) {
			if (until <= now) this.entries.delete(known);
		}
		const kept = this.entries.get(key);
		if (kept !== undefined) return await kept.value;
		const entry = {
			// On its way: longer than that nobody waits for what another has asked.
			until: now + LONGEST_MS,
			value: this.load(load, now, (until) => (entry.until = until)),
		};
		this.entries.set(key, entry);
		entry.value.catch(() => {
			if (this.entries.get(key) === entry) this.entries.delete(key);
		});
		return await entry.value;
	}

	private async load(
		load: () => Promise<Kept<T>>,
		askedAt: number,
		keepUntil: (until: number) => void,
	): Promise<T> {
		const { value, keepMs } = await load();
		keepUntil(askedAt + keepMs);
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
