import type { ByteStream } from '../../util/byteStream';
import type { HttpResponse } from '../protocol/outcome';
import type { WireResponse } from './transport';

/** The body of a response: its text, and the JSON in it. */
export type ResponseBody = Pick<HttpResponse, 'text' | 'json'>;

/** How the body of a response is read. */
export interface Reading {
	/** Filled as the body arrives. */
	chunks?: Uint8Array[];
	/** In bytes. */
	limit?: number;
	/** Told of each part of a response that may take long: its timeout begins anew. */
	onPart?: () => void;
}

/** Node.js's own text for a connection that was cut off, by which the fault is recognized. */
const PREMATURE_CLOSE = 'premature close';

/** A body is larger than its limit. */
export class TooLargeError extends Error {
	override name = 'TooLargeError';
}

/** How much is kept of a body that was cut off: enough for a task ID in it. */
const KEPT_BYTES = 16 * 1024;

/** The beginning of a body, of which these chunks have arrived. */
export function beginningOf(chunks: Uint8Array[]): string {
	const size = chunks.reduce((sum, { length }) => sum + length, 0);
	return Buffer.concat(chunks, Math.min(size, KEPT_BYTES)).toString('utf8');
}

/**
 * Reads a body to its end.
 *
 * @param limit in bytes; beyond it the stream is destroyed
 * @param chunks filled as the body arrives
 * @throws TooLargeError, or the error of the stream
 */
export async function readBody(
	body: WireResponse['body'],
	limit: number,
	chunks: Uint8Array[] = [],
): Promise<Buffer> {
	if (Buffer.isBuffer(body)) return body;
	if (typeof body === 'string') return Buffer.from(body);
	if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.length);
	let size = 0;
	// Events, because a loop over the stream takes a tenth more processor time for a request.
	await new Promise<void>((resolve, reject) => {
		body.on('data', (chunk: Uint8Array) => {
			size += chunk.length;
			chunks.push(chunk);
			if (size > limit) body.destroy(new TooLargeError(`More than ${limit} bytes`));
		});
		body.on('error', reject);
		body.once('end', () => resolve());
		body.once('close', () => reject(new Error(PREMATURE_CLOSE)));
		// A stream that has closed already emits no event.
		if (body.destroyed) reject(new Error(PREMATURE_CLOSE));
	});
	return Buffer.concat(chunks);
}

/**
 * Reads the first bytes of a stream, which stay in the stream.
 *
 * @returns at least one byte, or none if the stream is empty
 */
export async function peek(stream: ByteStream): Promise<Uint8Array> {
	stream.pause();
	await new Promise<void>((resolve, reject) => {
		stream.once('readable', () => resolve());
		stream.once('end', () => resolve());
		stream.once('error', reject);
		stream.once('close', () => reject(new Error(PREMATURE_CLOSE)));
		if (stream.destroyed) reject(new Error(PREMATURE_CLOSE));
	});
	const chunk = stream.read();
	if (chunk !== null) stream.unshift(chunk);
	return chunk ?? new Uint8Array();
}

/** Limits a stream: it is destroyed once more than `limit` bytes were read from it. */
export function bound(stream: ByteStream, limit: number): void {
	let size = 0;
	// A listener for data doesn't start a stream that was paused explicitly: it sees what is read.
	stream.pause();
	stream.on('data', (chunk: Uint8Array) => {
		size += chunk.length;
		if (size > limit) stream.destroy(new TooLargeError(`More than ${limit} bytes`));
	});
	// A reader's own listener must start it: n8n reads in this way if it doesn't keep binary data in
	// the file system.
	stream.on('newListener', (event) => {
		if (event === 'data') void Promise.resolve().then(() => stream.resume());
	});
}
