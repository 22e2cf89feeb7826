import { INLINE_FIELDS } from '../util/inlineImages';
import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../util/json';
import { detectImageType } from './imageType';
import { statusGroup, type StatusGroup } from './status';

/**
 * Where a response has what: one table for the responses of submits and of polls. Each list is read in
 * order, the best witness first: the protocol's own name (docs/protocol.md), then those of other
 * gateways (docs/gateways.md).
 */
const FIELDS = {
	/** A task's own ID, which decides against any `id`: that may be the ID of the request. */
	taskId: ['task_id', 'taskId', 'taskID'],
	id: ['id'],
	/** The address of a task, as text. `urls.get` is that of a prediction. */
	address: ['poll_url', 'polling_url', 'status_url', 'statusUrl', 'task_url', 'query_url'],
	/** The status, as text: numbers and `true` beside it are about the request. */
	status: ['status', 'task_status', 'taskStatus', 'state'],
	/** The time of creation, in Unix seconds, in milliseconds or in ISO 8601. */
	created: ['created', 'created_at', 'createdAt'],
	model: ['model', 'model_name'],
	/** What the request used up, as the gateway counts it: usually tokens. */
	usage: ['usage'],
	/** Lists of images, single images, and objects that contain them. */
	// prettier-ignore
	images: [
		'data', 'images', 'result_urls', 'resultUrls', 'image_urls', 'results', 'result', 'task_result', 'output', 'outputs',
		'response', 'task',
	],
	/** The address of an image in its object; some gateways have a list there. */
	imageUrl: ['url', 'image_url', 'imageUrl'],
	inlineImage: INLINE_FIELDS,
	/** The prompt as the model rewrote it. */
	revisedPrompt: ['revised_prompt', 'revisedPrompt'],
	/** What was delivered, which may differ from what was requested. */
	size: ['size'],
	quality: ['quality'],
	outputFormat: ['output_format', 'outputFormat'],
	/** Why something failed. */
	// prettier-ignore
	reason: [
		'error', 'message', 'detail', 'reason', 'fail_reason', 'failure_reason', 'failed_reason', 'error_message',
		'error_msg', 'task_status_msg', 'fail_msg', 'msg', 'failReason', 'failureReason', 'errorMessage', 'failMsg',
		'errors', 'code',
	],
} as const;

/** Response headers with the address of a task, in lower case (RFC 9110, section 10.2.2). */
const ADDRESS_HEADERS = ['location', 'operation-location'];

/** Objects around a task, and objects around its result. */
const AROUND_TASK = ['data', 'task'];
const AROUND_RESULT = ['result', 'output', 'response', 'task_result'];

/** The deepest level of a response that is read. */
const DEEPEST = 5;
/** The most entries of a list that are read: more than any request has images. */
const MOST_ENTRIES = 1000;

/** An object in a response, and whether it may be a result, whose status isn't that of its task. */
interface Layer {
	fields: JsonObject;
	isResult: boolean;
}

/** The response and the objects in it that can be about its task, the outermost first. */
function layersOf(value: unknown, isResult = false, depth = 0): Layer[] {
	if (!isJsonObject(value) || depth > DEEPEST) return [];
	const inside = (name: string, isAround: boolean): Layer[] => {
		const wrapped = value[name];
		const inner: unknown = Array.isArray(wrapped) ? wrapped.find(isJsonObject) : wrapped;
		// An object in a list is a task only if it says so: most are images.
		const isImage = Array.isArray(wrapped) && !isTask(inner, value);
		if (!isJsonObject(inner) || isImage) return [];
		return layersOf(inner, isResult || (isAround && idsOf(inner).length === 0), depth + 1);
	};
	return [
		{ fields: value, isResult },
		...AROUND_TASK.flatMap((name) => inside(name, false)),
		...AROUND_RESULT.flatMap((name) => inside(name, true)),
	];
}

