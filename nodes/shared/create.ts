import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { rounded } from '../../gateway/checks';
import { finiteNumber, nonEmptyString, type JsonObject } from '../../gateway/json';
import {
	planUrl,
	withoutUndefined,
	type AsyncFlag,
	type RequestPlan,
	type TaskType,
} from '../../gateway/plan';
import { GatewayError } from '../../gateway/problem';
import { statusGroup } from '../../gateway/status';
import { readImages, readTaskId } from '../../gateway/task';
import { checkBudget, createChecker, type ImageRequest } from './checks';
import { addHints } from './hints';
import { imageItems, readTarget, type ImageTarget } from './images';
import { runItems, type Job } from './items';
import { openLedger, type Ledger, type Paid } from './ledger';
import { inRange, readBudget, readLimits, readOptions } from './options';
import { readParameter } from './parameters';
import { payOnce } from './pay';
import { openRun, type Run } from './run';
import { ageOf, createTaskWaiter, type TaskWaiter } from './tasks';

export type Mode = 'sync' | 'wait' | 'submit';

/** How the request of an item comes about, and what is sent for it. */
export interface Creation<R extends ImageRequest> {
	/** Reads the request of an item from its parameters; sends nothing that is paid for. */
	read: (run: Run, itemIndex: number) => R | Promise<R>;
	/** The paid request; `asyncFlag` undefined means synchronous. */
	plan: (request: R, asyncFlag?: AsyncFlag) => RequestPlan;
}

/**
 * The way of an item through Image Generation and Image Edit: check everything, pay once, wait
 * where asked to, hand out the images.
 */
export async function createImages<R extends ImageRequest>(
	context: IExecuteFunctions,
	taskType: TaskType,
	creation: Creation<R>,
): Promise<INodeExecutionData[][]> {
	const run = await openRun(context, readLimits(context));
	try {
		const common = readOptions(context, 0);
		const ledger = openLedger(context);
		const checker = createChecker(run, taskType);
		const pollIntervalMs = inRange(context, 'pollInterval', common.pollInterval, 0) * 1000;
		const count = context.getInputData().length;
		const waiter = createTaskWaiter(run, pollIntervalMs, count);
		const costs: Array<number | undefined> = [];

		const prepare = async (itemIndex: number): Promise<Job> => {
			const options = readOptions(context, itemIndex);
			const mode = readParameter(context, 'mode', itemIndex, 'sync') as Mode;
			const asyncFlag = mode === 'sync' ? undefined : ((options.asyncFlag ?? 'query') as AsyncFlag);
			const target = readTarget(context, itemIndex);
			const maxWaitMs = inRange(context, 'maxWait', options.maxWait, itemIndex) * 1000;

			const asked = await creation.read(run, itemIndex);
			const { request, violations, estimatedCost } = needsListing(options)
				? await checker.check(asked, mode !== 'sync')
				: { request: asked, violations: [], estimatedCost: undefined };
			const plan = creation.plan(request, asyncFlag);
			if (options.dryRun === true) {
				const url = planUrl(plan, run.address.baseUrl);
				return async () => [dryRunItem(plan, url, violations, estimatedCost, itemIndex)];
			}
			if (violations.length > 0 && options.checkLimits !== false) {
				throw new GatewayError({
					message: `The model "${request.model}" does not take this: ${violations.join('; ')}`,
					description: 'Nothing was sent for this item.',
				});
			}
			// What an earlier try has paid for is not paid again.
			if (ledger.of(itemIndex) === undefined) costs[itemIndex] = estimatedCost;

			const { model, prompt } = request;
			return async () => {
				const paid = await payOnce(run, ledger, itemIndex, plan, (body) =>
					readPurchase(body, taskType, mode !== 'sync'),
				);
				if (mode === 'submit' && paid.task !== undefined) {
					return [taskItem(paid.task, { model, estimatedCost }, itemIndex)];
				}
				const facts = { model, prompt, estimatedCost };
				return await collect(run, waiter, ledger, paid, facts, target, maxWaitMs);
			};
		};

		const budget = readBudget(context, common.budget);
		const items = await runItems(run, count, {
			prepare,
			beforeFirst: () => checkBudget(budget, Object.values(costs)),
			ledger,
		});
		addHints(context, checker.hints);
		return [items.flat()];
	} finally {
		run.end();
	}
}

