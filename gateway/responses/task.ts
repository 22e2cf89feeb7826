import type { JsonObject } from '../../util/json';
import { firstText, quote } from '../../util/text';
import { readBill, type Bill } from './cost';
import { reasonIn } from './errorBody';
import { reasonsIn } from './reasons';
import { readRequestId } from './requestId';
import type { TaskType } from '../protocol/requestPlan';
import {
	layersOf,
	readCreated,
	readImages,
	readModelName,
	readStatus,
	readUsage,
	stateIn,
	taskIdsIn,
	withoutImageIn,
	type ImageResult,
} from './responseFields';
import { statusGroup, type StatusGroup } from '../protocol/status';
import { absoluteAddress } from '../protocol/url';

/** A task that was paid for. */
export interface Task {
	taskId: string;
	/** The kind of task, whose endpoint has it; undefined if it is unknown. */
	taskType?: TaskType;
	/** Its address, if the gateway named one or it was found there; only followed at the gateway. */
	statusUrl?: string;
	/** The last status, in the gateway's spelling. */
	status?: string;
	/** A date in ISO 8601. */
	submittedAt?: string;
	/** The gateway's reason, if the task has failed. */
	reason?: string;
	/**
	 * What else the response to the submit names, in items `alsoNamed`: IDs, which may be those of other
	 * tasks, and the addresses of images beside a status that is unknown, which may be all there ever is.
	 */
	mentioned?: string[];
}

/** A key for a task: a generation and an edit may have the same ID. */
export const taskKey = ({ taskId, taskType }: Task): string => `${taskType ?? 'any'} ${taskId}`;

/**
 * The time since a task was submitted, in milliseconds.
 *
 * @returns undefined if it is unknown
 */
export function ageOf({ submittedAt = '' }: Task): number | undefined {
	const at = Date.parse(submittedAt);
	return Number.isNaN(at) ? undefined : Date.now() - at;
}

/** Whether an image came inside the response, so that its address is a `data:` URL. */
export const isInline = ({ url }: ImageResult): boolean => url.startsWith('data:');

/** The same images with full addresses, which items and errors name. */
export const withFullAddresses = (images: ImageResult[], baseUrl: string): ImageResult[] =>
	images.map((image) => {
		const full = (url: string) => absoluteAddress(url, baseUrl) ?? url;
		const { url, address } = image;
		if (!isInline(image)) return { ...image, url: full(url) };
		return address === undefined ? image : { ...image, address: full(address) };
	});

/** The result of a task query (docs/protocol.md, "Image result", "Task" and "Task states"). */
export interface TaskState extends Task, Bill {
	status: string;
	group: StatusGroup;
	images: ImageResult[];
	/** Unix seconds. */
	created?: number;
	model?: string;
	/** What the request used up, as the gateway counts it. */
	usage?: JsonObject;
	/** Why some of the requested images are missing, if there are others. */
	refusal?: string;
	/** The number of the request whose response this is. */
	requestId?: string;
	/** The whole response. */
	response: JsonObject;
}

/**
 * The task ID in the response to a query if it differs from the queried one. An object can have an
 * ID of its own beside that of its task.
 */
export function otherTaskId(taskId: string, body: JsonObject): string | undefined {
	const ids = taskIdsIn(body);
	return ids.includes(taskId) ? undefined : ids[0];
}

/**
 * Reads the response to a task query, in which no field is required. Images without any status are a
 * result: there is nothing left to wait for.
 *
 * @param headers of the response, with lower-case names
 */
export function readTaskState(
	{ taskId, taskType, statusUrl }: Task,
	body: JsonObject,
	headers: Record<string, string> = {},
): TaskState {
	const layers = layersOf(body);
	const images = readImages(body);
	const status = readStatus(body) ?? (images.length > 0 ? 'completed' : '');
	const group = statusGroup(status);
	return {
		taskId,
		taskType,
		statusUrl,
		status: quote(status),
		group,
		images,
		created: readCreated(layers),
		model: firstText([readModelName(layers)]),
		usage: readUsage(layers),
		...readBill(layers, headers),
		requestId: readRequestId(headers),
		refusal: images.length > 0 ? firstText(reasonsIn(withoutImageIn(layers))) : undefined,
		reason: group === 'unsuccessful' ? (reasonIn(stateIn(body)) ?? reasonIn(body)) : undefined,
		response: body,
	};
}

/** The name of a task for a sentence, with its ID. */
export function taskName({ taskType, taskId }: Task): string {
	return `${taskType === undefined ? '' : `${taskType} `}task ${quote(taskId)}`;
}
