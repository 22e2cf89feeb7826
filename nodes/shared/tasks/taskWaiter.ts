import type { INodeExecutionData } from 'n8n-workflow';
import { Durations } from '../../../gateway/client/pollTimes';
import { submitTime, forNextWait, type PollHistory } from '../../../gateway/client/pollHistory';
import { Poller, type PollResult, type WaitEnd } from '../../../gateway/client/poller';
import {
	hasFailed,
	isOutOfReach,
	shownResponse,
	taskError,
	withMentioned,
} from '../../../gateway/errors/taskErrors';
import { digestOf } from '../../../gateway/protocol/fingerprint';
import { afterColon } from '../../../gateway/protocol/errorBody';
import { isFinished, statusGroup } from '../../../gateway/protocol/status';
import { taskName, type TaskRef, type TaskState } from '../../../gateway/protocol/task';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { LruMap } from '../../../gateway/util/lruMap';
import { imageItems } from '../images/imageItems';
import type { ItemParameters } from '../parameters/itemParameters';
import { runItems } from '../run/itemRunner';
import { detailsOf, type Charged, type ItemFacts, type KnownItems } from '../run/itemFacts';
import type { Run } from '../run/runContext';
import { addImages } from '../run/tally';
import { aboutTask, hintOtherTask, pollTask, type PolledTask, type SendQuery } from './pollTask';
import { KnownTasks } from './knownTasks';
import {
	ageOf,
	chargeOfInput,
	readTask,
	taskItem,
	taskKey,
	type ImageOfItem,
	type TaskOfItem,
} from './taskReference';

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

type FinishedTask = { kind: 'finished'; state: TaskState };

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
	/** The waits in progress, which items with the same task and Max Wait share. */
	private readonly waiting = new Map<string, Promise<{ task: PolledTask; ended: WaitEnd }>>();

	/** Finished tasks, whose images are added to the tally once. */
	private readonly finished = new Set<string>();

	private readonly known: KnownTasks;

	/** When a person was last told of a failed status check, by the clock of the run. */
	private toldAt = -Infinity;

	private readonly poller: Poller<PolledTask>;

	/**
	 * @param intervalMs the approximate pause between two polls of a task
	 * @param expected the number of tasks that the run may wait for
	 * @param tasks those that are known already, also finished ones
	 */
	constructor(
		private readonly run: Run,
		intervalMs: number,
		expected: number,
		tasks: TaskRef[] = [],
	) {
		this.known = new KnownTasks(run.clock);
		for (const task of tasks) this.known.add(task);
		const pollOnce = this.pollOnce.bind(this);
		this.poller = new Poller({ clock: run.clock, intervalMs, expected, pollOnce });
	}

	/**
	 * Waits for a task.
	 *
	 * @param forMs a limit before the deadline: the task is polled at least once, but with 0 not at all
	 * @throws GatewayError with the ID of the task, if it has failed or can't be polled
	 */
	async wait(wait: TaskWait, forMs = Infinity): Promise<FinishedTask | OpenTask> {
		if (forMs === 0) return { kind: 'open', wait, polled: false };
		const { run, waiting, finished } = this;
		const leftMs = Math.max(1000, wait.deadlineAt - Date.now());
		const key = `${taskKey(wait.task)} ${wait.maxWaitMs}`;
		const started =
			waiting.get(key) ??
			this.poll(wait, Math.min(leftMs, forMs)).finally(() => void waiting.delete(key));
		waiting.set(key, started);
		const { task, ended } = await started;
		if (ended.kind === 'deadline') {
			const history = forNextWait(task, Date.now() - run.clock.now());
			const open = openTask({ ...wait, history }, task, ended);
			return forMs < leftMs ? { ...open, error: undefined } : open;
		}
		if (ended.kind === 'error') throw aboutTask(ended.error, task.taskId);
		const { state } = ended;
		const error = taskError(state);
		if (error !== undefined) throw error;
		hintOtherTask(run, state);
		if (!finished.has(taskKey(state))) addImages(run.tally, wait.facts, state.images.length);
		finished.add(taskKey(state));
		return { kind: 'finished', state };
	}

	/** Polls a task until it has ended, or for a time. */
	private async poll({ task: submitted, facts, ...wait }: TaskWait, maxMs: number) {
		const { clock, address } = this.run;
		const { taskId, taskType, statusUrl } = submitted;
		this.known.add(submitted);
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
		const result = await pollTask(this.run, task, this.known, send);
		if (result.kind === 'transient' && clock.now() - this.toldAt >= TOLD_EVERY_MS) {
			this.toldAt = clock.now();
			const { waiting, known } = this;
			const open = `${waiting.size} of ${known.ids.size} tasks still open`;
			showInBrowser(`${open}; the last status check failed: ${result.error.message}`);
		}
		return result;
	}
}

