import type { Readable } from 'node:stream';

/** A response as a value: it is made first and sent afterwards, so that a fault can alter it. */
export interface GatewayResponse {
	status: number;
	type: string;
	body: string | Buffer | Readable;
	headers?: Record<string, string>;
}

/** A refusal that becomes a response: docs/protocol.md, "Errors". */
export class Refusal extends Error {
	constructor(
		readonly status: number,
		readonly body: unknown,
		readonly headers?: Record<string, string>,
	) {
		super(`HTTP ${status}`);
	}
}

/** A 200, or another status, with a JSON body. */
export function json(
	body: unknown,
	status = 200,
	headers?: Record<string, string>,
): GatewayResponse {
	return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(body), headers };
}

/** Refusal in the shape of the image endpoints: `{ error: { message, type } }`. */
export function refusal(status: number, message: string, type = 'invalid_request_error'): Refusal {
	return new Refusal(status, { error: { message, type } });
}

/** Refusal of the message endpoint: the same object, marked as an error at the top as well. */
export function messageRefusal(
	status: number,
	message: string,
	type = 'invalid_request_error',
): Refusal {
	return new Refusal(status, { type: 'error', error: { type, message } });
}
