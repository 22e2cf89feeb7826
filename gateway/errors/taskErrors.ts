import { GatewayError } from '../util/gatewayError';
import { isFinished } from '../protocol/status';
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
