import type { INodeExecutionData } from 'n8n-workflow';
import { paidBefore } from '../../../gateway';
import { quote } from '../../../util/text';
import { withTarget } from '../images/imageItems';
import type { PaymentResult } from '../payments/payment';
import { taskItem } from '../tasks/taskReference';
import type { Batch, DryRunJob, Job, PaidJob, SendJob } from './prepareItem';
import { collectImages } from './collectImages';
import { dryRunItem } from './dryRun';

/** Does the job of an item. @returns its output items */
export async function executeItem(batch: Batch, job: Job): Promise<INodeExecutionData[]> {
	if (job.kind === 'dryRun') return [showRequest(batch, job)];
	const { target } = job;
	const paid = await payForItem(batch, job);
	// As recorded with the payment: this try's request may differ.
	const { facts = {}, items, task, images } = paid;
	if (task !== undefined) hintSameTask(batch, job.itemIndex, task.taskId);
	if (items !== undefined) return withTarget(items, facts, target);
	const { cost, costCurrency } = paid;
	const submitted = task && taskItem({ task, facts: { ...facts, cost, costCurrency }, target });
	if (submitted !== undefined && images === undefined) batch.progress?.add(submitted);
	// A task that has failed at once is an error in every mode: Image Wait couldn't name the reason.
	const isOpen = images === undefined && task?.reason === undefined;
	if (job.mode === 'submit' && submitted !== undefined && isOpen) return [submitted];
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
	if (job.kind === 'paid') paidBefore(paymentLog, itemIndex);
	else {
		await gateway.pay(job.order, itemIndex).catch(async (error: unknown) => {
			throw await checker.explain(error, job.model);
		});
	}
	return paymentLog.resultOf(itemIndex);
}

function hintSameTask({ run, itemOfTask }: Batch, itemIndex: number, taskId: string): void {
	const first = itemOfTask.get(taskId) ?? itemIndex;
	itemOfTask.set(taskId, first);
	if (first === itemIndex) return;
	run.hints.add(
		`The gateway gave items ${first + 1} and ${itemIndex + 1} the same task ID, ${quote(taskId)}. Check whether the images match their prompts.`,
	);
}
