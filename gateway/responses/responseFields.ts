import { INLINE_FIELDS } from '../../util/inlineImages';
import { decoded } from '../../util/dataUrl';
import { finiteNumber, isJsonObject, nonEmptyString, numberOf, parseJson } from '../../util/json';
import { mapValues, type JsonObject } from '../../util/json';
import { hasImageAddress } from './unnamedImages';
import { bytesUrl, imageUrl, isImageData, type Place } from './imageAddress';
import { statusGroup, type StatusGroup } from '../protocol/status';
import { LONGEST_ADDRESS } from '../protocol/url';

/** A name as it is written in snake case, camel case and Pascal case. */
function spellingsOf(name: string): string[] {
	const camel = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
	return [name, camel, camel.charAt(0).toUpperCase() + camel.slice(1)];
}

export const inAllSpellings = <T extends Record<string, readonly string[]>>(table: T): T =>
	mapValues(table, (names) => [...new Set(names.flatMap(spellingsOf))]) as unknown as T;

/**
 * Where a response has what: one table for the responses to submits and to polls. Each list is read
 * in order, the most reliable name first: the protocol's own (docs/protocol.md), then those of other
 * gateways.
 */
// prettier-ignore
const FIELDS = inAllSpellings({
	/** A task's own ID, which decides against any `id`: that may be the ID of the request. */
	taskId: ['task_id', 'taskID'],
	id: ['id'],
	/** Where the ID of a task may stand in place of its object. */
	bareId: ['data', 'task', 'result'],
	/** The address of a task, as text. */
	address: ['poll_url', 'polling_url', 'status_url', 'task_url', 'query_url'],
	/** The address of the result of a task that has succeeded, as text. */
	resultAddress: ['response_url', 'result_url'],
	/** Objects with the addresses of a task by their purpose, and that of the task itself. */
	links: ['urls', 'links', '_links'],
	ownLink: ['get', 'self', 'href'],
	/** The status, as text: a number or `true` is about the request. */
	status: ['status', 'task_status', 'state'],
	/** How much of a task is done, in percent. */
	progress: ['progress'],
	/** The time of creation, in Unix seconds, milliseconds or ISO 8601. */
	created: ['created', 'created_at'],
	model: ['model'],
	/** What the request used up, as the gateway counts it: usually tokens. */
	usage: ['usage'],
	/** Objects with images in a chat, where texts are for people to read. */
	chat: ['choices', 'message', 'content'],
	/** The address of an image in its object; some gateways have a list or another object there. */
	imageUrl: ['url', 'image_url', 'image'],
	/** An image in Base64 in its object. */
	inline: INLINE_FIELDS,
	/**
	 * The prompt as the model rewrote it, and what was delivered, which may differ from the request.
	 */
	revisedPrompt: ['revised_prompt'],
	size: ['size'],
	quality: ['quality'],
	outputFormat: ['output_format'],
});

/** Response headers with the address of a task, in lower case (RFC 9110, section 10.2.2). */
const ADDRESS_HEADERS = ['location', 'operation-location'];

/**
 * The objects and lists of a response that have its task, its status, its images or its reason in them,
 * each name once, whatever is read there.
 */
// prettier-ignore
const ENVELOPES = inAllSpellings({
	/** Of everything: the protocol's own. */
	usual: ['data'],
	/** Around a task. */
	task: ['task', 'tasks', 'job', 'payload'],
	/** Around the result of a task: a status there counts only below a success. */
	result: ['response', 'task_result', 'result_json'],
	/** The same. A list there is for images alone. */
	list: [
		'images', 'result_urls', 'image_urls', 'output_images', 'image_result', 'artifacts', 'results', 'result',
		'output', 'outputs',
	],
});
const AROUND_TASK = [...ENVELOPES.usual, ...ENVELOPES.task];
export const ALL_ENVELOPES = [...AROUND_TASK, ...ENVELOPES.list, ...ENVELOPES.result];
const IMAGE_LISTS = [...ENVELOPES.usual, ...ENVELOPES.list];
/** What is around a task may have other images than those of its result, such as the source of an edit. */
const IMAGE_PLACES = [...IMAGE_LISTS, ...ENVELOPES.result, ...ENVELOPES.task];
const PLACES = [...IMAGE_PLACES, ...FIELDS.chat];
/** An address that may stand beside a list of more. */
const { ONE_ADDRESS, ADDRESSES } = inAllSpellings({
	ONE_ADDRESS: ['image_url'],
	ADDRESSES: ['image_urls'],
});
const ALL_IDS = [...FIELDS.taskId, ...FIELDS.id];

