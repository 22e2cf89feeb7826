/**
 * What can be set on the embedded gateway, and what it tells about what it received.
 */

/** A group of requests: asynchronous or synchronous image calls, task queries, and so on. */
export type KnownCall = 'submit' | 'sync' | 'poll' | 'download' | 'listing' | 'names' | 'message';
export type Call = KnownCall | 'other';

export type FaultKind =
	| 'status'
	| 'html'
	| 'cut'
	| 'cutAfter'
	| 'silence'
	/** The line is cut after `ms` (default 60,000) without a byte; the request is charged all the same. */
	| 'cutSilent'
	| 'latency'
	| 'unknownStatus'
	| 'noImages'
	| 'badJson'
	| 'empty'
	| 'wrongType'
	| 'drip'
	| 'redirect'
	| 'huge';

/** One way to go wrong, and which requests it hits. */
export interface Fault {
	/** `submit`: asynchronous generation or edit; `sync`: the same calls made synchronously. */
	call: KnownCall | 'any';
	kind: FaultKind;
	/** HTTP status for `status`, `html` (default 200) and `redirect` (default 302). */
	status?: number;
	/** `error.message` of the body. */
	message?: string;
	/** `error.type` of the body. */
	type?: string;
	/** `Retry-After` as given; `date:SECONDS` is an HTTP date that many seconds from now. */
	retryAfter?: string | number;
	/** Target of `redirect`. */
	location?: string;
	/** Milliseconds: the delay of `latency`, the pause after each byte of `drip` (default 50). */
	ms?: number;
	/** Bytes of `huge` (default 64 MB). */
	bytes?: number;
	/** The spelling that `unknownStatus` reports. */
	value?: string;
	/** The request is handled and charged before the fault strikes. */
	charged?: boolean;
	/** How many requests it hits; default: all. */
	times?: number;
	/** Lets this many matching requests pass first. */
	after?: number;
	/** 0..1: hits this share of the matching requests, drawn from a seeded generator. */
	share?: number;
	/** Only requests whose prompt, or whose task's prompt, contains this text. */
	match?: string;
}

export interface GatewayOptions {
	/** Default 127.0.0.1. */
	host?: string;
	/** Default 0: any free port. */
	port?: number;
	/** The path of the API in place of `/v1`, such as `/api/v3`. */
	root?: string;
	/**
	 * The form of image requests, default `form`: OpenAI's, with edits as a form, as JSON at their path,
	 * with one image (`json`) or a list called `images` (`images`), or as `generations` at that path;
	 * `openRouter`: OpenRouter's Image API, without tasks, at `/v1/images`.
	 */
	imageApi?: 'form' | 'json' | 'images' | 'generations' | 'openRouter';
	/** Seconds until a task settles, default 3; a range is drawn from, seeded. */
	taskSeconds?: number | [number, number];
	/** The spellings an open task walks through, evenly spread over its lifetime. */
	statuses?: string[];
	/** The spelling a task ends with, default `completed`. */
	finalStatus?: string;
	/** Milliseconds a synchronous generation or edit takes, default 0. */
	syncMs?: number;
	/** More than this many requests to /v1 within any second are refused with 429. */
	requestsPerSecond?: number;
	faults?: Fault[];
	/** Pixels of an edge where the request names no size, default 512. */
	imageSize?: number;
	/** Pictures are padded to this many bytes by a PNG ancillary chunk. */
	imageBytes?: number;
	/** Milliseconds between the comments of a streamed image that isn't finished. Default 1,000. */
	keepAliveMs?: number;
	/** What an image costs: finished images come with their bill, as `usage.cost`. Default: no bill. */
	bill?: number;
	/** Whether each response has an `x-request-id`. Default false. */
	requestIds?: boolean;
	/** How long an `Idempotency-Key` is known, default a day; with 0 the header is ignored. */
	idempotencySeconds?: number;
	/** Replaces the records of the model listing. */
	models?: unknown[];
	/** `false`: `stream` in a message request is ignored and the response is JSON. Default true. */
	streaming?: boolean;
	/** PEM texts; the gateway then speaks HTTPS. */
	tls?: { key: string; cert: string };
	logger?: boolean;
	/** Milliseconds since the epoch, default Date.now: a test turns the clock by itself. */
	now?: () => number;
}

export interface ReceivedRequest {
	/** Milliseconds since the epoch, by the gateway's clock. */
	at: number;
	call: string;
	method: string;
	path: string;
	query: Record<string, string>;
	headers: Record<string, string | string[]>;
	/** Parsed JSON; for a form `{ fields: [name, value][], files: ReceivedFile[] }`. */
	body: unknown;
	/** Whose key it carried, once that was looked at. */
	account: string | undefined;
	/** Undefined while, or if, there is no response. */
	status: number | undefined;
	/** Whether it was accepted and charged. */
	paid: boolean;
}

export interface ReceivedFile {
	field: string;
	filename: string;
	mimeType: string;
	size: number;
	sha256: string;
}

export interface Gateway {
	url: string;
	/** Two accounts. */
	keys: [string, string];
	/** A key that exists and is not enabled. */
	disabledKey: string;
	adminUrl: string;
	/** Everything received, in order; the last 200,000. */
	requests: ReceivedRequest[];
	/** How many requests of a call arrived; `any` counts all. */
	count(call: string): number;
	/** How many generations, edits and messages were accepted and charged. */
	readonly paid: number;
	readonly paidByPrompt: Record<string, number>;
	readonly maxInFlight: number;
	readonly inFlight: number;
	/** Replaces all faults. */
	setFaults(faults: Fault[]): void;
	/** What is known of a task; undefined if there is none. */
	task(id: string): unknown;
	/** Back to the start: no records, tasks or pictures; the faults of the options. */
	reset(): void;
	close(): Promise<void>;
}
