import { LONGEST_EXCERPT, afterColon } from '../../util/text';
import { GatewayError, hasCode, withDetails, type Problem } from '../protocol/gatewayError';
import { withoutInlineImages } from '../../util/inlineImages';
import { namedAddresses } from '../../util/httpAddresses';
import { errorTypeIn } from '../responses/errorBody';
import { withRequestId } from '../responses/requestId';
import { isFinished, statusGroup } from '../protocol/status';
import {
	addressesOfImages,
	reasonWithoutImage,
	taskName,
	type Task,
	type TaskState,
} from '../responses/task';

/**
 * The error of a finished task without an image; undefined for other tasks. Images count only in
 * the success group (docs/protocol.md, "Task states").
 */
export function taskError(state: TaskState): GatewayError | undefined {
	const hasFailed = state.group === 'unsuccessful';
	if (!isFinished(state.group) || (!hasFailed && state.images.length > 0)) return undefined;
	const { taskId, taskType, status, requestId, cost, costCurrency } = state;
	const ended = `The ${taskName(state)} ended with the status "${status}"`;
	const advice = hasFailed
		? `The gateway couldn't create the image. Change the prompt or the parameters; another submit is charged again.${namedImages(state)}`
		: `Ask the gateway's operator about this task, which counts as charged.${namedAddresses(state.response)}`;
	const problem: Problem = {
		...{ taskId, taskType, status, requestId, cost, costCurrency },
		errorType: errorTypeIn(state.response),
		message: hasFailed
			? ended + afterColon(state.reason)
			: `${ended} but without an image${afterColon(reasonWithoutImage(state))}`,
		description: withRequestId(advice, requestId),
		response: hasFailed ? undefined : shownResponse(state),
	};
	return new GatewayError(problem, hasFailed ? 'taskFailed' : 'noImage');
}

/** The error of a task that the gateway doesn't know, by its own word for the status. */
export function lostTaskError(state: TaskState): GatewayError {
	const { taskId, taskType, status, requestId } = state;
	const problem: Problem = {
		message: `The gateway doesn't know the ${taskName(state)}: its status is "${status}"`,
		description: `Gateways forget tasks after hours or days, and another account's task is unknown to this one. If you submitted it lately, ask the gateway's operator about it: you may have been charged.${namedAddresses(state.response)}`,
		taskId,
		taskType,
		status,
		requestId,
		response: shownResponse(state),
	};
	return new GatewayError(problem, 'taskLost');
}

/** The addresses of what a task lists as images, though it has failed or isn't finished. */
function namedImages(state: TaskState): string {
	const urls = addressesOfImages(state).join(' , ').slice(0, LONGEST_EXCERPT);
	return urls === '' ? '' : ` The response names ${urls}`;
}

/**
 * The response about a task, which may have its image in an unknown field or beside an unknown
 * status.
 */
export const shownResponse = ({ response }: Pick<TaskState, 'response'>): string =>
	JSON.stringify(withoutInlineImages(response)).slice(0, LONGEST_EXCERPT);

/**
 * The error of a task that the response to its submit calls failed; undefined for other tasks. With a
 * reason, a poll says no more; without one, it may, or may not find the task.
 */
export function errorOfFailedSubmit(task: Task): GatewayError | undefined {
	const { reason, status = 'failed' } = task;
	if (reason === undefined && statusGroup(task.status) !== 'unsuccessful') return undefined;
	const error = taskError({
		...task,
		status,
		group: 'unsuccessful',
		images: [],
		response: {},
	});
	return error && withMentioned(error, task);
}

/**
 * What the response to a submit names besides its task, as the end of a text: the images may be
 * there.
 */
export const alsoNamed = ({ mentioned = [] }: { mentioned?: string[] } = {}): string =>
	mentioned.length === 0
		? ''
		: ` The response to the submit also names ${mentioned.join(', ').slice(0, LONGEST_EXCERPT)}`;

/** The error of a task, with what the response to its submit also names. */
export const withMentioned = (error: GatewayError, task: { mentioned?: string[] }): GatewayError =>
	withDetails(error, { description: error.problem.description + alsoNamed(task) });

/**
 * The error of a task that is still open at the deadline of its wait.
 *
 * @param last the last status and the error of the last poll; neither if there was no time to poll
 */
export function deadlineError(
	task: Task,
	maxWaitMs: number,
	{ state, error }: { state?: TaskState; error?: GatewayError },
): GatewayError {
	// A completed task without an image was only polled again because it may list one later.
	if (error !== undefined && hasCode(error, 'noImage')) return error;
	const { taskId, taskType } = task;
	const seconds = Math.round(maxWaitMs / 1000);
	if (state === undefined && error === undefined) {
		const problem: Problem = {
			message: `The ${taskName(task)} couldn't be checked within ${seconds} s`,
			description:
				'Other requests took all the time, so the task may have finished. Nothing is lost: get it by its ID later, or wait longer and send more requests per second.',
			settings: ['task', 'maxWait', 'requestsPerSecond'],
			taskId,
			taskType,
		};
		return new GatewayError(problem, 'taskOpen');
	}
	let lastSeen = '';
	if (state?.group === 'unknown') {
		const said = afterColon(reasonWithoutImage(state));
		lastSeen = `; its status "${state.status}" is unknown to this node${said}`;
	} else if (state !== undefined) lastSeen = `; its last status was "${state.status}"`;
	if (error !== undefined) lastSeen += `; the last status check failed: ${error.message}`;
	const problem: Problem = {
		message: `The ${taskName(task)} was still open after ${seconds} s${lastSeen}`,
		description: `The task continues at the gateway. Get it by its ID later, or wait longer.${state === undefined ? '' : namedImages(state)}`,
		settings: ['task', 'maxWait'],
		taskId,
		taskType,
		status: state?.status,
		response:
			error?.problem.response ?? (state?.group === 'unknown' ? shownResponse(state) : undefined),
	};
	return new GatewayError(problem, 'taskOpen');
}

/**
 * Whether a task has no image to get: it has failed, has finished without one, or the gateway
 * doesn't have it.
 *
 * @param error of waiting for it
 */
export const isOutOfReach = (error: unknown): boolean =>
	hasCode(error, 'taskFailed', 'noImage', 'taskLost');
