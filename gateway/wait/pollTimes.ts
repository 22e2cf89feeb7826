import { isFinished, type StatusGroup } from '../protocol/status';

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

/** A waiting task that is polled by the durations of earlier ones, and recorded when it ends. */
export type TrackedTask = ReturnType<Durations['track']>;

interface Observation {
	/** The age at which a task was last seen open, and the one at which it was seen finished. */
	openAt: number;
	finishedAt: number;
	/** Whether no other task waited: those of a batch end in the order of their durations. */
	isAlone: boolean;
}

/**
 * The number of tasks remembered. No more waiting tasks are tracked at a time, or only the longest
 * of a large batch would be remembered.
 */
const REMEMBERED = 40;
/**
 * A poll is due at the age by which this share of the longer tasks, those that took longer than the
 * task's present age, had finished.
 */
const SHARE = 0.1;
/**
 * The number of waiting tasks per probe, a task whose polls come early to narrow a duration down.
 * Of tasks that wait alone, every second one is a probe.
 */
const TASKS_PER_PROBE = 10;
/** Durations within this many milliseconds count as equal. */
const EXACT_MS = 300;
/** So many tasks in a row that were slower than at least as many before and one mean a change. */
const SLOWER_IN_A_ROW = 3;
/** The lead of an early poll before the expected end, in shortest pauses. */
const LEAD = 1.1;
/** After a longer pause, in shortest pauses, a poll comes too late to measure the duration. */
const WIDEST = 2.5;

/**
 * The durations of a model's last tasks, and the times to poll the next ones that follow from them.
 */
export class Durations {
	private observations: Observation[] = [];
	/** The upper bound of each remembered task's duration, ascending. */
	private durations: number[] = [];
	private begun = 0;
	private waiting = 0;
	private observed = 0;
	private probing = 0;

	/**
	 * Begins to track a task. All times are in milliseconds, on one clock.
	 *
	 * @param poller its shortest pause, which grows with the number of tasks
	 */
	track(submittedAt: number, poller: { readonly shortest: number }) {
		this.begun += 1;
		this.waiting += 1;
		const isTurn = this.begun % 2 === 0 && this.probing < this.waiting / TASKS_PER_PROBE;
		const isProbe = isTurn || this.begun <= 2 * REMEMBERED;
		const isObserved = this.observed < REMEMBERED;
		const isAlone = this.waiting === 1;
		this.probing += Number(isProbe);
		this.observed += Number(isObserved);
		let [openAt, polledAt] = [0, 0];
		return {
			/** The pause after the submit or a response; undefined if no earlier task took so long. */
			pauseFrom: (from: number) => this.pauseAt(from - submittedAt, poller.shortest, isProbe),
			/** Records that a poll is sent. */
			pollSent: (now: number) => void (polledAt = now - submittedAt),
			/** Records the status in a poll's response. */
			statusSeen: (group: StatusGroup) => {
				if (!isFinished(group)) openAt = polledAt;
				else if (isObserved) {
					this.observe({ openAt, finishedAt: polledAt, isAlone }, poller.shortest);
				}
			},
			/** Ends the wait. */
			end: () => {
				this.waiting -= 1;
				this.probing -= Number(isProbe);
				this.observed -= Number(isObserved);
			},
		};
	}

	private observe(task: Observation, shortest: number): void {
		const ends = this.observations.map(({ finishedAt }) => finishedAt);
		const isWide = task.finishedAt - task.openAt > WIDEST * shortest;
		if (isWide && task.finishedAt > Math.max(0, ...ends)) return;
		// Two tasks in a row that were faster than all before mean that the model has changed.
		const fastest = Math.min(...ends.slice(0, -1)) - EXACT_MS;
		const isFaster = Math.max(task.finishedAt, ends.at(-1) ?? 0) < fastest;
		const kept = isFaster ? this.observations.slice(-1) : this.observations;
		const all = [...kept, task];
		this.observations = all.slice(isSlower(all) ? -SLOWER_IN_A_ROW : -REMEMBERED);
		this.durations = upperBounds(this.observations).sort((a, b) => a - b);
	}

	private pauseAt(age: number, shortest: number, isProbe: boolean): number | undefined {
		const longer = this.durations.filter((duration) => duration > age);
		const first = longer[Math.floor(SHARE * longer.length)];
		const last = longer[Math.ceil((1 - SHARE) * longer.length) - 1];
		if (first === undefined || last === undefined) return undefined;
		// If most tasks end within one pause, one poll after the last of them finds them soonest.
		const due = last - first < shortest ? last : first;
		const opens = this.observations.map(({ openAt }) => openAt).filter((at) => at < due);
		const open = Math.max(age, shortest, ...opens);
		const lead = due - LEAD * shortest;
		let next = lead < age + shortest ? due : lead;
		if (isProbe && due - open > EXACT_MS) next = (open + due) / 2;
		// A few remembered tasks may be exceptions, so their number limits the pause.
		return Math.max(shortest, Math.min(next - age, (1 + longer.length) * shortest));
	}
}

/**
 * The upper bounds of the durations of some tasks. One that was polled sooner narrows the bounds of
 * all that may have taken as long.
 */
function upperBounds(tasks: Observation[]): number[] {
	const ends = tasks.map(({ finishedAt }) => finishedAt);
	return tasks.map(({ openAt }) => Math.min(...ends.filter((end) => end > openAt)));
}

/** Whether the last tasks, one after another, took longer than all before. */
function isSlower(tasks: Observation[]): boolean {
	const [last, before] = [tasks.slice(-SLOWER_IN_A_ROW), tasks.slice(0, -SLOWER_IN_A_ROW)];
	if (before.length <= SLOWER_IN_A_ROW || !last.every(({ isAlone }) => isAlone)) return false;
	return Math.min(...last.map(({ openAt }) => openAt)) > Math.max(...upperBounds(before));
}
