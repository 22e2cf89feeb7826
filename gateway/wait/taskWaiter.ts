import { submitTime, shiftedHistory, type PollHistory } from './pollHistory';
import { Poller, type PollerOptions, type Seen } from './poller';
import { deadlineError, taskError, withMentioned } from '../errors/taskErrors';
import { type TaskState, type Task, ageOf, taskKey } from '../responses/task';
import { GatewayError } from '../protocol/gatewayError';
import { counted } from '../../util/text';
import { isFinished } from '../protocol/status';
import { TasksOfRun } from './taskQueries';
import {
	aboutTask,
	hintOtherTask,
	pollTask,
	type OpenResult,
	type PolledTask,
	type SendQuery,
	type WaitContext,
} from './pollTask';

/** A wait for a task. A plain value, which can be stored and continued later. */
export interface Wait {
	task: Task;
	/** The time limit of the whole wait, in milliseconds. */
	maxWaitMs: number;
	/** Milliseconds since 1970, as the wait may outlive the process. */
	deadlineAt: number;
	/** What earlier polls have shown, in a wait that is continued; in milliseconds since 1970. */
	history?: PollHistory;
}

/** How to wait for a task. */
export interface HowToWait {
	/** Only until a poll gets a result about it, for a wait that is continued later. */
	once?: boolean;
	/** Ends this wait alone. */
	signal?: AbortSignal;
}

/** How a wait ended, for now. */
export type TaskEnd<W extends Wait> =
	/** The task has finished with images. */
	| { kind: 'finished'; wait: W; state: TaskState }
	/**
	 * The task is still open. `wait` has its last status, to be continued; `polled`: whether a poll got a
	 * response about it; if not, other requests took all the time. There is an error at the deadline only.
	 */
	| { kind: 'open'; wait: W; polled: boolean; error?: GatewayError };

/** How often a person who watches is told that status checks fail. */
const TOLD_EVERY_MS = 10_000;

/**
 * The wait for the tasks of a run. Several items may have the same task, which is polled once for
 * all of them that wait as long.
 */
export class TaskWaiter {
	/** The waits in progress, which items with the same task and the same limits share. */
	private readonly waiting = new Map<string | symbol, Promise<{ task: PolledTask; seen: Seen }>>();

	/** When a person was last told of a failed status check, by the clock of the run. */
	private toldAt = -Infinity;

	private readonly poller: Poller;

	/**
	 * @param pace what the pauses between two polls of a task follow from
	 * @param tasks those of the run, also finished ones
	 */
	constructor(
		private readonly context: WaitContext,
		pace: Pick<PollerOptions, 'intervalMs' | 'coming'>,
		private readonly tasks: TasksOfRun,
	) {
		const pollOnce = this.pollOnce.bind(this);
		this.poller = new Poller({ clock: context.clock, ...pace, pollOnce });
	}

	/**
	 * Waits for a task until its deadline, or with `once` until a poll gets a result about it, as long as the
	 * polls of any task get one. With `once`, one whose deadline is over is polled as well, and then counts as
	 * still open.
	 *
	 * @throws GatewayError with the ID of the task, if it has failed or can't be polled
	 */
	async wait<W extends Wait>(
		wait: W,
		{ once = false, signal }: HowToWait = {},
	): Promise<TaskEnd<W>> {
		const leftMs = wait.deadlineAt - Date.now();
		// What a signal ends is nobody else's.
		const shared = signal ? Symbol() : `${taskKey(wait.task)} ${wait.maxWaitMs}`;
		const start = async () => {
			const task = { ...this.polledTask(wait), signal };
			const seen = await (once
				? this.poller.waitForResult(task)
				: this.poller.wait(task, Math.max(1000, leftMs), ageOf(wait.task)));
			return { task, seen };
		};
		const started =
			this.waiting.get(shared) ?? start().finally(() => void this.waiting.delete(shared));
		this.waiting.set(shared, started);
		try {
			const { task, seen } = await started;
			return this.endOf(wait, task, seen, !once || leftMs <= 0);
		} catch (error) {
			throw error instanceof GatewayError ? withMentioned(error, wait.task) : (error as Error);
		}
	}

	/**
	 * @param isLast whether a task that is open has passed its deadline
	 * @throws GatewayError with the ID of the task, if it has failed
	 */
	private endOf<W extends Wait>(
		wait: W,
		task: PolledTask,
		seen: Seen,
		isLast: boolean,
	): TaskEnd<W> {
		const { state, error: last } = seen;
		if (state === undefined || !isFinished(state.group)) {
			const { taskType, statusUrl } = task;
			const status = state?.status ?? wait.task.status;
			const history = shiftedHistory(task, Date.now() - this.context.clock.now());
			const next = { ...wait, history, task: { ...wait.task, taskType, statusUrl, status } };
			// A poll that got a 429 says nothing about its task.
			const polled = state !== undefined || (last !== undefined && last.problem.httpCode !== 429);
			if (!isLast) return { kind: 'open', wait: next, polled };
			const late = deadlineError(next.task, wait.maxWaitMs, seen);
			return { kind: 'open', wait: next, polled, error: withMentioned(late, wait.task) };
		}
		const error = taskError(state);
		if (error !== undefined) throw error;
		hintOtherTask(this.context, state);
		return { kind: 'finished', wait, state };
	}

	/** The task of a wait, with what earlier polls have shown, on the clock of the run. */
	private polledTask({ task: submitted, ...wait }: Wait): PolledTask {
		const { clock } = this.context;
		const { taskId, taskType, statusUrl, sent } = submitted;
		this.tasks.add(submitted);
		// A task is at least as old as the wait for it, which may have begun in an earlier execution.
		const waitedMs = Date.now() - (wait.deadlineAt - wait.maxWaitMs);
		const submittedAtMs = submitTime(clock.now(), ageOf(submitted), waitedMs);
		const history = shiftedHistory(wait.history ?? {}, clock.now() - Date.now());
		return { taskId, taskType, statusUrl, sent, submittedAtMs, ...history };
	}

	/** @throws GatewayError with the ID of the task, if another poll would not change it */
	private async pollOnce(task: PolledTask, timeLeftMs: () => number): Promise<OpenResult> {
		const { client, clock, limits, onProgress } = this.context;
		const timeoutMs = (): number => Math.min(timeLeftMs(), limits.timeoutMs);
		const send: SendQuery = async (plan) =>
			await client.attempt({ ...plan, signal: task.signal }, timeoutMs);
		const result = await pollTask(this.context, task, this.tasks, send);
		if (result.kind === 'final') throw aboutTask(result.error, task.taskId);
		if (result.kind === 'transient' && clock.now() - this.toldAt >= TOLD_EVERY_MS) {
			this.toldAt = clock.now();
			const open = counted(this.waiting.size, 'task');
			onProgress(`${open} still open; the last status check failed: ${result.error.message}`);
		}
		return result;
	}
}
