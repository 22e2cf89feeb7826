/** In milliseconds: a task may become visible this late after its submit. */
export const YOUNG_MS = 30_000;
/**
 * In milliseconds: for a task of unknown age, and one that was seen before, the 404s must last this
 * long.
 */
const STAYS_MS = 5000;
const FEW_MISSES = 4;

/** The 404s and empty results of a task, which decide when they are final. */
export interface Sightings {
	/** The time of its submit on the run's clock; undefined if its age is unknown. */
	bornAt?: number;
	/** The time of the first 404 in the current row of 404s. */
	missingSince?: number;
	/** The number of 404s in a row. */
	misses?: number;
	/** Whether an earlier response contained its status. */
	seen?: boolean;
	/** The time of the first response that reported the task as completed, but without an image. */
	emptySince?: number;
}

/**
 * Records a 404.
 *
 * @returns whether it is final: at once for a task that was submitted half a minute ago; for a
 *   younger one at that age, for one of unknown age after five seconds, and then only after a few
 *   404s in a row
 */
export function isGone(task: Sightings, now: number): boolean {
	task.missingSince ??= now;
	task.misses = (task.misses ?? 0) + 1;
	const missingMs = now - task.missingSince;
	const isSure = task.misses >= FEW_MISSES;
	if (task.bornAt === undefined || task.seen === true) return isSure && missingMs >= STAYS_MS;
	if (task.missingSince - task.bornAt >= YOUNG_MS) return true;
	// A wrong clock on another machine must not prolong the wait.
	return isSure && (now - task.bornAt >= YOUNG_MS || missingMs >= YOUNG_MS);
}

/** In milliseconds: a completed task may list its image this late. */
const LISTED_AFTER_MS = 5000;

/** Records a response of a completed task without an image. @returns whether it is final */
export function staysEmpty(task: Sightings, now: number): boolean {
	task.emptySince ??= now;
	return now - task.emptySince >= LISTED_AFTER_MS;
}

/** The time of a task's submit on the run's clock; undefined if it is unknown. */
export function birth(now: number, ageMs: number | undefined, heldMs = 0): number | undefined {
	if (ageMs !== undefined) return now - Math.max(0, ageMs, heldMs);
	// The task may be older, which makes a difference only for young ones.
	return heldMs >= YOUNG_MS ? now - heldMs : undefined;
}

/**
 * The 404s of a task for the next wait: a single 404 isn't final for a task that was seen before. A
 * task that was never seen is judged by its age again.
 *
 * @param shiftMs difference between the clock of the result and that of these times
 */
export function carried(
	{ seen, misses, missingSince, emptySince }: Sightings,
	shiftMs: number,
): Sightings {
	if (seen !== true) return {};
	const shifted = (at: number | undefined) => (at === undefined ? undefined : at + shiftMs);
	return { seen, misses, missingSince: shifted(missingSince), emptySince: shifted(emptySince) };
}