function openTask(
	wait: TaskWait,
	{ taskType, statusUrl }: PolledTask,
	{ state, error }: Extract<WaitEnd, { kind: 'deadline' }>,
): OpenTask {
	const status = state?.status ?? wait.task.status;
	const next = { ...wait, task: { ...wait.task, taskType, statusUrl, status } };
	// A poll that got a 429 says nothing about its task.
	const polled = state !== undefined || (error !== undefined && error.problem.httpCode !== 429);
	return { kind: 'open', wait: next, polled, error: deadlineError(next, state, error) };
}

/** @param error the error of the last poll */
function deadlineError(
	{ task, maxWaitMs }: TaskWait,
	state: TaskState | undefined,
	error: GatewayError | undefined,
): GatewayError {
	// A completed task without an image was only polled again because it may list one later.
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
		response:
			error?.problem.response ?? (state?.group === 'unknown' ? shownResponse(state) : undefined),
	});
}

/**
 * An input item of a wait: what it waits for, or its result. Neither if its parameters were
 * invalid.
 */
export interface WaitEntry {
	wait?: TaskWait;
	/** The result; `open` is an item for the second output, if the task was open at its deadline. */
	done?: { items: INodeExecutionData[]; open?: INodeExecutionData };
}

/** Reads the wait of an item from its parameters. @throws NodeOperationError */
export function readWait(item: ItemParameters): TaskWait {
	const maxWaitMs = item.milliseconds('maxWait');
	const charged = chargeOfInput(item.input?.json ?? {});
	return { ...readTask(item), maxWaitMs, deadlineAt: Date.now() + maxWaitMs, charged };
}

/** Options of the wait for all tasks of a run. */
export interface WaitOptions {
	/** The approximate pause between two polls of a task. */
	intervalMs: number;
	/**
	 * Whether a task that is open at its deadline goes to the second output; if not, it is an error.
	 */
	toOutput: boolean;
	/** A limit before the deadline, if the wait is continued later; 0: the task isn't polled now. */
	forMs: (itemIndex: number) => number;
	/**
	 * Called for each open task: whether its wait is continued later although its deadline is over.
	 */
	keepsOpen?: (open: OpenTask, itemIndex: number) => boolean;
	/** What is known of the items. */
	known: KnownItems;
}

/** How a person gets the images of tasks. */
const RESCUE = 'Run the node again, or give the IDs to Image Wait or Image Task.';

/**
 * Waits for all tasks of a batch, in this process.
 *
 * @param read reads the wait of an item; its errors are those of the item
 * @returns an entry for each input item; a wait that is continued later has no result
 * @throws NodeApiError or NodeOperationError that lists the IDs of all tasks
 */
