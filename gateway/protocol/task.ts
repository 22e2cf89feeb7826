import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../util/json';
import { INLINE_FIELDS } from '../util/inlineImages';
import type { TaskType } from './requestPlan';
import { firstText, quote } from '../util/text';
import { reasonIn } from './errorBody';
import { detectImageType } from './imageType';
import { statusGroup, type StatusGroup } from './status';

/** A task that was paid for: the thing that must never be lost. */
export interface TaskRef {
	taskId: string;
	/** Undefined where it has to be found out: each kind is queried through its own endpoint. */
	taskType?: TaskType;
}

/** A task by the name under which its own endpoint knows it. */
export type KnownTask = Required<TaskRef>;

/** One image of a result (docs/protocol.md, "Image result"). */
export interface ImageResult {
	url: string;
}

/** Whether an image came inside the response: it has no address but its own bytes. */
export const isInline = ({ url }: ImageResult): boolean => url.startsWith('data:');

/** What a task query says (docs/protocol.md, "Image result", "Task" and "Task states"). */
export interface TaskState extends KnownTask {
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

/**
 * The images of a response: every `data[].url` (docs/protocol.md, "Image result"), in order. Also takes a single
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

/** Under which names a task's ID comes: the protocol's own (docs/protocol.md, "Task"), and what others call it. */
const ID_FIELDS = ['id', 'task_id', 'taskId'];

/**
 * The ID in the response to a submit (docs/protocol.md, "Task"), or undefined if there is none. What was
 * paid for must not be out of reach because a gateway wraps it up or names it otherwise.
 */
export function readTaskId(body: JsonObject): string | undefined {
	const { data, task, result } = body;
	const wrapped = [data, Array.isArray(data) ? data[0] : undefined, task, result];
	return [body, ...wrapped].flatMap(idsOf)[0];
}

/**
 * The ID of the task that the response to a task query is about, where it names another one than the
 * one that was asked about. An object may have an ID of its own beside that of its task.
 */
export function otherTaskId(taskId: string, body: JsonObject): string | undefined {
	const ids = [body, stateIn(body), body.task].flatMap(idsOf);
	return ids.includes(taskId) ? undefined : ids[0];
}

function idsOf(place: unknown): string[] {
	return isJsonObject(place) ? ID_FIELDS.flatMap((field) => asId(place[field]) ?? []) : [];
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
	if (body.status !== undefined) return body;
	const { data, task, result } = body;
	// In a list, what has no ID is an image.
	const first: unknown = Array.isArray(data) ? data[0] : undefined;
	const wrapped = [data, idsOf(first).length > 0 ? first : undefined, task, result];
	return wrapped.filter(isJsonObject).find(({ status }) => typeof status === 'string') ?? body;
}

/** Reads the response to a task query. Nothing in it is required: what is missing is left out. */
export function readTaskState(task: KnownTask, body: JsonObject): TaskState {
	const state = stateIn(body);
	const { status } = state;
	const images = readImages(state);
	return {
		...task,
		status: typeof status === 'string' ? quote(status) : '',
		group: statusGroup(status),
		images: images.length > 0 ? images : readImages(body),
		created: finiteNumber(state.created),
		model: firstText([state.model]),
		reason: reasonIn(state) ?? reasonIn(body),
		response: body,
	};
}

/** How a task is called in a sentence: always with its ID, so that it can be found again. */
export function taskName({ taskType, taskId }: TaskRef): string {
	return `${taskType === undefined ? '' : `${taskType} `}task ${quote(taskId)}`;
}
