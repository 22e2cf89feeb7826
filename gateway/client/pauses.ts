/** No task is polled more often than this, whatever the options say. */
export const SHORTEST_PAUSE_MS = 1000;
/** Polls are put at multiples of this: what goes out together costs less than one by one. */
export const TOGETHER_MS = 100;
/** A pause is made longer by up to this share of it, by chance. */
export const JITTER = 0.1;

/** Shares of the interval: of 3 seconds they make 2 to 5, as the gateway recommends. */
const SHORTEST_SHARE = 2 / 3;
const LONGEST_SHARE = 5 / 3;
/** So many tasks are polled once per interval. More are polled less often, fewer more often. */
const TASKS_PER_INTERVAL = 150;
/** The same for the first poll, which finds few tasks finished. */
const FIRST_TASKS_PER_INTERVAL = 100;

/**
 * The pause before the next poll of a task, but for the jitter.
 *
 * @param intervalMs about how often a task is polled
 * @param tasks how many are waited for
 * @returns milliseconds
 */
export function pauseOf(intervalMs: number, tasks: number, isFirst = false): number {
	const perInterval = isFirst ? FIRST_TASKS_PER_INTERVAL : TASKS_PER_INTERVAL;
	const pause = intervalMs * Math.max(SHORTEST_SHARE, tasks / perInterval);
	// With jitter and rounding, it is still within the longest share.
	const longest = (intervalMs * LONGEST_SHARE - TOGETHER_MS) / (1 + JITTER);
	return Math.max(SHORTEST_PAUSE_MS, Math.min(longest, pause));
}
