import type { INodeExecutionData } from 'n8n-workflow';
import { withoutUndefined } from '../../../gateway/protocol/requestPlan';
import { isInline } from '../../../gateway/protocol/task';
import { hasFailed, hasNothingToGive } from '../../../gateway/errors/taskErrors';
import { DeadlineError } from '../../../gateway/util/gatewayError';
import { costShare, imageItems, type ImageTarget } from '../images/imageItems';
import type { Paid } from '../run/paid';
import type { PaidRequests } from '../run/paidRequests';
import type { Run } from '../run/runContext';
import type { WaitJob } from '../images/waitJobs';
import type { TaskPoller } from '../images/pollTasks';
import { ageOf } from '../images/taskReference';

/** What is to become of a paid request. */
export interface Collection {
	facts: { model: string; prompt: string; estimatedCost?: number };
	target: ImageTarget;
	maxWaitMs: number;
	/** How long to wait at the most before the execution is suspended; undefined: it is not. */
	windowMs?: number;
}

/**
 * Waits for the task where there is one, and gets the images.
 *
 * @returns the output items, or what is left to wait for where the execution is to be suspended
 */
export async function collectImages(
	{ run, poller, paidRequests }: { run: Run; poller: TaskPoller; paidRequests: PaidRequests },
	paid: Paid,
	{ facts: known, target, maxWaitMs, windowMs = Infinity }: Collection,
): Promise<INodeExecutionData[] | WaitJob> {
	const { model, prompt, estimatedCost } = known;
	let { task, images, created } = paid;
	// A synchronous request whose response is a task is waited for as well: it is paid.
	if (images === undefined && task !== undefined) {
		const { taskId, taskType, status, submittedAt } = task;
		// An earlier try was told that nothing is to be had: whether that is so is asked again now.
		if (paid.lost === true) paidRequests.note(target.itemIndex, { lost: false });
		const toWaitFor: WaitJob = {
			task: { taskId, taskType },
			facts: withoutUndefined(known),
			target,
			submittedAt,
			maxWaitMs,
			deadlineAt: Date.now() + maxWaitMs,
			status,
			sightings: {},
		};
		// Nothing that takes time before the execution is suspended.
		if (windowMs === 0) return toWaitFor;
		const isPart = windowMs < maxWaitMs;
		const limits = {
			sightings: toWaitFor.sightings,
			maxWaitMs: Math.min(windowMs, maxWaitMs),
			chosenMs: maxWaitMs,
			ageMs: ageOf(submittedAt),
		};
		const state = await poller.wait(task, limits, model).catch(async (error: unknown) => {
			if (isPart && error instanceof DeadlineError) return undefined;
			if (hasFailed(error)) paidRequests.note(target.itemIndex, { failed: true });
			else if (hasNothingToGive(error, taskType))
				paidRequests.note(target.itemIndex, { lost: true });
			return await Promise.reject(error);
		});
		if (state === undefined) return toWaitFor;
		task = { ...task, status: state.status };
		({ images, created } = state);
		paidRequests.note(target.itemIndex, { task, images, created });
	}
	const { taskId, taskType, status } = task ?? {};
	const found = images ?? [];
	run.tally.images += found.length;
	const share = costShare(estimatedCost, found.length);
	const facts = { model, created, taskId, taskType, status, prompt, estimatedCost: share };
	const items = await imageItems(run, found, facts, target);
	const isWhole = items.every(({ json }) => json.error === undefined);
	if (isWhole && found.some(isInline)) {
		paidRequests.note(target.itemIndex, { items, images: undefined });
	}
	return items;
}
