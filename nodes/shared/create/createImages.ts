import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import {
	failedAtOnce,
	hasFailed,
	isOutOfReach,
	withPreviews,
} from '../../../gateway/errors/taskErrors';
import { afterColon } from '../../../gateway/protocol/errorBody';
import {
	planUrl,
	requestedImages,
	type AsyncFlag,
	type ImageRequest,
	type RequestPlan,
	type TaskType,
} from '../../../gateway/protocol/requestPlan';
import { readPaidResponse } from '../../../gateway/protocol/paidResponse';
import { isInline } from '../../../gateway/protocol/task';
import { GatewayError, UnknownOutcomeError } from '../../../gateway/util/gatewayError';
import { withoutInlineImages } from '../../../gateway/util/inlineImages';
import { withoutUndefined } from '../../../gateway/util/json';
import { quote } from '../../../gateway/util/text';
import { imageItems, readTarget, type ImageTarget } from '../images/imageItems';
import { finishRun } from '../run/summary';
import { ItemParameters } from '../parameters/itemParameters';
import { readBudget, readLimits, readRunEnd } from '../parameters/optionValues';
import { PaymentLog } from '../payments/paymentLog';
import { copiesOf, type PaymentResult } from '../payments/payment';
import { runItems, type Job } from '../run/itemRunner';
import { failedItems, isFailed } from '../run/nodeErrors';
import type { RequestFacts } from '../run/requestFacts';
import { addHints, openRun, type Run } from '../run/runContext';
import { addCost, addImages, addReused, addReusedImages, costOf } from '../run/tally';
import { openProgress, type Progress } from '../suspend/progress';
import { readParkAfter, suspend } from '../suspend/suspend';
import { shownParameters, taskItem } from '../tasks/taskReference';
import { createTaskWaiter, type TaskWait, type WaitForTask } from '../tasks/taskWaiter';
import { Budget } from './budget';
import { Checker, SEND_ANYWAY, type Checked } from '../models/modelChecks';

/** How a node makes the request of an item: its fields, its files, its plan. */
export interface Creation {
	/** Reads the request from the item's parameters. */
	read: (item: ItemParameters) => ImageRequest;
	/** Adds the files to upload; may download them, and sends nothing that is charged. */
	load?: (request: ImageRequest, item: ItemParameters, run: Run) => Promise<ImageRequest>;
	/** The request as a plan; synchronous if `asyncFlag` is undefined. */
	plan: (request: ImageRequest, asyncFlag?: AsyncFlag) => RequestPlan;
}

/** What all items of an execution share. */
interface Batch {
	run: Run;
	taskType: TaskType;
	creation: Creation;
	budget: Budget;
	checker: Checker;
	paymentLog: PaymentLog;
	waitForTask: WaitForTask;
	/** With Survive Restarts: how long to wait in memory, and where accepted tasks are stored. */
	parkAfterMs?: number;
	progress?: Progress;
	/** The model and prompt of each item, which its errors name. */
	knownFacts: RequestFacts[];
	/** By task ID, the first item that the gateway gave it to. */
	itemOfTask: Map<string, number>;
	/** By item, the wait for a task that is still open when the execution is suspended. */
	waits: Array<TaskWait | undefined>;
}

/** An item with a checked request, ready to be sent. */
interface PreparedItem {
	itemIndex: number;
	mode: (typeof MODES)[number];
	target: ImageTarget;
	maxWaitMs: number;
	plan: RequestPlan;
	facts: RequestFacts & { model: string; prompt: string };
}

const MODES = ['wait', 'sync', 'submit'] as const;
const ASYNC_FLAGS: [AsyncFlag, ...AsyncFlag[]] = ['query', 'header', 'body'];

