import type { Clock } from '../util/clock';
import type { GatewayError } from '../util/gatewayError';
import { isFinished } from '../protocol/status';
import type { TaskRef, TaskState } from '../protocol/task';
import {
	JITTER,
	pauseOf,
	SHORTEST_PAUSE_MS,
	TOGETHER_MS,
	type Durations,
	type TrackedTask,
} from './pollTimes';
import { CanceledInQueue } from './rateLimiter';

/** The result of one poll. */
export type PollResult =
	/** `pauseMs`: the gateway's `Retry-After`. */
	| { kind: 'state'; state: TaskState; pauseMs?: number }
	/**
	 * A fault that may pass. `rateLimited`: the poll was refused for the rate limit, which says
	 * nothing about the task. `soon`: another poll is needed to tell whether the fault passes.
	 */
	| {
			kind: 'transient';
			error: GatewayError;
			pauseMs?: number;
			rateLimited?: boolean;
			soon?: boolean;
	  }
	/** An error that another poll would not change. */
	| { kind: 'final'; error: GatewayError };

/** The end of the wait for one task. */
export type WaitEnd =
	| { kind: 'finished'; state: TaskState }
	| { kind: 'error'; error: GatewayError }
	/**
	 * The task is still open at the deadline. `state` and `error` are the last results; neither is
	 * set if no poll got a result.
	 */
	| { kind: 'deadline'; state?: TaskState; error?: GatewayError };

export interface PollerOptions<T = TaskRef> {
	clock: Clock;
	/**
	 * Polls a task once. Throws only CanceledInQueue, or the reason why the run was stopped.
	 *
	 * @param timeLeftMs time limit of the poll when it is sent; 0 if the wait has ended
	 */
	pollOnce: (task: T, timeLeftMs: () => number) => Promise<PollResult>;
	/** The approximate time between two polls of a task, in milliseconds. */
	intervalMs: number;
	/** The number of tasks of the run, if it is known before all of them wait. */
	expected?: number;
}

interface Entry<T> {
	task: T;
	deadline: number;
	/** Whether the task is still waited for. */
	isOpen: boolean;
	/** Whether no other poll fits in before the deadline. */
	isLastPoll: boolean;
	/** After the deadline: the time until which a response is still accepted. */
	lateUntil?: number;
	/** Whether a poll is in progress. */
	isPolling: boolean;
	/** Whether a poll has got a result about the task, even a fault. */
	hasResult: boolean;
	/** The durations of tasks like this one, if the time of its submit is known. */
	tracked?: TrackedTask;
	state?: TaskState;
	error?: GatewayError;
	resolve: (end: WaitEnd) => void;
	reject: (reason: unknown) => void;
}

/** The longest timer: some timers can't be canceled and would keep the entry in memory. */
const LONGEST_SLEEP_MS = 60_000;
/** The time from the last poll to the deadline, for its response. */
const LAST_POLL_LEAD_MS = 1000;
const LONGEST_POLL_MS = 30_000;
/** How late after the deadline a response is still accepted. */
const LATE_RESPONSE_MS = 3000;
/** How long after the deadline a poll that had to wait for the rate limiter may take. */
const LATE_TURN_MS = 30_000;
/** The longest pause before a poll that tells whether a fault passes. */
const SOON_MS = 2000;

/** The number, but not less than the bound; the bound for NaN. */
const atLeast = (bound: number, value: number): number => (value > bound ? value : bound);

/** The next time at which polls start together. */
const together = (at: number): number => Math.ceil(at / TOGETHER_MS) * TOGETHER_MS;

/**
 * Waits for the tasks of a run. A pause begins with the last response, or the response to the
 * submit; the last poll comes just before the deadline; a task with an unknown status stays open.
 */
export class Poller<T = TaskRef> {
	private readonly intervalMs: number;

	private waiting = 0;

	/** Sleeps by the time of their end. Thousands of timers would take memory. */
	private readonly sleeps = new Map<number, Promise<void>>();

	/** The number of tasks whose wait has ended. */
	private ended = 0;

	constructor(private readonly options: PollerOptions<T>) {
		this.intervalMs = atLeast(SHORTEST_PAUSE_MS, options.intervalMs);
	}

	/**
	 * The shortest pause between two polls of a task, in milliseconds; it grows with the number of
	 * waiting tasks.
	 */
	get shortest(): number {
		return pauseOf(this.intervalMs, this.tasksLeft());
	}

	/**
	 * Waits until the task is finished, can't be polled, or is still open after `maxWaitMs`. Rejects
	 * only when the run is stopped.
	 *
	 * A response in progress at the deadline is waited for a moment longer. A task that got no result
	 * because its polls waited for the rate limiter is polled once more, within half a minute.
	 *
	 * @param ageMs time since its submit in milliseconds: a task isn't polled before its first pause
	 *   is over. A task of unknown age is polled at once.
	 * @param durations durations of tasks like it; a task of known age uses them and adds its own
	 */
	async wait(
		task: T,
		maxWaitMs: number,
		ageMs = Infinity,
		durations?: Durations,
	): Promise<WaitEnd> {
		const now = this.options.clock.now();
		const wait = atLeast(LAST_POLL_LEAD_MS, maxWaitMs);
		const last = wait - LAST_POLL_LEAD_MS;
		// Without a random extension: the submits already differ.
		const known = ageMs >= 0 && ageMs < Infinity;
		const tracked = known ? durations?.track(now - ageMs, this) : undefined;
		const fromSubmit =
			tracked?.pauseFrom(now - ageMs) ?? pauseOf(this.intervalMs, this.tasksLeft(), true);
		const pause = atLeast(0, fromSubmit - atLeast(0, ageMs));
		const first = Math.min(last, pause > 0 ? together(now + pause) - now : 0);
		return await new Promise<WaitEnd>((resolve, reject) => {
			const entry: Entry<T> = {
				task,
				deadline: now + wait,
				isOpen: true,
				isLastPoll: first === last,
				isPolling: false,
				hasResult: false,
				tracked,
				resolve,
				reject,
			};
			this.waiting += 1;
			this.schedule(entry, now + first, () => void this.poll(entry));
			this.schedule(entry, together(entry.deadline), () => this.becomeLate(entry));
		});
	}

