import type { INodeExecutionData } from 'n8n-workflow';
import { Durations } from '../../../gateway/client/durations';
import { birth, carried, type Sightings } from '../../../gateway/client/missingTasks';
import { Poller, type Settled } from '../../../gateway/client/poller';
import { hasNothingToGive, taskError } from '../../../gateway/errors/taskErrors';
import { digestOf } from '../../../gateway/protocol/fingerprint';
import { isFinished, statusGroup } from '../../../gateway/protocol/status';
import { taskName, type TaskRef, type TaskState } from '../../../gateway/protocol/task';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { LruMap } from '../../../gateway/util/lruMap';
import { imageItems, readTarget, type ImageTarget } from '../images/imageItems';
import type { ItemParameters } from '../parameters/itemParameters';
import { describeLeftovers } from '../payments/payment';
import { runItems } from '../run/itemRunner';
import { problemOf, type RequestFacts } from '../run/nodeErrors';
import type { Run } from '../run/runContext';
import { addImages } from '../run/tally';
import { aboutTask, hintOtherTask, pollTask, type PolledTask } from './pollTask';
import {
	ageOf,
	knownFacts,
	readTaskReference,
	taskItem,
	taskKey,
	type SubmittedTask,
} from './taskReference';
import { WaitReport } from './waitReport';

/** A wait for one task, on behalf of one input item. A plain value: it can be stored and continued. */
export interface TaskWait {
	task: SubmittedTask;
	facts: RequestFacts;
	target: ImageTarget;
	/** As the user chose it. */
	maxWaitMs: number;
	/** Milliseconds since 1970: it may outlive the process. */
	deadlineAt: number;
	/** What the gateway has told of the task, where the wait is continued; by the time of day. */
	sightings?: Sightings;
}

/** A task that is still open. */
export interface OpenTask {
	kind: 'open';
	/** The wait with what has become known: it can be continued. */
	wait: TaskWait;
	/** Whether the gateway has told anything of the task; else other requests took all the time. */
	polled: boolean;
	/** What to say at the deadline; undefined before it. */
	error?: GatewayError;
}

/**
 * Waits for a task.
 *
 * @param forMs how long at most, where that is less than until the deadline: the task is polled at
 *   least once, but with 0 not at all
 * @throws GatewayError with the ID of the task: it has failed, or cannot be polled
 */
export type WaitForTask = (
	wait: TaskWait,
	forMs?: number,
) => Promise<{ kind: 'finished'; state: TaskState } | OpenTask>;

/**
 * How long tasks take, by gateway, account, model and kind: what the runs of this process have learned,
 * so that the node that waits next polls where it helps.
 */
const durationsOf = new LruMap<string, Durations>(200);

/**
 * The wait for all tasks of a run. Several items may name one task: it is polled once for all of them.
 *
 * @param intervalMs about how often each task is polled
 * @param expected how many tasks the run may have to wait for
 */