/** Image Generation and Image Edit: check all items, pay for each once, wait, return the images. */
export async function createImages(
	context: IExecuteFunctions,
	taskType: TaskType,
	creation: Creation,
): Promise<INodeExecutionData[][]> {
	const first = new ItemParameters(context, 0);
	// Only tasks are waited for.
	const isWaiting = first.choice('mode', 'Mode', MODES) !== 'sync';
	const parkAfterMs = isWaiting ? readParkAfter(context, first) : undefined;
	const progress = parkAfterMs === undefined ? undefined : openProgress(context);
	const end = readRunEnd(first);
	const budget = new Budget(context, readBudget(first.options));
	const run = await openRun(context, readLimits(first));
	const paymentLog = new PaymentLog(context);
	let safe = false;
	try {
		const count = context.getInputData().length;
		const batch: Batch = {
			run,
			taskType,
			creation,
			budget,
			checker: new Checker(run, taskType),
			paymentLog,
			waitForTask: createTaskWaiter(run, first.options.milliseconds('pollInterval'), count),
			parkAfterMs,
			progress,
			knownFacts: [],
			itemOfTask: new Map(),
			waits: [],
		};
		const items = await runItems(run, count, {
			prepare: async (itemIndex) =>
				await prepareItem(batch, new ItemParameters(context, itemIndex)),
			// The budget is not needed for items that an earlier try has paid for.
			beforeFirst: () => budget.reserve((itemIndex) => paymentLog.has(itemIndex)),
			payments: paymentLog,
			knownOf: (itemIndex) => batch.knownFacts[itemIndex],
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
			? await suspend(context, entries, run.tally, () => paymentLog.listUnreturned())
			: [finishRun(context, { items, open: [], tally: run.tally }, end).items.flat()];
		// Where n8n can't suspend the execution, open tasks come out as failed items.
		const hasFailed = isOpen && output[0]?.some(isFailed) === true;
		paymentLog.settle(hasFailed ? new Set(items.keys()) : failedItems(items));
		safe = true;
		return output;
	} finally {
		paymentLog.close();
		budget.settle((itemIndex) => paymentLog.has(itemIndex));
		run.end();
		await progress?.close(safe);
	}
}

/**
 * Reads and checks an item; nothing that is paid for is sent. @returns what to do once all are
 * checked
 */
async function prepareItem(batch: Batch, item: ItemParameters): Promise<Job> {
	const { run, creation, budget, checker, paymentLog } = batch;
	const { itemIndex, options } = item;
	const chosenMode = item.choice('mode', 'Mode', MODES);
	const chosenFlag = options.choice('asyncFlag', 'Asynchronous Flag', ASYNC_FLAGS);
	const checkLimits = options.switch('checkLimits', 'Check Limits Before Sending', true);
	const dryRun = options.switch('dryRun', 'Dry Run', false);
	const target = readTarget(item);
	const maxWaitMs = options.milliseconds('maxWait');
	const draft = creation.read(item);
	const known = { model: draft.model, prompt: draft.prompt };
	const isWaiting = chosenMode === 'wait' && checkLimits;
	const mode = isWaiting && (await checker.isOnlySync(draft.model)) ? 'sync' : chosenMode;
	const asyncFlag = mode === 'sync' ? undefined : chosenFlag;

	// Only these three need the model list.
	const needsListing = checkLimits || dryRun || budget.isSet;
	const check = async (request: ImageRequest): Promise<Checked<ImageRequest>> => {
		if (!needsListing) return { request, violations: [] };
		const checked = await checker.check(request, mode !== 'sync');
		if (checked.violations.length === 0 || !checkLimits || dryRun) return checked;
		batch.knownFacts[itemIndex] = known;
		throw new GatewayError({
			message: `Invalid parameters for model '${request.model}': ${checked.violations.join('; ')}`,
			description: SEND_ANYWAY,
		});
	};
	// Checked before files are downloaded for a request that is rejected anyway.
	if (draft.imageCount !== undefined) await check(draft);
	const asked = (await creation.load?.(draft, item, run)) ?? draft;
	batch.knownFacts[itemIndex] = known;
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
	// The identity of a payment depends neither on the mode nor on types that the model list
	// corrects.
	paymentLog.expect(itemIndex, creation.plan(asked), run.address.account);
	const unpriced = budget.unpriced(request.model, checked);
	const assertPriced = (): void => {
		if (unpriced !== undefined && !paymentLog.has(itemIndex)) throw unpriced;
	};
	assertPriced();
	budget.expect(itemIndex, estimatedCost);
	const { model, prompt } = request;
	const parameters = shownParameters(plan.body ?? Object.fromEntries(plan.form?.fields ?? []));
	const facts = { model, prompt, parameters, estimatedCost, pricePerImage };
	return async () => {
		// A payment can turn out to belong to another item with the same request.
		assertPriced();
		return await createItem(batch, { itemIndex, mode, target, maxWaitMs, plan, facts });
	};
}

/**
 * The output item of a dry run: the exact request without the key, its checks and estimated cost.
 */
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

/** Pays for an item, unless an earlier try has, and returns its output items. */
async function createItem(batch: Batch, item: PreparedItem): Promise<INodeExecutionData[]> {
	const { itemIndex, mode, target } = item;
	const reused = batch.paymentLog.has(itemIndex);
	const paid = await payForItem(batch, item, reused);
	if (paid.items !== undefined) {
		const copies = copiesOf(paid.items, itemIndex, target.binaryPropertyName);
		return copies.map((copy) => ({ ...copy, json: { ...target.inputFields, ...copy.json } }));
	}
	const facts = paidFacts(paid, item.facts);
	batch.knownFacts[itemIndex] = { model: facts.model, prompt: facts.prompt };
	const submitted = paid.task && taskItem({ task: paid.task, facts, target });
	if (submitted !== undefined && paid.images === undefined) batch.progress?.add(submitted);
	// A task that has failed at once is an error in every mode: Image Wait couldn't name the reason.
	const isOpen = paid.images === undefined && paid.task?.reason === undefined;
	if (mode === 'submit' && submitted !== undefined && isOpen) return [submitted];
	return await collectImages(batch, paid, { ...item, facts }, reused);
}

/**
 * The facts recorded with a payment, because this try's request may differ. A price that was
 * unknown at the payment is taken from this try.
 */
function paidFacts(
	{ facts: recorded }: PaymentResult,
	now: PreparedItem['facts'],
): PreparedItem['facts'] {
	if (recorded === undefined) return now;
	const { model, prompt, estimatedCost, pricePerImage } = now;
	const isUnpriced = recorded.estimatedCost === undefined && recorded.model === model;
	return { model, prompt, ...recorded, ...(isUnpriced ? { estimatedCost, pricePerImage } : {}) };
}

/**
 * Pays for an item, unless an earlier try has, and adds its cost to the tally; also where the
 * outcome is unknown, because it may have been charged.
 */
async function payForItem(
	{ run, taskType, checker, paymentLog, knownFacts, itemOfTask }: Batch,
	{ itemIndex, mode, plan, facts }: PreparedItem,
	reused: boolean,
): Promise<PaymentResult> {
	const { tally } = run;
	try {
		const paid = await paymentLog.pay(itemIndex, plan, run, (response) => {
			const found = readPaidResponse(response, {
				taskType,
				asynchronous: mode !== 'sync',
				submittedAt: new Date().toISOString(),
			});
			return found && { ...found, facts };
		});
		const known = paidFacts(paid, facts);
		if (reused) addReused(tally, known.estimatedCost);
		else addCost(tally, known.estimatedCost);
		// Images of a task, and images with an address, are added to the tally when they are returned.
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
			// The unknown request may be an earlier try's, with other parameters.
			const sent = paymentLog.factsOf(itemIndex) ?? facts;
			paymentLog.update(itemIndex, { facts: sent });
			knownFacts[itemIndex] = { model: sent.model, prompt: sent.prompt };
			addCost(tally, sent.estimatedCost);
		}
		return await Promise.reject(await checker.explain(error, facts.model));
	}
}

/** In milliseconds. After it, the recorded addresses of the images are used. */
const LONGEST_RECHECK_MS = 5000;

/**
 * The images of an item, from the response or its task, as output items.
 *
 * @returns no items if the task is still open and the execution is to be suspended
 */
async function collectImages(
	batch: Batch,
	paid: PaymentResult,
	item: PreparedItem,
	reused: boolean,
): Promise<INodeExecutionData[]> {
	const { run, paymentLog, budget, itemOfTask } = batch;
	const { itemIndex, facts, target, plan } = item;
	// A synchronous request may be answered with a task as well.
	const current = await (paid.images === undefined
		? finishTask(batch, paid, item)
		: recheckImages(batch, paid, item, reused));
	if (current === undefined) return [];
	const { task, images = [], created, usage, refusal } = current;
	const estimatedCost = costOf(facts, images.length);
	paymentLog.update(itemIndex, { ...current, facts: { ...facts, estimatedCost } });
	budget.expect(itemIndex, estimatedCost);
	// Items with the same task share its images, which are added to the tally once.
	const isFirst = task === undefined || itemOfTask.get(task.taskId) === itemIndex;
	if (reused && isFirst) addReusedImages(run.tally, facts, images.length);
	const requested = requestedImages(plan);
	if (images.length < requested) {
		run.hints.add(
			`Item ${itemIndex}: the gateway returned ${images.length} of ${requested} images${afterColon(refusal) || '.'}`,
		);
	}
	const { taskId, taskType, status } = task ?? {};
	const items = await imageItems(
		run,
		images,
		{ ...facts, created, usage: isFirst ? usage : undefined, taskId, taskType, status },
		target,
	);
	if (!items.some(isFailed) && images.some(isInline)) {
		paymentLog.update(itemIndex, { items, images: undefined });
	}
	return items;
}

/**
 * What was paid for, with the images under their current addresses: one that an earlier try
 * recorded may have expired, so its task is polled for new ones.
 */
async function recheckImages(
	{ run, waitForTask }: Batch,
	paid: PaymentResult,
	item: PreparedItem,
	reused: boolean,
): Promise<PaymentResult> {
	const { task, images = [] } = paid;
	const wait = reused && task ? waitForTask(waitOf(task, item), LONGEST_RECHECK_MS) : undefined;
	const now = await wait?.catch(() => undefined);
	if (now?.kind === 'finished') return { ...paid, images: now.state.images };
	addImages(run.tally, item.facts, images.length);
	return paid;
}

/**
 * Waits for the task that was paid for.
 *
 * @returns the task with its images; undefined if the execution is to be suspended until it
 *   finishes
 * @throws GatewayError, which the payment records, also where the deadline has passed
 */
async function finishTask(
	{ paymentLog, waitForTask, parkAfterMs, waits }: Batch,
	{ task, lost }: PaymentResult,
	item: PreparedItem,
): Promise<PaymentResult | undefined> {
	if (task === undefined) return {};
	const { itemIndex } = item;
	// An earlier try found no task or no image; this one polls again.
	if (lost === true) paymentLog.update(itemIndex, { lost: false });
	try {
		const failed = failedAtOnce(task);
		if (failed !== undefined) return await Promise.reject(failed);
		const result = await waitForTask(waitOf(task, item), parkAfterMs);
		if (result.kind === 'open') {
			if (result.error !== undefined) return await Promise.reject(result.error);
			waits[itemIndex] = result.wait;
			return undefined;
		}
		const { status, images, created, usage, refusal } = result.state;
		return { task: { ...task, status }, images, created, usage, refusal };
	} catch (error) {
		if (hasFailed(error)) paymentLog.update(itemIndex, { failed: true });
		else if (isOutOfReach(error, task)) paymentLog.update(itemIndex, { lost: true });
		return await Promise.reject(withPreviews(error, task));
	}
}

const waitOf = (
	task: NonNullable<PaymentResult['task']>,
	{ facts, target, maxWaitMs }: PreparedItem,
): TaskWait => {
	const deadlineAt = Date.now() + maxWaitMs;
	return { task, facts: withoutUndefined(facts), target, maxWaitMs, deadlineAt };
};
