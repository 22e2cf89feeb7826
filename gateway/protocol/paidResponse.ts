import { quote } from '../util/text';
import type { JsonObject } from '../util/json';
import { reasonIn } from './errorBody';
import type { GoodResponse } from './outcome';
import type { TaskType } from './requestPlan';
import {
	namesTask,
	readCreated,
	readImages,
	readStatus,
	readTaskAddress,
	readTaskId,
	readUsage,
	type ImageResult,
} from './responseFields';
import { statusGroup } from './status';
import { isInline, type KnownTask } from './task';

/** A task that the gateway has accepted. */
export interface AcceptedTask extends KnownTask {
	status: string;
	/** A date in ISO 8601. */
	submittedAt: string;
	/** The address at which the gateway says to ask for it, as it was sent. */
	statusUrl?: string;
	/** The reason if the gateway responded at once that the task has failed. */
	reason?: string;
}

/**
 * What a paid response is: finished images, perhaps with their task; or an open task; or a task that
 * has failed, with its reason.
 */
export interface PaidResponse {
	images?: ImageResult[];
	task?: AcceptedTask;
	/** Unix seconds. */
	created?: number;
	/** What the request used up, as the gateway counts it. */
	usage?: JsonObject;
}

/** How the request of a response was sent. */
interface SentRequest {
	taskType: TaskType;
	asynchronous: boolean;
	/** A date in ISO 8601. */
	submittedAt: string;
}

/**
 * Reads the response to a paid request. Images count only in the success group (docs/protocol.md,
 * "Task states"); those beside an unknown word count where there is no task to poll.
 *
 * @returns undefined for an unusable response: no image, and nothing by which a task can be polled
 */
export function readPaidResponse(
	{ json, headers }: Pick<GoodResponse, 'json' | 'headers'>,
	{ taskType, asynchronous, submittedAt }: SentRequest,
): PaidResponse | undefined {
	const images = readImages(json);
	const spelled = readStatus(json);
	const group = statusGroup(spelled ?? (images.length > 0 ? 'success' : 'queued'));
	const statusUrl = readTaskAddress(json, headers);
	const taskId = readTaskId(json) ?? idOfAddress(statusUrl);
	const isTask = asynchronous || spelled !== undefined || namesTask(json);
	const status = quote(spelled ?? (images.length > 0 ? 'completed' : 'queued'));
	const task =
		taskId === undefined ? undefined : { taskId, taskType, status, submittedAt, statusUrl };
	const isResult = group === 'success' || (group === 'unknown' && !(asynchronous && task));
	if (images.length > 0 && isResult) {
		// Recorded with its images, because the task lists new addresses when these expire.
		const isListed = asynchronous && spelled !== undefined && !images.some(isInline);
		const found = { images, created: readCreated(json), usage: readUsage(json) };
		return isListed && task !== undefined ? { ...found, task } : found;
	}
	if (task === undefined || !isTask) return undefined;
	return { task: group === 'unsuccessful' ? { ...task, reason: reasonIn(json) } : task };
}

/** The ID at the end of a task's address. */
function idOfAddress(address = ''): string | undefined {
	return address
		.split(/[?#]/)[0]
		?.split('/')
		.findLast((part) => part !== '');
}
