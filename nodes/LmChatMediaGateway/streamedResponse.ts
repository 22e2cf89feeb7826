import type { IN8nHttpFullResponse } from 'n8n-workflow';
import type { MessageStream, Piece } from '../../gateway/messages/messageStream';
import { readServerEvents } from '../../gateway/messages/serverSentEvents';
import type { KeyFilter } from '../../gateway/util/keyFilter';
import { isByteStream, TooLargeError } from '../shared/transport/responseBody';
import { LARGEST_RESPONSE_BYTES, readJson, type ResponseBody } from '../shared/transport/http';

export interface StreamOptions {
	/** Gets the events. */
	stream: MessageStream;
	/** Gets the text as soon as it arrives. */
	onPiece?: (piece: Piece) => void;
	/** Makes what takes out the key, should the gateway quote it. */
	createKeyFilter: () => KeyFilter;
	/** Gets what has arrived: bytes, or the text of a stream, of whose events no key can be taken out. */
	chunks?: Uint8Array[];
}

/**
 * Reads the response to a message. The first event in it makes it a stream: some gateways respond with
 * JSON although a stream was requested, or announce a stream as something else.
 *
 * @returns the whole response, in the form of one that is not streamed
 * @throws the error of the connection if the response is cut
 */
export async function readStreamedResponse(
	response: IN8nHttpFullResponse,
	{ stream, onPiece, createKeyFilter, chunks = [] }: StreamOptions,
): Promise<ResponseBody> {
	const { body, statusCode } = response;
	if (statusCode < 200 || statusCode >= 300 || !isByteStream(body)) {
		return await readJson(response, chunks);
	}
	let isStream = false;
	const bytes = async function* (): AsyncGenerator<Uint8Array> {
		let size = 0;
		for await (const chunk of body) {
			size += chunk.length;
			if (size > LARGEST_RESPONSE_BYTES) {
				throw new TooLargeError(`More than ${LARGEST_RESPONSE_BYTES} bytes`);
			}
			if (!isStream) chunks.push(chunk);
			yield chunk;
		}
	};
	const filters = { text: createKeyFilter(), thinking: createKeyFilter() };
	const show = (type: Piece['type'], text: string): void => {
		if (text === '') return;
		onPiece?.({ type, text });
		chunks.push(Buffer.from(text));
	};
	for await (const event of readServerEvents(bytes())) {
		if (!isStream) chunks.length = 0;
		isStream = true;
		const pieces = stream.add(event);
		if (chunks.length === 0 && stream.id !== undefined) chunks.push(Buffer.from(`${stream.id}\n`));
		for (const { type, text } of pieces) show(type, filters[type].add(text));
		// Leaving the loop closes the connection, which some gateways keep open.
		if (stream.done) break;
	}
	if (!isStream) {
		// Comments, which keep a connection open, may come before JSON too.
		const text = Buffer.concat(chunks).toString('utf8');
		return await readJson({ ...response, body: text.replace(/^(?:\s+|:.*)+/, '') });
	}
	if (!stream.whole) return await Promise.reject(new Error('premature close'));
	// Of a stream that is cut, the text held back stays so: it may be half the key.
	show('thinking', filters.thinking.rest());
	show('text', filters.text.rest());
	return { text: JSON.stringify(stream.body), json: stream.body };
}
