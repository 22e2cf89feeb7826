import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { failedAtOnce, hasFailed, hasNothingToGive } from '../../../gateway/errors/taskErrors';
import {
	planUrl,
	type AsyncFlag,
	type RequestPlan,
	type TaskType,
} from '../../../gateway/protocol/requestPlan';
import { isInline, readImages, readTaskId, readTaskState } from '../../../gateway/protocol/task';
import { GatewayError, UnknownOutcomeError } from '../../../gateway/util/gatewayError';
import { withoutInlineImages } from '../../../gateway/util/inlineImages';
import { finiteNumber, withoutUndefined, type JsonObject } from '../../../gateway/util/json';
import { quote } from '../../../gateway/util/text';
import { imageItems, readTarget, type ImageTarget } from '../images/imageItems';
import { finishRun } from '../run/summary';
import { ItemParameters } from '../parameters/itemParameters';
import { readBudget, readLimits, readRunEnd } from '../parameters/optionValues';
import { PaidRequests } from '../payments/paidRequests';
import { copiesOf, type Paid } from '../payments/payment';
import { runItems, type Job } from '../run/itemRunner';
import { failedItems, isFailed, type RequestFacts } from '../run/nodeErrors';
import { addHints, openRun, type Run } from '../run/runContext';
import { addCost, addImages, addReused, addReusedImages, costOf } from '../run/tally';
import { openProgress, type Progress } from '../suspend/progress';
import { readParkAfter, suspend } from '../suspend/suspend';
import { shownParameters, taskItem } from '../tasks/taskReference';
import { createTaskWaiter, type TaskWait, type WaitForTask } from '../tasks/taskWaiter';
import { Budget } from './budget';
import { Checker, type Checked, type ImageRequest } from '../models/modelChecks';

/** How the request of an item comes about, and what is sent for it. */
export interface Creation<R extends ImageRequest> {
	/** Reads the request of an item from its parameters. */
	read: (item: ItemParameters) => ImageRequest;
	/** Loads the files that go with it; sends nothing that is paid for. */
	load: (request: ImageRequest, item: ItemParameters, run: Run) => R | Promise<R>;
	/** The paid request; `asyncFlag` undefined means synchronous. */
	plan: (request: R, asyncFlag?: AsyncFlag) => RequestPlan;
}

/** What all items of an execution share. */
interface Batch<R extends ImageRequest> {
	run: Run;
	taskType: TaskType;
	creation: Creation<R>;
	budget: Budget;
	checker: Checker;
	paidRequests: PaidRequests;
	waitForTask: WaitForTask;
	/** With Survive Restarts: how long to wait in memory, and where accepted tasks are stored. */
	parkAfterMs?: number;
	progress?: Progress;
	/** What each item asks for: its errors name it too. */
	asked: RequestFacts[];
	/** The item that each task ID was first given to. */
	itemOfTask: Map<string, number>;
	/** What is still open, where the execution is suspended. */
	waits: Array<TaskWait | undefined>;
}

/** An item whose request has been checked, and can be sent. */
interface PreparedItem {
	itemIndex: number;
	mode: (typeof MODES)[number];
	target: ImageTarget;
	maxWaitMs: number;
	plan: RequestPlan;
	facts: RequestFacts & { model: string; prompt: string };
}

const MODES = ['sync', 'wait', 'submit'] as const;
const ASYNC_FLAGS: [AsyncFlag, ...AsyncFlag[]] = ['query', 'header', 'body'];