export function createTaskWaiter(run: Run, intervalMs: number, expected: number): WaitForTask {
	const { address, clock, client, limits, tally } = run;
	const waiting = new Map<string, Promise<{ task: PolledTask; settled: Settled }>>();
	const finished = new Set<string>();
	const taskIds = new Set<string>();
	const report = new WaitReport(run, () => ({ open: waiting.size, all: taskIds.size }));
	const poller = new Poller<PolledTask>({
		clock,
		intervalMs,
		expected,
		pollOnce: async (task, timeLeftMs) => {
			const timeoutMs = (): number => Math.min(timeLeftMs(), limits.timeoutMs);
			const result = await pollTask(task, {
				now: () => clock.now(),
				query: async (plan) => await client.attempt(plan, timeoutMs),
				isPolled: (taskId) => taskIds.has(taskId),
			});
			report.note(result);
			return result;
		},
	});

	const poll = async ({ task: given, facts, ...wait }: TaskWait, maxMs: number) => {
		const { taskId, taskType } = given;
		taskIds.add(taskId);
		const ageMs = ageOf(given);
		// Taken up again, it has been waited for before: it is at least so old.
		const heldMs = Date.now() - (wait.deadlineAt - wait.maxWaitMs);
		const bornAt = birth(clock.now(), ageMs, heldMs);
		const sightings = carried(wait.sightings ?? {}, clock.now() - Date.now());
		const task: PolledTask = { taskId, taskType, bornAt, ...sightings };
		// A digest: an item may name a model of any length. Without a model nothing is learned.
		const key = digestOf([address.accountAndKey, facts.model, taskType]);
		const durations =
			facts.model === undefined ? undefined : durationsOf.getOrAdd(key, () => new Durations());
		return { task, settled: await poller.wait(task, maxMs, ageMs, durations) };
	};

	return async (wait, forMs = Infinity) => {
		if (forMs === 0) return { kind: 'open', wait, polled: false };
		const leftMs = Math.max(1000, wait.deadlineAt - Date.now());
		const key = `${taskKey(wait.task)} ${wait.maxWaitMs}`;
		const started =
			waiting.get(key) ??
			poll(wait, Math.min(leftMs, forMs)).finally(() => void waiting.delete(key));
		waiting.set(key, started);
		void report.begin();
		const { task, settled } = await started;
		if (settled.kind === 'deadline') {
			const sightings = carried(task, Date.now() - clock.now());
			const open = openTask({ ...wait, sightings }, task, settled);
			return forMs < leftMs ? { ...open, error: undefined } : open;
		}
		if (settled.kind === 'problem') throw aboutTask(settled.error, task.taskId);
		const { state } = settled;
		const error = taskError(state);
		if (error !== undefined) throw error;
		hintOtherTask(run, state);
		if (!finished.has(taskKey(state))) addImages(tally, wait.facts, state.images.length);
		finished.add(taskKey(state));
		return { kind: 'finished', state };
	};
}

function openTask(
	wait: TaskWait,
	{ taskType }: PolledTask,
	{ state, error }: Extract<Settled, { kind: 'deadline' }>,
): OpenTask {
	const status = state?.status ?? wait.task.status;
	const next = { ...wait, task: { ...wait.task, taskType, status } };
	// Refused for its rate, a poll says nothing about its task.
	const polled = state !== undefined || (error !== undefined && error.problem.httpCode !== 429);
	return { kind: 'open', wait: next, polled, error: deadlineError(next, state, error) };
}

/** @param error that of the last poll */
function deadlineError(
	{ task, maxWaitMs }: TaskWait,
	state: TaskState | undefined,
	error: GatewayError | undefined,
): GatewayError {
	// Completed without an image, it was only given time to list one.
	if (error !== undefined && isFinished(statusGroup(error.problem.status))) return error;
	const { taskId, taskType } = task;
	const seconds = Math.round(maxWaitMs / 1000);
	if (state === undefined && error === undefined) {
		return new GatewayError({
			message: `The ${taskName(task)} couldn't be checked within ${seconds} s`,
			description:
				"Other requests took all the time, so the task may have finished. Nothing is lost: give its ID to Image Wait or Image Task later, or increase 'Max Wait' and 'Requests per Second'.",
			taskId,
			taskType,
		});
	}
	let lastSeen = '';
	if (state?.group === 'unknown') {
		lastSeen = `; its status "${state.status}" is unknown to this node`;
	} else if (state !== undefined) lastSeen = `; its last status was "${state.status}"`;
	if (error !== undefined) lastSeen += `; the last status check failed: ${error.message}`;
	return new GatewayError({
		message: `The ${taskName(task)} was still open after ${seconds} s${lastSeen}`,
		description:
			"The task continues at the gateway. Give its ID to Image Wait or Image Task later, or increase 'Max Wait'.",
		taskId,
		taskType,
		status: state?.status,
		response: error?.problem.response,
	});
}

/** One input item: what it waits for, or what came of it. Neither where its parameters were wrong. */
export interface WaitEntry {
	wait?: TaskWait;
	/** `open`, for the second output: the task was still open at its deadline. */
	done?: { items: INodeExecutionData[]; open?: INodeExecutionData };
}

/** Reads what an item wants from its parameters. @throws NodeOperationError */
export function readWait(item: ItemParameters): TaskWait {
	const maxWaitMs = item.milliseconds('maxWait');
	return {
		task: readTaskReference(item),
		facts: knownFacts(item),
		target: readTarget(item),
		maxWaitMs,
		deadlineAt: Date.now() + maxWaitMs,
	};
}

