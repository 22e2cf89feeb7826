/** What goes over the wire, whichever way it goes. */

export interface WireRequest {
	method: string;
	url: URL;
	/** Lower-case names. */
	headers: Record<string, string>;
	/** Undefined where there is none; a form as its parts. */
	body: Buffer | FormPart[] | undefined;
}

export interface FormPart {
	name: string;
	fileName?: string;
	type?: string;
	value: Buffer;
}

/** What the caller gets, and when. */
export interface Delivery {
	/** A failure before anything was sent, by its code. */
	refusal?: 'ECONNREFUSED' | 'ENOTFOUND';
	/** Milliseconds until the head is sent, or the connection fails. */
	afterMs: number;
	status: number;
	headers: Record<string, string>;
	body: Buffer;
	/** How the connection ends: after the whole body, after `sent` bytes, or never. */
	end: 'whole' | 'cut' | 'never';
	/** Bytes that are sent; none and `cut`: not even the head. */
	sent: number;
	/** Milliseconds between the pieces of a body that drips. */
	dripMs?: number;
	/** Told how many bytes of the body have reached the caller, and whether that was all. */
	onArrival?: (bytes: number, whole: boolean) => void;
}

export function deliver(
	status: number,
	body: Buffer | string,
	headers: Record<string, string> = {},
): Delivery {
	const bytes = typeof body === 'string' ? Buffer.from(body) : body;
	return { afterMs: 0, status, headers, body: bytes, end: 'whole', sent: bytes.length };
}

export function deliverJson(
	body: unknown,
	status = 200,
	headers: Record<string, string> = {},
): Delivery {
	const type = { 'content-type': 'application/json', ...headers };
	return deliver(status, typeof body === 'string' ? body : JSON.stringify(body), type);
}

/** Where requests go. */
export interface Destination {
	/** What the caller gets; called when the request has arrived. */
	handle(request: WireRequest): Delivery;
	/** A killed process hears nothing any more. */
	isAlive(): boolean;
}