/** Image Generation and Image Edit: check all items, pay for each once, wait, return the images. */
export async function createImages<R extends ImageRequest>(
	context: IExecuteFunctions,
	taskType: TaskType,
	creation: Creation<R>,
): Promise<INodeExecutionData[][]> {
	const first = new ItemParameters(context, 0);
	// A synchronous request has nothing to wait for.
	const isWaiting = first.value('mode', 'sync') !== 'sync';
	const parkAfterMs = isWaiting ? readParkAfter(context, first) : undefined;
	const progress = parkAfterMs === undefined ? undefined : openProgress(context);
	const end = readRunEnd(first);
	const budget = new Budget(context, readBudget(first.options));
	const run = await openRun(context, readLimits(first));
	const paidRequests = new PaidRequests(context);
	let safe = false;
	try {
		const count = context.getInputData().length;
		const batch: Batch<R> = {
			run,
			taskType,
			creation,
			budget,
			checker: new Checker(run, taskType),
			paidRequests,
			waitForTask: createTaskWaiter(run, first.options.milliseconds('pollInterval'), count),
			parkAfterMs,
			progress,
			asked: [],
			itemOfTask: new Map(),
			waits: [],
		};
		const items = await runItems(run, count, {
			prepare: async (itemIndex) =>
				await prepareItem(batch, new ItemParameters(context, itemIndex)),
			// What an earlier try has paid for is not paid again.
			beforeFirst: () => budget.reserve((itemIndex) => paidRequests.has(itemIndex)),
			payments: paidRequests,
			knownOf: (itemIndex) => batch.asked[itemIndex],
		});
		addHints(context, run.hints);
		const dryRun = budget.describeDry();
		if (dryRun !== undefined) addHints(context, [dryRun.summary], 'info');
		const entries = items.map((done, itemIndex) => {
			const wait = batch.waits[itemIndex];
			return wait === undefined ? { done: { items: done } } : { wait };
		});
		const isOpen = entries.some(({ wait }) => wait !== undefined);
		const output = isOpen
			? await suspend(context, entries, run.tally, () => paidRequests.describeUnreturned())
			: [finishRun(context, { items, open: [], tally: run.tally }, end).items.flat()];
		// It may not have been suspended: then its tasks are failed items.
		const hasFailed = isOpen && output[0]?.some(isFailed) === true;
		paidRequests.settle(hasFailed ? new Set(items.keys()) : failedItems(items));
		safe = true;
		return output;
	} finally {
		paidRequests.close();
		budget.settle((itemIndex) => paidRequests.has(itemIndex));
		run.end();
		await progress?.close(safe);
	}
}

/** Reads and checks an item; nothing that is paid for is sent. @returns what to do once all are checked */
async function prepareItem<R extends ImageRequest>(
	batch: Batch<R>,
	item: ItemParameters,
): Promise<Job> {
	const { run, creation, budget, checker, paidRequests } = batch;
	const { itemIndex, options } = item;
	const mode = item.choice('mode', 'Mode', MODES);
	const chosenFlag = options.choice('asyncFlag', 'Asynchronous Flag', ASYNC_FLAGS);
	const asyncFlag = mode === 'sync' ? undefined : chosenFlag;
	const checkLimits = options.switch('checkLimits', 'Check Limits Before Sending', true);
	const dryRun = options.switch('dryRun', 'Dry Run', false);
	const target = readTarget(item);
	const maxWaitMs = options.milliseconds('maxWait');
	const draft = creation.read(item);
	const known = { model: draft.model, prompt: draft.prompt };

	// Without any of these nobody needs to know what the gateway publishes of the model.
	const needsListing = checkLimits || dryRun || budget.isSet;
	const check = async <T extends ImageRequest>(request: T): Promise<Checked<T>> => {
		if (!needsListing) return { request, violations: [] };
		const checked = await checker.check(request, mode !== 'sync');
		if (checked.violations.length === 0 || !checkLimits || dryRun) return checked;
		batch.asked[itemIndex] = known;
		throw new GatewayError({
			message: `Invalid parameters for model '${request.model}': ${checked.violations.join('; ')}`,
			description: 'Nothing was sent for this item.',
		});
	};
	// A request that is refused anyway has no files loaded for it: they may be downloads.
	if (draft.imageCount !== undefined) await check(draft);
	const asked = await creation.load(draft, item, run);
	batch.asked[itemIndex] = known;
	const checked = await check(asked);
	const { request, estimatedCost, pricePerImage } = checked;
	const plan = creation.plan(request, asyncFlag);
	if (dryRun) {
		const url = planUrl(plan, run.address.baseUrl);
		const unpriced = budget.unpriced(request.model, checked)?.message ?? [];
		budget.expectDry(estimatedCost);
		return async () => {
			const overBudget = budget.describeDry()?.violations ?? [];
			const violations = [...checked.violations, unpriced, overBudget].flat();
			return [dryRunItem(plan, url, { ...checked, violations }, target)];
		};
	}
	// Neither what the listing makes of a request nor the mode changes what is bought.
	paidRequests.expect(itemIndex, creation.plan(asked), run.address.account);
	const unpriced = paidRequests.has(itemIndex)
		? undefined
		: budget.unpriced(request.model, checked);
	if (unpriced !== undefined) throw unpriced;
	budget.expect(itemIndex, estimatedCost);
	const { model, prompt } = request;
	const parameters = shownParameters(plan.body ?? Object.fromEntries(plan.form?.fields ?? []));
	const facts = { model, prompt, parameters, estimatedCost, pricePerImage };
	return async () => await createItem(batch, { itemIndex, mode, target, maxWaitMs, plan, facts });
}

