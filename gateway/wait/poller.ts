import type { Clock } from '../pace/stoppableClock';
import type { GatewayError } from '../protocol/gatewayError';
import { isFinished } from '../protocol/status';
import type { TaskState } from '../responses/task';
import type { OpenResult, PolledTask } from './pollTask';
import { JITTER, pauseOf, SHORTEST_PAUSE_MS, TOGETHER_MS } from './pollTimes';
import { CanceledInQueue } from '../pace/rateLimiter';
import { orEnded } from '../wire/inFlight';

/** What the polls of a task have shown; nothing if none got a result. */
export interface Seen {
	/** Its last state. */
	state?: TaskState;
	/** The error of the last poll. */
	error?: GatewayError;
}

export interface PollerOptions {
	clock: Clock;
	/**
	 * Polls a task once. Throws CanceledInQueue, the reason why the run was stopped, or a GatewayError that
	 * another poll would not change: that ends its wait.
	 *
	 * @param timeLeftMs time limit of the poll when it is sent; 0 if the wait has ended
	 */
	pollOnce: (task: PolledTask, timeLeftMs: () => number) => Promise<OpenResult>;
	/** The approximate time between two polls of a task, in milliseconds. */
	intervalMs: number;
	/** The number of tasks whose waits are still to begin, if so many have begun. */
	coming?: (begun: number) => number;
}

/** What the polls of one task have shown, and how long they go on. */
interface Polling extends Seen {
	readonly task: PolledTask;
	/** On the clock of the run. */
	readonly deadline: number;
	/** On the clock of the run; -Infinity if it is unknown. */
	readonly submittedAt: number;
	/** Whether a poll has got a result about the task, even a fault. */
	hasResult: boolean;
	/** Whether it has ended, perhaps while a poll hangs. */
	isOver: boolean;
	/** Whether it ends with the first result. */
	isOnce: boolean;
}

/** The longest timer: some timers can't be canceled and would keep the task in memory. */
const LONGEST_SLEEP_MS = 60_000;
/** The time from the last poll to the deadline, for its response. */
const LAST_POLL_LEAD_MS = 1000;
/** The time limit of a poll. */
const LONGEST_POLL_MS = 30_000;
/** How late after the deadline a response is still accepted. */
const LATE_RESPONSE_MS = 3000;
/** How long after the deadline a poll that had to wait for the rate limiter may take. */
const LATE_TURN_MS = 30_000;
/** The longest pause before a poll that tells whether a fault passes. */
const SOON_MS = 2000;
/** How long polls until a result go on while none of them gets one: a little longer than a poll may take. */
const STALLED_MS = LONGEST_POLL_MS + 5000;

/** The number, but not less than the bound; the bound for NaN. */
const atLeast = (bound: number, value: number): number => (value > bound ? value : bound);

/** The next time at which polls start together. */
const together = (at: number): number => Math.ceil(at / TOGETHER_MS) * TOGETHER_MS;
/** The last time before `at` at which sleeps end together. */
const togetherBefore = (at: number): number => Math.floor(at / TOGETHER_MS) * TOGETHER_MS;

/**
 * Waits for the tasks of a run, in a loop for each: sleep, poll, decide. A pause begins with the last
 * response, or the response to the submit; the last poll comes just before the deadline; a task with
 * an unknown status stays open.
 */
export class Poller {
	private readonly intervalMs: number;

	private waiting = 0;

	/** Sleeps by the time of their end. Thousands of timers would take memory. */
	private readonly sleeps = new Map<number, Promise<void>>();

	/** The number of tasks whose wait has begun. */
	private begun = 0;

	/** When a poll last got a result about its task, or the first one began that goes on until then. */
	private resultAt?: number;

	constructor(private readonly options: PollerOptions) {
		this.intervalMs = atLeast(SHORTEST_PAUSE_MS, options.intervalMs);
	}