/** The deepest level of a response that is read; lists count as levels. */
export const DEEPEST = 8;

/** The values that an object has under these names. */
export function valuesAt(object: unknown, names: readonly string[]): unknown[] {
	const values: unknown[] = [];
	if (!isJsonObject(object)) return values;
	for (const name of names) if (object[name] !== undefined) values.push(object[name]);
	return values;
}

/** The first of some values that can be read. */
export function firstOf<T>(
	values: unknown[],
	read: (value: unknown) => T | undefined,
): T | undefined {
	for (const value of values) {
		const result = read(value);
		if (result !== undefined) return result;
	}
	return undefined;
}

const unlessEmpty = <T>(list: T[]): T[] | undefined => (list.length > 0 ? list : undefined);

const textAt = (object: unknown, names: readonly string[]): string | undefined =>
	firstOf(valuesAt(object, names), nonEmptyString);

/** The objects in an object that can be about its task. One in a list is usually an image. */
function insideOf(object: JsonObject, names: readonly string[]): JsonObject[] {
	return valuesAt(object, names)
		.flatMap((value) => (Array.isArray(value) ? tasksIn(value, object) : value))
		.filter(isJsonObject);
}

/** The tasks in a list. What has failed there, beside an image, is an image that was refused. */
function tasksIn(list: unknown[], around: JsonObject): unknown[] {
	const own = list.filter((entry) => isTask(entry, around));
	if (own.length === 0 || !list.some(hasImage)) return own;
	return own.filter((entry) => hasTaskId(entry) || statusGroup(statusOf(entry)) !== 'unsuccessful');
}

const hasImage = (entry: unknown): boolean => imagesAt(entry, {}).length > 0;
const hasTaskId = (entry: unknown): boolean => idsAt(entry, FIELDS.taskId).length > 0;

function isTask(entry: unknown, around: JsonObject): boolean {
	if (hasTaskId(entry)) return true;
	if (idsAt(entry, FIELDS.id).length === 0 || hasImage(entry)) return false;
	// The ID around it may be the request's, but not beside a status.
	const isNamed = idsAt(around, ALL_IDS).length > 0;
	return !isNamed || (!!statusOf(entry) && !statusOf(around));
}

/** A response and the objects in it that can be about its task, the outermost first. */
export const layersOf = (object: JsonObject, depth = 0): JsonObject[] =>
	depth > DEEPEST
		? []
		: [object, ...insideOf(object, ALL_ENVELOPES).flatMap((inner) => layersOf(inner, depth + 1))];

/** The first value under these names that can be read, in the layers of a response. */
const firstIn = <T>(
	layers: JsonObject[],
	names: readonly string[],
	read: (value: unknown) => T | undefined,
): T | undefined => firstOf(layers, (object) => firstOf(valuesAt(object, names), read));

const asId = (value: unknown): string | undefined =>
	typeof value === 'number' ? finiteNumber(value)?.toString() : nonEmptyString(value)?.trim();

const idsAt = (object: unknown, names: readonly string[]): string[] =>
	valuesAt(object, names).flatMap((value) => asId(value) ?? []);

/**
 * All IDs of a response that may be its task's, the likeliest first: those that are called so, that
 * beside the status, those of outer objects.
 */
export function taskIdsIn(body: JsonObject): string[] {
	const layers = layersOf(body);
	const own = layers.flatMap((object) => idsAt(object, FIELDS.taskId));
	return [...own, ...[stateIn(body), ...layers].flatMap((object) => idsAt(object, FIELDS.id))];
}

