import type { Clock } from '../util/clock';
import type { GatewayError } from '../util/gatewayError';
import { isFinished } from '../protocol/status';
import type { TaskRef, TaskState } from '../protocol/task';
import type { Durations, TrackedTask } from './durations';
import type { Pauses } from './pollPlan';
import { TakenBack } from './rateLimiter';
import { JITTER, pauseRange, SHORTEST_PAUSE_MS, TOGETHER_MS, usualPause } from './pauses';

/** What one poll about a task brought. */
export type PollResult =
	/** `pauseMs`: what the gateway asked for by `Retry-After`. */
	| { kind: 'state'; state: TaskState; pauseMs?: number }
	/**
	 * A fault that may pass. `rateLimited`: the poll was refused for its rate, which the rate limiter
	 * deals with for all requests; it says nothing about this task. `soon`: a further poll is needed
	 * to tell whether it passes.
	 */
	| {
			kind: 'passing';
			error: GatewayError;
			pauseMs?: number;
			rateLimited?: boolean;
			soon?: boolean;
	  }
	/** Polling again is of no use. */
	| { kind: 'final'; error: GatewayError };

/** How the waiting for one task ended. */
export type Settled =
	| { kind: 'finished'; state: TaskState }
	| { kind: 'problem'; error: GatewayError }
	/** Still open at the deadline. `state` and `error` are the last ones seen; none: it was never polled. */
	| { kind: 'deadline'; state?: TaskState; error?: GatewayError };

export interface PollerOptions<T = TaskRef> {
	clock: Clock;
	/**
	 * One poll. Must not throw but TakenBack, and when the run is stopped.
	 *
	 * @param timeLeftMs what it may take when it is sent; 0 if nobody waits for the task any more
	 */
	pollOnce: (task: T, timeLeftMs: () => number) => Promise<PollResult>;
	/** About how long each task is left alone between two polls, in milliseconds. */
	intervalMs: number;
	/** How many tasks there will be in all, where that is known before they all wait. */
	expected?: number;
}

interface Entry<T> {
	task: T;
	deadline: number;
	open: boolean;
	/** Set when no further poll fits in before the deadline. */
	lastPoll: boolean;
	/** The deadline is over, and a response is still waited for until then. */
	lateUntil?: number;
	/** Whether a poll is under way. */
	isPolling: boolean;
	/** Whether a poll has told something about the task, if only a fault. */
	hasResult: boolean;
	polls: number;
	/** Where it is known when it was submitted, and how long tasks like it take. */
	tracked?: TrackedTask;
	state?: TaskState;
	error?: GatewayError;
	settle: (settled: Settled) => void;
	fail: (reason: unknown) => void;
}

interface ScheduledPoll<T> {
	at: number;
	entry: Entry<T>;
	purpose: 'poll' | 'deadline' | 'end';
}

/** How long before the deadline the last poll is put: time for a response to come. */
const LAST_POLL_LEAD_MS = 1000;
const LONGEST_POLL_MS = 30_000;
/** How much later than the deadline a response may come. */
const LATE_RESPONSE_MS = 3000;
/** How long a poll is waited for that had to wait for its turn: its response is not thrown away. */
const LATE_TURN_MS = 30_000;
/** The longest pause where a further poll is needed to tell whether a fault passes. */
const SOON_MS = 2000;
/** A timer of the platform cannot always be taken back: none is set for longer than this. */
const LONGEST_SLEEP_MS = 5000;

/** The number where it is not below the bound; also for what is no number at all. */
const atLeast = (bound: number, value: number): number => (value > bound ? value : bound);

/** The moment itself, or the next one at which polls are put. */
const together = (at: number): number => Math.ceil(at / TOGETHER_MS) * TOGETHER_MS;

