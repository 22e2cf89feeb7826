import type { INodeExecutionData } from 'n8n-workflow';
import {
	alsoNamed,
	GatewayError,
	hasCode,
	isInline,
	isOutOfReach,
	laterBill,
	mergedFacts,
	type Task,
	withDetails,
} from '../../../gateway';
import { withoutUndefined } from '../../../util/json';
import { afterColon, capital, quote } from '../../../util/text';
import { itemPerImage, partOf, resultItems, withOutputSettings } from '../images/imageItems';
import { payForJob } from '../payments/payingNode';
import type { PaidImages } from '../payments/payment';
import { isFailed } from '../errors/nodeErrors';
import { rowName } from '../errors/rowNames';
import { costOf } from '../run/totals';
import { taskItem } from '../tasks/taskItem';
import type { TaskWait } from '../tasks/waitEntries';
import { dryRunItem } from './dryRun';
import type { Batch, DryRunJob, ImageJob, Job } from './prepareItem';

/** A payment of one kind: images, a task, or stored items. */
type ResultOfKind<K extends PaidImages['kind']> = Extract<PaidImages, { kind: K }>;

/** Does the job of an item. @returns its output items */
export async function executeItem(batch: Batch, job: Job): Promise<INodeExecutionData[]> {
	if (job.kind === 'dryRun') return [showRequest(batch, job)];
	return await imagesOfItem(batch, job).catch((error: unknown) => {
		throw batch.paymentLog.itemReport.isOfInput(job.itemIndex) ? withWayOut(error) : error;
	});
}

async function imagesOfItem(batch: Batch, job: ImageJob): Promise<INodeExecutionData[]> {
	const { outputSettings } = job;
	const paid = await payForItem(batch, job);
	// Those of the payment: this try's request may differ.
	const { facts = {}, task, cost, costCurrency } = paid;
	if (task !== undefined) noteTask(batch, job.itemIndex, task.taskId, paid);
	if (paid.kind === 'storedItems')
		return withOutputSettings(batch.run, paid.items, facts, outputSettings);
	// A task that has failed at once with a reason is an error in every mode: Image Wait couldn't name it.
	if (paid.kind === 'task' && paid.task.reason === undefined) {
		const about = { ...facts, cost, costCurrency };
		const submitted = taskItem({ task: paid.task, facts: about, outputSettings });
		batch.submittedTasks?.add(submitted);
		if (batch.mode === 'submit') return [submitted];
	}
	return await collectImages(batch, paid, job);
}

function showRequest(
	{ budget }: Batch,
	{ checked, order, outputSettings }: DryRunJob,
): INodeExecutionData {
	const unpriced = budget.unpriced(checked.request.model, checked)?.message ?? [];
	const overBudget = budget.dryOverrun()?.message ?? [];
	const violations = [...checked.violations, unpriced, overBudget].flat();
	return dryRunItem(order, { ...checked, violations }, outputSettings);
}

async function payForItem({ run, checker, paymentLog }: Batch, job: ImageJob): Promise<PaidImages> {
	const { source } = job;
	return await payForJob(run, paymentLog, job, (response, order) => {
		const receipt = run.gateway.readReceipt(order, response);
		return receipt && { ...receipt, facts: order.facts };
	}).catch(async (error: unknown) => {
		throw 'order' in source ? await checker.explain(error, source.order.request) : error;
	});
}

function noteTask(
	{ run, itemOfTask }: Batch,
	itemIndex: number,
	taskId: string,
	{ chargedByInput }: PaidImages,
): void {
	const first = itemOfTask.get(taskId) ?? itemIndex;
	itemOfTask.set(taskId, first);
	// Several images of one task may have failed, and come back.
	if (first === itemIndex || chargedByInput !== undefined) return;
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
	paid: ResultOfKind<'images' | 'task'>,
	job: ImageJob,
): Promise<INodeExecutionData[]> {
	const { run, paymentLog, itemOfTask } = batch;
	const { itemIndex, outputSettings } = job;
	// A synchronous request may be answered with a task as well.
	const current = await (paid.kind === 'task'
		? finishTask(batch, paid, job)
		: recheckImages(batch, paid, job));
	if (current === undefined) return [];
	const { images, ...about } = current;
	const { task, facts = {}, requested = 1, refusal } = about;
	const { usage, cost, costCurrency, ...told } = mergedFacts(about, {});
	const estimatedCost = costOf(facts, images.length);
	const recorded = { ...about, facts: { ...facts, estimatedCost } };
	paymentLog.journal.update(itemIndex, { ...recorded, images });
	// Items with the same task share its images, unless each is about some of them.
	const isFirst =
		task === undefined || facts.meant !== undefined || itemOfTask.get(task.taskId) === itemIndex;
	// Not every request says how many images it is for.
	if (images.length < requested || refusal !== undefined) {
		const count = images.length < requested ? `${images.length} of ${requested}` : 'not all';
		run.hints.add(
			`${capital(rowName(itemIndex, facts.prompt))}: the gateway returned ${count} images${afterColon(refusal) || '.'}${alsoNamed(task)}`,
		);
	}
	const ofRequest = isFirst ? { usage, cost, costCurrency } : {};
	const shown = { ...told, ...ofRequest, ...facts, ...task };
	if (!images.some(isInline)) return await resultItems(run, images, shown, outputSettings);
	// Recorded without the settings of this try: a later one may have other input fields and names.
	const items = await itemPerImage(run, images, shown, { ...outputSettings, fileName: '' });
	if (!items.some(isFailed))
		paymentLog.journal.update(itemIndex, { ...recorded, kind: 'storedItems', items });
	return withOutputSettings(run, items, facts, outputSettings);
}