/**
 * A task ID in place of a task's object, or of a list of them: no sentence, address or image data.
 */
const BARE_ID = /^[^\s/]{1,400}$/;

/** Whether the code in a response is the HTTP status of an error; higher ones can mean success. */
export const isErrorCode = (code: unknown): boolean =>
	numberOf(code) >= 400 && numberOf(code) < 600;

/** Whether a response with a status of success says that there is no result. */
export function saysRefusal({ error, success, code, base_resp }: JsonObject): boolean {
	const isBase = isJsonObject(base_resp) && numberOf(base_resp.status_code) > 0;
	const isCode = isErrorCode(code) || numberOf(code) < 0 || statusGroup(code) === 'unsuccessful';
	return Boolean(error) || success === false || isCode || isBase;
}

/**
 * The task ID in the response to a submit (docs/protocol.md, "Task"), also inside of other objects,
 * or in place of one; undefined if there is none.
 */
export function readTaskId(body: JsonObject): string | undefined {
	const places = saysRefusal(body) ? [] : valuesAt(body, FIELDS.bareId);
	const bare = places.flatMap((value) => asId([value].flat()[0]) ?? []);
	return [...taskIdsIn(body), ...bare.filter((text) => BARE_ID.test(text))][0];
}

/** Whether a response names a task, and not only something with an ID. */
export const namesTask = (body: JsonObject): boolean =>
	layersOf(body).some((object) => idsAt(object, FIELDS.taskId).length > 0);

/** In characters: how much of a broken response is searched for an ID. */
const LONGEST_READ = 2048;
const FIELD_IN_TEXT = /"(\w{1,40})" ?: ?(?:"([^"\\]{1,200})"|(\d{1,40})[^\d.])/g;
const hasName = (name: string, names: readonly string[]): boolean =>
	names.some((one) => one.toLowerCase() === name.toLowerCase());

/** The ID in a response that is not or only partly JSON; a task's own first. */
export function idIn(text: string): string | undefined {
	const found = [...text.slice(0, LONGEST_READ).replace(/\s/g, ' ').matchAll(FIELD_IN_TEXT)];
	const [, , quoted, digits] =
		found.find(([, name = '']) => hasName(name, FIELDS.taskId)) ??
		found.find(([, name = '']) => hasName(name, FIELDS.id)) ??
		[];
	return nonEmptyString(quoted ?? digits)?.trim();
}

/**
 * The address of the task in the response to a submit, as the gateway wrote it: absolute or
 * relative, on any host. Undefined if there is none.
 *
 * @param headers with lower-case names
 */
export function readTaskAddress(body: JsonObject, headers: JsonObject = {}): string | undefined {
	const layers = layersOf(body);
	const inBody =
		firstIn(layers, FIELDS.address, nonEmptyString) ?? firstIn(layers, FIELDS.links, ownLink);
	return asAddress(inBody ?? textAt(headers, ADDRESS_HEADERS));
}

/** The address of a task in an object of links, of which each may be an object with its address. */
const ownLink = (links: unknown): string | undefined =>
	firstOf(valuesAt(links, FIELDS.ownLink), (link) => nonEmptyString(link) ?? ownLink(link));

function asAddress(text = ''): string | undefined {
	const address = text.trim();
	return address === '' || address.length > LONGEST_ADDRESS ? undefined : address;
}

/** The address of a task's result, as the gateway wrote it; undefined if there is none. */
export const readResultAddress = (body: JsonObject): string | undefined =>
	asAddress(firstIn(layersOf(body), FIELDS.resultAddress, nonEmptyString));

/**
 * The ID in a task's address: in its query, or at the end of its path, also before a word for its
 * state; undefined if it has none.
 */
export function idOfAddress(address = ''): string | undefined {
	const [path = '', query = ''] = address.split('#', 1).join('').split('?');
	const named = new URLSearchParams(query);
	const ids = ALL_IDS.map((name) => named.get(name));
	const id = firstOf(ids, nonEmptyString);
	if (id !== undefined) return id;
	const parts = path.split('/').filter((part) => !/^(status|state|results?)?$/i.test(part));
	return nonEmptyString(decoded(parts.at(-1) ?? ''));
}