/** Whether anything in the options has use for what the gateway publishes of the model. */
function needsListing({ checkLimits, dryRun, budget }: IDataObject): boolean {
	return checkLimits !== false || dryRun === true || Number(budget ?? 0) > 0;
}

/**
 * What was bought: images, or a task that makes them. Where a task was asked for, its ID is enough:
 * without it what was paid for would be out of reach.
 */
function readPurchase(
	body: JsonObject,
	taskType: TaskType,
	asynchronous: boolean,
): Paid | undefined {
	const images = readImages(body);
	if (images.length > 0) return { images, created: finiteNumber(body.created) };
	const taskId = readTaskId(body);
	const status = nonEmptyString(body.status)?.trim();
	if (taskId === undefined || (status === undefined && !asynchronous)) return undefined;
	const submittedAt = new Date().toISOString();
	return { task: { taskId, taskType, status: status ?? 'queued', submittedAt } };
}

/** What `submit` hands out: Image Wait and Image Task take it with no expression to write. */
function taskItem(
	task: NonNullable<Paid['task']>,
	facts: { model: string; estimatedCost?: number },
	itemIndex: number,
): INodeExecutionData {
	const { taskId, taskType, status, submittedAt } = task;
	const item = {
		taskId,
		taskType,
		status,
		statusGroup: statusGroup(status),
		submittedAt,
		...facts,
	};
	return { json: withoutUndefined(item) as IDataObject, pairedItem: { item: itemIndex } };
}

/** What would have been sent: the exact request, but for the key, and what was found out about it. */
function dryRunItem(
	{ method, headers, body, form }: RequestPlan,
	url: string,
	violations: string[],
	estimatedCost: number | undefined,
	itemIndex: number,
): INodeExecutionData {
	const files = form?.files.map(({ name, fileName, mimeType, size }) => ({
		name,
		fileName,
		mimeType,
		size,
	}));
	const request = {
		method,
		url,
		headers: { ...headers, Authorization: 'Bearer ***' },
		body,
		form: form === undefined ? undefined : { fields: Object.fromEntries(form.fields), files },
	};
	const checks = { passed: violations.length === 0, violations };
	return {
		json: withoutUndefined({
			dryRun: true,
			// A copy: its values are those of the parameters, which other items share.
			request: JSON.parse(JSON.stringify(withoutUndefined(request))) as unknown,
			checks,
			estimatedCost,
		}) as IDataObject,
		pairedItem: { item: itemIndex },
	};
}

/** Waits for the task where there is one, and hands out the images. */
async function collect(
	run: Run,
	waiter: TaskWaiter,
	ledger: Ledger,
	paid: Paid,
	{ model, prompt, estimatedCost }: { model: string; prompt: string; estimatedCost?: number },
	target: ImageTarget,
	maxWaitMs: number,
): Promise<INodeExecutionData[]> {
	let { task, images, created } = paid;
	// A synchronous request that was answered by a task is waited for as well: it is paid.
	if (images === undefined && task !== undefined) {
		const ageMs = ageOf(task.submittedAt);
		const state = await waiter.wait(task, { maxWaitMs, ageMs });
		task = { ...task, status: state.status };
		({ images, created } = state);
		ledger.note(target.itemIndex, { task, images, created });
	}
	const { taskId, taskType, status } = task ?? {};
	const found = images ?? [];
	// Each image carries its share, so that the items add up to what the request costs.
	const share = estimatedCost === undefined ? undefined : rounded(estimatedCost / found.length);
	const facts = { model, created, taskId, taskType, status, prompt, estimatedCost: share };
	return await imageItems(run, found, facts, target);
}
