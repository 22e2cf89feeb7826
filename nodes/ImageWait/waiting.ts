import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { withoutUndefined } from '../../gateway/protocol/requestPlan';
import { DeadlineError } from '../../gateway/errors/gatewayError';
import { statusGroup } from '../../gateway/protocol/status';
import {
	imageItems,
	readTarget,
	type ImageFacts,
	type ImageTarget,
} from '../shared/images/imageItems';
import { runItems } from '../shared/run/itemRunner';
import { stillToBeHad } from '../shared/run/paid';
import { inRange, readChoice, readLimits, readOptions } from '../shared/parameters/optionValues';
import { readParameter } from '../shared/parameters/reader';
import { openRun } from '../shared/run/runContext';
import { ageOf, createTaskPoller, type TaskReference } from '../shared/images/pollTasks';
import { knownFacts, readTaskReference } from '../shared/images/taskReference';

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
	/** The output items, as soon as there are any. */
	done?: INodeExecutionData[];
}

/** What came of a number of jobs, by item. */
export interface Waited {
	jobs: WaitJob[];
	output: INodeExecutionData[][];
	/** Items whose tasks are still open, though their deadline is not over. */
	unfinished: Set<number>;
	/** For the second output: tasks that were open at their deadline. */
	stillOpen: INodeExecutionData[];
}

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
 * @param windowMs how long at the most; what is open then and may still be waited for is `unfinished`
 * @throws NodeApiError or NodeOperationError that lists the IDs of all tasks
 */
export async function waitForJobs(
	context: IExecuteFunctions,
	count: number,
	read: (itemIndex: number) => WaitJob,
	windowMs: number,
): Promise<Waited> {
	const run = await openRun(context, readLimits(context));
	try {
		const { onTimeout } = readOptions(context, 0);
		const ends = readChoice(context, 'On Timeout', onTimeout, ['error', 'output'], 0);
		const toOutput = ends === 'output';
		const pollInterval = readParameter(context, 'pollInterval', 0, 3);
		const intervalMs = inRange(context, 'pollInterval', pollInterval, 0) * 1000;
		const poller = createTaskPoller(run, intervalMs, count);
		const jobs: WaitJob[] = [];
		const unfinished = new Set<number>();
		const stillOpen: INodeExecutionData[] = [];

		const work = async (job: WaitJob, itemIndex: number): Promise<INodeExecutionData[]> => {
			if (job.done !== undefined) return job.done;
			const { task, facts, target } = job;
			const left = Math.max(1000, job.deadlineAt - Date.now());
			const patience = {
				maxWaitMs: Math.min(left, windowMs),
				chosenMs: job.maxWaitMs,
				ageMs: ageOf(job.submittedAt),
				// Taken up again after a restart, it has been waited for before.
				heldMs: Date.now() - (job.deadlineAt - job.maxWaitMs),
			};
			const waiting = poller.wait(task, patience, facts.model);
			const settled = await waiting.catch(async (error: unknown) => {
				if (!(error instanceof DeadlineError)) return await Promise.reject(error);
				if (left > windowMs) unfinished.add(itemIndex);
				else if (toOutput) stillOpen[itemIndex] = openItem(job, error);
				else return await Promise.reject(error);
				return undefined;
			});
			if (settled === undefined) return [];
			const { taskId, taskType, status, created, model = facts.model, images } = settled;
			const known = { ...facts, model, created, taskId, taskType, status };
			return await imageItems(run, images, known, target);
		};

		const ids = (): string[] =>
			jobs.map(
				({ task }, itemIndex) =>
					`item ${itemIndex}: ${task.taskType === 'auto' ? 'image' : task.taskType} task ${task.taskId}`,
			);
		const output = await runItems(run, count, {
			prepare: (itemIndex) => {
				const job = read(itemIndex);
				jobs[itemIndex] = job;
				return async () => await work(job, itemIndex);
			},
			paidRequests: { inWords: () => stillToBeHad(Object.values(ids())), settle: () => undefined },
		});
		return { jobs, output, unfinished, stillOpen: Object.values(stillOpen) };
	} finally {
		run.end();
	}
}

/** A task that was open at its deadline, in the form in which it can be fed back. */
function openItem({ task, facts, target }: WaitJob, error: DeadlineError): INodeExecutionData {
	const { status, taskType = task.taskType } = error.problem;
	return {
		json: withoutUndefined({
			taskId: task.taskId,
			taskType: taskType === 'auto' ? undefined : taskType,
			status,
			statusGroup: statusGroup(status),
			...facts,
		}) as IDataObject,
		pairedItem: { item: target.itemIndex },
	};
}
