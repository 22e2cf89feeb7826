import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../util/json';
import type { TaskType } from './requestPlan';
import { firstText, quote } from '../util/text';
import { detectImageType } from './imageType';
import { statusGroup, type StatusGroup } from './status';

/** A task that was paid for: the thing that must never be lost. */
export interface TaskRef {
	taskId: string;
	taskType: TaskType;
}

/** One image of a result (specification, 2.1). */
export interface ImageResult {
	url: string;
}

/** Whether an image came inside the response: it has no address but its own bytes. */
export const isInline = ({ url }: ImageResult): boolean => url.startsWith('data:');

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
	/** The whole response. */
	response: JsonObject;
}

/** Fields of an image that comes inside a response, the usual one first. */
const INLINE_FIELDS = ['b64_json', 'b64', 'base64', 'image_base64'];

/**
 * The images of a response: every `data[].url` (specification, 2.1), in order. Also takes a single
 * object in place of the list, and images that come inside (`b64_json`), which some gateways send
 * when asked to by `response_format`.
 */
export function readImages(body: JsonObject): ImageResult[] {
	for (const listed of [body.data, body.images]) {
		const entries: unknown[] = Array.isArray(listed) ? listed : [listed];
		const found = entries.flatMap((entry) => imageIn(entry) ?? []);
		if (found.length > 0) return found;
	}
	return [];
}

function imageIn(entry: unknown): ImageResult | undefined {
	if (!isJsonObject(entry)) return undefined;
	const url = nonEmptyString(entry.url);
	if (url !== undefined) return imageAt(url);
	const [inline] = INLINE_FIELDS.flatMap((field) => nonEmptyString(entry[field]) ?? []);
	if (inline === undefined) return undefined;
	// Some send the whole `data:` URL there.
	return /^\s*data:/i.test(inline) ? imageAt(inline) : { url: `data:;base64,${inline}` };
}

/** An address; or the bytes of an image, which some send in its place. */
function imageAt(text: string): ImageResult {
	const url = text.trim();
	const isBytes = url.length >= 100 && /^[\w+/=-]{64}/.test(url);
	if (isBytes && detectImageType(Buffer.from(url.slice(0, 64), 'base64')) !== undefined) {
		return { url: `data:;base64,${url}` };
	}
	return { url: url.replace(/^data:/i, 'data:') };
}

/** Under which names a task's ID comes: the specification's own (2.2), and what others call it. */
const ID_FIELDS = ['id', 'task_id', 'taskId'];

/**
 * The ID in the response to a submit (specification, 2.2), or undefined if there is none. What was
 * paid for must not be out of reach because a gateway wraps it up or names it otherwise.
 */
export function readTaskId(body: JsonObject): string | undefined {
	const { data, task, result } = body;
	const wrapped = [data, Array.isArray(data) ? data[0] : undefined, task, result];
	for (const place of [body, ...wrapped]) {
		if (!isJsonObject(place)) continue;
		const id = ID_FIELDS.map((field) => asId(place[field])).find((found) => found !== undefined);
		if (id !== undefined) return id;
	}
	return undefined;
}

function asId(value: unknown): string | undefined {
	return typeof value === 'number' && Number.isFinite(value)
		? String(value)
		: nonEmptyString(value)?.trim();
}

/** How much of a broken response is looked through for an ID, in characters. */
const LONGEST_READ = 2048;
const ID_IN_TEXT = /"(task_?id|id)" ?: ?(?:"([^"\\]{1,200})"|(\d{1,40})[^\d.])/gi;

/** An ID that can be read in a response that is no JSON, or only half of it; a task's own first. */
export function idIn(text: string): string | undefined {
	const found = [...text.slice(0, LONGEST_READ).replace(/\s/g, ' ').matchAll(ID_IN_TEXT)];
	const [, , quoted, digits] = found.find(([, name]) => name !== 'id') ?? found[0] ?? [];
	return nonEmptyString(quoted ?? digits)?.trim();
}

/** The object that a response is about: itself, or what it wraps up. */
function stateIn(body: JsonObject): JsonObject {
	const { data } = body;
	return body.status === undefined && isJsonObject(data) && typeof data.status === 'string'
		? data
		: body;
}

/** Reads the response to a task query. Nothing in it is required: what is missing is left out. */
export function readTaskState(task: TaskRef, body: JsonObject): TaskState {
	const state = stateIn(body);
	const { error, status } = state;
	const images = readImages(state);
	return {
		...task,
		status: typeof status === 'string' ? quote(status) : '',
		group: statusGroup(status),
		images: images.length > 0 ? images : readImages(body),
		created: finiteNumber(state.created),
		model: firstText([state.model]),
		reason: firstText([
			isJsonObject(error) ? error.message : error,
			state.message,
			state.reason,
			body.message,
		]),
		response: body,
	};
}

/** How a task is called in a sentence: always with its ID, so that it can be found again. */
export function taskName({ taskType, taskId }: TaskRef): string {
	return `${taskType} task ${quote(taskId)}`;
}
