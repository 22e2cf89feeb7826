/** The shortest pause between two polls of a task, whatever the options say. */
export const SHORTEST_PAUSE_MS = 1000;
/**
 * Polls start at multiples of this time, because requests sent together cost less processor time.
 */
export const TOGETHER_MS = 100;
/** The largest random extension of a pause, as a share of it. */
export const JITTER = 0.1;

/**
 * The shortest and longest pause as shares of the interval: 2 to 5 seconds at the default of 3, as
 * the protocol recommends.
 */
const SHORTEST_SHARE = 2 / 3;
const LONGEST_SHARE = 5 / 3;
/**
 * The number of tasks at which each is polled once per interval; more tasks are polled less often.
 */
const TASKS_PER_INTERVAL = 150;
/** The number of tasks per interval for first polls, which find few tasks finished. */
const FIRST_TASKS_PER_INTERVAL = 100;

/**
 * The pause before a task's next poll, without the random extension.
 *
 * @param intervalMs approximate time between two polls of a task
 * @param tasks the number of waiting tasks
 * @returns milliseconds
 */
export function pauseOf(intervalMs: number, tasks: number, isFirst = false): number {
	const perInterval = isFirst ? FIRST_TASKS_PER_INTERVAL : TASKS_PER_INTERVAL;
	const pause = intervalMs * Math.max(SHORTEST_SHARE, tasks / perInterval);
	// Leaves room for the random extension and rounding.
	const longest = (intervalMs * LONGEST_SHARE - TOGETHER_MS) / (1 + JITTER);
	return Math.max(SHORTEST_PAUSE_MS, Math.min(longest, pause));
}
