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
/** In fewer worlds, what n8n and V8 load late weighs more than what worlds leave behind. */
const FEWEST_WORLDS = 1000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What is in use before so many worlds; undefined where they are too few to say what each leaves. */
export const bytesBefore = (worlds: number): number | undefined =>
	worlds < FEWEST_WORLDS ? undefined : bytesInUse();

/** Bytes in use when nothing is left to collect. */
function bytesInUse(): number {
	collect();
	collect();
	return process.memoryUsage().heapUsed;
}

/** What is wrong with the memory, if anything. @param worlds played since `before` */
export function leak(before: number | undefined, worlds: number): string | undefined {
	if (before === undefined || worlds < FEWEST_WORLDS) return undefined;
	const each = Math.round((bytesInUse() - before - MOST_KEPT_BYTES) / worlds);
	if (each <= MOST_LEFT_BYTES) return undefined;
	return `Invariant 5: each of ${worlds} worlds left ${each} bytes behind`;
}
