import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { withoutUndefined } from '../../../gateway/protocol/requestPlan';
import { DeadlineError, NotCheckedError } from '../../../gateway/util/gatewayError';
import type { Sightings } from '../../../gateway/client/missingTasks';
import { hasNothingToGive } from '../../../gateway/errors/taskErrors';
import { statusGroup } from '../../../gateway/protocol/status';
import { costShare, imageItems, readTarget, type ImageFacts, type ImageTarget } from './imageItems';
import { runItems } from '../run/itemRunner';
import { problemOf } from '../run/nodeErrors';
import { hasSecondOutput, inRange, readLimits } from '../parameters/optionValues';
import { whatIsLeft } from '../run/paid';
import { readParameter } from '../parameters/reader';
import { openRun, type Run } from '../run/runContext';
import { addTally, type Tally } from '../run/tally';
import { createTaskPoller, type TaskPoller, type TaskReference } from './pollTasks';
import { ageOf, knownFacts, readTaskReference } from './taskReference';

/** What is waited for on behalf of one input item. It can be stored and taken up again. */
export interface WaitJob {
	task: TaskReference;
	facts: ImageFacts;
	target: ImageTarget;
	/** As the item says it, if it does. */
	submittedAt: unknown;
	maxWaitMs: number;
	/** Milliseconds since 1970: it may outlive the process. */
	deadlineAt: number;
	/** As the gateway spelled it when it was last asked. */
	status?: string;
	/** Nothing is to be had of it any more: it has failed, or the gateway does not know it. */
	ended?: boolean;
	/** There was no time to ask about it in the last window. */
	unasked?: boolean;
	/** What was seen of it in earlier windows. */
	sightings?: Sightings;
	/** It was polled in the last window, and others were not: they go first in this one. */
	rests?: boolean;
}

/** For so long after its deadline a task that could not be polled is not given up. */
const LONGEST_BACKLOG_MS = 1_800_000;

/** What came of one input item. */
export interface Finished {
	items: INodeExecutionData[];
	/** For the second output: the task was still open at its deadline. */
	open?: INodeExecutionData;
}

/** One input item: what it waits for, or what came of it. Neither where its parameters were wrong. */
export interface WaitEntry {
	job?: WaitJob;
	done?: Finished;
}

/** What one task is known by: a generation and an edit may have one ID. */
export const taskKey = ({ taskId, taskType }: TaskReference): string => `${taskType} ${taskId}`;

/** Reads what an item wants from its parameters. @throws NodeOperationError */
export function readJob(context: IExecuteFunctions, itemIndex: number): WaitJob {
	const maxWait = readParameter(context, 'maxWait', itemIndex, 600);
	const maxWaitMs = inRange(context, 'maxWait', maxWait, itemIndex) * 1000;
	return {
		task: readTaskReference(context, itemIndex),
		facts: knownFacts(context, itemIndex),
		target: readTarget(context, itemIndex),
		submittedAt: context.getInputData()[itemIndex]?.json.submittedAt,
		maxWaitMs,
		deadlineAt: Date.now() + maxWaitMs,
	};
}

/**
 * Waits for all tasks of a batch, in this process.
 *
 * @param windowMs how long at the most; what is open then and may still be waited for stays without
 *   a result. Every open task is polled at least once, however short that is; with 0 none is.
 * @param tally what this wait does is added to it
 * @returns an entry for each input item
 * @throws NodeApiError or NodeOperationError that lists the IDs of all tasks
 */
export async function waitForJobs(
	context: IExecuteFunctions,
	count: number,
	read: (itemIndex: number) => WaitEntry,
	windowMs: number,
	tally: Tally,
): Promise<WaitEntry[]> {
	const run = await openRun(context, readLimits(context));
	try {
		const toOutput = hasSecondOutput(context);
		const pollInterval = readParameter(context, 'pollInterval', 0, 3);
		const intervalMs = inRange(context, 'pollInterval', pollInterval, 0) * 1000;
		const poller = createTaskPoller(run, intervalMs, count);
		const unfinished = new Set<number>();
		const stillOpen = new Map<number, INodeExecutionData>();
		const wait = {
			run,
			poller,
			windowMs,
			toOutput,
			unfinished,
			stillOpen,
			counted: new Set<string>(),
		};
		const entries: WaitEntry[] = Array.from({ length: count }, () => ({}));

		const output = await runItems(run, count, {
			prepare: (itemIndex) => {
				const entry = read(itemIndex);
				entries[itemIndex] = entry;
				const { job, done } = entry;
				return async () =>
					done !== undefined || job === undefined ? [] : await waitForJob(wait, job, itemIndex);
			},
			paidRequests: { inWords: () => tasksInWords(entries), settle: () => undefined },
			knownOf: (itemIndex) => entries[itemIndex]?.job?.facts,
		});
		return entries.map(({ job, done }, itemIndex) => {
			if (done !== undefined || unfinished.has(itemIndex)) return { job, done };
			return { job, done: { items: output[itemIndex] ?? [], open: stillOpen.get(itemIndex) } };
		});
	} finally {
		addTally(tally, run.tally);
		run.end();
	}
}

