import { submitTime, forNextWait, type PollHistory } from '../../../gateway/client/pollHistory';
import { Durations } from '../../../gateway/client/pollTimes';
import { Poller, type PollResult, type WaitEnd } from '../../../gateway/client/poller';
import { deadlineError, taskError, withMentioned } from '../../../gateway/errors/taskErrors';
import { digestOf } from '../../../gateway/protocol/fingerprint';
import type { TaskRef, TaskState } from '../../../gateway/protocol/task';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { LruMap } from '../../../gateway/util/lruMap';
import type { Charged } from '../run/itemFacts';
import type { Run } from '../run/runContext';
import { KnownTasks } from './knownTasks';
import { aboutTask, hintOtherTask, pollTask, type PolledTask, type SendQuery } from './pollTask';
import { ageOf, taskKey, type TaskOfItem } from './taskReference';

/** The wait of an input item for a task. A plain value, which can be stored and continued later. */
export interface TaskWait extends TaskOfItem {
	/** The option 'Max Wait'. */
	maxWaitMs: number;
	/** Milliseconds since 1970, as the wait may outlive the process. */
	deadlineAt: number;
	/** Whether the task was charged: certainly where the node that waits has submitted it. */
	charged: Charged;
	/** What earlier polls have shown, in a wait that is continued; in milliseconds since 1970. */
	history?: PollHistory;
}

/** A task that has finished with images. */
export interface FinishedTask {
	kind: 'finished';
	wait: TaskWait;
	state: TaskState;
}

/** A task that is still open. */
export interface OpenTask {
	kind: 'open';
	/** The wait with the task's last status, to be continued. */
	wait: TaskWait;
	/** Whether a poll got a response about the task; if not, other requests took all the time. */
	polled: boolean;
	/** The error at the deadline; undefined before it. */
	error?: GatewayError;
}

/**
 * The durations of finished tasks by gateway, account, model and task type, for all runs of this
 * process: they decide when a task is first polled.
 */
const durationsOf = new LruMap<string, Durations>(200);

/** How often a person who watches is told that status checks fail. */
const TOLD_EVERY_MS = 10_000;

/**
 * The wait for the tasks of a run. Several items may have the same task, which is polled once for
 * all of them.
 */
export class TaskWaiter {
	/** The waits in progress, which items with the same task and the same limits share. */
	private readonly waiting = new Map<string, Promise<{ task: PolledTask; ended: WaitEnd }>>();

	private readonly tasks: KnownTasks;

	/** When a person was last told of a failed status check, by the clock of the run. */
	private toldAt = -Infinity;

	private readonly poller: Poller<PolledTask>;

	/**
	 * @param intervalMs the approximate pause between two polls of a task
	 * @param expected the number of tasks that the run may wait for
	 * @param known tasks that are known already, also finished ones
	 */
	constructor(
		private readonly run: Run,
		intervalMs: number,
		expected: number,
		known: TaskRef[] = [],
	) {
		this.tasks = new KnownTasks(run.clock);
		for (const task of known) this.tasks.add(task);
		const pollOnce = this.pollOnce.bind(this);
		this.poller = new Poller({ clock: run.clock, intervalMs, expected, pollOnce });
	}

	/**
	 * Waits for a task.
	 *
	 * @param limitMs a limit before the deadline, where the wait is continued later: the task is polled
	 *   at least once, but with 0 not at all
	 * @throws GatewayError with the ID of the task, if it has failed or can't be polled
	 */
	async wait(wait: TaskWait, limitMs = Infinity): Promise<FinishedTask | OpenTask> {
		if (limitMs === 0) return { kind: 'open', wait, polled: false };
		return await this.endOf(wait, limitMs).catch((error: unknown) => {
			throw error instanceof GatewayError ? withMentioned(error, wait.task) : (error as Error);
		});
	}

	private async endOf(wait: TaskWait, limitMs: number): Promise<FinishedTask | OpenTask> {
		const { run, waiting } = this;
		const leftMs = Math.max(1000, wait.deadlineAt - Date.now());
		const key = `${taskKey(wait.task)} ${wait.maxWaitMs} ${limitMs}`;
		const started =
			waiting.get(key) ??
			this.poll(wait, Math.min(leftMs, limitMs)).finally(() => void waiting.delete(key));
		waiting.set(key, started);
		const { task, ended } = await started;
		if (ended.kind === 'deadline') {
			const history = forNextWait(task, Date.now() - run.clock.now());
			const open = openTask({ ...wait, history }, task, ended);
			if (limitMs < leftMs) return open;
			const late = deadlineError(open.wait.task, wait.maxWaitMs, ended);
			return { ...open, error: withMentioned(late, wait.task) };
		}
		if (ended.kind === 'error') throw aboutTask(ended.error, task.taskId);
		const { state } = ended;
		const error = taskError(state);
		if (error !== undefined) throw error;
		hintOtherTask(run, state);
		return { kind: 'finished', wait, state };
	}

	/** Polls a task until it has ended, or for a time. */
	private async poll({ task: submitted, facts, ...wait }: TaskWait, maxMs: number) {
		const { clock, address } = this.run;
		const { taskId, taskType, statusUrl } = submitted;
		this.tasks.add(submitted);
		const ageMs = ageOf(submitted);
		// A task is at least as old as the wait for it, which may have begun in an earlier execution.
		const waitedMs = Date.now() - (wait.deadlineAt - wait.maxWaitMs);
		const submittedAtMs = submitTime(clock.now(), ageMs, waitedMs);
		const history = forNextWait(wait.history ?? {}, clock.now() - Date.now());
		const task: PolledTask = { taskId, taskType, statusUrl, submittedAtMs, ...history };
		// A digest, because the model name in an item may have any length.
		const key = digestOf([address.accountAndKey, facts.model, taskType]);
		const durations =
			facts.model === undefined ? undefined : durationsOf.getOrAdd(key, () => new Durations());
		return { task, ended: await this.poller.wait(task, maxMs, ageMs, durations) };
	}

	private async pollOnce(task: PolledTask, timeLeftMs: () => number): Promise<PollResult> {
		const { client, clock, limits, showInBrowser } = this.run;
		const timeoutMs = (): number => Math.min(timeLeftMs(), limits.timeoutMs);
		const send: SendQuery = async (plan) => await client.attempt(plan, timeoutMs);
		const result = await pollTask(this.run, task, this.tasks, send);
		if (result.kind === 'transient' && clock.now() - this.toldAt >= TOLD_EVERY_MS) {
			this.toldAt = clock.now();
			const { waiting, tasks } = this;
			const open = `${waiting.size} of ${tasks.ids.size} tasks still open`;
			showInBrowser(`${open}; the last status check failed: ${result.error.message}`);
		}
		return result;
	}
}

function openTask(
	wait: TaskWait,
	{ taskType, statusUrl }: PolledTask,
	last: Extract<WaitEnd, { kind: 'deadline' }>,
): OpenTask {
	const { state, error } = last;
	const status = state?.status ?? wait.task.status;
	const next = { ...wait, task: { ...wait.task, taskType, statusUrl, status } };
	// A poll that got a 429 says nothing about its task.
	const polled = state !== undefined || (error !== undefined && error.problem.httpCode !== 429);
	return { kind: 'open', wait: next, polled };
}