	/** The number of tasks that wait or will wait. */
	private tasksLeft(): number {
		return atLeast(this.waiting, (this.options.expected ?? 0) - this.ended);
	}

	/** Calls a function at a time, unless the wait for the task has ended. */
	private schedule(entry: Entry<T>, at: number, callback: () => void): void {
		const { clock } = this.options;
		this.sleepUntil(Math.min(at, together(clock.now() + LONGEST_SLEEP_MS))).then(
			() => {
				if (entry.isOpen && clock.now() < at) this.schedule(entry, at, callback);
				else if (entry.isOpen) callback();
			},
			(reason) => this.abort(entry, reason),
		);
	}

	/** Sleeps until a time, in one sleep for all tasks that have the same. */
	private sleepUntil(at: number): Promise<void> {
		const { clock } = this.options;
		const known = this.sleeps.get(at);
		const sleep = known ?? clock.sleep(at - clock.now()).finally(() => this.sleeps.delete(at));
		this.sleeps.set(at, sleep);
		return sleep;
	}

	/**
	 * Ends the wait at the deadline, or extends it for a task that has no result yet or a poll in
	 * progress.
	 */
	private becomeLate(entry: Entry<T>): void {
		if (entry.hasResult && !entry.isPolling) return this.giveUp(entry);
		entry.lateUntil = entry.deadline + LATE_TURN_MS;
		this.schedule(entry, entry.lateUntil, () => this.giveUp(entry));
		void this.poll(entry);
	}

	private close(entry: Entry<T>, end: WaitEnd): void {
		this.leave(entry);
		// The deadline's timer still refers to the entry, but doesn't need the response.
		entry.state = undefined;
		this.ended += 1;
		entry.resolve(end);
	}

	private giveUp(entry: Entry<T>): void {
		this.close(entry, { kind: 'deadline', state: entry.state, error: entry.error });
	}

	private async poll(entry: Entry<T>): Promise<void> {
		if (entry.isPolling) return;
		entry.isPolling = true;
		entry.tracked?.pollSent(this.options.clock.now());
		try {
			const result = await this.options.pollOnce(entry.task, () => this.timeLeft(entry));
			entry.isPolling = false;
			if (entry.isOpen) this.handle(entry, result);
		} catch (reason) {
			if (!(reason instanceof CanceledInQueue)) return this.abort(entry, reason);
			entry.isPolling = false;
			// The deadline has passed meanwhile, which allows a late poll.
			if (this.timeLeft(entry) > 0) void this.poll(entry);
		}
	}

	/** The time limit of a poll sent now, in milliseconds; 0 if it is too late for a response. */
	private timeLeft({ isOpen, deadline, lateUntil }: Entry<T>): number {
		const left = (lateUntil ?? deadline + LATE_RESPONSE_MS) - this.options.clock.now();
		return isOpen && left >= SHORTEST_PAUSE_MS ? Math.min(LONGEST_POLL_MS, left) : 0;
	}

	private abort(entry: Entry<T>, reason: unknown): void {
		this.leave(entry);
		entry.reject(reason);
	}

	private leave(entry: Entry<T>): void {
		if (!entry.isOpen) return;
		entry.isOpen = false;
		entry.tracked?.end();
		this.waiting -= 1;
	}

	private handle(entry: Entry<T>, result: PollResult): void {
		if (result.kind === 'final') return this.close(entry, { kind: 'error', error: result.error });
		if (result.kind === 'state') {
			const { state } = result;
			entry.tracked?.statusSeen(state.group);
			if (isFinished(state.group)) return this.close(entry, { kind: 'finished', state });
			entry.state = state;
		}
		entry.error = result.kind === 'transient' ? result.error : undefined;
		if (result.kind === 'state' || result.rateLimited !== true) entry.hasResult = true;
		if (entry.hasResult && (entry.isLastPoll || entry.lateUntil !== undefined)) {
			return this.giveUp(entry);
		}
		// After a rate limit refusal of the last poll, the deadline triggers another poll.
		if (!entry.isLastPoll || entry.lateUntil !== undefined) this.scheduleNext(entry, result);
	}

	private scheduleNext(entry: Entry<T>, result: Exclude<PollResult, { kind: 'final' }>): void {
		const { clock } = this.options;
		const now = clock.now();
		const { rateLimited = false, soon = false } = result.kind === 'transient' ? result : {};
		const longest = soon ? SOON_MS : Infinity;
		const usual = rateLimited ? SHORTEST_PAUSE_MS : Math.min(longest, this.shortest);
		const learned = result.kind === 'state' ? entry.tracked?.pauseFrom(now) : undefined;
		// Only the first pause may exceed the interval, unless many tasks wait.
		const pause =
			learned === undefined
				? usual * (1 + JITTER * clock.random())
				: Math.min(learned, Math.max(this.intervalMs, this.shortest));
		const next = together(now + Math.max(result.pauseMs ?? 0, pause));
		const last = entry.deadline - LAST_POLL_LEAD_MS;
		const isLast = entry.lateUntil === undefined && next + SHORTEST_PAUSE_MS > last;
		entry.isLastPoll ||= isLast;
		const at = isLast ? Math.max(last, now + SHORTEST_PAUSE_MS) : next;
		this.schedule(entry, at, () => void this.poll(entry));
	}
}
