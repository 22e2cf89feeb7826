import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { rounded } from '../../../gateway/validation/modelLimits';
import { withoutInlineImages } from '../../../gateway/util/inlineImages';
import { finiteNumber, nonEmptyString, type JsonObject } from '../../../gateway/util/json';
import {
	planUrl,
	withoutUndefined,
	type AsyncFlag,
	type RequestPlan,
	type TaskType,
} from '../../../gateway/protocol/requestPlan';
import { GatewayError } from '../../../gateway/errors/gatewayError';
import { statusGroup } from '../../../gateway/protocol/status';
import { readImages, readTaskId } from '../../../gateway/protocol/task';
import { checkBudget, createChecker, type ImageRequest } from './modelChecks';
import { addHints } from '../run/hints';
import { imageItems, isInline, readTarget, type ImageTarget } from './imageItems';
import { runItems, type Job } from '../run/itemRunner';
import {
	inRange,
	readBudget,
	readChoice,
	readLimits,
	readOptions,
	readSwitch,
} from '../parameters/optionValues';
import type { Paid } from '../run/paid';
import { openPaidRequests, type PaidRequest, type PaidRequests } from '../run/paidRequests';
import { readParameter } from '../parameters/reader';
import { openRun, type Run } from '../run/runContext';
import { ageOf, createTaskPoller, type TaskPoller } from './pollTasks';

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
	const paidRequests = openPaidRequests(run);
	try {
		const common = readOptions(context, 0);
		const checker = createChecker(run, taskType);
		const pollIntervalMs = inRange(context, 'pollInterval', common.pollInterval, 0) * 1000;
		const count = context.getInputData().length;
		const poller = createTaskPoller(run, pollIntervalMs, count);
		const wanted: Array<{ request: PaidRequest; estimatedCost?: number }> = [];

		const prepare = async (itemIndex: number): Promise<Job> => {
			const options = readOptions(context, itemIndex);
			const mode = readChoice(
				context,
				'Mode',
				readParameter(context, 'mode', itemIndex, 'sync'),
				MODES,
				itemIndex,
			);
			const flag = readChoice(
				context,
				'Asynchronous Flag',
				options.asyncFlag,
				ASYNC_FLAGS,
				itemIndex,
			);
			const asyncFlag = mode === 'sync' ? undefined : flag;
			const checks = readChecks(context, options, itemIndex);
			const target = readTarget(context, itemIndex);
			const maxWaitMs = inRange(context, 'maxWait', options.maxWait, itemIndex) * 1000;

			const asked = await creation.read(run, itemIndex);
			const { request, violations, estimatedCost } = needsListing(checks, options)
				? await checker.check(asked, mode !== 'sync')
				: { request: asked, violations: [], estimatedCost: undefined };
			const plan = creation.plan(request, asyncFlag);
			if (checks.dryRun) {
				const url = planUrl(plan, run.address.baseUrl);
				return async () => [dryRunItem(plan, url, violations, estimatedCost, itemIndex)];
			}
			if (violations.length > 0 && checks.checkLimits) {
				throw new GatewayError({
					message: `The model "${request.model}" does not take this: ${violations.join('; ')}`,
					description: 'Nothing was sent for this item.',
				});
			}
			const paidRequest = paidRequests.expect(itemIndex, creation.plan(asked, asyncFlag));
			wanted[itemIndex] = { request: paidRequest, estimatedCost };

			const { model, prompt } = request;
			return async () => {
				const paid = await paidRequests.payOnce(paidRequest, plan, (body) =>
					readPaidResponse(body, taskType, mode !== 'sync'),
				);
				if (mode === 'submit' && paid.task !== undefined) {
					return [taskItem(paid.task, { model, estimatedCost }, itemIndex)];
				}
				if (paid.items !== undefined) return paired(paid.items, itemIndex);
				const facts = { model, prompt, estimatedCost };
				return await collect(run, poller, paidRequests, paid, facts, target, maxWaitMs);
			};
		};

		const budget = readBudget(context, common.budget);
		const items = await runItems(run, count, {
			prepare,
			beforeFirst: () => {
				// What an earlier try has paid for is not paid again.
				const unpaid = Object.values(wanted).filter(({ request }) => !paidRequests.has(request));
				checkBudget(
					budget,
					unpaid.map(({ estimatedCost }) => estimatedCost),
				);
			},
			paidRequests,
		});
		addHints(context, checker.hints);
		return [items.flat()];
	} finally {
		paidRequests.close();
		run.end();
	}
}

