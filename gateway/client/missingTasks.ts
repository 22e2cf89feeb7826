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
	/** When it was said for the first time to be completed, without an image. */
	emptySince?: number;
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

/** So long after it was completed a task may list its image, in milliseconds. */
const LISTED_AFTER_MS = 5000;

/** Notes that a task is completed without an image. @returns whether that is final */
export function staysEmpty(task: Sightings, now: number): boolean {
	task.emptySince ??= now;
	return now - task.emptySince >= LISTED_AFTER_MS;
}

/** When a task was submitted, on the clock of the run; undefined if that is not known. */
export function birth(now: number, ageMs: number | undefined, heldMs = 0): number | undefined {
	if (ageMs !== undefined) return now - Math.max(0, ageMs, heldMs);
	// It may be older, which matters only for a young one.
	return heldMs >= YOUNG_MS ? now - heldMs : undefined;
}

/**
 * What the next wait for a task has to know of this one: of a task that was seen, a single 404 is not
 * final there either. One that was never seen is judged anew by its age.
 *
 * @param shiftMs from the clock of these sightings to the one of the result
 */
export function carried(
	{ seen, misses, missingSince, emptySince }: Sightings,
	shiftMs: number,
): Sightings {
	if (seen !== true) return {};
	const shifted = (at: number | undefined) => (at === undefined ? undefined : at + shiftMs);
	return { seen, misses, missingSince: shifted(missingSince), emptySince: shifted(emptySince) };
}
