import type { INodeExecutionData } from 'n8n-workflow';
import {
	alsoNamed,
	GatewayError,
	hasCode,
	isInline,
	isOutOfReach,
	withDetails,
} from '../../../gateway';
import { laterBill } from '../../../util/bill';
import { withoutUndefined } from '../../../util/json';
import { afterColon, capital, quote } from '../../../util/text';
import { resultItems, itemPerImage, withTarget } from '../images/imageItems';
import type { PaymentResult } from '../payments/payment';
import { isFailed } from '../run/nodeErrors';
import { rowName } from '../run/rowNames';
import { costOf } from '../run/tally';
import { taskItem } from '../tasks/taskReference';
import type { TaskWait } from '../tasks/waitEntries';
import { dryRunItem } from './dryRun';
import type { Batch, DryRunJob, Job, PaidJob, SendJob } from './prepareItem';

/** Does the job of an item. @returns its output items */
export async function executeItem(batch: Batch, job: Job): Promise<INodeExecutionData[]> {
	if (job.kind === 'dryRun') return [showRequest(batch, job)];
	return await imagesOfItem(batch, job).catch((error: unknown) => {
		throw withWayOut(error, batch.paymentLog.resultOf(job.itemIndex));
	});
}

async function imagesOfItem(batch: Batch, job: PaidJob | SendJob): Promise<INodeExecutionData[]> {
	const { target } = job;
	const paid = await payForItem(batch, job);
	// As recorded with the payment: this try's request may differ.
	const { facts = {}, items, task, images } = paid;
	if (task !== undefined) noteTask(batch, job.itemIndex, task.taskId, paid);
	if (items !== undefined) return withTarget(batch.run, items, facts, target);
	const { cost, costCurrency } = paid;
	// A task that has failed at once with a reason is an error in every mode: Image Wait couldn't name it.
	if (task !== undefined && images === undefined && task.reason === undefined) {
		const submitted = taskItem({ task, facts: { ...facts, cost, costCurrency }, target });
		batch.progress?.add(submitted);
		if (job.mode === 'submit') return [submitted];
	}
	return await collectImages(batch, paid, job);
}

function showRequest({ budget }: Batch, { checked, order, target }: DryRunJob): INodeExecutionData {
	const unpriced = budget.unpriced(checked.request.model, checked)?.message ?? [];
	const overBudget = budget.describeDry()?.violations ?? [];
	const violations = [...checked.violations, unpriced, overBudget].flat();
	return dryRunItem(order, { ...checked, violations }, target);
}

/** Pays for an item, unless an earlier try has. */
async function payForItem(
	{ run: { gateway }, checker, paymentLog }: Batch,
	job: PaidJob | SendJob,
): Promise<PaymentResult> {
	const { itemIndex } = job;
	if (job.kind === 'paid') paymentLog.reuse(itemIndex);
	else {
		await gateway.pay(job.order, itemIndex).catch(async (error: unknown) => {
			throw await checker.explain(error, job);
		});
	}
	return paymentLog.resultOf(itemIndex);
}

function noteTask(
	{ run, itemOfTask }: Batch,
	itemIndex: number,
	taskId: string,
	{ brought }: PaymentResult,
): void {
	const first = itemOfTask.get(taskId) ?? itemIndex;
	itemOfTask.set(taskId, first);
	// Several images of one task may have failed, and come back.
	if (first === itemIndex || brought !== undefined) return;
	run.hints.add(
		`The gateway gave items ${first + 1} and ${itemIndex + 1} the same task ID, ${quote(taskId)}. Check whether the images match their prompts.`,
	);
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
	job: PaidJob | SendJob,
): Promise<INodeExecutionData[]> {
	const { run, paymentLog, itemOfTask } = batch;
	const { itemIndex, target } = job;
	const { facts = {}, requested = 1 } = paid;
	// A synchronous request may be answered with a task as well.
	const current = await (paid.images === undefined
		? finishTask(batch, paid, job)
		: recheckImages(batch, paid, job));
	if (current === undefined) return [];
	const { task, images = [], created, usage, refusal } = current;
	const bill = laterBill(current, paid);
	const estimatedCost = costOf(facts, images.length);
	paymentLog.update(itemIndex, { ...current, ...bill, facts: { ...facts, estimatedCost } });
	// Items with the same task share its images.
	const isFirst = task === undefined || itemOfTask.get(task.taskId) === itemIndex;
	// Not every request says how many images it is for.
	if (images.length < requested || refusal !== undefined) {
		const count = images.length < requested ? `${images.length} of ${requested}` : 'not all';
		run.hints.add(
			`${capital(rowName(itemIndex, facts.prompt))}: the gateway returned ${count} images${afterColon(refusal) || '.'}${alsoNamed(task)}`,
		);
	}
	const ofRequest = isFirst ? { usage, ...bill } : {};
	const shown = { created, ...ofRequest, ...facts, ...task, requestId: paid.requestId };
	if (!images.some(isInline)) return await resultItems(run, images, shown, target);
	// Recorded without the settings of this try: a later one may have other input fields and names.
	const items = await itemPerImage(run, images, shown, { ...target, fileName: '' });
	if (!items.some(isFailed)) paymentLog.update(itemIndex, { items, images: undefined });
	return withTarget(run, items, facts, target);
}

