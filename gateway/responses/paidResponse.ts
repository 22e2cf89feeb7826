import { readBill } from './cost';
import { readRequestId } from './requestId';
import { mergedFacts, type ResultFacts } from './resultFacts';
import type { GoodResponse } from '../protocol/outcome';
import type { TaskType } from '../protocol/taskType';
import { isFinished } from '../protocol/status';
import {
	idOfAddress,
	layersOf,
	namesTask,
	readStatus,
	readTaskAddress,
	readTaskId,
	saysRefusal,
	taskIdsIn,
	type ResultFile,
} from './responseFields';
import { addressesOfImages, isInline, readTaskState, type Task } from './task';

/**
 * What was paid for, as the response says: finished images, perhaps with their task; or a task, which is
 * open or has failed, perhaps with its reason.
 */
export type Receipt = ResultFacts & {
	/** The number of images that were requested. */
	requested?: number;
} & ({ kind: 'images'; images: ResultFile[]; task?: Task } | { kind: 'task'; task: Task });

/** What the gateway says of a request itself: its bill, and its number. */
export function readBilling({ json, headers }: Pick<GoodResponse, 'json' | 'headers'>) {
	return { requestId: readRequestId(headers), ...readBill(layersOf(json), headers) };
}

/** More IDs than a response can mean. */
const MOST_MENTIONED = 100;

/** How the request of a response was sent. */
interface SentRequest {
	taskType: TaskType;
	asynchronous: boolean;
	/** A date in ISO 8601. */
	submittedAt: string;
	/** The addresses in it. */
	sent?: string[];
}

/**
 * Reads the response to a paid request. Images count only in the success group (docs/protocol.md,
 * "Task states"). Those beside an unknown word count where there is no task to poll; otherwise they
 * are kept, for errors to name.
 *
 * @returns undefined for an unusable response: no image, and nothing by which a task can be polled
 */
export function readPaidResponse(
	{ json, headers }: Pick<GoodResponse, 'json' | 'headers'>,
	{ taskType, asynchronous, submittedAt, sent }: SentRequest,
): Receipt | undefined {
	const statusUrl = readTaskAddress(json, headers);
	const taskId = readTaskId(json) ?? idOfAddress(statusUrl);
	const own = { taskId: taskId ?? '', taskType, statusUrl, sent };
	const state = readTaskState(own, json, headers, headers);
	const { images, group, reason } = state;
	const facts = mergedFacts(state, {});
	const isResult = images.length > 0 && (group === 'success' || group === 'unknown');
	// There is no task to poll, and nothing else is looked for.
	if (isResult && !asynchronous) return { kind: 'images', images, ...facts };
	const hasStatus = readStatus(json) !== undefined;
	const status = state.status === '' ? 'queued' : state.status;
	const isOpen = group === 'unknown' && asynchronous && taskId !== undefined;
	const isReturned = isResult && !isOpen;
	const ids = taskIdsIn(json).filter((id) => id !== taskId);
	// The images of a finished response may be in a place that nobody knows.
	const isKept = !isReturned && (group === 'unknown' || isFinished(group));
	const mentioned = [...new Set([...ids, ...(isKept ? addressesOfImages(state) : [])])];
	const shown = { status, submittedAt, mentioned: mentioned.slice(0, MOST_MENTIONED) };
	const task = taskId === undefined ? undefined : { ...own, ...shown, taskId };
	if (isReturned) {
		// Recorded with its images, because the task lists new addresses when these expire.
		const isListed = hasStatus && !images.some(isInline);
		return { kind: 'images', images, ...facts, task: isListed ? task : undefined };
	}
	const isTask = hasStatus || statusUrl !== undefined || namesTask(json);
	if (task === undefined || !(isTask || (asynchronous && !saysRefusal(json)))) return undefined;
	const failed = group === 'unsuccessful' ? reason : undefined;
	return { kind: 'task', task: { ...task, reason: failed }, ...facts };
}
