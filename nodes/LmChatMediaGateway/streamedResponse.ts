import type { IN8nHttpFullResponse } from 'n8n-workflow';
import { MessageStream, type Piece } from '../../gateway/messages/messageStream';
import { readServerEvents } from '../../gateway/messages/serverSentEvents';
import { isJsonObject } from '../../gateway/util/json';
import type { KeyFilter } from '../../gateway/util/keyFilter';
import { isEventStream, withoutEvents, withoutPreamble } from '../../gateway/messages/streamStart';
import type { GatewayAddress } from '../shared/transport/gatewayAddress';
import { isByteStream, TooLargeError } from '../shared/transport/responseBody';
import { plainHeaders, readJson, type ResponseBody } from '../shared/transport/http';

const LARGEST_STREAM_BYTES = 64 * 1024 * 1024;
const LARGEST_PREAMBLE_BYTES = 1024 * 1024;
/** In characters: as much as an error shows of what arrived. */
const LONGEST_START = 2048;

/** What has arrived of a response, also where it is cut. */
export interface Arrived {
	/** How it began, without the key; of a stream, its ID and what was written. */
	start: string;
	/** Whether it is known to be a stream. */
	isStream: boolean;
	/** Whether the model has begun to call a tool. */
	callsTool: boolean;
}

export interface ReadOptions {
	/** Gets what is written as soon as it is there. */
	onPiece: (piece: Piece) => void;
	/** Takes out the key, should the gateway quote it. */
	withoutKey: GatewayAddress['withoutKey'];
	/** The same for a text that comes in pieces. */
	keyFilter: () => KeyFilter;
	/** Is kept up to date. */
	arrived: Arrived;
}

/**
 * Reads the response to a message. What is no stream (an error, or the whole response as JSON) is read in
 * one piece; how it begins decides, and not whether a stream was asked for.
 *
 * @returns the whole response, in the form in which it comes when it is not streamed
 * @throws the error of the connection if it ends too early
 */
export async function readStreamedResponse(
	response: IN8nHttpFullResponse,
	{ onPiece, withoutKey, keyFilter, arrived }: ReadOptions,
): Promise<ResponseBody> {
	const { body, statusCode } = response;
	if (statusCode < 200 || statusCode >= 300 || !isByteStream(body)) return await readJson(response);
	const chunks = noted(body, keyFilter(), arrived);
	const { isStream, head } = await readHead(chunks, isAnnouncedAsStream(response));
	const all = rejoined(head, chunks);
	if (!isStream) return await readJson({ ...response, body: await textOf(all) });

	// A key may be split over several events, where nobody finds it: of those themselves nothing is told.
	arrived.isStream = true;
	arrived.start = '';
	const stream = new MessageStream();
	const filters = { text: keyFilter(), thinking: keyFilter() };
	const note = (text: string): void => {
		arrived.start = (arrived.start + text).slice(0, LONGEST_START);
	};
	const show = (type: Piece['type'], text: string): void => {
		if (text === '') return;
		onPiece({ type, text });
		note(text);
	};
	for await (const event of readServerEvents(all)) {
		const pieces = stream.add(event);
		const id = arrived.start === '' ? stream.id : undefined;
		if (id !== undefined) note(`${withoutKey(id)}\n`);
		for (const { type, text } of pieces) show(type, filters[type].add(text));
		arrived.callsTool ||= stream.callsTool;
		// Leaving the loop closes the connection: some gateways keep it open.
		if (stream.done) break;
	}
	if (!stream.whole) return await Promise.reject(new Error('premature close'));
	// Where it was cut, what is held back stays so: it may be half the key.
	show('thinking', filters.thinking.rest());
	show('text', filters.text.rest());
	return { text: withoutKey(arrived.start), json: erased(stream.body, withoutKey) };
}

function isAnnouncedAsStream({ headers }: IN8nHttpFullResponse): boolean {
	const type = plainHeaders(headers)['content-type'] ?? '';
	return type.trim().toLowerCase().startsWith('text/event-stream');
}

/** The chunks of a body, whose beginning is noted. @throws TooLargeError */
async function* noted(
	body: AsyncIterable<Uint8Array>,
	filter: KeyFilter,
	arrived: Arrived,
): AsyncGenerator<Uint8Array, undefined> {
	const decoder = new TextDecoder();
	let size = 0;
	let start = '';
	for await (const chunk of body) {
		size += chunk.length;
		if (size > LARGEST_STREAM_BYTES) {
			throw new TooLargeError(`More than ${LARGEST_STREAM_BYTES} bytes`);
		}
		if (!arrived.isStream && start.length < LONGEST_START) {
			const text = decoder.decode(chunk.subarray(0, 4 * LONGEST_START), { stream: true });
			start += filter.add(text);
			arrived.start = withoutEvents(start.slice(0, LONGEST_START));
		}
		yield chunk;
	}
}

/** Reads as much of a body as is needed to tell what it is. */
async function readHead(
	chunks: AsyncGenerator<Uint8Array, undefined>,
	isAnnounced: boolean,
): Promise<{ isStream: boolean; head: Uint8Array[] }> {
	const decoder = new TextDecoder();
	const head: Uint8Array[] = [];
	let start = '';
	for (let size = 0; ; ) {
		const { value: chunk } = await chunks.next();
		if (chunk !== undefined) {
			head.push(chunk);
			size += chunk.length;
			start = withoutPreamble(start + decoder.decode(chunk, { stream: true }));
		}
		const isAll = chunk === undefined || size > LARGEST_PREAMBLE_BYTES;
		const isStream = isEventStream(start, isAnnounced, isAll);
		if (isStream !== undefined) return { isStream, head };
	}
}

async function* rejoined(
	head: Uint8Array[],
	chunks: AsyncGenerator<Uint8Array, undefined>,
): AsyncGenerator<Uint8Array> {
	try {
		yield* head;
		yield* chunks;
	} finally {
		// Also where nobody has got beyond the head: it closes the connection.
		await chunks.return(undefined);
	}
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
	const list: Uint8Array[] = [];
	for await (const chunk of chunks) list.push(chunk);
	return withoutEvents(withoutPreamble(new TextDecoder().decode(Buffer.concat(list))));
}

/** A copy of JSON whose texts are without the key. */
function erased(value: unknown, withoutKey: (text: string) => string): unknown {
	if (typeof value === 'string') return withoutKey(value);
	if (Array.isArray(value)) return value.map((entry) => erased(entry, withoutKey));
	if (!isJsonObject(value)) return value;
	return Object.fromEntries(
		Object.entries(value).map(([name, entry]) => [withoutKey(name), erased(entry, withoutKey)]),
	);
}