	/** The number of tasks that wait or will wait. */
	private tasksLeft(): number {
		const { coming = () => 0 } = this.options;
		return this.waiting + coming(this.begun);
	}

	/**
	 * Waits until the task is finished, can't be polled, or is still open after `maxWaitMs`. Rejects when
	 * the run is stopped, by the task's signal, and with a GatewayError that another poll would not change.
	 *
	 * A response in progress at the deadline is waited for a moment longer. A task that got no result
	 * because its polls waited for the rate limiter is polled once more, within half a minute.
	 *
	 * @param ageMs time since its submit in milliseconds: a task isn't polled before its first pause
	 *   is over. A task of unknown age is polled at once.
	 */
	async wait(task: PolledTask, maxWaitMs: number, ageMs = Infinity): Promise<Seen> {
		const now = this.options.clock.now();
		const submittedAt = now - atLeast(0, ageMs);
		const deadline = now + atLeast(LAST_POLL_LEAD_MS, maxWaitMs);
		this.waiting += 1;
		this.begun += 1;
		// Without a random extension: the submits already differ.
		const firstPauseEnd = submittedAt + pauseOf(this.intervalMs, this.tasksLeft(), 0);
		const isDue = firstPauseEnd <= now;
		const firstAt = isDue ? now : Math.min(together(firstPauseEnd), deadline - LAST_POLL_LEAD_MS);
		const polling = { task, submittedAt, deadline, hasResult: false, isOver: false, isOnce: false };
		// A poll may hang, in the queue of the rate limiter or at the gateway.
		const lateEnd = togetherBefore(deadline + LATE_TURN_MS);
		return await this.pollUntil(this.sleepUntil(lateEnd, polling), polling, firstAt);
	}

	/**
	 * Polls a task at once, and again only if it is refused for the rate, until a poll gets a result about
	 * it, or no poll of any task has got one for a while: then it has shown nothing.
	 */
	async waitForResult(task: PolledTask): Promise<Seen> {
		const now = this.options.clock.now();
		this.waiting += 1;
		this.resultAt ??= now;
		const ends = { submittedAt: -Infinity, deadline: Infinity, isOnce: true };
		const polling = { task, ...ends, hasResult: false, isOver: false };
		const seen = await this.pollUntil(this.sleepUntilStalled(polling), polling, now);
		return polling.hasResult ? seen : {};
	}

	/** Polls a task to its end, or until this time is over. */
	private async pollUntil(late: Promise<void>, polling: Polling, firstAt: number): Promise<Seen> {
		try {
			// Not the result of the race, which the timer would keep in memory for a minute.
			let end: Seen | undefined;
			const loop = this.pollUntilEnd(polling, firstAt).then((found) => void (end = found));
			const ended = Promise.race([loop, late]);
			const { signal } = polling.task;
			await new Promise(orEnded<void>(signal, (...settle) => void ended.then(...settle)));
			return end ?? seenIn(polling);
		} finally {
			polling.isOver = true;
			polling.state = undefined;
			this.waiting -= 1;
		}
	}

	/** The loop of a wait. */
	private async pollUntilEnd(polling: Polling, firstAt: number): Promise<Seen> {
		for (let at: number | undefined = firstAt; at !== undefined; ) {
			await this.sleepUntil(at, polling);
			if (polling.isOver || (polling.hasResult && at >= polling.deadline)) break;
			const sentAt = this.options.clock.now();
			const result = await this.poll(polling);
			if (result !== undefined) record(polling, result);
			if (polling.hasResult) this.resultAt = this.options.clock.now();
			const { isOnce, state } = polling;
			if (isOnce ? polling.hasResult : state !== undefined && isFinished(state.group)) break;
			at = this.nextPollAt(polling, sentAt, result);
		}
		return seenIn(polling);
	}

