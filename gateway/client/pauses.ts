/** No task is polled more often than this, whatever the options say. */
export const SHORTEST_PAUSE_MS = 1000;
/** Polls are put at multiples of this: what goes out together costs less than one by one. */
export const TOGETHER_MS = 100;
/** A pause is made longer by up to this share of it, by chance. */
export const JITTER = 0.1;

/**
 * The pauses as shares of the interval: of 3 seconds it makes 2 to 5, as the specification
 * recommends (4.2, rule 5). They begin at the shortest where few tasks are left, whose polls
 * cost next to nothing, at about the interval itself for a hundred and at the longest for a
 * thousand, and they grow by a third.
 */
const SHORTEST_SHARE = 2 / 3;
const LONGEST_SHARE = 5 / 3;
const FEW = 30;
const GROWTH = 1.25;
const MOST_GROWTH = 4 / 3;

/** The pauses that an interval allows, in milliseconds. */
export interface PauseRange {
	shortest: number;
	/** Less the jitter and the rounding, so that the pause itself is never longer than allowed. */
	longest: number;
}

/** @param intervalMs about how often a task is polled */
export function pauseRange(intervalMs: number): PauseRange {
	const longest = (intervalMs * LONGEST_SHARE - TOGETHER_MS) / (1 + JITTER);
	return {
		shortest: Math.max(SHORTEST_PAUSE_MS, intervalMs * SHORTEST_SHARE),
		longest: Math.max(SHORTEST_PAUSE_MS, longest),
	};
}

/**
 * The pause before the next poll of a task of which nothing is known, but for the jitter.
 *
 * @param left how many tasks are waited for
 * @param polls how often the task was polled
 * @returns milliseconds
 */
export function usualPause(intervalMs: number, left: number, polls: number): number {
	const share = SHORTEST_SHARE * (1 + Math.log10(Math.max(1, left / FEW)));
	const pause = intervalMs * share * Math.min(MOST_GROWTH, GROWTH ** polls);
	return Math.max(SHORTEST_PAUSE_MS, Math.min(pauseRange(intervalMs).longest, pause));
}
