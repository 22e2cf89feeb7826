/** A task may become visible only a while after its submit, in milliseconds. */
export const YOUNG_MS = 30_000;
/** Where its age is not known, or where it was seen before, a few responses in a row decide. */
const STAYS_MS = 5000;
const FEW_MISSES = 4;

/** What is known about a task that the gateway does not know: decides when that is final. */
export interface Sightings {
	/** When it was submitted, on the clock of the run; undefined where its age is not known. */
	bornAt?: number;
	/** When the gateway said for the first time that it does not know it, and has said so since. */
	missingSince?: number;
	/** How often it has said so. */
	misses?: number;
	/** Whether the gateway has told its status before. */
	seen?: boolean;
}

/**
 * Notes that the gateway does not know a task.
 *
 * @returns whether that is final: at once for a task that was submitted half a minute ago, for a
 * younger one only if it stays until then, and for five seconds where its age is not known; in these
 * cases not before a few responses in a row have said so
 */
export function isGone(task: Sightings, now: number): boolean {
	task.missingSince ??= now;
	task.misses = (task.misses ?? 0) + 1;
	const missingMs = now - task.missingSince;
	const isSure = task.misses >= FEW_MISSES;
	if (task.bornAt === undefined || task.seen === true) return isSure && missingMs >= STAYS_MS;
	if (task.missingSince - task.bornAt >= YOUNG_MS) return true;
	// A clock that is wrong elsewhere does not keep anybody waiting.
	return isSure && (now - task.bornAt >= YOUNG_MS || missingMs >= YOUNG_MS);
}
