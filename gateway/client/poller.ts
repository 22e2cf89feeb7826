import type { Clock } from '../util/clock';
import type { GatewayError } from '../util/gatewayError';
import { isFinished } from '../protocol/status';
import type { TaskRef, TaskState } from '../protocol/task';
import type { Durations, TrackedTask } from './durations';
import { TakenBack } from './rateLimiter';
import { JITTER, pauseOf, SHORTEST_PAUSE_MS, TOGETHER_MS } from './pauses';

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
	/** Where it is known when it was submitted, and how long tasks like it take. */
	tracked?: TrackedTask;
	state?: TaskState;
	error?: GatewayError;
	settle: (settled: Settled) => void;
	fail: (reason: unknown) => void;
}

/** A timer of the platform cannot always be taken back: none is set for longer than this. */
const LONGEST_SLEEP_MS = 60_000;
/** How long before the deadline the last poll is put: time for a response to come. */
const LAST_POLL_LEAD_MS = 1000;
const LONGEST_POLL_MS = 30_000;
/** How much later than the deadline a response may come. */
const LATE_RESPONSE_MS = 3000;
/** How long a poll is waited for that had to wait for its turn: its response is not thrown away. */
const LATE_TURN_MS = 30_000;
/** The longest pause where a further poll is needed to tell whether a fault passes. */
const SOON_MS = 2000;

/** The number where it is not below the bound; also for what is no number at all. */
const atLeast = (bound: number, value: number): number => (value > bound ? value : bound);

/** The moment itself, or the next one at which polls are put. */
const together = (at: number): number => Math.ceil(at / TOGETHER_MS) * TOGETHER_MS;

/**
 * Waits for the tasks of a run. Pauses are counted from the last response, be it the one to the submit;
 * the last poll comes just before the deadline; a status that is not in the table keeps the task open.
 */
export class Poller<T = TaskRef> {
	private readonly intervalMs: number;

	private waiting = 0;

	private settled = 0;

	constructor(private readonly options: PollerOptions<T>) {
		this.intervalMs = atLeast(SHORTEST_PAUSE_MS, options.intervalMs);
	}

	/** The shortest pause between two polls of a task at the moment, in milliseconds: longer the more tasks wait. */
	get shortest(): number {
		return pauseOf(this.intervalMs, this.tasksLeft());
	}

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
	async wait(
		task: T,
		maxWaitMs: number,
		ageMs = Infinity,
		durations?: Durations,
	): Promise<Settled> {
		const now = this.options.clock.now();
		const wait = atLeast(LAST_POLL_LEAD_MS, maxWaitMs);
		const last = wait - LAST_POLL_LEAD_MS;
		// Not jittered: what was submitted at different times is polled at different times.
		const known = ageMs >= 0 && ageMs < Infinity;
		const tracked = known ? durations?.track(now - ageMs, this) : undefined;
		const fromSubmit =
			tracked?.pauseFrom(now - ageMs) ?? pauseOf(this.intervalMs, this.tasksLeft(), true);
		const pause = atLeast(0, fromSubmit - atLeast(0, ageMs));
		const first = Math.min(last, pause > 0 ? together(now + pause) - now : 0);
		return await new Promise<Settled>((settle, fail) => {
			const entry: Entry<T> = {
				task,
				deadline: now + wait,
				open: true,
				lastPoll: first === last,
				isPolling: false,
				hasResult: false,
				tracked,
				settle,
				fail,
			};
			this.waiting += 1;
			this.schedule(entry, now + first, () => void this.poll(entry));
			this.schedule(entry, entry.deadline, () => this.becomeLate(entry));
		});
	}

	/** How many tasks are waited for, or will be. */
	private tasksLeft(): number {
		return atLeast(this.waiting, (this.options.expected ?? 0) - this.settled);
	}

