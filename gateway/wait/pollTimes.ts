/** The shortest pause between two polls of a task, whatever the options say. */
export const SHORTEST_PAUSE_MS = 1000;
/**
 * Polls start at multiples of this time, because requests sent together cost less processor time. With
 * half or a quarter of it, the turns of the event loop aren't shorter while 1,000 tasks wait: of 100
 * moments, the 99th meets one of 33 or 27 ms of processor time, against 21 ms.
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
/** The number of tasks per interval for first polls, which find few of many tasks finished. */
const FIRST_TASKS_PER_INTERVAL = 100;
/** The number of young tasks per interval, where few tasks wait. */
const YOUNG_TASKS_PER_INTERVAL = 60;
/** The shortest pause of a young task as a share of the interval. */
const YOUNG_SHARE = 1 / 3;
/** The pause of a young task as a share of its age: it is found late by no more than that. */
const SHARE_OF_AGE = 1 / 4;

/**
 * The pause before a task's next poll, without the random extension. Where few tasks wait, it grows with
 * the task's age, because a second counts for an image of three seconds, and not for one of a minute.
 *
 * @param intervalMs approximate time between two polls of a task
 * @param tasks the number of waiting tasks
 * @param ageMs time since the task's submit: 0 before its first poll, Infinity if it is unknown
 * @returns milliseconds
 */
export function pauseOf(intervalMs: number, tasks: number, ageMs: number): number {
	const perInterval = ageMs === 0 ? FIRST_TASKS_PER_INTERVAL : TASKS_PER_INTERVAL;
	const usual = intervalMs * Math.max(SHORTEST_SHARE, tasks / perInterval);
	// Leaves room for the random extension and rounding.
	const longest = (intervalMs * LONGEST_SHARE - TOGETHER_MS) / (1 + JITTER);
	const shortestOfYoung = intervalMs * Math.max(YOUNG_SHARE, tasks / YOUNG_TASKS_PER_INTERVAL);
	const young = Math.max(shortestOfYoung, SHARE_OF_AGE * ageMs);
	return Math.max(SHORTEST_PAUSE_MS, Math.min(usual, longest, young));
}
