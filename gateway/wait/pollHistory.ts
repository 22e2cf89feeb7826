/** In milliseconds: a task may become visible this late after its submit. */
const YOUNG_MS = 30_000;
/**
 * In milliseconds: for a task of unknown age, and one that was seen before, the 404s must last this
 * long.
 */
const LASTING_MS = 5000;
const FEWEST_NOT_FOUND = 4;

/** The 404s and empty results of a task, which decide when they are final. */
export interface PollHistory {
	/** The time of its submit on the run's clock; undefined if its age is unknown. */
	submittedAtMs?: number;
	/** The time of the first 404 in the current row of 404s. */
	notFoundSince?: number;
	/** The number of 404s in a row. */
	notFoundCount?: number;
	/** Whether an earlier response contained its status. */
	seen?: boolean;
	/** The time of the first response that reported the task as completed, but without an image. */
	noImageSince?: number;
}

/**
 * Records a 404.
 *
 * @returns whether it is final: at once for a task that was submitted half a minute ago; for a
 *   younger one at that age, for one of unknown age after five seconds, and then only after a few
 *   404s in a row
 */
export function noteNotFound(task: PollHistory, now: number): boolean {
	task.notFoundSince ??= now;
	task.notFoundCount = (task.notFoundCount ?? 0) + 1;
	const missingMs = now - task.notFoundSince;
	const isSure = task.notFoundCount >= FEWEST_NOT_FOUND;
	if (task.submittedAtMs === undefined || task.seen === true)
		return isSure && missingMs >= LASTING_MS;
	if (task.notFoundSince - task.submittedAtMs >= YOUNG_MS) return true;
	// A wrong clock on another machine must not prolong the wait.
	return isSure && (now - task.submittedAtMs >= YOUNG_MS || missingMs >= YOUNG_MS);
}

/** Whether a 404 at this time would be final. */
export const isLastMiss = (task: PollHistory, now: number): boolean =>
	noteNotFound({ ...task }, now);

/** In milliseconds: a completed task may list its image this late. */
const LISTED_AFTER_MS = 5000;

/**
 * Records a response of a completed task without an image.
 *
 * @param longestMs how long it may be missing
 * @returns whether it is final
 */
export function noteNoImage(task: PollHistory, now: number, longestMs = LISTED_AFTER_MS): boolean {
	task.noImageSince ??= now;
	return now - task.noImageSince >= longestMs;
}

/** The time of a task's submit on the run's clock; undefined if it is unknown. */
export function submitTime(
	now: number,
	ageMs: number | undefined,
	waitedMs = 0,
): number | undefined {
	if (ageMs !== undefined) return now - Math.max(0, ageMs, waitedMs);
	// The task may be older, which makes a difference only for young ones.
	return waitedMs >= YOUNG_MS ? now - waitedMs : undefined;
}

/**
 * The 404s of a task for the next wait: a single 404 isn't final for a task that was seen before. A
 * task that was never seen is judged by its age again.
 *
 * @param shiftMs difference between the clock of the result and that of these times
 */
export function shiftedHistory(
	{ seen, notFoundCount, notFoundSince, noImageSince }: PollHistory,
	shiftMs: number,
): PollHistory {
	if (seen !== true) return {};
	const shifted = (at: number | undefined) => (at === undefined ? undefined : at + shiftMs);
	return {
		seen,
		notFoundCount,
		notFoundSince: shifted(notFoundSince),
		noImageSince: shifted(noImageSince),
	};
}