	/** Polls a task; undefined if its turn in the rate limiter, or its response, came too late. */
	private async poll(polling: Polling): Promise<OpenResult | undefined> {
		try {
			const result = await this.options.pollOnce(polling.task, () => this.timeLeft(polling));
			return polling.isOver ? undefined : result;
		} catch (reason) {
			if (reason instanceof CanceledInQueue) return undefined;
			this.resultAt = this.options.clock.now();
			throw reason as Error;
		}
	}

	/** The time limit of a poll sent now, in milliseconds; 0 if it is too late for a response. */
	private timeLeft({ isOver, deadline }: Polling): number {
		const now = this.options.clock.now();
		// A poll that is sent after the deadline had to wait for the rate limiter.
		const end = deadline + (now < deadline ? LATE_RESPONSE_MS : LATE_TURN_MS);
		return !isOver && end - now >= SHORTEST_PAUSE_MS ? Math.min(LONGEST_POLL_MS, end - now) : 0;
	}

	/**
	 * The time of the next poll; undefined if none fits in any more.
	 *
	 * @param result of the poll sent at `sentAt`; undefined if it came too late
	 */
	private nextPollAt(polling: Polling, sentAt: number, result?: OpenResult): number | undefined {
		const { deadline, hasResult } = polling;
		const now = this.options.clock.now();
		// Its turn came too late before the deadline, which allows a late poll.
		if (result === undefined) return this.timeLeft(polling) > 0 ? now : undefined;
		const lastAt = deadline - LAST_POLL_LEAD_MS;
		const isLast = sentAt >= lastAt;
		if (hasResult && (isLast || now >= deadline)) return undefined;
		const next = together(now + Math.max(result.pauseMs ?? 0, this.pauseAfter(result, polling)));
		if (now >= deadline || next + SHORTEST_PAUSE_MS <= lastAt) return next;
		// If the last poll was refused for the rate limit, another one follows at the deadline.
		const lateAt = together(deadline);
		return isLast ? lateAt : Math.min(lateAt, Math.max(lastAt, now + SHORTEST_PAUSE_MS));
	}

	/** The pause after a response, in milliseconds. */
	private pauseAfter(result: OpenResult, { submittedAt }: Polling): number {
		const { clock } = this.options;
		const pause = pauseOf(this.intervalMs, this.tasksLeft(), clock.now() - submittedAt);
		const { rateLimited = false, soon = false } = result.kind === 'transient' ? result : {};
		const longest = rateLimited ? SHORTEST_PAUSE_MS : soon ? SOON_MS : Infinity;
		return Math.min(longest, pause) * (1 + JITTER * clock.random());
	}

	/** Sleeps until a time, at least once, unless the wait ends meanwhile. */
	private async sleepUntil(at: number, polling: Polling): Promise<void> {
		const { clock } = this.options;
		do {
			await this.sleepTogether(Math.min(at, together(clock.now() + LONGEST_SLEEP_MS)));
		} while (!polling.isOver && clock.now() < at);
	}

	/** Sleeps until no poll has got a result for a while, unless the wait ends meanwhile. */
	private async sleepUntilStalled(polling: Polling): Promise<void> {
		const { clock } = this.options;
		const stalledAt = (): number => (this.resultAt ?? 0) + STALLED_MS;
		while (!polling.isOver && clock.now() < stalledAt())
			await this.sleepUntil(stalledAt(), polling);
	}

	/** Sleeps until a time, in one sleep for all tasks that have the same. */
	private async sleepTogether(at: number): Promise<void> {
		const { clock } = this.options;
		const sleep =
			this.sleeps.get(at) ??
			clock.sleep(Math.max(0, at - clock.now())).finally(() => this.sleeps.delete(at));
		this.sleeps.set(at, sleep);
		await sleep;
	}
}

/** Records the result of a poll. */
function record(polling: Polling, result: OpenResult): void {
	if (result.kind === 'state') polling.state = result.state;
	polling.error = result.kind === 'transient' ? result.error : undefined;
	if (result.kind === 'state' || result.rateLimited !== true) polling.hasResult = true;
}

const seenIn = ({ state, error }: Polling): Seen => ({ state, error });
