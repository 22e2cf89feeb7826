import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { finiteNumber } from '../../gateway/json';
import type { AsyncFlag, RequestPlan, TaskType } from '../../gateway/plan';
import { UnknownOutcomeError } from '../../gateway/problem';
import { statusGroup } from '../../gateway/status';
import { readImages, readTaskId } from '../../gateway/task';
import { imageItems, readTarget, type ImageTarget } from './images';
import { isTool, runItems } from './items';
import { openLedger, type Ledger, type Paid } from './ledger';
import { inRange, readLimits, readOptions } from './options';
import { openRun, type Run } from './run';
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
 * @param prepare makes the creation of an item from its parameters; sends nothing
 */
export async function createImages(
	context: IExecuteFunctions,
	taskType: TaskType,
	prepare: (itemIndex: number) => Creation,
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
			(itemIndex) => {
				const mode = context.getNodeParameter('mode', itemIndex, 'sync') as Mode;
				const options = readOptions(context, itemIndex);
				const creation = prepare(itemIndex);
				const asyncFlag =
					mode === 'sync' ? undefined : ((options.asyncFlag ?? 'query') as AsyncFlag);
				const plan = creation.plan(asyncFlag);
				const target = readTarget(context, itemIndex);
				const maxWaitMs = inRange(context, 'maxWait', options.maxWait, itemIndex) * 1000;
				return async () => {
					const paid = await payOnce(run, ledger, itemIndex, plan, taskType);
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

/**
 * Sends a paid request, unless this item has already paid in an earlier try of the same run: then
 * what was paid for is used, and an unknown outcome stays one.
 */
async function payOnce(
	run: Run,
	ledger: Ledger,
	itemIndex: number,
	plan: RequestPlan,
	taskType: TaskType,
): Promise<Paid> {
	// An agent may call the same tool twice in one run: its second picture is not the first.
	const known = isTool(run.context) ? undefined : ledger.of(itemIndex);
	if (known?.unknown !== undefined) throw new UnknownOutcomeError(known.unknown);
	if (known?.task !== undefined || known?.images !== undefined) return known;
	const body = await run.sender.send(plan).catch(async (error: unknown) => {
		if (error instanceof UnknownOutcomeError) ledger.note(itemIndex, { unknown: error.problem });
		return await Promise.reject(error);
	});
	const images = readImages(body);
	const taskId = readTaskId(body);
	let paid: Paid;
	if (images.length > 0) {
		paid = { images, created: finiteNumber(body.created) };
	} else if (taskId !== undefined && typeof body.status === 'string') {
		const status = body.status.trim();
		paid = { task: { taskId, taskType, status, submittedAt: new Date().toISOString() } };
	} else {
		const unknown = {
			message: 'The gateway accepted the request but sent neither an image nor a task ID',
			description:
				"It may have been charged, so it was not sent again. Look for it in the usage list of the gateway's console.",
		};
		ledger.note(itemIndex, { unknown });
		throw new UnknownOutcomeError(unknown);
	}
	ledger.note(itemIndex, paid);
	return paid;
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