/** What the jobs that are waited for together share. */
interface Wait {
	run: Run;
	poller: TaskPoller;
	/** How long it lasts at the most. */
	windowMs: number;
	/** Whether a task that is still open at its deadline leaves by the second output. */
	toOutput: boolean;
	/** Input items whose tasks are to be waited for again. */
	unfinished: Set<number>;
	/** For the second output, by input item. */
	stillOpen: Map<number, INodeExecutionData>;
	/** Tasks whose images are in the tally. */
	counted: Set<string>;
}

/** @returns the items of one input item; none where its task is still open */
async function waitForJob(
	wait: Wait,
	job: WaitJob,
	itemIndex: number,
): Promise<INodeExecutionData[]> {
	const { run, poller, windowMs, unfinished, counted } = wait;
	// Nothing that takes time before the execution is suspended.
	if (windowMs === 0 || job.rests === true) {
		unfinished.add(itemIndex);
		return [];
	}
	const { task, facts, target } = job;
	const left = Math.max(1000, job.deadlineAt - Date.now());
	job.sightings ??= {};
	const limits = {
		sightings: job.sightings,
		maxWaitMs: Math.min(left, windowMs),
		chosenMs: job.maxWaitMs,
		ageMs: ageOf(job.submittedAt),
		// Taken up again after a restart, it has been waited for before.
		heldMs: Date.now() - (job.deadlineAt - job.maxWaitMs),
	};
	const state = await poller
		.wait(task, limits, facts.model)
		.catch(async (error: unknown) => await noteOpen(wait, job, itemIndex, left, error));
	if (state === undefined) return [];
	const { taskId, taskType, status, created, images } = state;
	const key = taskKey({ taskId, taskType });
	if (!counted.has(key)) run.tally.images += images.length;
	counted.add(key);
	const model = state.model ?? facts.model;
	const estimatedCost = costShare(facts.estimatedCost, images.length);
	const known = { ...facts, model, created, taskId, taskType, status, estimatedCost };
	return await imageItems(run, images, known, target);
}

/**
 * Notes in a job what was found out about a task that has no result.
 *
 * @param left milliseconds until its deadline, when this wait began
 * @throws the error, unless the task is to be waited for again or leaves by the second output
 */
async function noteOpen(
	{ windowMs, toOutput, unfinished, stillOpen }: Wait,
	job: WaitJob,
	itemIndex: number,
	left: number,
	error: unknown,
): Promise<undefined> {
	const { task } = job;
	if (!(error instanceof DeadlineError)) {
		job.ended = hasNothingToGive(error, task.taskType);
		const { taskType = task.taskType } = problemOf(error);
		job.task = { ...task, taskType };
		return await Promise.reject(error);
	}
	job.unasked = error instanceof NotCheckedError;
	const isBacklog = job.unasked && Date.now() - job.deadlineAt < LONGEST_BACKLOG_MS;
	const { status = job.status, taskType = task.taskType } = error.problem;
	job.status = status;
	// What was found out need not be found out again.
	job.task = { ...task, taskType };
	const isSuspended = windowMs < job.maxWaitMs;
	if (left > windowMs || (isSuspended && isBacklog)) unfinished.add(itemIndex);
	else if (toOutput) stillOpen.set(itemIndex, openItem(job));
	else return await Promise.reject(error);
	return undefined;
}

/** What a batch that ends early leaves behind: its tasks, but for those that have nothing to give. */
export function tasksInWords(entries: WaitEntry[]): string {
	const tasks = entries.flatMap(({ job, done }, itemIndex) => {
		const { taskId, taskType } = job?.task ?? finishedTask(done);
		if (taskId === undefined || job?.ended === true) return [];
		const type = taskType === 'generation' || taskType === 'edit' ? taskType : 'image';
		return [`item ${itemIndex}: ${type} task ${taskId}`];
	});
	return whatIsLeft({ tasks });
}

/** Of an item that has finished nothing is kept but what came of it, which names its task. */
function finishedTask(done: Finished | undefined): { taskId?: string; taskType?: unknown } {
	const { taskId, taskType } = done?.items[0]?.json ?? {};
	return typeof taskId === 'string' ? { taskId, taskType } : {};
}

/** A task that is still open, in the form in which Image Wait and Image Task take it. */
export function openItem(job: WaitJob): INodeExecutionData {
	const { task, facts, target, status, submittedAt } = job;
	return {
		json: withoutUndefined({
			taskId: task.taskId,
			taskType: task.taskType === 'auto' ? undefined : task.taskType,
			status,
			statusGroup: status === undefined ? undefined : statusGroup(status),
			submittedAt: typeof submittedAt === 'string' ? submittedAt : undefined,
			...facts,
		}) as IDataObject,
		pairedItem: { item: target.itemIndex },
	};
}