/** What would have been sent: the exact request, but for the key, and what was found out about it. */
function dryRunItem(
	{ method, headers, body, form }: RequestPlan,
	url: string,
	{ violations, estimatedCost }: { violations: string[]; estimatedCost?: number },
	{ itemIndex, inputFields }: ImageTarget,
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
	const own = { dryRun: true, request: withoutInlineImages(withoutUndefined(request)), checks };
	return {
		json: { ...inputFields, ...(withoutUndefined({ ...own, estimatedCost }) as IDataObject) },
		pairedItem: { item: itemIndex },
	};
}

/** Pays for an item, unless an earlier try has, and gets what was paid for. */
async function createItem<R extends ImageRequest>(
	batch: Batch<R>,
	item: PreparedItem,
): Promise<INodeExecutionData[]> {
	const { itemIndex, mode, target } = item;
	const reused = batch.paidRequests.has(itemIndex);
	const paid = await payForItem(batch, item, reused);
	if (paid.items !== undefined) {
		const copies = copiesOf(paid.items, itemIndex, target.binaryPropertyName);
		return copies.map((copy) => ({ ...copy, json: { ...target.inputFields, ...copy.json } }));
	}
	const facts = paidFacts(paid, item.facts);
	batch.asked[itemIndex] = { model: facts.model, prompt: facts.prompt };
	const submitted = paid.task && taskItem({ task: paid.task, facts, target });
	if (submitted !== undefined && paid.images === undefined) batch.progress?.add(submitted);
	// A task that has failed at once is an error in every mode: Image Wait could not tell the reason.
	const isOpen = paid.images === undefined && paid.task?.reason === undefined;
	if (mode === 'submit' && submitted !== undefined && isOpen) return [submitted];
	return await collectImages(batch, paid, { ...item, facts }, reused);
}

/**
 * The facts recorded with a payment: this try's request may be another one. A price that was not known
 * then, as the model list could not be read, is that of now.
 */
function paidFacts({ facts: recorded }: Paid, now: PreparedItem['facts']): PreparedItem['facts'] {
	if (recorded === undefined) return now;
	const { model, prompt, estimatedCost, pricePerImage } = now;
	const isUnpriced = recorded.estimatedCost === undefined && recorded.model === model;
	return { model, prompt, ...recorded, ...(isUnpriced ? { estimatedCost, pricePerImage } : {}) };
}

/**
 * Pays for an item, unless an earlier try has, and counts what that costs. An unknown outcome may have
 * been charged: it counts among the costs.
 */
async function payForItem<R extends ImageRequest>(
	{ run, taskType, checker, paidRequests, asked, itemOfTask }: Batch<R>,
	{ itemIndex, mode, plan, facts }: PreparedItem,
	reused: boolean,
): Promise<Paid> {
	const { tally } = run;
	try {
		const paid = await paidRequests.pay(itemIndex, plan, run, (body) => {
			const found = readPaidResponse(body, taskType, mode !== 'sync');
			return found && { ...found, facts };
		});
		const known = paidFacts(paid, facts);
		if (reused) addReused(tally, known.estimatedCost);
		else addCost(tally, known.estimatedCost);
		// The images of a task, and those that have an address, are counted when they are returned.
		if (paid.items !== undefined) addImages(tally, known, paid.items.length);
		if (paid.task === undefined) return paid;
		tally.tasks += 1;
		const { taskId } = paid.task;
		const first = itemOfTask.get(taskId) ?? itemIndex;
		itemOfTask.set(taskId, first);
		if (first !== itemIndex) {
			run.hints.add(
				`The gateway gave items ${first} and ${itemIndex} the same task ID, ${quote(taskId)}. Check whether the images match their prompts.`,
			);
		}
		return paid;
	} catch (error) {
		if (error instanceof UnknownOutcomeError) {
			// An earlier try may have sent another request.
			const sent = paidRequests.factsOf(itemIndex) ?? facts;
			paidRequests.update(itemIndex, { facts: sent });
			asked[itemIndex] = { model: sent.model, prompt: sent.prompt };
			addCost(tally, sent.estimatedCost);
		}
		return await Promise.reject(await checker.explain(error, facts.model));
	}
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
	const taskId = readTaskId(body);
	const { status, group, reason } = readTaskState({ taskId: taskId ?? '', taskType }, body);
	const submittedAt = new Date().toISOString();
	if (images.length > 0) {
		const paid = { images, created: finiteNumber(body.created) };
		// A finished task lists its images under new addresses where these have expired.
		const isTask = asynchronous && typeof body.status === 'string' && !images.some(isInline);
		const ownId = isTask ? readTaskId({ ...body, data: undefined }) : undefined;
		return ownId === undefined
			? paid
			: { ...paid, task: { taskId: ownId, taskType, status, submittedAt } };
	}
	if (taskId === undefined || (status === '' && !asynchronous)) return undefined;
	const task = { taskId, taskType, status: status === '' ? 'queued' : status, submittedAt };
	return { task: group === 'unsuccessful' ? { ...task, reason } : task };
}

