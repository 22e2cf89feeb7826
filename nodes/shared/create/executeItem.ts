import type { INodeExecutionData } from 'n8n-workflow';
import { readPaidResponse } from '../../../gateway/protocol/paidResponse';
import { requestedImages, taskTypeOf } from '../../../gateway/protocol/requestPlan';
import { withFullAddresses } from '../../../gateway/protocol/task';
import { UnknownOutcomeError } from '../../../gateway/util/gatewayError';
import { quote } from '../../../gateway/util/text';
import { withTarget } from '../images/imageItems';
import type { PaymentResult } from '../payments/payment';
import { addCost, addImages, addReused } from '../run/tally';
import { taskItem } from '../tasks/taskReference';
import type { Batch, PreparedItem } from './imageBatch';
import { collectImages } from './collectImages';

/** Pays for an item, unless an earlier try has, and returns its output items. */
export async function executeItem(batch: Batch, item: PreparedItem): Promise<INodeExecutionData[]> {
	const { itemIndex, mode, target } = item;
	const reused = batch.paymentLog.has(itemIndex);
	const paid = await payForItem(batch, item, reused);
	// As recorded with the payment: this try's request may differ.
	const { facts = item.facts, task, images } = paid;
	if (paid.items !== undefined) return withTarget(paid.items, facts, target);
	const submitted = task && taskItem({ task, facts, target });
	if (submitted !== undefined && images === undefined) batch.progress?.add(submitted);
	// A task that has failed at once is an error in every mode: Image Wait couldn't name the reason.
	const isOpen = images === undefined && task?.reason === undefined;
	if (mode === 'submit' && submitted !== undefined && isOpen) return [submitted];
	return await collectImages(batch, paid, { ...item, facts }, reused);
}

/**
 * Pays for an item, unless an earlier try has, and adds its cost to the tally; also where the
 * outcome is unknown, because it may have been charged.
 */
async function payForItem(
	batch: Batch,
	item: PreparedItem,
	reused: boolean,
): Promise<PaymentResult> {
	const { run, checker, paymentLog } = batch;
	const { tally } = run;
	const { itemIndex } = item;
	const add = reused ? addReused : addCost;
	try {
		const paid = paymentLog.reuse(itemIndex) ?? (await sendRequest(batch, item));
		const { facts = item.facts, items, task } = paid;
		add(tally, facts.estimatedCost);
		if (reused) tally.reusedItems += 1;
		// Images of a task, and images with an address, are added to the tally when they are returned.
		if (items !== undefined) addImages(tally, facts, items.length);
		if (task === undefined) return paid;
		tally.tasks += 1;
		hintSameTask(batch, itemIndex, task.taskId);
		return paid;
	} catch (error) {
		if (error instanceof UnknownOutcomeError) {
			// The unknown request may be an earlier try's, with other parameters.
			const facts = paymentLog.factsOf(itemIndex) ?? item.facts;
			paymentLog.update(itemIndex, { facts });
			add(tally, facts.estimatedCost);
		}
		throw await checker.explain(error, item.facts.model ?? '');
	}
}

/** Sends the request of an item that no payment was found for. */
async function sendRequest(
	{ run, paymentLog }: Batch,
	{ itemIndex, plan, facts }: PreparedItem,
): Promise<PaymentResult> {
	// Doesn't happen: an item without a plan has a claimed payment, which no other item gets.
	if (plan === undefined) return {};
	const requested = requestedImages(plan);
	return await paymentLog.pay(itemIndex, plan, run, (response) => {
		const found = readPaidResponse(response, {
			taskType: taskTypeOf(plan),
			asynchronous: plan.call === 'submit',
			submittedAt: new Date().toISOString(),
		});
		const images = found?.images && withFullAddresses(found.images, run.address.baseUrl);
		return found && { ...found, images, facts, requested };
	});
}

function hintSameTask({ run, itemOfTask }: Batch, itemIndex: number, taskId: string): void {
	const first = itemOfTask.get(taskId) ?? itemIndex;
	itemOfTask.set(taskId, first);
	if (first === itemIndex) return;
	run.hints.add(
		`The gateway gave items ${first} and ${itemIndex} the same task ID, ${quote(taskId)}. Check whether the images match their prompts.`,
	);
}
