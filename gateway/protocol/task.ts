import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../util/json';
import { INLINE_FIELDS } from '../util/inlineImages';
import type { TaskType } from './requestPlan';
import { firstText, quote } from '../util/text';
import { reasonIn } from './errorBody';
import { detectImageType } from './imageType';
import { statusGroup, type StatusGroup } from './status';

/** A task that was paid for. */
export interface TaskRef {
	taskId: string;
	/** The kind of task, whose endpoint knows it; undefined if it is unknown. */
	taskType?: TaskType;
}

/** A task of known kind. */
export type KnownTask = Required<TaskRef>;

/** One image of a result (docs/protocol.md, "Image result"). */
export interface ImageResult {
	url: string;
}

/** Whether an image came inside the response, so that its address is a `data:` URL. */
export const isInline = ({ url }: ImageResult): boolean => url.startsWith('data:');

/** The result of a task query (docs/protocol.md, "Image result", "Task" and "Task states"). */
export interface TaskState extends KnownTask {
	status: string;
	group: StatusGroup;
	images: ImageResult[];
	/** Unix seconds. */
	created?: number;
	model?: string;
	/** The reason of an unsuccessful task in the gateway's words, if there is one. */
	reason?: string;
	/** The whole response. */
	response: JsonObject;
}

/**
 * The images of a response in order: every `data[].url` (docs/protocol.md, "Image result"), also of
 * a single object, and images inside the response (`b64_json`).
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
	// Some gateways send a whole `data:` URL there.
	return /^\s*data:/i.test(inline) ? imageAt(inline) : { url: `data:;base64,${inline}` };
}

/** The image of a text that is an address or, from some gateways, Base64. */
function imageAt(text: string): ImageResult {
	const url = text.trim();
	const isBytes = url.length >= 100 && /^[\w+/=-]{64}/.test(url);
	if (isBytes && detectImageType(Buffer.from(url.slice(0, 64), 'base64')) !== undefined) {
		return { url: `data:;base64,${url}` };
	}
	return { url: url.replace(/^data:/i, 'data:') };
}

/**
 * The names of a task's ID: the protocol's own (docs/protocol.md, "Task"), and those of other
 * gateways.
 */
const ID_FIELDS = ['id', 'task_id', 'taskId'];

/**
 * The task ID in the response to a submit (docs/protocol.md, "Task"), also inside of other objects;
 * undefined if there is none.
 */
export function readTaskId(body: JsonObject): string | undefined {
	const { data, task, result } = body;
	const wrapped = [data, Array.isArray(data) ? data[0] : undefined, task, result];
	return [body, ...wrapped].flatMap(idsOf)[0];
}

/**
 * The task ID in the response to a query if it differs from the queried one. An object can have an
 * ID of its own beside that of its task.
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

/** In characters: how much of a broken response is searched for an ID. */
const LONGEST_READ = 2048;
const ID_IN_TEXT = /"(task_?id|id)" ?: ?(?:"([^"\\]{1,200})"|(\d{1,40})[^\d.])/gi;

/** The ID in a response that is not or only partly JSON; a task's own first. */
export function idIn(text: string): string | undefined {
	const found = [...text.slice(0, LONGEST_READ).replace(/\s/g, ' ').matchAll(ID_IN_TEXT)];
	const [, , quoted, digits] = found.find(([, name]) => name !== 'id') ?? found[0] ?? [];
	return nonEmptyString(quoted ?? digits)?.trim();
}

/** The object with a task's state: the response, or an object inside of it. */
function stateIn(body: JsonObject): JsonObject {
	if (body.status !== undefined) return body;
	const { data, task, result } = body;
	// An object in a list without an ID is an image.
	const first: unknown = Array.isArray(data) ? data[0] : undefined;
	const wrapped = [data, idsOf(first).length > 0 ? first : undefined, task, result];
	return wrapped.filter(isJsonObject).find(({ status }) => typeof status === 'string') ?? body;
}

/** Reads the response to a task query, in which no field is required. */
export function readTaskState(task: KnownTask, body: JsonObject): TaskState {
	const state = stateIn(body);
	const { status } = state;
	const group = statusGroup(status);
	const images = readImages(state);
	return {
		...task,
		status: typeof status === 'string' ? quote(status) : '',
		group,
		images: images.length > 0 ? images : readImages(body),
		created: finiteNumber(state.created),
		model: firstText([state.model]),
		reason: group === 'unsuccessful' ? (reasonIn(state) ?? reasonIn(body)) : undefined,
		response: body,
	};
}

/** The name of a task for a sentence, with its ID. */
export function taskName({ taskType, taskId }: TaskRef): string {
	return `${taskType === undefined ? '' : `${taskType} `}task ${quote(taskId)}`;
}