export async function waitForTasks(
	run: Run,
	count: number,
	read: (itemIndex: number) => WaitEntry & { image?: ImageOfItem },
	{ intervalMs, toOutput, forMs, keepsOpen, known }: WaitOptions,
): Promise<WaitEntry[]> {
	const entries: WaitEntry[] = Array.from({ length: count }, () => ({}));
	let waiter: TaskWaiter | undefined;

	const itemsOf = async (wait: TaskWait, itemIndex: number): Promise<INodeExecutionData[]> => {
		// Created once all items are prepared: the number of tasks affects the pauses.
		waiter ??= new TaskWaiter(run, intervalMs, countTasks(entries), allTasks(entries));
		const waiting = waiter.wait(wait, forMs(itemIndex));
		const result = await waiting.catch((error: unknown) => {
			// A task that is lost can't be had. One whose image is lost still can: later, or by hand.
			if (isOutOfReach(error)) entries[itemIndex] = {};
			// A failed task may have been paid back.
			if (hasFailed(error)) wait.charged = 'maybe';
			throw withMentioned(error, wait.task);
		});
		if (result.kind === 'finished') return await finishedItems(run, wait, result.state);
		entries[itemIndex] = { wait: result.wait };
		const isKept = keepsOpen?.(result, itemIndex) ?? false;
		if (result.error === undefined || isKept) return [];
		if (!toOutput) throw withMentioned(result.error, wait.task);
		entries[itemIndex] = { done: { items: [], open: taskItem(result.wait) } };
		return [];
	};

	const output = await runItems(run, count, {
		prepare: (itemIndex) => {
			const { image, ...entry } = read(itemIndex);
			const { wait, done } = (entries[itemIndex] = entry);
			return async () => {
				if (image !== undefined) return await finishedImage(run, image);
				if (done !== undefined || wait === undefined) return [];
				return await itemsOf(wait, itemIndex);
			};
		},
		known: { ...known, rescue: RESCUE, listUnreturned: () => listTasks(entries) },
	});
	return entries.map(({ wait, done }, itemIndex) => {
		const items = output[itemIndex] ?? [];
		// A wait that has ended has output: images, or a failed item.
		const isOpen = wait !== undefined && items.length === 0;
		return done !== undefined || isOpen ? { wait, done } : { wait, done: { items } };
	});
}

/** What the waits of items tell about them, where the executions that continue them fail. */
export function knownWaits(entries: WaitEntry[]): KnownItems {
	const itemFacts = (itemIndex: number): ItemFacts => {
		const { task, facts, charged = 'maybe' } = entries[itemIndex]?.wait ?? {};
		const { model, prompt, estimatedCost } = facts ?? {};
		const { taskId, taskType, status } = task ?? {};
		return { charged, taskId, taskType, status, model, prompt, estimatedCost };
	};
	return {
		count: entries.length,
		isPaying: false,
		chargeOf: (itemIndex) => itemFacts(itemIndex).charged,
		itemFacts,
		listUnreturned: () => listTasks(entries),
		rescue: RESCUE,
	};
}

/** The output items of a finished task. */
async function finishedItems(
	run: Run,
	{ facts, target }: TaskWait,
	state: TaskState,
): Promise<INodeExecutionData[]> {
	const { model, created, usage, taskId, taskType, status, images, refusal } = state;
	if (refusal !== undefined) {
		run.hints.add(`The ${taskName(state)} has not all of its images${afterColon(refusal)}`);
	}
	const known = { ...facts, created, usage, taskId, taskType, status };
	return await imageItems(run, images, { ...known, model: known.model ?? model }, target);
}

/** The output item of an image that an input item names in place of a task. */
async function finishedImage(
	run: Run,
	{ url, facts, target }: ImageOfItem,
): Promise<INodeExecutionData[]> {
	run.tally.images += 1;
	return await imageItems(run, [{ url }], facts, target);
}

/** The number of open tasks: several items may have the same one. */
function countTasks(entries: WaitEntry[]): number {
	const open = entries.flatMap(({ wait, done }) => (done === undefined ? (wait ?? []) : []));
	return new Set(open.map(({ task }) => taskKey(task))).size;
}

/**
 * The tasks of a batch, also the failed ones: what is at the path of one of them, perhaps with an ID
 * of both kinds, is no other task.
 */
const allTasks = (entries: WaitEntry[]): TaskRef[] =>
	entries.flatMap(({ wait, done }) => {
		const json = (done?.items[0] ?? done?.open)?.json ?? {};
		const { taskId, taskType } =
			wait?.task ?? ({ ...detailsOf(json), ...json } as Partial<TaskRef>);
		return taskId === undefined ? [] : [{ taskId, taskType }];
	});

/** Lists the tasks of a batch that ends early, apart from those without a result to get. */
export function listTasks(entries: WaitEntry[]) {
	return entries.flatMap(({ wait, done }, item) => {
		// The output items of a task contain its ID.
		const named = wait?.task ?? ((done?.items[0] ?? done?.open)?.json as Partial<TaskRef>);
		const { taskId, taskType } = named ?? {};
		return taskId === undefined ? [] : [{ item, taskId, taskType }];
	});
}
