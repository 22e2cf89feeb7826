import type { JsonObject } from '../../util/json';
import { parseUrl } from '../../util/parseUrl';
import { firstText, quote } from '../../util/text';
import { readBill } from './cost';
import { reasonIn } from './errorBody';
import { addressesIn, imagesAnywhere } from './unnamedImages';
import { bestReason, flaggedIn, reasonsIn } from './reasons';
import { readRequestId } from './requestId';
import type { ResultFacts } from './resultFacts';
import { leadsToTask } from '../protocol/outcome';
import type { TaskType } from '../protocol/taskType';
import {
	idOfAddress,
	isComplete,
	layersOf,
	placesIn,
	readCreated,
	readImages,
	readModelName,
	readStatus,
	readTaskAddress,
	readTaskId,
	readUsage,
	saysRefusal,
	stateIn,
	taskIdsIn,
	WITH_OPEN,
	withoutImageIn,
	type ResultFile,
} from './responseFields';
import { isPartial, statusGroup, type StatusGroup } from '../protocol/status';
import { absoluteAddress, LONGEST_ADDRESS } from '../protocol/url';

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
	/** The addresses in its request, which are never those of its images. */
	sent?: string[];
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
export const isInline = ({ url }: ResultFile): boolean => url.startsWith('data:');

/** The same images with full addresses, which items and errors name. */
export const withFullAddresses = (images: ResultFile[], baseUrl: string): ResultFile[] =>
	images.map((image) => {
		const full = (url: string) => absoluteAddress(url, baseUrl) ?? url;
		const { url, address } = image;
		if (!isInline(image)) return { ...image, url: full(url) };
		return address === undefined ? image : { ...image, address: full(address) };
	});

/**
 * What a response with images or a task says: to a status check, a submit or a synchronous request
 * (docs/protocol.md, "Image result", "Task" and "Task states").
 */
