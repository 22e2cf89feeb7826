import type { INodeExecutionData } from 'n8n-workflow';
import { alsoNamed, GatewayError, hasCode, isInline, isOutOfReach } from '../../../gateway';
import { laterBill } from '../../../util/bill';
import { afterColon, capital } from '../../../util/text';
import { withoutUndefined } from '../../../util/json';
import { imageItems, itemPerImage, withTarget } from '../images/imageItems';
import type { PaymentResult } from '../payments/payment';
import { isFailed } from '../run/nodeErrors';
import { rowName } from '../run/rowNames';
import { costOf } from '../run/tally';
import type { TaskWait } from '../tasks/waitEntries';
import type { Batch, PaidJob, SendJob } from './prepareItem';

/** In milliseconds. After it, the recorded addresses of the images are used. */
const LONGEST_RECHECK_MS = 5000;

/**
 * The images of an item, from the response or its task, as output items.
 *
 * @returns no items if the task is still open and the execution is to be suspended
 */
export async function collectImages(
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
	if (!images.some(isInline)) return await imageItems(run, images, shown, target);
	// Recorded without the settings of this try: a later one may have other input fields and names.
	const items = await itemPerImage(run, images, shown, { ...target, naming: undefined });
	if (!items.some(isFailed)) paymentLog.update(itemIndex, { items, images: undefined });
	return withTarget(items, facts, target);
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
	const waiting = run.gateway.waitFor(waitOf(paid, task, job), LONGEST_RECHECK_MS);
	const now = await waiting.catch(() => undefined);
	// A gateway that forgets images one by one must not take along those that have come before.
	const isWhole = now?.kind === 'finished' && now.state.images.length >= (paid.images?.length ?? 0);
	return isWhole ? { ...paid, images: now.state.images } : paid;
}

/**
 * Waits for the task that was paid for.
 *
 * @returns the task with its images; undefined if the execution is to be suspended until it
 *   finishes
 * @throws GatewayError, which the payment records, also where the deadline has passed
 */
async function finishTask(
	{ run, paymentLog, suspendAfterMs, waits }: Batch,
	paid: PaymentResult,
	job: PaidJob | SendJob,
): Promise<PaymentResult | undefined> {
	const { task, lost } = paid;
	if (task === undefined) return {};
	const { itemIndex } = job;
	// An earlier try found no task or no image; this one polls again.
	if (lost === true) paymentLog.update(itemIndex, { lost: false });
	try {
		const result = await run.gateway.waitFor(waitOf(paid, task, job), suspendAfterMs);
		if (result.kind === 'open') {
			if (result.error !== undefined) throw result.error;
			waits[itemIndex] = result.wait;
			return undefined;
		}
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
	{ facts: told, cost, costCurrency }: PaymentResult,
	task: NonNullable<PaymentResult['task']>,
	{ target, maxWaitMs }: PaidJob | SendJob,
): TaskWait => {
	const deadlineAt = Date.now() + maxWaitMs;
	const facts = { ...told, cost, costCurrency };
	return { task, facts: withoutUndefined(facts), target, maxWaitMs, deadlineAt, charged: 'yes' };
};