function isTask(entry: unknown, around: JsonObject): boolean {
	if (valuesAt(entry, FIELDS.taskId).length > 0) return true;
	const isOnlyId = idsOf(entry).length > 0 && idsOf(around).length === 0;
	return isOnlyId && imagesAt(entry, {}, 0).length === 0;
}

/** The values of an object under these names, in their order. */
function valuesAt(object: unknown, names: readonly string[]): unknown[] {
	if (!isJsonObject(object)) return [];
	return names.flatMap((name) => (Object.hasOwn(object, name) ? [object[name]] : []));
}

/** The first usable value under these names: outer objects first. */
function firstIn<T>(
	body: JsonObject,
	names: readonly string[],
	read: (value: unknown) => T | undefined,
): T | undefined {
	return layersOf(body)
		.flatMap(({ fields }) => valuesAt(fields, names))
		.map(read)
		.find((value) => value !== undefined);
}

function asId(value: unknown): string | undefined {
	if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
	return nonEmptyString(value)?.trim();
}

const idsIn = (object: unknown, names: readonly string[]): string[] =>
	valuesAt(object, names).flatMap((value) => asId(value) ?? []);

const idsOf = (object: unknown): string[] => [
	...idsIn(object, FIELDS.id),
	...idsIn(object, FIELDS.taskId),
];

/**
 * All IDs of a response that may be its task's, the likeliest first: those that are called so, that
 * beside the status, those of outer objects.
 */
export function taskIdsIn(body: JsonObject): string[] {
	const objects = layersOf(body).map(({ fields }) => fields);
	return [
		...objects.flatMap((fields) => idsIn(fields, FIELDS.taskId)),
		...[stateIn(body), ...objects].flatMap((fields) => idsIn(fields, FIELDS.id)),
	];
}

/** In characters: no ID is longer. */
const LONGEST_ID = 400;

/** The texts in place of a task's object, or of a list of them: its ID, if no error is reported. */
function bareIdsIn(body: JsonObject): string[] {
	if (reportsError(body)) return [];
	const texts = valuesAt(body, [...AROUND_TASK, 'result']).flatMap((value) =>
		[value].flat().slice(0, 1),
	);
	return texts.flatMap((value) => asId(value) ?? []).filter(isBareId);
}

const isBareId = (text: string): boolean =>
	text.length <= LONGEST_ID && !/[\s/]|^data:/i.test(text);

/**
 * The task ID in the response to a submit (docs/protocol.md, "Task"), also inside of other objects,
 * or a text in place of one; undefined if there is none.
 */
export const readTaskId = (body: JsonObject): string | undefined =>
	[...taskIdsIn(body), ...bareIdsIn(body)][0];

/** Whether a response names a task, and not only something with an ID. */
export const namesTask = (body: JsonObject): boolean =>
	layersOf(body).some(({ fields }) => idsIn(fields, FIELDS.taskId).length > 0);

/** In characters: how much of a broken response is searched for an ID. */
const LONGEST_READ = 2048;
const ID_IN_TEXT = /"(task_?id|id)" ?: ?(?:"([^"\\]{1,200})"|(\d{1,40})[^\d.])/gi;

/** The ID in a response that is not or only partly JSON; a task's own first. */
export function idIn(text: string): string | undefined {
	const found = [...text.slice(0, LONGEST_READ).replace(/\s/g, ' ').matchAll(ID_IN_TEXT)];
	const [, , quoted, digits] = found.find(([, name]) => name !== 'id') ?? found[0] ?? [];
	return nonEmptyString(quoted ?? digits)?.trim();
}

/** In characters: a longer address isn't followed. */
const LONGEST_ADDRESS = 2000;

/**
 * The address of the task in the response to a submit, as the gateway wrote it: absolute or relative,
 * on any host. Undefined if there is none.
 *
 * @param headers with lower-case names
 */