export interface TaskState extends Task, ResultFacts {
	status: string;
	group: StatusGroup;
	images: ResultFile[];
	model?: string;
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
 * Reads a response with images or a task, in which no field is required: to a status check, a submit, or a
 * synchronous request; a task that no response has named has an empty ID. Images without any status are a
 * result: there is nothing left to wait for. So are those beside an unknown word at 100 %.
 *
 * @param headers of the response, with lower-case names
 * @param billed those in which its bill may be: none of a status check, which costs nothing itself
 */
export function readTaskState(
	{ taskId, taskType, statusUrl, sent }: Task,
	body: JsonObject,
	headers: Record<string, string> = {},
	billed: Record<string, string> = {},
): TaskState {
	const layers = layersOf(body);
	const own = { taskId, statusUrl, sent };
	const given = readStatus(body);
	const told = statusGroup(given);
	const isWhole = told === 'unknown' && given !== undefined && isComplete(layers);
	// Without a task to poll, what a response has is all there ever is.
	const isLast = taskId === '' && told !== 'unsuccessful' && isNoTask(body);
	const isResult =
		told === 'success' || isWhole || isLast || (given === undefined && isNoTask(body));
	const images = readFinishedImages(body, own, isResult);
	const status = given ?? (images.length > 0 ? 'completed' : '');
	const group = (isWhole || isLast) && images.length > 0 ? 'success' : statusGroup(status);
	const reason = group === 'unsuccessful' ? reasonOf(body) : undefined;
	return {
		taskId,
		taskType,
		statusUrl,
		sent,
		status: quote(status),
		group,
		images,
		created: readCreated(layers),
		model: firstText([readModelName(layers)]),
		usage: readUsage(layers),
		...readBill(layers, billed),
		requestId: readRequestId(headers),
		refusal: images.length > 0 ? refusalIn(body, layers, status) : undefined,
		reason,
		response: body,
	};
}

/**
 * The images of a response: in their places, else, in one that is a result, also those that are called
 * unfinished there; or, where it has no such place, wherever they are.
 */
function readFinishedImages(body: JsonObject, task: OwnAddress, isResult: boolean): ResultFile[] {
	// A place of images may have the address of the task. Its ID alone may be in that of an image too.
	const isOfTask = (url: string): boolean =>
		!url.startsWith('data:') && leadsToTask(url) && isAddressOf(task, url);
	const isSent = sentBy(task);
	const listed = (images: ResultFile[]): ResultFile[] =>
		images
			.filter(({ url }) => !isOfTask(url) && !isSent(url))
			.map((image) => (isSent(image.address) ? { ...image, address: undefined } : image));
	const finished = listed(readImages(body));
	if (finished.length > 0 || !isResult) return finished;
	const called = listed(readImages(body, WITH_OPEN));
	if (called.length > 0) return called;
	const isOther = (url: string): boolean => isAddressOf(task, url) || isSent(url);
	return imagesAnywhere(body, isOther, placesIn(body)).map((url) => ({ url }));
}

/** Whether a response has nothing by which a task could be polled, and reports no error. */
const isNoTask = (body: JsonObject): boolean =>
	readTaskId(body) === undefined && readTaskAddress(body) === undefined && !saysRefusal(body);

/** The addresses that a response lists as images, and all others that may be some, to be named. */
export const addressesOfImages = ({ images, response, ...task }: TaskState): string[] => {
	const listed = images.filter((image) => !isInline(image)).map(({ url }) => url);
	const isSent = sentBy(task);
	const others = addressesIn(response).filter((url) => !isAddressOf(task, url) && !isSent(url));
	return [...new Set([...listed, ...others])];
};

/** The most values of a response in which its task's ID is looked for. */
const MOST_VALUES = 1000;

/** Whether a response names a task in any field: by its ID alone, or by its address. */
export function namesOwn(body: JsonObject, task: OwnAddress): boolean {
	const values: unknown[] = [body];
	for (let index = 0; index < Math.min(values.length, MOST_VALUES); index += 1) {
		const value = values[index];
		if (typeof value === 'string' || typeof value === 'number') {
			const text = String(value).slice(0, LONGEST_ADDRESS).trim();
			if (text === task.taskId || (text.includes('/') && isAddressOf(task, text))) return true;
		} else if (typeof value === 'object' && value !== null) {
			values.push(...Object.values(value).slice(0, MOST_VALUES));
		}
	}
	return false;
}

type OwnAddress = Pick<Task, 'taskId' | 'statusUrl' | 'sent'>;

/** Whether an address is the task's own, and not that of its image. */
const isAddressOf = ({ taskId, statusUrl }: OwnAddress, url: string): boolean =>
	url === statusUrl || (taskId !== '' && idOfAddress(url) === taskId);

/** Tells whether an address was in the task's request, in any spelling. */
function sentBy({ sent = [] }: OwnAddress): (url?: string) => boolean {
	const hrefs = new Set(sent.map(hrefOf));
	return (url = '') => hrefs.size > 0 && url.length <= LONGEST_ADDRESS && hrefs.has(hrefOf(url));
}

const hrefOf = (address: string): string => parseUrl(address)?.href ?? address;

/** Why a task has failed: what is said beside its status, else around it. */
const reasonOf = (body: JsonObject): string | undefined =>
	reasonIn(stateIn(body)) ?? reasonIn(body);

/** What a response says about images that it doesn't have, or that are blank. */
const refusalIn = (body: JsonObject, layers: JsonObject[], status: string): string | undefined =>
	firstText([bestReason(reasonsIn(withoutImageIn(layers)))]) ??
	(isPartial(status) ? (reasonOf(body) ?? quote(status)) : flaggedIn(layers));

/** Why a task without an image has none, also in the places of its images. */
export const reasonWithoutImage = ({
	response,
}: Pick<TaskState, 'response'>): string | undefined => {
	const layers = layersOf(response);
	return (
		reasonOf(response) ??
		firstText([bestReason(reasonsIn(withoutImageIn(layers))), flaggedIn(layers)])
	);
};

/** The name of a task for a sentence, with its ID. */
export function taskName({ taskType, taskId }: Task): string {
	return `${taskType === undefined ? '' : `${taskType} `}task ${quote(taskId)}`;
}