/** In milliseconds: a gateway that says nothing must not keep back images whose addresses are recorded. */
const LONGEST_RECHECK_MS = 5000;

/**
 * Waits for the task where there is one, and gets the images.
 *
 * @returns the output items; none where the execution is to be suspended for what is still open
 */
async function collectImages<R extends ImageRequest>(
	batch: Batch<R>,
	paid: Paid,
	item: PreparedItem,
	reused: boolean,
): Promise<INodeExecutionData[]> {
	const { run, paidRequests, budget, waitForTask } = batch;
	const { itemIndex, facts, target, plan } = item;
	let { task, images, created } = paid;
	if (images !== undefined) {
		// An address that an earlier try has recorded may have expired: the gateway is asked again.
		const wait = reused && task ? waitForTask(waitOf(task, item), LONGEST_RECHECK_MS) : undefined;
		const now = await wait?.catch(() => undefined);
		if (now?.kind === 'finished') ({ images } = now.state);
		else addImages(run.tally, facts, images.length);
		paidRequests.update(itemIndex, { images });
	}
	// A synchronous request whose response is a task is waited for as well: it is paid.
	if (images === undefined && task !== undefined) {
		// An earlier try was told that nothing is to be had: whether that is so is asked again now.
		if (paid.lost === true) paidRequests.update(itemIndex, { lost: false });
		const result = await waitFor(batch, task, item);
		if (result.kind === 'open') {
			batch.waits[itemIndex] = result.wait;
			return [];
		}
		task = { ...task, status: result.state.status };
		({ images, created } = result.state);
		paidRequests.update(itemIndex, { task, images, created });
	}
	const asked = imagesAskedFor(plan);
	const count = images?.length ?? 0;
	const estimatedCost = costOf(facts, count);
	budget.expect(itemIndex, estimatedCost);
	// Items with the same task share its images, which are counted once.
	const isFirst = task === undefined || batch.itemOfTask.get(task.taskId) === itemIndex;
	if (reused && isFirst) addReusedImages(run.tally, facts, count);
	paidRequests.update(itemIndex, { facts: { ...facts, estimatedCost } });
	if (count < asked)
		run.hints.add(`Item ${itemIndex}: the gateway returned ${count} of ${asked} images.`);
	const { taskId, taskType, status } = task ?? {};
	const known = { ...facts, created, taskId, taskType, status };
	const items = await imageItems(run, images ?? [], known, target);
	if (!items.some(isFailed) && images?.some(isInline)) {
		paidRequests.update(itemIndex, { items, images: undefined });
	}
	return items;
}

/** How many images a request asks for, by what is sent. */
function imagesAskedFor({ body, form }: RequestPlan): number {
	const [, field] = form?.fields.find(([name]) => name === 'n') ?? [];
	return Number(body?.n ?? field ?? 1);
}

/** @throws GatewayError, which is noted, also where the task is still open at its deadline */
async function waitFor<R extends ImageRequest>(
	{ paidRequests, waitForTask, parkAfterMs }: Batch<R>,
	task: NonNullable<Paid['task']>,
	item: PreparedItem,
): ReturnType<WaitForTask> {
	const { itemIndex } = item;
	try {
		const failed = failedAtOnce(task);
		if (failed !== undefined) return await Promise.reject(failed);
		const result = await waitForTask(waitOf(task, item), parkAfterMs);
		const isOverdue = result.kind === 'open' && result.error !== undefined;
		return isOverdue ? await Promise.reject(result.error) : result;
	} catch (error) {
		if (hasFailed(error)) paidRequests.update(itemIndex, { failed: true });
		else if (hasNothingToGive(error, task)) paidRequests.update(itemIndex, { lost: true });
		return await Promise.reject(error);
	}
}

const waitOf = (
	task: NonNullable<Paid['task']>,
	{ facts, target, maxWaitMs }: PreparedItem,
): TaskWait => {
	const deadlineAt = Date.now() + maxWaitMs;
	return { task, facts: withoutUndefined(facts), target, maxWaitMs, deadlineAt };
};