/** A status in digits is that of the request. */
const statusOf = (object: unknown): string | undefined =>
	firstOf(valuesAt(object, FIELDS.status), (value) =>
		typeof value === 'string' && /[^\d\s]/.test(value) ? value : undefined,
	);

/**
 * The object with a task's state: the innermost with a status, because what is around a task may
 * have a status about the request. That of a result counts only below a success.
 */
export function stateIn(object: JsonObject, depth = 0): JsonObject {
	const status = statusOf(object) ?? 'success';
	const names = statusGroup(status) === 'success' ? ALL_ENVELOPES : AROUND_TASK;
	const inside = depth >= DEEPEST ? [] : insideOf(object, names);
	const states = inside.map((inner) => stateIn(inner, depth + 1));
	return states.find((state) => statusOf(state) !== undefined) ?? object;
}

/** The status of a task as the gateway wrote it; undefined if there is none that is a text. */
export const readStatus = (body: JsonObject): string | undefined => statusOf(stateIn(body));

/** Whether a response says that all of its task is done. */
export const isComplete = (layers: JsonObject[]): boolean =>
	firstIn(layers, FIELDS.progress, (value) => {
		const percent = typeof value === 'string' ? value.slice(0, 20).replace('%', '') : value;
		return numberOf(percent) === 100 ? true : undefined;
	}) === true;

/** One file of a result, an image (docs/protocol.md, "Image result"). */
export interface ResultFile {
	url: string;
	/** Its address where `url` has its bytes. */
	address?: string;
	/** The prompt as the model rewrote it. */
	revisedPrompt?: string;
	/** What was delivered, in the gateway's words. */
	size?: string;
	quality?: string;
	outputFormat?: string;
}

type ImageDetails = Omit<ResultFile, 'url' | 'address'>;

/**
 * The images of a response in order: every `data[].url` (docs/protocol.md, "Image result"), also of
 * a single object, and images inside the response (`b64_json`). Of several places, the first that
 * has any.
 */
export const readImages = (body: JsonObject, counted = FINISHED): ResultFile[] =>
	imagesInside(body, {}, 0, counted);

/** The status groups of an image among others that counts: it may be unfinished, or have failed. */
const FINISHED: StatusGroup[] = ['success', 'unknown'];
/** The same where no image has finished, and none will. */
export const WITH_OPEN: StatusGroup[] = [...FINISHED, 'working', 'waiting'];

function imagesInside(
	object: JsonObject,
	around: ImageDetails,
	depth: number,
	counted: StatusGroup[],
): ResultFile[] {
	const details = imageDetailsOf(object, around);
	if (depth > 0 && !counted.includes(statusGroup(statusOf(object)))) return [];
	const lists = valuesAt(object, PLACES);
	const listed = firstOf(lists, (value) =>
		unlessEmpty(imagesAt(value, details, depth + 1, 'alone', counted)),
	);
	if (listed !== undefined) return listed;
	// Then an address beside it may be that of an edit's source, or of the task.
	const isElsewhere = placesIn(object) !== undefined || lists.some(hasImageAddress);
	const named = firstOf(isElsewhere ? [] : valuesAt(object, FIELDS.imageUrl), (value) =>
		unlessEmpty(imagesAt(value, details, depth, 'named', counted)),
	);
	const bytes = bytesUrl(textAt(object, FIELDS.inline));
	const [{ url: address } = { url: undefined }] = named ?? [];
	// The address may not work; bytes that are an image do.
	if (bytes !== undefined && (address === undefined || isImageData(bytes))) {
		return [{ url: bytes, ...details, ...(address?.startsWith('data:') === false && { address }) }];
	}
	// At the top, that of the task itself as well.
	const isResult = depth > 0 || statusGroup(statusOf(object)) === 'success';
	return (named ?? []).filter(({ url }) => isResult || isImageData(url));
}

/**
 * The lists of a response in which the addresses of its images must be, the innermost of each; undefined
 * without any: then they may be anywhere.
 */
