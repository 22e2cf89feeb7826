import type { ByteStream } from '../../util/byteStream';
import type { JsonObject } from '../../util/json';

/**
 * The port to the network: it sends one request, and returns the response with its body unread.
 *
 * It doesn't follow redirects, returns responses with error statuses like any other, streams bodies
 * in both directions, and ends at once when the signal is aborted. An error of the network is thrown as it
 * is (`faultFrom`).
 */
export type Transport = (request: WireRequest, signal: AbortSignal) => Promise<WireResponse>;

/** A request as it leaves. */
export interface WireRequest {
	method: 'GET' | 'POST';
	url: string;
	headers: Record<string, string>;
	/** An object is sent as JSON. One with files is read once, by this attempt. */
	body?: WireBody;
	/**
	 * Whether the request is one with the key: a transport that adds it by itself (`addsKey`) must add it
	 * then, and never otherwise.
	 */
	withKey: boolean;
	/** Whether a certificate that isn't trusted is accepted. */
	anyCertificate: boolean;
}

/** `FormData` and `Blob` have only the members that HTTP libraries use (`multipart.ts`). */
export type WireBody = JsonObject | FormData | Blob;

/** A response, whose body is a stream of bytes, or already complete. */
export interface WireResponse {
	httpCode: number;
	/** In any case. */
	headers: Record<string, unknown>;
	body: ByteStream | Uint8Array | string;
}