const MODES = ['sync', 'wait', 'submit'] as const;
const ASYNC_FLAGS: [AsyncFlag, ...AsyncFlag[]] = ['query', 'header', 'body'];

interface Checks {
	checkLimits: boolean;
	dryRun: boolean;
}

function readChecks(context: IExecuteFunctions, options: IDataObject, itemIndex: number): Checks {
	const { checkLimits, dryRun } = options;
	return {
		checkLimits: readSwitch(context, 'Check Limits Before Sending', checkLimits, true, itemIndex),
		dryRun: readSwitch(context, 'Dry Run', dryRun, false, itemIndex),
	};
}

/** Whether anything in the options has use for what the gateway publishes of the model. */
function needsListing({ checkLimits, dryRun }: Checks, { budget }: IDataObject): boolean {
	return checkLimits || dryRun || Number(budget ?? 0) > 0;
}

/**
 * What was bought: images, or a task that makes them. Where a task was asked for, its ID is enough:
 * without it what was paid for would be out of reach.
 */
function readPaidResponse(
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
			request: withoutInlineImages(withoutUndefined(request)),
			checks,
			estimatedCost,
		}) as IDataObject,
		pairedItem: { item: itemIndex },
	};
}

/** Whether a task has ended as unsuccessful: there is nothing to be had of it any more. */
const hasFailed = (error: unknown): boolean =>
	error instanceof GatewayError && statusGroup(error.problem.status) === 'unsuccessful';

/** Waits for the task where there is one, and hands out the images. */
async function collect(
	run: Run,
	poller: TaskPoller,
	paidRequests: PaidRequests,
	paid: Paid,
	{ model, prompt, estimatedCost }: { model: string; prompt: string; estimatedCost?: number },
	target: ImageTarget,
	maxWaitMs: number,
): Promise<INodeExecutionData[]> {
	let { task, images, created } = paid;
	// A synchronous request that was answered by a task is waited for as well: it is paid.
	if (images === undefined && task !== undefined) {
		const ageMs = ageOf(task.submittedAt);
		const waiting = poller.wait(task, { maxWaitMs, ageMs }, model);
		const state = await waiting.catch(async (error: unknown) => {
			if (hasFailed(error)) paidRequests.note(target.itemIndex, { failed: true });
			return await Promise.reject(error);
		});
		task = { ...task, status: state.status };
		({ images, created } = state);
		paidRequests.note(target.itemIndex, { task, images, created });
	}
	const { taskId, taskType, status } = task ?? {};
	const found = images ?? [];
	// Each image carries its share, so that the items add up to what the request costs.
	const share = estimatedCost === undefined ? undefined : rounded(estimatedCost / found.length);
	const facts = { model, created, taskId, taskType, status, prompt, estimatedCost: share };
	const items = await imageItems(run, found, facts, target);
	const isWhole = items.every(({ json }) => json.error === undefined);
	if (isWhole && found.some(({ url }) => isInline(url))) {
		paidRequests.note(target.itemIndex, { items, images: undefined });
	}
	return items;
}

/** Items of an earlier try, as copies, at the place where the item is now. */
function paired(items: INodeExecutionData[], itemIndex: number): INodeExecutionData[] {
	return items.map(({ json, binary }) => ({
		json: { ...json },
		...(binary === undefined ? {} : { binary: { ...binary } }),
		pairedItem: { item: itemIndex },
	}));
}