/** Waits for many tasks at once. */
export interface Poller<T = TaskRef> {
	/**
	 * Waits until the task is finished, cannot be polled, or is still open after `maxWaitMs`.
	 * Rejects only if the clock does: when the run is stopped.
	 *
	 * At the deadline a response that is on its way is waited for a moment longer; and a task that no
	 * response has told anything about, because its polls had to wait for their turn, is polled once
	 * more, for half a minute at the most.
	 *
	 * @param ageMs how long ago it was submitted, in milliseconds: before its first pause is over it
	 * is not polled. Where that is not known it is polled at once.
	 * @param durations how long tasks like it take; a task of known age learns from it and adds to it
	 */
	wait(task: T, maxWaitMs: number, ageMs?: number, durations?: Durations): Promise<Settled>;
	/** How many tasks are still waited for. */
	readonly open: number;
}

/**
 * The one poller (specification, 4.2, rules 4 and 5, and section 3). All tasks share one timer, so
 * a thousand of them cost what a list of a thousand entries costs. Pauses are counted from the last
 * response, be it the one to the submit, grow, and are jittered; the last poll comes just before
 * the deadline; a status that is not in the table keeps the task open.
 */
export function createPoller<T = TaskRef>(options: PollerOptions<T>): Poller<T> {
	const { clock, pollOnce } = options;
	const interval = atLeast(SHORTEST_PAUSE_MS, options.intervalMs);
	const range = pauseRange(interval);
	/** Sorted by time, the earliest last, so that taking it away is cheap. */
	const timeline: Array<ScheduledPoll<T>> = [];
	let open = 0;
	let settled = 0;
	let wakeAt = Infinity;

	/** How many tasks are waited for, or will be. */
	const left = (): number => Math.max(open, (options.expected ?? 0) - settled);

	/** What the pauses of a task are chosen from that begins to be waited for now. */
	function pausesNow(): Pauses {
		const most = left();
		return { ...range, usual: (polls, share) => usualPause(interval, most * share, polls) };
	}

	function schedule(entry: Entry<T>, purpose: ScheduledPoll<T>['purpose'], at: number): void {
		let low = 0;
		let high = timeline.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if ((timeline[middle]?.at ?? 0) > at) low = middle + 1;
			else high = middle;
		}
		timeline.splice(low, 0, { at, entry, purpose });
	}

	function wake(): void {
		const next = timeline.at(-1);
		if (next === undefined || open === 0) return;
		const now = clock.now();
		const at = Math.min(Math.max(next.at, now), now + LONGEST_SLEEP_MS);
		if (at >= wakeAt) return;
		wakeAt = at;
		clock.sleep(at - now).then(
			() => {
				if (wakeAt !== at) return;
				wakeAt = Infinity;
				runDue();
			},
			(reason) => {
				wakeAt = Infinity;
				timeline.splice(0).forEach(({ entry }) => drop(entry, reason));
			},
		);
	}

	function runDue(): void {
		const now = clock.now();
		for (let next = timeline.at(-1); next !== undefined && next.at <= now; next = timeline.at(-1)) {
			timeline.pop();
			if (!next.entry.open) continue;
			if (next.purpose === 'poll') void poll(next.entry);
			else if (next.purpose === 'deadline') becomeLate(next.entry);
			else giveUp(next.entry);
		}
		wake();
	}

	/** The deadline is over. */
	function becomeLate(entry: Entry<T>): void {
		const now = clock.now();
		if (entry.hasResult && !entry.isPolling) return giveUp(entry);
		entry.lateUntil = now + LATE_TURN_MS;
		schedule(entry, 'end', entry.lateUntil);
		if (!entry.isPolling) void poll(entry);
	}

	function close(entry: Entry<T>, end: Settled): void {
		entry.open = false;
		// The deadline's appointment still holds the entry: it need not hold the response as well.
		entry.state = undefined;
		entry.tracked?.end();
		open -= 1;
		settled += 1;
		entry.settle(end);
	}

	function giveUp(entry: Entry<T>): void {
		close(entry, { kind: 'deadline', state: entry.state, error: entry.error });
	}

	async function poll(entry: Entry<T>): Promise<void> {
		if (entry.isPolling) return;
		entry.polls += 1;
		entry.isPolling = true;
		entry.tracked?.pollSent(clock.now());
		try {
			const result = await pollOnce(entry.task, () => timeLeft(entry));
			entry.isPolling = false;
			if (entry.open) take(entry, result);
		} catch (reason) {
			if (reason instanceof TakenBack) entry.isPolling = false;
			else drop(entry, reason);
		}
	}

	/** What a poll that is sent now may take, in milliseconds; 0 if it is too late for a response. */
	function timeLeft({ open: isOpen, deadline, lateUntil }: Entry<T>): number {
		const left = (lateUntil ?? deadline + LATE_RESPONSE_MS) - clock.now();
		return isOpen && left >= SHORTEST_PAUSE_MS ? Math.min(LONGEST_POLL_MS, left) : 0;
	}

	function drop(entry: Entry<T>, reason: unknown): void {
		if (entry.open) open -= 1;
		entry.open = false;
		entry.tracked?.end();
		entry.fail(reason);
	}

	function take(entry: Entry<T>, result: PollResult): void {
		if (result.kind === 'state') entry.tracked?.statusSeen(result.state.group, clock.now());
		if (result.kind === 'final') return close(entry, { kind: 'problem', error: result.error });
		if (result.kind === 'state' && isFinished(result.state.group)) {
			return close(entry, { kind: 'finished', state: result.state });
		}
		if (result.kind === 'state') entry.state = result.state;
		entry.error = result.kind === 'passing' ? result.error : undefined;
		if (result.kind === 'state' || result.rateLimited !== true) entry.hasResult = true;
		if (entry.hasResult && (entry.lastPoll || entry.lateUntil !== undefined)) {
			return giveUp(entry);
		}
		// Refused for its rate only, the deadline brings another poll.
		if (!entry.lastPoll || entry.lateUntil !== undefined) scheduleNext(entry, result);
		wake();
	}

	function scheduleNext(entry: Entry<T>, result: Exclude<PollResult, { kind: 'final' }>): void {
		const now = clock.now();
		const { rateLimited = false, soon = false } = result.kind === 'passing' ? result : {};
		const longest = soon ? SOON_MS : Infinity;
		const own = rateLimited
			? SHORTEST_PAUSE_MS
			: Math.min(longest, usualPause(interval, left(), entry.polls));
		const learned = result.kind === 'state' ? entry.tracked?.pauseFrom(now) : undefined;
		const pause = Math.max(result.pauseMs ?? 0, learned ?? own * (1 + JITTER * clock.random()));
		if (entry.lateUntil !== undefined) return schedule(entry, 'poll', together(now + pause));
		const last = entry.deadline - LAST_POLL_LEAD_MS;
		const at = together(now + pause);
		if (at + SHORTEST_PAUSE_MS <= last) return schedule(entry, 'poll', at);
		entry.lastPoll = true;
		schedule(entry, 'poll', Math.max(last, now + SHORTEST_PAUSE_MS));
	}

	return {
		get open() {
			return open;
		},
		wait: async (task, maxWaitMs, ageMs = Infinity, durations) =>
			await new Promise<Settled>((settle, fail) => {
				const now = clock.now();
				const wait = atLeast(LAST_POLL_LEAD_MS, maxWaitMs);
				const last = wait - LAST_POLL_LEAD_MS;
				// Not jittered: what was submitted at different times is polled at different times.
				const known = ageMs >= 0 && ageMs < Infinity;
				const tracked = known ? durations?.track(now - ageMs, pausesNow()) : undefined;
				const fromSubmit = tracked?.pauseFrom(now - ageMs) ?? usualPause(interval, left(), 0);
				const pause = atLeast(0, fromSubmit - atLeast(0, ageMs));
				const first = Math.min(last, pause > 0 ? together(now + pause) - now : 0);
				const entry: Entry<T> = {
					task,
					deadline: now + wait,
					open: true,
					lastPoll: first === last,
					isPolling: false,
					hasResult: false,
					polls: 0,
					tracked,
					settle,
					fail,
				};
				open += 1;
				schedule(entry, 'deadline', entry.deadline);
				schedule(entry, 'poll', now + first);
				wake();
			}),
	};
}
