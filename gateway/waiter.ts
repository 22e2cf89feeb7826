import type { Clock } from './clock';
import type { GatewayError } from './problem';
import { isFinished } from './status';
import type { TaskRef, TaskState } from './task';

/** What one question about a task brought. */
export type PollAnswer =
	| { kind: 'state'; state: TaskState }
	/** A fault that may pass. `pauseMs`: what the gateway asked for by `Retry-After`. */
	| { kind: 'passing'; error: GatewayError; pauseMs?: number }
	/** Asking again is of no use. */
	| { kind: 'final'; error: GatewayError };

/** How the waiting for one task ended. */
export type Settled =
	| { kind: 'finished'; state: TaskState }
	| { kind: 'problem'; error: GatewayError }
	/** Still open at the deadline. `state` and `error` are the last ones seen. */
	| { kind: 'deadline'; state?: TaskState; error?: GatewayError; questions: number };

export interface WaiterOptions {
	clock: Clock;
	/** Asks once. Must not throw, except when the run is stopped; never takes longer than `timeoutMs`. */
	ask: (task: TaskRef, timeoutMs: number) => Promise<PollAnswer>;
	/** The pause between two questions about one task begins here and grows to `longestPauseMs`. */
	shortestPauseMs: number;
	longestPauseMs: number;
}

interface Entry {
	task: TaskRef;
	deadline: number;
	open: boolean;
	/** Set when no further question fits in before the deadline. */
	lastQuestion: boolean;
	pauseMs: number;
	questions: number;
	state?: TaskState;
	error?: GatewayError;
	settle: (settled: Settled) => void;
	fail: (reason: unknown) => void;
}

interface Appointment {
	at: number;
	entry: Entry;
	purpose: 'question' | 'deadline';
}

/** No task is asked about more often than this, whatever the options say. */
const SHORTEST_PAUSE_MS = 1000;
const GROWTH = 1.1;
const JITTER = 0.2;
/** How long before the deadline the last question is put: time for an answer to come. */
const LAST_QUESTION_LEAD_MS = 1000;
const LONGEST_QUESTION_MS = 30_000;
/** A timer of the platform cannot always be taken back: none is set for longer than this. */
const LONGEST_SLEEP_MS = 5000;

/** The number where it is not below the bound; also for what is no number at all. */
const atLeast = (bound: number, value: number): number => (value > bound ? value : bound);

/** Waits for many tasks at once. */
export interface Waiter {
	/**
	 * Waits until the task is finished, cannot be asked about, or is still open after `maxWaitMs`.
	 * Rejects only if the clock does: when the run is stopped.
	 *
	 * @param firstPauseMs pause before the first question, in milliseconds; 0 asks at once
	 */
	wait(task: TaskRef, maxWaitMs: number, firstPauseMs?: number): Promise<Settled>;
	/** How many tasks are still waited for. */
	readonly open: number;
}

/**
 * The one waiter (specification, 4.2, rules 4 and 5, and section 3). All tasks share one timer, so
 * a thousand of them cost what a list of a thousand entries costs. Pauses are counted from the last
 * answer, grow, and are jittered; the last question comes just before the deadline; a status that
 * is not in the table keeps the task open.
 */
