import { GatewayError, withDetails } from '../util/gatewayError';
import { withoutInlineImages } from '../util/inlineImages';
import { afterColon } from '../protocol/errorBody';
import { isFinished, statusGroup } from '../protocol/status';
import { taskName, type KnownTask, type TaskState } from '../protocol/task';

/**
 * The error of a finished task without an image; undefined for other tasks. Images count only in
 * the success group (docs/protocol.md, "Task states").
 */
export function taskError(state: TaskState): GatewayError | undefined {
	if (!isFinished(state.group)) return undefined;
	const { taskId, taskType, status } = state;
	const ended = `The ${taskName(state)} ended with the status "${status}"`;
	const known = { taskId, taskType, status };
	if (state.group === 'unsuccessful') {
		return new GatewayError({
			...known,
			message: ended + afterColon(state.reason),
			description:
				"The gateway couldn't create the image. Change the prompt or the parameters, and submit it again.",
		});
	}
	if (state.images.length > 0) return undefined;
	return new GatewayError({
		...known,
		message: `${ended} but without an image`,
		description: "Ask the gateway's operator about this task. You may have been charged.",
		response: shownResponse(state),
	});
}

/** The longest part of a response that an error keeps, in characters. */
const LONGEST_RESPONSE = 2048;

/** The response about a task, which may have its image in an unknown field or beside an unknown status. */
export const shownResponse = ({ response }: TaskState): string =>
	JSON.stringify(withoutInlineImages(response)).slice(0, LONGEST_RESPONSE);

/** The error of a task that failed at its submit with a reason: a poll says no more. */
export function failedAtOnce(
	task: KnownTask & { status: string; reason?: string },
): GatewayError | undefined {
	if (task.reason === undefined) return undefined;
	return taskError({ ...task, group: 'unsuccessful', images: [], response: {} });
}

/**
 * The error of waiting for a task, with the images that the response to its submit had beside a
 * status that is unknown: they may be the result.
 */
export function withPreviews(error: unknown, { previews = [] }: { previews?: string[] }): unknown {
	if (!(error instanceof GatewayError) || previews.length === 0) return error;
	const listed = previews.join(', ').slice(0, LONGEST_RESPONSE);
	const description = `${error.problem.description} The response to the submit listed ${listed}`;
	return withDetails(error, { description });
}

/** Whether an error of waiting means that the task has failed. */
export function hasFailed(error: unknown): boolean {
	return error instanceof GatewayError && statusGroup(error.problem.status) === 'unsuccessful';
}

/**
 * Whether a task has no image to get: it has failed, has finished without one, or the gateway
 * doesn't know it.
 *
 * @param error of waiting for it
 */
export function isOutOfReach(error: unknown): boolean {
	if (!(error instanceof GatewayError)) return false;
	const { status, httpCode } = error.problem;
	return isFinished(statusGroup(status)) || httpCode === 404;
}
