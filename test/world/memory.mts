/** Invariant 5, for all worlds together: the memory of a run returns. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * What a world may leave behind, in bytes: each has a gateway of its own, of which the package keeps
 * for a while how fast it may be asked and what it lists.
 */
const MOST_LEFT_BYTES = 10_000;
/** And all of them together: caches of a fixed size, which the first thousands fill. */
const MOST_KEPT_BYTES = 5_000_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes in use when nothing is left to collect. */
export function bytesInUse(): number {
	collect();
	collect();
	return process.memoryUsage().heapUsed;
}

/** What is wrong with the memory, if anything. @param worlds played since `before` was measured */
export function leak(before: number, worlds: number): string | undefined {
	const each = Math.round((bytesInUse() - before - MOST_KEPT_BYTES) / worlds);
	if (worlds < 1000 || each <= MOST_LEFT_BYTES) return undefined;
	return `Invariant 5: each of ${worlds} worlds left ${each} bytes behind`;
}