export function placesIn(body: JsonObject, depth = 0): unknown[] | undefined {
	if (depth > DEEPEST) return undefined;
	const inside = (value: unknown): unknown =>
		isJsonObject(value) ? (placesIn(value, depth + 1) ?? value) : value;
	// Midjourney and PiAPI have an empty list beside the address of the one image.
	const isSingle = textAt(body, ONE_ADDRESS) !== undefined;
	const present = PLACES.filter((name) => body[name] !== undefined);
	const lists = present.flatMap((name) => {
		const value = body[name];
		const isList = Array.isArray(value) && IMAGE_LISTS.includes(name);
		const isEmptyPlural = isSingle && isList && value.length === 0 && ADDRESSES.includes(name);
		if (isList && !isEmptyPlural) return [value.map(inside)];
		return [value].flat().flatMap((inner) => {
			return isJsonObject(inner) ? (placesIn(inner, depth + 1) ?? []) : [];
		});
	});
	return unlessEmpty(lists);
}

/** What an object says about its image, or what is around it. */
const imageDetailsOf = (object: JsonObject, around: ImageDetails): ImageDetails => ({
	revisedPrompt: textAt(object, FIELDS.revisedPrompt) ?? around.revisedPrompt,
	size: textAt(object, FIELDS.size) ?? around.size,
	quality: textAt(object, FIELDS.quality) ?? around.quality,
	outputFormat: textAt(object, FIELDS.outputFormat) ?? around.outputFormat,
});

function imagesAt(
	given: unknown,
	around: ImageDetails,
	depth = 1,
	place: Place = 'alone',
	counted = FINISHED,
): ResultFile[] {
	if (depth > DEEPEST) return [];
	// Some gateways have JSON as a text there.
	const value = typeof given === 'string' && /^\s*[[{]/.test(given) ? parseJson(given) : given;
	if (Array.isArray(value)) {
		const inList = place === 'named' ? place : 'listed';
		return value.flatMap((entry) => imagesAt(entry, around, depth + 1, inList, counted));
	}
	if (isJsonObject(value)) return imagesInside(value, around, Math.max(1, depth), counted);
	const url = typeof value === 'string' ? imageUrl(value, place) : undefined;
	return url === undefined ? [] : [{ url, ...around }];
}

/** Later than any time in seconds (the year 5138), and earlier than any in milliseconds. */
const FIRST_MS = 1e11;

/** A time in a text: a number, or a date. */
const timeIn = (text: string): number =>
	/^\s*\d{1,20}(?:\.\d{1,20})?\s*$/.test(text) ? Number(text) : Date.parse(text);

/** The time of creation in Unix seconds. */
export const readCreated = (layers: JsonObject[]): number | undefined =>
	firstIn(layers, FIELDS.created, (value) => {
		const time = finiteNumber(typeof value === 'string' ? timeIn(value) : value) ?? 0;
		if (time <= 0) return undefined;
		return time < FIRST_MS ? time : Math.floor(time / 1000);
	});

/** The model that a response names. */
export const readModelName = (layers: JsonObject[]): string | undefined =>
	firstIn(layers, FIELDS.model, nonEmptyString);

/** In characters of JSON: a longer one isn't shown. */
const LONGEST_USAGE = 4000;

/** A copy of what the request used up, as the gateway counts it; undefined if it doesn't say. */
export const readUsage = (layers: JsonObject[]): JsonObject | undefined =>
	firstIn(layers, FIELDS.usage, (value) => {
		const text = isJsonObject(value) ? JSON.stringify(value) : '{}';
		const isShown = text !== '{}' && text.length <= LONGEST_USAGE;
		return isShown ? (JSON.parse(text) as JsonObject) : undefined;
	});

/** The objects without an image in a response's lists of images: one may have been refused. */
export const withoutImageIn = (layers: JsonObject[]): JsonObject[] =>
	layers
		.flatMap((object) => valuesAt(object, IMAGE_PLACES))
		.flatMap((list) => (Array.isArray(list) ? list.filter(isJsonObject) : []))
		.filter((entry) => imagesAt(entry, {}).length === 0);