/**
 * What was paid for, with the images under their current addresses: one that an earlier try
 * recorded may have expired, so its task is polled for new ones.
 */
async function recheckImages(
	{ run, paymentLog }: Batch,
	paid: PaymentResult,
	job: PaidJob | SendJob,
): Promise<PaymentResult> {
	const { task } = paid;
	if (task === undefined || !paymentLog.isReused(job.itemIndex)) return paid;
	const wait = waitOf(paid, task, { ...job, maxWaitMs: LONGEST_RECHECK_MS });
	const now = await run.gateway.waitFor(wait).catch(() => undefined);
	if (now?.kind !== 'finished') return paid;
	const { images } = now.state;
	const { length = 0 } = paid.images ?? [];
	// A gateway that forgets images one by one must not take along those that have come before, and a
	// failed item is about one of them.
	const isSame = paid.brought === undefined ? images.length >= length : images.length === length;
	return isSame ? { ...paid, images } : paid;
}

/** A receipt has images or a task: only a damaged record leads here, or a payment that outlasts its run. */
const NOTHING_RECORDED = {
	message: 'The record of what was paid for names neither an image nor a task',
	description: "Check the usage log in the gateway's console before you send the request again.",
};

/**
 * Waits for the task that was paid for.
 *
 * @returns the task with its images; undefined if the execution is to be suspended until it
 *   finishes
 * @throws GatewayError, which the payment records, also where the deadline has passed
 */
async function finishTask(
	{ run, paymentLog, progress, waits }: Batch,
	paid: PaymentResult,
	job: PaidJob | SendJob,
): Promise<PaymentResult | undefined> {
	const { task, lost } = paid;
	if (task === undefined) throw new GatewayError(NOTHING_RECORDED, { charged: 'maybe' });
	const { itemIndex } = job;
	// An earlier try found no task or no image; this one polls again.
	if (lost === true) paymentLog.update(itemIndex, { lost: false });
	const wait = waitOf(paid, task, job);
	// One that has failed at once with a reason is an error at once.
	if (progress !== undefined && task.reason === undefined) {
		waits[itemIndex] = wait;
		return undefined;
	}
	try {
		const result = await run.gateway.waitFor(wait);
		if (result.kind === 'open') throw result.error as GatewayError;
		const { status, images, created, usage, refusal } = result.state;
		const told = { created, usage, refusal, ...laterBill(result.state, paid) };
		return { task: { ...task, status }, images, ...told };
	} catch (error) {
		if (error instanceof GatewayError) paymentLog.update(itemIndex, laterBill(error.problem, paid));
		if (hasCode(error, 'taskFailed')) paymentLog.update(itemIndex, { failed: true });
		else if (isOutOfReach(error)) paymentLog.update(itemIndex, { lost: true });
		throw error as Error;
	}
}

const waitOf = (
	{ facts: told, cost, costCurrency, brought: charged = 'yes' }: PaymentResult,
	task: NonNullable<PaymentResult['task']>,
	{ target, maxWaitMs }: PaidJob | SendJob,
): TaskWait => {
	const deadlineAt = Date.now() + maxWaitMs;
	const facts = { ...told, cost, costCurrency };
	return { task, facts: withoutUndefined(facts), target, maxWaitMs, deadlineAt, charged };
};

/** The error of an item that has brought its payment, with what to do if nothing more can come of it. */
function withWayOut(error: unknown, { brought }: PaymentResult): unknown {
	// A failed task is submitted anew when it comes back.
	if (brought === undefined || !(error instanceof GatewayError) || hasCode(error, 'taskFailed')) {
		return error;
	}
	const { description } = error.problem;
	return withDetails(error, { description: `${description} ${GENERATE_ANEW}`.trim() });
}

const GENERATE_ANEW =
	"The input item has failed before and names what it was charged for, so nothing was sent. To generate its image anew all the same, remove 'details' from the item.";