export function readTaskAddress(
	body: JsonObject,
	headers: Record<string, string> = {},
): string | undefined {
	const urls = isJsonObject(body.urls) ? body.urls.get : undefined;
	const inBody = firstIn(body, FIELDS.address, nonEmptyString) ?? nonEmptyString(urls);
	const inHeaders = valuesAt(headers, ADDRESS_HEADERS).find(nonEmptyString) as string | undefined;
	const address = (inBody ?? inHeaders)?.trim();
	return address !== undefined && address.length <= LONGEST_ADDRESS ? address : undefined;
}

const statusOf = (object: JsonObject): string | undefined =>
	valuesAt(object, FIELDS.status)
		.map(nonEmptyString)
		.find((text) => text !== undefined);

/**
 * The object with a task's state: the innermost around the task that has a status. What is around it
 * may have one of its own, about the request. That of a result counts only where it contradicts a
 * success, or where there is no other.
 */
export function stateIn(body: JsonObject): JsonObject {
	const layers = layersOf(body).filter(({ fields }) => statusOf(fields) !== undefined);
	const groupOf = ({ fields }: Layer): StatusGroup => statusGroup(statusOf(fields));
	const own = layers.findLast(({ isResult }) => !isResult);
	const results = layers.filter(({ isResult }) => isResult);
	if (own === undefined) return results.at(-1)?.fields ?? body;
	const contrary = results.findLast((layer) => !['success', 'unknown'].includes(groupOf(layer)));
	return (groupOf(own) === 'success' ? contrary : undefined)?.fields ?? own.fields;
}

/** The status of a task as the gateway wrote it; undefined if there is none that is a text. */
export const readStatus = (body: JsonObject): string | undefined => statusOf(stateIn(body));

/** One image of a result (docs/protocol.md, "Image result"). */
export interface ImageResult {
	url: string;
	/** The prompt as the model rewrote it. */
	revisedPrompt?: string;
	/** What was delivered, in the gateway's words. */
	size?: string;
	quality?: string;
	outputFormat?: string;
}

/**
 * The images of a response in order: every `data[].url` (docs/protocol.md, "Image result"), also of
 * a single object, and images inside the response (`b64_json`).
 */
export function readImages(body: JsonObject): ImageResult[] {
	const { revisedPrompt, ...delivered } = detailsOf(body, {});
	const found = imagesIn(body, delivered, 0);
	// A prompt beside a list of images says nothing about each of them.
	if (found.length !== 1) return found;
	return found.map((image) => ({ ...image, revisedPrompt: image.revisedPrompt ?? revisedPrompt }));
}

type ImageDetails = Omit<ImageResult, 'url'>;

/** The images in an object's fields: those of the first field that has any. */
function imagesIn(object: JsonObject, around: ImageDetails, depth: number): ImageResult[] {
	for (const value of valuesAt(object, FIELDS.images)) {
		const found = imagesAt(value, around, depth + 1);
		if (found.length > 0) return found;
	}
	return [];
}

function imagesAt(value: unknown, around: ImageDetails, depth: number): ImageResult[] {
	if (depth > DEEPEST) return [];
	if (Array.isArray(value)) {
		return value.slice(0, MOST_ENTRIES).flatMap((entry) => imagesAt(entry, around, depth + 1));
	}
	if (typeof value === 'string') return isAddress(value) ? [{ ...around, ...imageAt(value) }] : [];
	if (!isJsonObject(value)) return [];
	const details = detailsOf(value, around);
	const own = imageUrlsOf(value);
	if (own.length === 0) return imagesIn(value, details, depth);
	// One of several images can still be in the making, or have failed.
	const group = statusGroup(statusOf(value));
	const isFinished = group === 'success' || group === 'unknown';
	return isFinished ? own.map((image) => ({ ...details, ...image })) : [];
}

/** Whether a text that stands for an image is one: an address with a scheme, or image data. */
const isAddress = (text: string): boolean => /^\s*(https?:\/\/|data:image\/)/i.test(text);

