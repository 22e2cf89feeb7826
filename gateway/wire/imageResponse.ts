import { readServerEvents, withoutComments, type ServerEvent } from '../../util/serverSentEvents';
import { imageTypeOf } from '../../util/imageType';
import {
	isComplete,
	layersOf,
	readImages,
	readStatus,
	readUsage,
} from '../responses/responseFields';
import { isSuccess } from '../protocol/outcome';
import { statusGroup } from '../protocol/status';
import { finiteNumber, isJsonObject, parseJson, type JsonObject } from '../../util/json';
import { readBody, type Reading, type ResponseBody } from './responseBody';
import type { WireResponse } from './transport';

/** A text with the JSON in it; a list as the `data` of an object. */
export function jsonBody(text: string): ResponseBody {
	const json = parseJson(text);
	return { text, json: Array.isArray(json) ? { data: json } : json };
}

/**
 * Reads the response of an images endpoint to its end. In place of JSON, some gateways send the
 * image itself, or events, also unasked: both become JSON in the form of the protocol.
 */
export async function readImageResponse(
	{ body, httpCode, headers }: WireResponse,
	{ chunks = [], limit = Infinity }: Reading = {},
): Promise<ResponseBody> {
	const mayHaveImage = isSuccess(httpCode);
	try {
		const bytes = await readBody(body, limit, chunks);
		const type = String(headers?.['content-type'] ?? '');
		return (mayHaveImage ? await otherBody(bytes, type) : undefined) ?? jsonBody(bytes.toString());
	} catch (error) {
		// Events may never end, or be cut off behind the image that was paid for.
		const json = mayHaveImage && isEvents(chunks[0]) ? await jsonOfEvents(chunks) : {};
		if (readImages(json).length === 0) throw error as Error;
		return { text: '', json };
	}
}

/** A body that isn't JSON: an image, events, or JSON behind the comments of events. */
async function otherBody(bytes: Buffer, type: string): Promise<ResponseBody | undefined> {
	const start = bytes.toString('latin1', 0, LONGEST_START);
	if (/^\s*[{[]/.test(start)) return undefined;
	if (/^\s*:/.test(start)) {
		const text = withoutComments(bytes.toString());
		if (/^\s*[{[]/.test(text)) return jsonBody(text);
	}
	if (isEvents(bytes)) return { text: bytes.toString(), json: await jsonOfEvents([bytes]) };
	if (imageTypeOf(bytes, type) === undefined) return undefined;
	return { text: '', json: { data: [{ b64_json: bytes.toString('base64') }] } };
}

/** In bytes: the part of a body that shows what it is. */
const LONGEST_START = 100;

/** Whether a body begins with a field of a server-sent event, or a comment. */
const isEvents = (bytes: Uint8Array = new Uint8Array()): boolean =>
	/^\ufeff?\s*(event|data|id|retry)?:/.test(
		Buffer.from(bytes.subarray(0, LONGEST_START)).toString(),
	);

/** More events than any image has. */
const MOST_EVENTS = 10_000;

/** Words for an image that isn't finished, in the name or the type of its event. */
const PREVIEW = /partial|preview|progress|draft|thumb|intermediate/i;

/** Whether the image of an event isn't finished, by its name, its type or its status. */
function isPreview({ event = '' }: ServerEvent, json: JsonObject): boolean {
	if (isComplete(layersOf(json))) return false;
	const names = [event, String(json.type)].map((name) => name.slice(0, LONGEST_START));
	if (PREVIEW.test(names.join(' '))) return true;
	return ['waiting', 'working'].includes(statusGroup(readStatus(json)));
}

/**
 * Events as one JSON: that of the last one with an image that is no preview, with the images of all of
 * these, and what others say of the usage and of an image that is missing; else an error, or the last one.
 * An error names the previews.
 */
async function jsonOfEvents(chunks: Uint8Array[]): Promise<JsonObject> {
	const finished: JsonObject[] = [];
	const previews: JsonObject[] = [];
	let error: JsonObject | undefined;
	let usage: JsonObject = {};
	let last: JsonObject = {};
	let count = 0;
	for await (const event of readServerEvents(chunks)) {
		if (++count > MOST_EVENTS) break;
		const json = jsonOfEvent(event);
		if (json === undefined) continue;
		const isOpen = isPreview(event, json);
		if (!isOpen) usage = { ...usage, ...readUsage(layersOf(json)) };
		if (!isOpen && readImages(json).length > 0) finished.push(json);
		else if (json.error) error = json;
		else if (isOpen) previews.push(json);
		else last = json;
	}
	if (finished.length > 0)
		return { ...merged(finished, error), ...(Object.keys(usage).length > 0 && { usage }) };
	const shown = previews.length === 0 ? {} : { previews: previews.slice(-MOST_PREVIEWS) };
	return { ...(error ?? last), ...shown };
}

/** The most previews that are kept: each may have an image inside. */
const MOST_PREVIEWS = 3;

/**
 * Several events with finished images as the last one, with all images in the order of their numbers, and
 * an error in place of one.
 */
function merged(events: JsonObject[], error?: JsonObject): JsonObject {
	const sorted = [...events].sort((one, other) => indexOf(one) - indexOf(other));
	const images = new Map<string, JsonObject>();
	for (const json of sorted) {
		for (const image of readImages(json))
			if (!images.has(image.url)) images.set(image.url, { ...image });
	}
	const last = events.at(-1) ?? {};
	if (events.length === 1 && error === undefined) return last;
	return { ...last, data: [...images.values(), ...(error === undefined ? [] : [error])] };
}

const indexOf = ({ index, image_index, output_index }: JsonObject): number =>
	finiteNumber(index ?? image_index ?? output_index) ?? 0;

function jsonOfEvent({ event, data }: ServerEvent): JsonObject | undefined {
	const json = parseJson(data);
	const isError = event === 'error' || (isJsonObject(json) && json.type === 'error');
	if (!isJsonObject(json)) return isError ? { error: data } : undefined;
	if (isError) return { error: json.error ?? json };
	// An event is the image, or has it in the places of any other response.
	return readImages(json).length > 0 ? json : { ...json, data: json.data ?? [json] };
}
