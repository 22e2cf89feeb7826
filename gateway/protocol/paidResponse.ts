import { finiteNumber, type JsonObject } from '../util/json';
import type { TaskType } from './requestPlan';
import {
	isInline,
	readImages,
	readTaskId,
	readTaskState,
	type ImageResult,
	type KnownTask,
} from './task';

/** A task that the gateway has accepted. */
export interface AcceptedTask extends KnownTask {
	status: string;
	/** A date in ISO 8601. */
	submittedAt: string;
	/** The reason if the gateway responded at once that the task has failed. */
	reason?: string;
}

/** What an accepted image request has led to: images, a task, or both. */
export interface PaidResponse {
	task?: AcceptedTask;
	images?: ImageResult[];
	/** Unix seconds. */
	created?: number;
}

/** How the request of a response was sent. */
interface SentRequest {
	taskType: TaskType;
	asynchronous: boolean;
	/** A date in ISO 8601. */
	submittedAt: string;
}

/**
 * The images or the task in the response to a paid request; undefined if it contains neither. In
 * asynchronous mode an ID is enough, because without it the images would be out of reach.
 */
export function readPaidResponse(
	body: JsonObject,
	{ taskType, asynchronous, submittedAt }: SentRequest,
): PaidResponse | undefined {
	const images = readImages(body);
	if (images.length > 0) {
		const paid = { images, created: finiteNumber(body.created) };
		// Recorded with its images, because the task lists new addresses when these expire.
		const isTask = asynchronous && typeof body.status === 'string' && !images.some(isInline);
		const taskId = isTask ? readTaskId({ ...body, data: undefined }) : undefined;
		if (taskId === undefined) return paid;
		const { status } = readTaskState({ taskId, taskType }, body);
		return { ...paid, task: { taskId, taskType, status, submittedAt } };
	}
	const taskId = readTaskId(body);
	if (taskId === undefined) return undefined;
	const { status, group, reason } = readTaskState({ taskId, taskType }, body);
	if (status === '' && !asynchronous) return undefined;
	const task = { taskId, taskType, status: status === '' ? 'queued' : status, submittedAt };
	return { task: group === 'unsuccessful' ? { ...task, reason } : task };
}