/** How all tasks of a run are waited for. */
export interface WaitOptions {
	/** About how often each task is polled. */
	intervalMs: number;
	/** Whether a task that is open at its deadline leaves by the second output; else it is an error. */
	toOutput: boolean;
	/** How long to wait at most, where the wait is continued later; 0: not now. */
	forMs: (itemIndex: number) => number;
	/** Whether to go on waiting for an open task later, even if its deadline is over. */
	keepsOpen?: (open: OpenTask, itemIndex: number) => boolean;
}

/**
 * Waits for all tasks of a batch, in this process.
 *
 * @param read what an item waits for; its errors are those of the item
 * @returns an entry for each input item; one that is to be continued later has no result
 * @throws NodeApiError or NodeOperationError that lists the IDs of all tasks
 */
export async function waitForTasks(
	run: Run,
	count: number,
	read: (itemIndex: number) => WaitEntry,
	{ intervalMs, toOutput, forMs, keepsOpen }: WaitOptions,
): Promise<WaitEntry[]> {
	const entries: WaitEntry[] = Array.from({ length: count }, () => ({}));
	const facts: Array<RequestFacts | undefined> = [];
	/** Items that are waited for again later. */
	const kept = new Set<number>();
	let waitForTask: WaitForTask | undefined;

	const itemsOf = async (wait: TaskWait, itemIndex: number): Promise<INodeExecutionData[]> => {
		// All items are prepared by now: the more tasks wait, the longer the pauses.
		waitForTask ??= createTaskWaiter(run, intervalMs, countTasks(entries));
		const result = await waitForTask(wait, forMs(itemIndex));
		if (result.kind === 'finished') {
			const { model, created, taskId, taskType, status, images } = result.state;
			const known = { ...wait.facts, created, taskId, taskType, status };
			return await imageItems(run, images, { ...known, model: known.model ?? model }, wait.target);
		}
		entries[itemIndex] = { wait: result.wait };
		const isKept = keepsOpen?.(result, itemIndex) ?? false;
		if (result.error === undefined || isKept) kept.add(itemIndex);
		else if (toOutput) entries[itemIndex] = { done: { items: [], open: openItem(result.wait) } };
		else throw result.error;
		return [];
	};

	const output = await runItems(run, count, {
		prepare: (itemIndex) => {
			const { wait, done } = (entries[itemIndex] = read(itemIndex));
			facts[itemIndex] = wait?.facts;
			return async () => {
				if (done !== undefined || wait === undefined) return [];
				try {
					return await itemsOf(wait, itemIndex);
				} catch (error) {
					// Where there is something to be had, the error may tell of which kind the task is.
					const { taskType = wait.task.taskType } = problemOf(error);
					const found = { ...wait, task: { ...wait.task, taskType } };
					entries[itemIndex] = hasNothingToGive(error, wait.task) ? {} : { wait: found };
					return await Promise.reject(error);
				}
			};
		},
		payments: { describeUnreturned: () => tasksInWords(entries) },
		knownOf: (itemIndex) => facts[itemIndex],
	});
	return entries.map(({ wait, done }, itemIndex) =>
		done !== undefined || kept.has(itemIndex)
			? { wait, done }
			: { wait, done: { items: output[itemIndex] ?? [] } },
	);
}

/** How many tasks are waited for: several items may name one. */
function countTasks(entries: WaitEntry[]): number {
	const open = entries.flatMap(({ wait, done }) => (done === undefined ? (wait ?? []) : []));
	return new Set(open.map(({ task }) => taskKey(task))).size;
}

/** What a batch that ends early leaves behind: its tasks, but for those that have nothing to give. */
export function tasksInWords(entries: WaitEntry[]): string {
	const tasks = entries.flatMap(({ wait, done }, itemIndex) => {
		// The items that came of a task name it.
		const named = wait?.task ?? ((done?.items[0] ?? done?.open)?.json as Partial<TaskRef>);
		const { taskId, taskType = 'image' } = named ?? {};
		return taskId === undefined ? [] : [`item ${itemIndex}: ${taskType} task ${taskId}`];
	});
	return describeLeftovers(tasks);
}

/** A task that is still open, in the form in which Image Wait and Image Task take it. */
export const openItem = ({ task, facts, target }: TaskWait): INodeExecutionData =>
	taskItem(task, facts, target);