	/** Does something about a task at a time, unless nobody waits for it any more. */
	private schedule(entry: Entry<T>, at: number, act: () => void): void {
		const { clock } = this.options;
		clock.sleep(Math.min(LONGEST_SLEEP_MS, at - clock.now())).then(
			() => {
				if (entry.open && clock.now() < at) this.schedule(entry, at, act);
				else if (entry.open) act();
			},
			(reason) => this.abort(entry, reason),
		);
	}

	/** The deadline is over. */
	private becomeLate(entry: Entry<T>): void {
		const now = this.options.clock.now();
		if (entry.hasResult && !entry.isPolling) return this.giveUp(entry);
		entry.lateUntil = now + LATE_TURN_MS;
		this.schedule(entry, entry.lateUntil, () => this.giveUp(entry));
		if (!entry.isPolling) void this.poll(entry);
	}

	private close(entry: Entry<T>, end: Settled): void {
		this.leave(entry);
		// The timer of the deadline still holds the entry: it need not hold the response as well.
		entry.state = undefined;
		this.settled += 1;
		entry.settle(end);
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
			if (entry.open) this.handle(entry, result);
		} catch (reason) {
			if (!(reason instanceof TakenBack)) return this.abort(entry, reason);
			entry.isPolling = false;
			// Its deadline was over meanwhile, which gives it time for another one.
			if (this.timeLeft(entry) > 0) void this.poll(entry);
		}
	}

	/** What a poll that is sent now may take, in milliseconds; 0 if it is too late for a response. */
	private timeLeft({ open: isOpen, deadline, lateUntil }: Entry<T>): number {
		const left = (lateUntil ?? deadline + LATE_RESPONSE_MS) - this.options.clock.now();
		return isOpen && left >= SHORTEST_PAUSE_MS ? Math.min(LONGEST_POLL_MS, left) : 0;
	}

	private abort(entry: Entry<T>, reason: unknown): void {
		this.leave(entry);
		entry.fail(reason);
	}

	private leave(entry: Entry<T>): void {
		if (!entry.open) return;
		entry.open = false;
		entry.tracked?.end();
		this.waiting -= 1;
	}

	private handle(entry: Entry<T>, result: PollResult): void {
		if (result.kind === 'final') return this.close(entry, { kind: 'problem', error: result.error });
		if (result.kind === 'state') {
			const { state } = result;
			entry.tracked?.statusSeen(state.group);
			if (isFinished(state.group)) return this.close(entry, { kind: 'finished', state });
			entry.state = state;
		}
		entry.error = result.kind === 'passing' ? result.error : undefined;
		if (result.kind === 'state' || result.rateLimited !== true) entry.hasResult = true;
		if (entry.hasResult && (entry.lastPoll || entry.lateUntil !== undefined)) {
			return this.giveUp(entry);
		}
		// Refused for its rate only, the deadline brings another poll.
		if (!entry.lastPoll || entry.lateUntil !== undefined) this.scheduleNext(entry, result);
	}

	private scheduleNext(entry: Entry<T>, result: Exclude<PollResult, { kind: 'final' }>): void {
		const { clock } = this.options;
		const now = clock.now();
		const { rateLimited = false, soon = false } = result.kind === 'passing' ? result : {};
		const longest = soon ? SOON_MS : Infinity;
		const usual = rateLimited ? SHORTEST_PAUSE_MS : Math.min(longest, this.shortest);
		const learned = result.kind === 'state' ? entry.tracked?.pauseFrom(now) : undefined;
		// Only the first poll may wait for longer than the interval, unless many tasks wait.
		const pause =
			learned === undefined
				? usual * (1 + JITTER * clock.random())
				: Math.min(learned, Math.max(this.intervalMs, this.shortest));
		const next = together(now + Math.max(result.pauseMs ?? 0, pause));
		const last = entry.deadline - LAST_POLL_LEAD_MS;
		const isLast = entry.lateUntil === undefined && next + SHORTEST_PAUSE_MS > last;
		entry.lastPoll ||= isLast;
		const at = isLast ? Math.max(last, now + SHORTEST_PAUSE_MS) : next;
		this.schedule(entry, at, () => void this.poll(entry));
	}
}
