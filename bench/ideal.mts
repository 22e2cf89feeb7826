/** What nobody can be faster than, worked out instead of measured. */

/**
 * The fewest seconds for so many requests at a gateway that takes `perSecond` within any second: so
 * many at the start, so many a second later, and so on; the responses take no time.
 */
export function secondsUnderLimit(requests: number, perSecond: number): number {
	return Math.ceil(requests / perSecond) - 1;
}

export interface Schedule {
	polls: number;
	/** When the last task is found finished, in seconds from the start. */
	lastS: number;
}

/**
 * The ideal schedule for tasks that are all open at the start, under a limit: at every moment that
 * the limit leaves free (each 1/perSecond seconds) the task that has waited longest for a poll
 * is polled, unless it was polled less than a pause ago; the response takes no time; a task is polled
 * until it is found finished. So each task is polled once every pause, or as often as the limit
 * permits where that is less. `polls` is how many that takes.
 *
 * As for the end, an oracle is the measure: `lastS` is the longest lifetime itself, for the limit
 * leaves room to poll the last task at the very moment when it ends.
 */
export function idealSchedule(
	lifetimesS: readonly number[],
	pauseS: number,
	perSecond: number,
): Schedule {
	// A queue is enough: the pause is the same for all, so what was polled first is due first.
	const queue = lifetimesS.map((lifetime) => ({ lifetime, due: 0 }));
	let polls = 0;
	let now = 0;
	for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
		now = Math.max(now, task.due);
		polls += 1;
		if (now < task.lifetime) queue.push({ ...task, due: now + pauseS });
		now += 1 / perSecond;
	}
	return { polls, lastS: Math.max(...lifetimesS) };
}

/** Lifetimes spread evenly over a range, in an order that is mixed but always the same. */
export function spreadLifetimes(count: number, fromS: number, toS: number): number[] {
	const step = (toS - fromS) / Math.max(1, count - 1);
	// The multiples of a number that shares no factor with the count visit every place once.
	const stride = [7919, 7907, 7901].find((prime) => count % prime !== 0) as number;
	return Array.from({ length: count }, (_, index) => fromS + step * ((index * stride) % count));
}
