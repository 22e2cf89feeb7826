import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from './json';
import type { TaskType } from './plan';
import { GatewayError } from './problem';
import { firstText, quote } from './errorMap';
import { isFinished, statusGroup, type StatusGroup } from './status';

/** A task that was paid for: the thing that must never be lost. */
export interface TaskRef {
	taskId: string;
	taskType: TaskType;
}

/** One image of a result (specification, 2.1). */
export interface ImageResult {
	url: string;
}

/** What a task query says (specification, 2.1, 2.2 and section 3). */
export interface TaskState extends TaskRef {
	status: string;
	group: StatusGroup;
	images: ImageResult[];
	/** Unix seconds. */
	created?: number;
	model?: string;
	/** Why the task is unsuccessful, in the gateway's words, where it says so. */
	reason?: string;
	/** The whole answer. */
	response: JsonObject;
}

/**
 * The images of an answer: every `data[].url` (specification, 2.1), in order. Also takes images
 * that come inline (`b64_json`), which some gateways send when asked to by `response_format`.
 */
export function readImages(body: JsonObject): ImageResult[] {
	if (!Array.isArray(body.data)) return [];
	return body.data.flatMap((entry) => {
		if (!isJsonObject(entry)) return [];
		const url = nonEmptyString(entry.url);
		if (url !== undefined) return [{ url: url.trim() }];
		const inline = nonEmptyString(entry.b64_json);
		return inline === undefined ? [] : [{ url: `data:;base64,${inline}` }];
	});
}

/** The ID in the answer to a submit (specification, 2.2), or undefined if there is none. */
export function readTaskId(body: JsonObject): string | undefined {
	const id = typeof body.id === 'number' ? String(body.id) : nonEmptyString(body.id);
	return id?.trim();
}

/** Reads the answer to a task query. Nothing in it is required: what is missing is left out. */
export function readTaskState(task: TaskRef, body: JsonObject): TaskState {
	const status = typeof body.status === 'string' ? quote(body.status) : '';
	const error = body.error;
	return {
		...task,
		status,
		group: statusGroup(body.status),
		images: readImages(body),
		created: finiteNumber(body.created),
		model: nonEmptyString(body.model),
		reason: firstText([isJsonObject(error) ? error.message : error, body.message, body.reason]),
		response: body,
	};
}

/** How a task is called in a sentence: always with its ID, so that it can be found again. */
export function taskName({ taskType, taskId }: TaskRef): string {
	return `${taskType} task ${quote(taskId)}`;
}

/**
 * The error of a finished task that has no image to show for it, or undefined if it has.
 * (Specification, section 3: images are read only once the task is in the success group.)
 */
export function taskError(state: TaskState): GatewayError | undefined {
	if (!isFinished(state.group)) return undefined;
	const { taskId, taskType, status } = state;
	if (state.group === 'unsuccessful') {
		return new GatewayError({
			message: `The ${taskName(state)} ended as "${status}"${state.reason === undefined ? '' : `: ${state.reason}`}`,
			description:
				'The gateway could not make the image. Change the prompt or the parameters and submit it anew.',
			taskId,
			taskType,
			status,
		});
	}
	if (state.images.length > 0) return undefined;
	return new GatewayError({
		message: `The ${taskName(state)} ended as "${status}" but without any image`,
		description: 'Ask the operator of the gateway about this task; it may have been charged.',
		taskId,
		taskType,
		status,
	});
}
