import { isSuccess } from '../protocol/outcome';
import type { WireResponse } from '../wire/transport';
import { MessageStream } from './messageStream';
import { readServerEvents, withoutComments, type ServerEvent } from '../../util/serverSentEvents';
import { bound, type Reading, type ResponseBody } from '../wire/responseBody';
import { LARGEST_RESPONSE_BYTES, readJson } from '../wire/sendOnce';
import { isByteStream } from '../../util/byteStream';

/**
 * Reads the response to a message. Its first event makes it a stream: some gateways respond with
 * JSON to a stream request, or with a wrong content type.
 *
 * @param reading with `onText`, which gets the text as soon as it arrives. Pings are no part, and of a
 *   stream the chunks are the shown text
 * @returns the complete response, in the form of one that isn't streamed
 * @throws the error of the connection if the response is truncated
 */
export async function readStreamedResponse(
	response: WireResponse,
	{ onText, onPart, chunks = [] }: Reading & { onText?: (text: string) => void },
): Promise<ResponseBody> {
	const { body, httpCode } = response;
	if (!isSuccess(httpCode)) return await readJson(response, { chunks });
	let isStream = false;
	if (isByteStream(body)) bound(body, LARGEST_RESPONSE_BYTES);
	const parts = isByteStream(body) ? body : [Buffer.from(body)];
	const bytes = async function* () {
		for await (const chunk of parts) {
			if (!isStream) chunks.push(chunk);
			yield chunk;
		}
	};
	const stream = new MessageStream();
	try {
		for await (const event of readServerEvents(bytes())) {
			if (!isStream) chunks.length = 0;
			isStream = true;
			if (!isPing(event)) onPart?.();
			const text = stream.add(event);
			if (chunks.length === 0 && stream.id !== undefined) {
				chunks.push(Buffer.from(`${stream.id}\n`));
			}
			if (text !== '') {
				onText?.(text);
				chunks.push(Buffer.from(text));
			}
			// Ending the loop closes the connection, which some gateways keep open.
			if (stream.done) break;
		}
	} catch (error) {
		// What comes after the stop reason doesn't matter: the response is complete and charged.
		if (!stream.whole) throw error as Error;
	}
	if (!isStream) {
		// Keep-alive comments may come before JSON too.
		const text = Buffer.concat(chunks).toString('utf8');
		return await readJson({ ...response, body: withoutComments(text) });
	}
	// A tool call without a stop reason tells by itself that the response was cut off.
	if (!stream.whole && !stream.callsTool) throw new Error('premature close');
	return { text: JSON.stringify(stream.body), json: stream.body };
}

/** Whether an event only says that the connection is open. */
const isPing = ({ event, data }: ServerEvent): boolean =>
	event === 'ping' || /^\s*\{\s*"type"\s*:\s*"ping"/.test(data);
