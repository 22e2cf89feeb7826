import { DeadlineError, GatewayError } from '../util/gatewayError';
import { isFinished, statusGroup } from '../protocol/status';
import { taskName, type TaskState } from '../protocol/task';

/**
 * The error of a finished task that has no image to show for it, or undefined if it has.
 * (Specification, section 3: images are read only once the task is in the success group.)
 */
export function taskError(state: TaskState): GatewayError | undefined {
	if (!isFinished(state.group)) return undefined;
	const { taskId, taskType, status } = state;
	if (state.group === 'unsuccessful') {
		return new GatewayError({
			message: `The ${taskName(state)} ended with the status "${status}"${state.reason === undefined ? '' : `: ${state.reason}`}`,
			description:
				"The gateway couldn't create the image. Change the prompt or the parameters, and submit it again.",
			taskId,
			taskType,
			status,
		});
	}
	if (state.images.length > 0) return undefined;
	return new GatewayError({
		message: `The ${taskName(state)} ended with the status "${status}" but without an image`,
		description: "Ask the gateway's operator about this task. You may have been charged.",
		taskId,
		taskType,
		status,
	});
}

/** Whether a task has ended as unsuccessful. @param error of waiting for it */
export function hasFailed(error: unknown): boolean {
	return error instanceof GatewayError && statusGroup(error.problem.status) === 'unsuccessful';
}

/**
 * Whether nothing is to be had of a task any more: it has failed, has finished without an image, or
 * the gateway does not know it. One of the other kind is there all the same.
 *
 * @param error of waiting for it
 * @param taskType under which it was polled
 */
export function hasNothingToGive(error: unknown, taskType: string): boolean {
	if (!(error instanceof GatewayError) || error instanceof DeadlineError) return false;
	const { status, httpCode, taskType: found } = error.problem;
	const isOfOtherKind = found !== undefined && taskType !== 'auto' && found !== taskType;
	return isFinished(statusGroup(status)) || (httpCode === 404 && !isOfOtherKind);
}
