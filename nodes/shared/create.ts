import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { finiteNumber, type JsonObject } from '../../gateway/json';
import type { AsyncFlag, RequestPlan, TaskType } from '../../gateway/plan';
import { statusGroup } from '../../gateway/status';
import { readImages, readTaskId } from '../../gateway/task';
import { imageItems, readTarget, type ImageTarget } from './images';
import { runItems } from './items';
import { openLedger, type Ledger, type Paid } from './ledger';
import { inRange, readLimits, readOptions } from './options';
import { openRun, type Run } from './run';
import { payOnce } from './pay';
import { createTaskWaiter, shortestPauseMs, type TaskWaiter } from './tasks';

export type Mode = 'sync' | 'wait' | 'submit';

/** What a node asks the gateway to make for one item. */
export interface Creation {
	model: string;
	prompt: string;
	/** The paid request; `asyncFlag` undefined means synchronous. */
	plan: (asyncFlag?: AsyncFlag) => RequestPlan;
}

/**
 * The way of an item through Image Generation and Image Edit: pay once, wait where asked to, hand
 * out the images.
 *
 * @param prepare makes the creation of an item from its parameters; sends nothing that is paid for
 */
export async function createImages(
	context: IExecuteFunctions,
	taskType: TaskType,
	prepare: (run: Run, itemIndex: number) => Creation | Promise<Creation>,
): Promise<INodeExecutionData[][]> {
	const run = await openRun(context, readLimits(context));
	try {
		const ledger = openLedger(context);
		const pollIntervalMs =
			inRange(context, 'pollInterval', readOptions(context, 0).pollInterval, 0) * 1000;
		const waiter = createTaskWaiter(run, pollIntervalMs);
		const items = await runItems(
			run,
			context.getInputData().length,
			async (itemIndex) => {
				const mode = context.getNodeParameter('mode', itemIndex, 'sync') as Mode;
				const options = readOptions(context, itemIndex);
				const creation = await prepare(run, itemIndex);
				const asyncFlag =
					mode === 'sync' ? undefined : ((options.asyncFlag ?? 'query') as AsyncFlag);
				const plan = creation.plan(asyncFlag);
				const target = readTarget(context, itemIndex);
				const maxWaitMs = inRange(context, 'maxWait', options.maxWait, itemIndex) * 1000;
				return async () => {
					const paid = await payOnce(run, ledger, itemIndex, plan, (body) =>
						readPurchase(body, taskType),
					);
					if (mode === 'submit' && paid.task !== undefined) {
						return [taskItem(paid.task, creation.model, itemIndex)];
					}
					return await collect(run, waiter, ledger, paid, creation, target, {
						maxWaitMs,
						firstPauseMs: shortestPauseMs(pollIntervalMs),
					});
				};
			},
			ledger,
		);
		return [items];
	} finally {
		run.end();
	}
}

/** What was bought: images, or a task that makes them. */
function readPurchase(body: JsonObject, taskType: TaskType): Paid | undefined {
	const images = readImages(body);
	if (images.length > 0) return { images, created: finiteNumber(body.created) };
	const taskId = readTaskId(body);
	if (taskId === undefined || typeof body.status !== 'string') return undefined;
	const status = body.status.trim();
	return { task: { taskId, taskType, status, submittedAt: new Date().toISOString() } };
}

/** What `submit` hands out: Image Wait and Image Task take it with no expression to write. */
function taskItem(
	task: NonNullable<Paid['task']>,
	model: string,
	itemIndex: number,
): INodeExecutionData {
	const { taskId, taskType, status, submittedAt } = task;
	return {
		json: { taskId, taskType, status, statusGroup: statusGroup(status), model, submittedAt },
		pairedItem: { item: itemIndex },
	};
}

/** Waits for the task where there is one, and hands out the images. */
async function collect(
	run: Run,
	waiter: TaskWaiter,
	ledger: Ledger,
	paid: Paid,
	{ model, prompt }: Creation,
	target: ImageTarget,
	{ maxWaitMs, firstPauseMs }: { maxWaitMs: number; firstPauseMs: number },
): Promise<INodeExecutionData[]> {
	let { task, images, created } = paid;
	// A synchronous request that was answered by a task is waited for as well: it is paid.
	if (images === undefined && task !== undefined) {
		const state = await waiter.wait(task, maxWaitMs, firstPauseMs);
		task = { ...task, status: state.status };
		({ images, created } = state);
		ledger.note(target.itemIndex, { task, images, created });
	}
	const { taskId, taskType, status } = task ?? {};
	const facts = { model, created, taskId, taskType, status, prompt };
	return await imageItems(run, images ?? [], facts, target);
}
