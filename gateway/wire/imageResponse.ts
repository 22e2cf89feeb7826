import { readServerEvents, type ServerEvent } from '../../util/serverSentEvents';
import { imageTypeOf } from '../../util/imageType';
import { readImages } from '../responses/responseFields';
import { isJsonObject, parseJson, type JsonObject } from '../../util/json';
import { readBody, type ResponseBody } from './responseBody';
import type { WireResponse } from './transport';

/** A text with the JSON in it; a list as the `data` of an object. */
export function jsonBody(text: string): ResponseBody {
	const json = parseJson(text);
	return { text, json: Array.isArray(json) ? { data: json } : json };
}

/**
 * Reads the response of an images endpoint to its end. In place of JSON, some gateways send the
 * image itself, or events, also unasked: both become JSON in the form of the protocol.
 *
 * @param chunks filled as the body arrives
 * @param limit in bytes
 */
export async function readImageResponse(
	{ body, httpCode, headers }: WireResponse,
	chunks: Uint8Array[] = [],
	limit = Infinity,
): Promise<ResponseBody> {
	const isSuccess = httpCode >= 200 && httpCode < 300;
	try {
		const bytes = await readBody(body, limit, chunks);
		const type = String(headers?.['content-type'] ?? '');
		return (isSuccess ? await otherBody(bytes, type) : undefined) ?? jsonBody(bytes.toString());
	} catch (error) {
		// Events may never end, or be cut off behind the image that was paid for.
		const json = isSuccess && isEvents(chunks[0]) ? await jsonOfEvents(chunks) : {};
		if (readImages(json).length === 0) throw error as Error;
		return { text: '', json };
	}
}

/** A body that isn't JSON: an image, or events. */
async function otherBody(bytes: Buffer, type: string): Promise<ResponseBody | undefined> {
	if (/^\s*[{[]/.test(bytes.toString('latin1', 0, LONGEST_START))) return undefined;
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

/**
 * The event that says most, as JSON: the last one with an image that is no preview, an error, or the
 * last one.
 */
async function jsonOfEvents(chunks: Uint8Array[]): Promise<JsonObject> {
	let image: JsonObject | undefined;
	let error: JsonObject | undefined;
	let last: JsonObject = {};
	const bytes = async function* () {
		yield* chunks;
	};
	let count = 0;
	for await (const event of readServerEvents(bytes())) {
		if (++count > MOST_EVENTS) break;
		const json = jsonOfEvent(event);
		const isPreview = /partial/i.test(`${event.event} ${json?.type}`);
		if (json === undefined || isPreview) continue;
		last = json;
		if (json.error) error = json;
		if (readImages(json).length > 0) image = json;
	}
	return image ?? error ?? last;
}

function jsonOfEvent({ event, data }: ServerEvent): JsonObject | undefined {
	const json = parseJson(data);
	const isError = event === 'error' || (isJsonObject(json) && json.type === 'error');
	if (!isJsonObject(json)) return isError ? { error: data } : undefined;
	if (isError) return { error: json.error ?? json };
	// An event is the image, or has it in the places of any other response.
	return readImages(json).length > 0 ? json : { ...json, data: json.data ?? [json] };
}
