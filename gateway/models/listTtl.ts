/** The longest time to live: the protocol allows 60 seconds (docs/protocol.md, "Model list"). */
const LONGEST_TTL_MS = 60_000;

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