export function createWaiter(options: WaiterOptions): Waiter {
	const { clock, ask } = options;
	const shortest = atLeast(SHORTEST_PAUSE_MS, options.shortestPauseMs);
	const longest = atLeast(shortest, options.longestPauseMs);
	/** Sorted by time, the earliest last, so that taking it away is cheap. */
	const agenda: Appointment[] = [];
	let open = 0;
	let wakeAt = Infinity;

	function appoint(entry: Entry, purpose: Appointment['purpose'], at: number): void {
		let low = 0;
		let high = agenda.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if ((agenda[middle]?.at ?? 0) > at) low = middle + 1;
			else high = middle;
		}
		agenda.splice(low, 0, { at, entry, purpose });
	}

	function wake(): void {
		const next = agenda.at(-1);
		if (next === undefined || open === 0) return;
		const now = clock.now();
		const at = Math.min(Math.max(next.at, now), now + LONGEST_SLEEP_MS);
		if (at >= wakeAt) return;
		wakeAt = at;
		clock.sleep(at - now).then(
			() => {
				if (wakeAt !== at) return;
				wakeAt = Infinity;
				keepAppointments();
			},
			(reason) => {
				wakeAt = Infinity;
				agenda.splice(0).forEach(({ entry }) => drop(entry, reason));
			},
		);
	}

	function keepAppointments(): void {
		const now = clock.now();
		for (let next = agenda.at(-1); next !== undefined && next.at <= now; next = agenda.at(-1)) {
			agenda.pop();
			if (!next.entry.open) continue;
			if (next.purpose === 'deadline') giveUp(next.entry);
			else void question(next.entry);
		}
		wake();
	}

	function close(entry: Entry, settled: Settled): void {
		entry.open = false;
		// The deadline's appointment still holds the entry: it need not hold the answer as well.
		entry.state = undefined;
		open -= 1;
		entry.settle(settled);
	}

	function giveUp(entry: Entry): void {
		const { state, error, questions } = entry;
		close(entry, { kind: 'deadline', state, error, questions });
	}

	async function question(entry: Entry): Promise<void> {
		entry.questions += 1;
		const left = entry.deadline - clock.now();
		try {
			const answer = await ask(
				entry.task,
				Math.min(LONGEST_QUESTION_MS, Math.max(SHORTEST_PAUSE_MS, left)),
			);
			if (entry.open) take(entry, answer);
		} catch (reason) {
			drop(entry, reason);
		}
	}

	function drop(entry: Entry, reason: unknown): void {
		if (entry.open) open -= 1;
		entry.open = false;
		entry.fail(reason);
	}

	function take(entry: Entry, answer: PollAnswer): void {
		if (answer.kind === 'final') return close(entry, { kind: 'problem', error: answer.error });
		if (answer.kind === 'state' && isFinished(answer.state.group)) {
			return close(entry, { kind: 'finished', state: answer.state });
		}
		if (answer.kind === 'state') entry.state = answer.state;
		entry.error = answer.kind === 'passing' ? answer.error : undefined;
		if (entry.lastQuestion) return giveUp(entry);
		appointNext(entry, answer.kind === 'passing' ? (answer.pauseMs ?? 0) : 0);
		wake();
	}

	function appointNext(entry: Entry, leastPauseMs: number): void {
		const now = clock.now();
		const jittered = Math.min(longest, entry.pauseMs * (1 + JITTER * clock.random()));
		const pause = Math.max(leastPauseMs, jittered);
		const steady = Math.max(shortest, longest / (1 + JITTER));
		entry.pauseMs = Math.min(steady, entry.pauseMs * GROWTH);
		const last = entry.deadline - LAST_QUESTION_LEAD_MS;
		if (now + pause < last) return appoint(entry, 'question', now + pause);
		entry.lastQuestion = true;
		appoint(entry, 'question', Math.max(last, now + SHORTEST_PAUSE_MS));
	}

	return {
		get open() {
			return open;
		},
		wait: async (task, maxWaitMs, firstPauseMs = 0) =>
			await new Promise<Settled>((settle, fail) => {
				const now = clock.now();
				const wait = atLeast(LAST_QUESTION_LEAD_MS, maxWaitMs);
				const last = wait - LAST_QUESTION_LEAD_MS;
				const first = Math.min(last, atLeast(0, firstPauseMs));
				const entry: Entry = {
					task,
					deadline: now + wait,
					open: true,
					lastQuestion: first === last,
					pauseMs: shortest,
					questions: 0,
					settle,
					fail,
				};
				open += 1;
				appoint(entry, 'deadline', entry.deadline);
				appoint(entry, 'question', now + first);
				wake();
			}),
	};
}