function imageUrlsOf(entry: JsonObject): ImageResult[] {
	const urls = valuesAt(entry, FIELDS.imageUrl)
		.map((value) =>
			[value]
				.flat()
				.slice(0, MOST_ENTRIES)
				.flatMap((url) => nonEmptyString(url) ?? []),
		)
		.find((texts) => texts.length > 0);
	if (urls !== undefined) return urls.map(imageAt);
	const inline = valuesAt(entry, FIELDS.inlineImage).map(nonEmptyString).find(Boolean);
	if (inline === undefined) return [];
	// Some gateways send a whole `data:` URL there.
	return [/^\s*data:/i.test(inline) ? imageAt(inline) : { url: `data:;base64,${inline}` }];
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

/** In characters: the longest prompt and the longest other detail that an item shows. */
const LONGEST_PROMPT = 10_000;
const LONGEST_DETAIL = 100;

/** What a response says about an image: in its own object, else around it. */
function detailsOf(object: JsonObject, around: ImageDetails): ImageDetails {
	const text = (names: readonly string[], longest: number): string | undefined =>
		valuesAt(object, names)
			.map(nonEmptyString)
			.find((value) => value !== undefined && value.length <= longest);
	return {
		revisedPrompt: text(FIELDS.revisedPrompt, LONGEST_PROMPT) ?? around.revisedPrompt,
		size: text(FIELDS.size, LONGEST_DETAIL) ?? around.size,
		quality: text(FIELDS.quality, LONGEST_DETAIL) ?? around.quality,
		outputFormat: text(FIELDS.outputFormat, LONGEST_DETAIL) ?? around.outputFormat,
	};
}

/** Whether a response reports an error, whatever its HTTP status: in its own field, or by its code. */
export function reportsError(body: JsonObject): boolean {
	const { success, error, code } = body;
	const number = typeof code === 'boolean' || code === null ? NaN : Number(code);
	const isError = error !== undefined && error !== null && error !== '' && error !== false;
	return success === false || success === 'false' || isError || number >= 400 || number < 0;
}

/** Later than any time in seconds (the year 5138), and earlier than any in milliseconds. */
const FIRST_MS = 1e11;

/** The time of creation in Unix seconds. */
export function readCreated(body: JsonObject): number | undefined {
	return firstIn(body, FIELDS.created, (value) => {
		const parsed = typeof value === 'string' ? Date.parse(value.slice(0, 64)) : value;
		const time = finiteNumber(parsed);
		if (time === undefined || time <= 0) return undefined;
		return time < FIRST_MS ? time : Math.floor(time / 1000);
	});
}

/** The model that a response names. */
export const readModelName = (body: JsonObject): string | undefined =>
	firstIn(body, FIELDS.model, nonEmptyString);

/** In characters of JSON: a longer one isn't shown. */
const LONGEST_USAGE = 4000;

/** A copy of what the request used up, as the gateway counts it; undefined if it doesn't say. */
export function readUsage(body: JsonObject): JsonObject | undefined {
	return firstIn(body, FIELDS.usage, (value) => {
		const text = isJsonObject(value) ? JSON.stringify(value) : '{}';
		return text === '{}' || text.length > LONGEST_USAGE
			? undefined
			: (JSON.parse(text) as JsonObject);
	});
}

/** The values that can be a reason, the likeliest first; of lists, those of all entries. */
export function reasonsIn(value: unknown, depth = 0): unknown[] {
	if (typeof value === 'string') return statusGroup(value) === 'success' ? [] : [value];
	if (depth > DEEPEST) return [];
	if (Array.isArray(value)) {
		return value.slice(0, MOST_ENTRIES).flatMap((entry) => reasonsIn(entry, depth + 1));
	}
	const own = valuesAt(value, FIELDS.reason).flatMap((field) => reasonsIn(field, depth + 1));
	const around = valuesAt(value, [...AROUND_TASK, ...AROUND_RESULT]).flatMap((field) =>
		[field].flat().slice(0, MOST_ENTRIES).filter(isJsonObject),
	);
	return [...own, ...around.flatMap((inner) => reasonsIn(inner, depth + 1))];
}