/**
 * What was paid for, with the images under their current addresses: one that an earlier try
 * recorded may have expired, so its task is polled for new ones. What this try has paid for is
 * returned as it is.
 */
async function recheckImages(
	{ run, paymentLog }: Batch,
	paid: ResultOfKind<'images'>,
	job: ImageJob,
): Promise<ResultOfKind<'images'>> {
	const { task } = paid;
	if (task === undefined || !paymentLog.journal.isReused(job.itemIndex)) return paid;
	const wait = waitOf(paid, task, { ...job, maxWaitMs: LONGEST_RECHECK_MS });
	const now = await run.gateway.waitFor(wait).catch(() => undefined);
	if (now?.kind !== 'finished') return paid;
	const { images } = now.state;
	const { length } = paid.images;
	// A gateway that forgets images one by one must not take along those that have come before, and a
	// failed item is about one of them.
	const isSame =
		paid.chargedByInput === undefined ? images.length >= length : images.length === length;
	return isSame ? { ...paid, images } : paid;
}

/**
 * Waits for the task that was paid for.
 *
 * @returns the task with its images; undefined if the execution is to be suspended until it
 *   finishes
 * @throws GatewayError, which the payment records, also where the deadline has passed
 */
async function finishTask(
	{ run, paymentLog, submittedTasks, waits }: Batch,
	{ end, ...paid }: ResultOfKind<'task'>,
	job: ImageJob,
): Promise<ResultOfKind<'images'> | undefined> {
	const { task } = paid;
	const { itemIndex } = job;
	// An earlier try found no task or no image; this one polls again.
	if (end === 'lost') paymentLog.journal.update(itemIndex, paid);
	const wait = waitOf(paid, task, job);
	// One that has failed at once with a reason is an error at once.
	if (submittedTasks !== undefined && task.reason === undefined) {
		waits[itemIndex] = wait;
		return undefined;
	}
	try {
		const result = await run.gateway.waitFor(wait);
		if (result.kind === 'open') throw result.error as GatewayError;
		const { part, facts } = partOf(result.state, paid.facts ?? {});
		const { status, images } = part;
		const told = mergedFacts(part, paid);
		return { ...paid, facts, kind: 'images', task: { ...task, status }, images, ...told };
	} catch (error) {
		if (error instanceof GatewayError) {
			const outOfReach = isOutOfReach(error) ? 'lost' : undefined;
			paymentLog.journal.update(itemIndex, {
				...paid,
				...laterBill(error.problem, paid),
				end: end === 'failed' || hasCode(error, 'taskFailed') ? 'failed' : outOfReach,
			});
		}
		throw error as Error;
	}
}

const waitOf = (
	{ facts: told, cost, costCurrency, chargedByInput: charged = 'yes' }: PaidImages,
	task: Task,
	{ outputSettings, maxWaitMs }: ImageJob,
): TaskWait => {
	const deadlineAt = Date.now() + maxWaitMs;
	const facts = { ...told, cost, costCurrency };
	return { task, facts: withoutUndefined(facts), outputSettings, maxWaitMs, deadlineAt, charged };
};

/** The error of an item that has brought its payment, with what to do if nothing more can come of it. */
function withWayOut(error: unknown): unknown {
	// A failed task is submitted anew when it comes back.
	if (!(error instanceof GatewayError) || hasCode(error, 'taskFailed')) return error;
	const { description } = error.problem;
	return withDetails(error, { description: `${description} ${GENERATE_ANEW}`.trim() });
}

const GENERATE_ANEW =
	"The input item has failed before and names what it was charged for, so nothing was sent. To generate its image anew all the same, remove 'details' from the item.";
