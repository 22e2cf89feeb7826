/**
 * What becomes of each call under each fault: the data of the tests, and of the table in the
 * documentation.
 */
import type { Fault } from '../../simulator/gateway.mjs';

/** `listing` and `model` are the Models node, `check` is what Image Generation looks up by itself. */
export const CALLS = [
	'submit',
	'sync',
	'poll',
	'download',
	'listing',
	'model',
	'check',
	'message',
] as const;

export type MatrixCall = (typeof CALLS)[number];

export interface MatrixFault {
	/** As the documentation names it. */
	name: string;
	/** What the embedded gateway is told to do. */
	fault?: Omit<Fault, 'call'>;
	/** Nothing answers at the address. */
	dead?: true;
	/** The certificate is signed by nobody. */
	selfSigned?: true;
	/** The redirect leads to another server. */
	otherHost?: true;
	/** Needs a time-out of one second. */
	timesOut?: true;
	/** Seconds that a task is waited for, if not 300. */
	maxWait?: number;
}

const status = (code: number, more: Omit<Fault, 'call' | 'kind'> = {}): MatrixFault['fault'] => ({
	kind: 'status',
	status: code,
	...more,
});

export const FAULTS = {
	'400': { name: '400', fault: status(400) },
	'401': { name: '401', fault: status(401) },
	'403': { name: '403', fault: status(403, { message: 'not for this key' }) },
	'404': { name: '404', fault: status(404, { message: 'no such thing' }) },
	'408': { name: '408', fault: status(408, { message: 'request time-out' }) },
	'413': { name: '413', fault: status(413, { message: 'too large' }) },
	'429': { name: '429', fault: status(429) },
	'429 seconds': {
		name: '429, `Retry-After` in seconds',
		fault: status(429, { retryAfter: 7 }),
	},
	'429 date': {
		name: '429, `Retry-After` as a date',
		fault: status(429, { retryAfter: 'date:7' }),
	},
	'429 long': {
		name: '429, `Retry-After` beyond five minutes',
		fault: status(429, { retryAfter: 400 }),
		maxWait: 600,
	},
	'429 absurd': {
		name: '429, `Retry-After` that makes no sense',
		fault: status(429, { retryAfter: 'soon, -1' }),
	},
	'429 quota': {
		name: '429 for quota',
		fault: status(429, { message: 'quota insufficient', type: 'insufficient_quota' }),
	},
	'500': { name: '500', fault: status(500) },
	'502': { name: '502', fault: status(502) },
	'503': { name: '503', fault: status(503) },
	'504': { name: '504', fault: status(504) },
	html: { name: 'A web page with status 200', fault: { kind: 'html' } },
	'html 502': { name: 'A web page with status 502', fault: { kind: 'html', status: 502 } },
	truncated: { name: 'Truncated JSON', fault: { kind: 'badJson' } },
	empty: { name: 'An empty body', fault: { kind: 'empty' } },
	'wrong type': { name: 'Another content type', fault: { kind: 'wrongType' } },
	refused: { name: 'Connection refused', dead: true },
	'reset before': {
		name: 'Connection reset before the request was handled',
		fault: { kind: 'cut' },
	},
	'reset after': {
		name: 'Connection reset after the request was handled',
		fault: { kind: 'cutAfter' },
	},
	silence: { name: 'Silence until the time-out', fault: { kind: 'silence' }, timesOut: true },
	drip: {
		name: 'An answer that drips in until the time-out',
		fault: { kind: 'drip', ms: 200 },
		timesOut: true,
	},
	'redirect here': {
		name: 'Redirect to the same host',
		fault: { kind: 'redirect', location: '/v1/elsewhere' },
	},
	'redirect away': {
		name: 'Redirect to another host',
		fault: { kind: 'redirect', status: 307 },
		otherHost: true,
	},
	'self-signed': { name: 'A certificate that is not trusted', selfSigned: true },
	huge: {
		name: 'A body without end',
		fault: { kind: 'huge', bytes: 80 * 1024 * 1024 },
		maxWait: 3600,
	},
} satisfies Record<string, MatrixFault>;

export type FaultName = keyof typeof FAULTS;

export interface Cell {
	fault: FaultName;
	call: MatrixCall;
	/**
	 * What the user reads, `…` standing for what differs: an error, or with `check` a hint. Empty:
	 * nothing, and what was asked for comes out.
	 */
	reads: string;
	/** Whether the same request went out more than once. */
	sentAgain: boolean;
	/** How often the gateway charged. */
	paid: number;
}

export const CELLS: Cell[] = [
	{
		fault: '400',
		call: 'submit',
		reads: 'The gateway refused the request (400): invalid request parameters',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '400',
		call: 'sync',
		reads: 'The gateway refused the request (400): invalid request parameters',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '400',
		call: 'poll',
		reads: 'The gateway refused the request (400): invalid request parameters',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '400',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 400',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '400',
		call: 'listing',
		reads: 'The gateway refused the request (400): invalid request parameters',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '400',
		call: 'model',
		reads: 'The gateway refused the request (400): invalid request parameters',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '400',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The gateway refused the request (400): invalid request parameters.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '400',
		call: 'message',
		reads: 'The gateway refused the request (400): invalid request parameters',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '401',
		call: 'submit',
		reads: 'The gateway refused the API key (401): API key invalid',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '401',
		call: 'sync',
		reads: 'The gateway refused the API key (401): API key invalid',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '401',
		call: 'poll',
		reads: 'The gateway refused the API key (401): API key invalid',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '401',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 401',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '401',
		call: 'listing',
		reads: 'The gateway refused the API key (401): API key invalid',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '401',
		call: 'model',
		reads: 'The gateway refused the API key (401): API key invalid',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '401',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The gateway refused the API key (401): API key invalid.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '401',
		call: 'message',
		reads: 'The gateway refused the API key (401): API key invalid',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '403',
		call: 'submit',
		reads: 'The gateway does not allow this request (403): not for this key',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '403',
		call: 'sync',
		reads: 'The gateway does not allow this request (403): not for this key',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '403',
		call: 'poll',
		reads: 'The gateway does not allow this request (403): not for this key',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '403',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 403',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '403',
		call: 'listing',
		reads: 'The gateway does not allow this request (403): not for this key',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '403',
		call: 'model',
		reads: 'The gateway does not allow this request (403): not for this key',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '403',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The gateway does not allow this request (403): not for this key.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '403',
		call: 'message',
		reads: 'The gateway does not allow this request (403): not for this key',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '404',
		call: 'submit',
		reads: 'The gateway does not know this address (404): no such thing',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '404',
		call: 'sync',
		reads: 'The gateway does not know this address (404): no such thing',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '404',
		call: 'poll',
		reads: 'The gateway knows no generation task … (404)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '404',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 404',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '404',
		call: 'listing',
		reads: 'The gateway does not know this address (404): no such thing',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '404',
		call: 'model',
		reads: 'The gateway publishes no model "…" (404)',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '404',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The gateway does not know this address (404): no such thing.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '404',
		call: 'message',
		reads: 'The gateway does not know this address (404): no such thing',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '408',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, the gateway answered 408 ("request time-out")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '408',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, the gateway answered 408 ("request time-out")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '408',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, the gateway was not available (408): request time-out',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '408',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 408 (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: '408',
		call: 'listing',
		reads:
			'While reading the model listing, the gateway was not available (408): request time-out (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '408',
		call: 'model',
		reads:
			'While reading the model listing, the gateway was not available (408): request time-out (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '408',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the gateway was not available (408): request time-out.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '408',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, the gateway answered 408 ("request time-out")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '413',
		call: 'submit',
		reads: 'The request is too large for the gateway (413): too large',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '413',
		call: 'sync',
		reads: 'The request is too large for the gateway (413): too large',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '413',
		call: 'poll',
		reads: 'The request is too large for the gateway (413): too large',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '413',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 413',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '413',
		call: 'listing',
		reads: 'The request is too large for the gateway (413): too large',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '413',
		call: 'model',
		reads: 'The request is too large for the gateway (413): too large',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '413',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The request is too large for the gateway (413): too large.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '413',
		call: 'message',
		reads: 'The request is too large for the gateway (413): too large',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '429',
		call: 'submit',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429',
		call: 'sync',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: The gateway receives too many requests (429): requests too frequent, retry later',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 429 (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: '429',
		call: 'listing',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429',
		call: 'model',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The gateway receives too many requests (429): requests too frequent, retry later.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '429',
		call: 'message',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '500',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, the gateway answered 500 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '500',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, the gateway answered 500 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '500',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, the gateway was not available (500): service temporarily unavailable, retry later',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '500',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 500 (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: '500',
		call: 'listing',
		reads:
			'While reading the model listing, the gateway was not available (500): service temporarily unavailable, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '500',
		call: 'model',
		reads:
			'While reading the model listing, the gateway was not available (500): service temporarily unavailable, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '500',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the gateway was not available (500): service temporarily unavailable, retry later.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '500',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, the gateway answered 500 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '502',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, the gateway answered 502 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '502',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, the gateway answered 502 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '502',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, the gateway was not available (502): service temporarily unavailable, retry later',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '502',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 502 (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: '502',
		call: 'listing',
		reads:
			'While reading the model listing, the gateway was not available (502): service temporarily unavailable, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '502',
		call: 'model',
		reads:
			'While reading the model listing, the gateway was not available (502): service temporarily unavailable, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '502',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the gateway was not available (502): service temporarily unavailable, retry later.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '502',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, the gateway answered 502 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '503',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, the gateway answered 503 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '503',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, the gateway answered 503 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '503',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, the gateway was not available (503): service temporarily unavailable, retry later',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '503',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 503 (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: '503',
		call: 'listing',
		reads:
			'While reading the model listing, the gateway was not available (503): service temporarily unavailable, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '503',
		call: 'model',
		reads:
			'While reading the model listing, the gateway was not available (503): service temporarily unavailable, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '503',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the gateway was not available (503): service temporarily unavailable, retry later.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '503',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, the gateway answered 503 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '504',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, the gateway answered 504 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '504',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, the gateway answered 504 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '504',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, the gateway was not available (504): service temporarily unavailable, retry later',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '504',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 504 (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: '504',
		call: 'listing',
		reads:
			'While reading the model listing, the gateway was not available (504): service temporarily unavailable, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '504',
		call: 'model',
		reads:
			'While reading the model listing, the gateway was not available (504): service temporarily unavailable, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '504',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the gateway was not available (504): service temporarily unavailable, retry later.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '504',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, the gateway answered 504 ("service temporarily unavailable, retry later")',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '429 seconds',
		call: 'submit',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 seconds',
		call: 'sync',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 seconds',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: The gateway receives too many requests (429): requests too frequent, retry later',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 seconds',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 429 (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: '429 seconds',
		call: 'listing',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 seconds',
		call: 'model',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 seconds',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The gateway receives too many requests (429): requests too frequent, retry later.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '429 seconds',
		call: 'message',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 date',
		call: 'submit',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 date',
		call: 'sync',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 date',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: The gateway receives too many requests (429): requests too frequent, retry later',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 date',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 429 (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: '429 date',
		call: 'listing',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 date',
		call: 'model',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 date',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The gateway receives too many requests (429): requests too frequent, retry later.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '429 date',
		call: 'message',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 long',
		call: 'submit',
		reads: 'The gateway receives too many requests (429): requests too frequent, retry later',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '429 long',
		call: 'sync',
		reads: 'The gateway receives too many requests (429): requests too frequent, retry later',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '429 long',
		call: 'poll',
		reads:
			'The generation task … was still open after 600 s; the last question failed: The gateway receives too many requests (429): requests too frequent, retry later',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 long',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 429',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '429 long',
		call: 'listing',
		reads: 'The gateway receives too many requests (429): requests too frequent, retry later',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '429 long',
		call: 'model',
		reads: 'The gateway receives too many requests (429): requests too frequent, retry later',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '429 long',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The gateway receives too many requests (429): requests too frequent, retry later.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '429 long',
		call: 'message',
		reads: 'The gateway receives too many requests (429): requests too frequent, retry later',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: '429 absurd',
		call: 'submit',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 absurd',
		call: 'sync',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 absurd',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: The gateway receives too many requests (429): requests too frequent, retry later',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 absurd',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 429 (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: '429 absurd',
		call: 'listing',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 absurd',
		call: 'model',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 absurd',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The gateway receives too many requests (429): requests too frequent, retry later.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '429 absurd',
		call: 'message',
		reads:
			'The gateway receives too many requests (429): requests too frequent, retry later (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 quota',
		call: 'submit',
		reads: 'The quota of the API key is not sufficient (429): quota insufficient (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 quota',
		call: 'sync',
		reads: 'The quota of the API key is not sufficient (429): quota insufficient (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 quota',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: The quota of the API key is not sufficient (429): quota insufficient',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 quota',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 429 (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: '429 quota',
		call: 'listing',
		reads: 'The quota of the API key is not sufficient (429): quota insufficient (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 quota',
		call: 'model',
		reads: 'The quota of the API key is not sufficient (429): quota insufficient (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: '429 quota',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The quota of the API key is not sufficient (429): quota insufficient.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: '429 quota',
		call: 'message',
		reads: 'The quota of the API key is not sufficient (429): quota insufficient (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'html',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, the gateway answered 200 with a web page instead of JSON',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'html',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, the gateway answered 200 with a web page instead of JSON',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'html',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, the gateway answered with a web page instead of JSON',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'html',
		call: 'download',
		reads:
			'The image could not be downloaded: its address gives a web page instead (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: 'html',
		call: 'listing',
		reads:
			'While reading the model listing, the gateway answered with a web page instead of JSON (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'html',
		call: 'model',
		reads:
			'While reading the model listing, the gateway answered with a web page instead of JSON (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'html',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the gateway answered with a web page instead of JSON.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'html',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, the gateway answered 200 with a web page instead of JSON',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'html 502',
		call: 'submit',
		reads: 'The outcome is unknown: while submitting the image task, the gateway answered 502',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'html 502',
		call: 'sync',
		reads: 'The outcome is unknown: while creating the image, the gateway answered 502',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'html 502',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, the gateway was not available (502)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'html 502',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 502 (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: 'html 502',
		call: 'listing',
		reads: 'While reading the model listing, the gateway was not available (502) (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'html 502',
		call: 'model',
		reads: 'While reading the model listing, the gateway was not available (502) (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'html 502',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the gateway was not available (502).',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'html 502',
		call: 'message',
		reads: 'The outcome is unknown: while sending the message, the gateway answered 502',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'truncated',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, the gateway answered 200 with something that is not JSON',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'truncated',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, the gateway answered 200 with something that is not JSON',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'truncated',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, the gateway answered with something that is not JSON',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'truncated',
		call: 'download',
		reads: 'The image could not be downloaded: its address gives JSON instead (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: 'truncated',
		call: 'listing',
		reads:
			'While reading the model listing, the gateway answered with something that is not JSON (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'truncated',
		call: 'model',
		reads:
			'While reading the model listing, the gateway answered with something that is not JSON (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'truncated',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the gateway answered with something that is not JSON.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'truncated',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, the gateway answered 200 with something that is not JSON',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'empty',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, the gateway answered 200 with an empty body',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'empty',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, the gateway answered 200 with an empty body',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'empty',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, the gateway answered with an empty body',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'empty',
		call: 'download',
		reads: 'The image could not be downloaded: its address gives nothing instead (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: 'empty',
		call: 'listing',
		reads:
			'While reading the model listing, the gateway answered with an empty body (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'empty',
		call: 'model',
		reads:
			'While reading the model listing, the gateway answered with an empty body (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'empty',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the gateway answered with an empty body.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'empty',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, the gateway answered 200 with an empty body',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'wrong type',
		call: 'submit',
		reads: '',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'wrong type',
		call: 'sync',
		reads: '',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'wrong type',
		call: 'poll',
		reads: '',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'wrong type',
		call: 'download',
		reads: '',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'wrong type',
		call: 'listing',
		reads: '',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'wrong type',
		call: 'model',
		reads: '',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'wrong type',
		call: 'check',
		reads: '',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'wrong type',
		call: 'message',
		reads: '',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'refused',
		call: 'submit',
		reads:
			'While submitting the image task, nothing answers at the address of the gateway (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'refused',
		call: 'sync',
		reads:
			'While creating the image, nothing answers at the address of the gateway (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'refused',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, nothing answers at the address of the gateway',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'refused',
		call: 'download',
		reads: 'The image could not be downloaded: nothing answers at its address (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: 'refused',
		call: 'listing',
		reads:
			'While reading the model listing, nothing answers at the address of the gateway (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'refused',
		call: 'model',
		reads:
			'While reading the model listing, nothing answers at the address of the gateway (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'refused',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, nothing answers at the address of the gateway.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'refused',
		call: 'message',
		reads:
			'While sending the message, nothing answers at the address of the gateway (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'reset before',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, the connection was cut before the answer had arrived',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'reset before',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, the connection was cut before the answer had arrived',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'reset before',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, the connection was cut before the answer had arrived',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'reset before',
		call: 'download',
		reads:
			'The image could not be downloaded: the connection was cut before it had arrived (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: 'reset before',
		call: 'listing',
		reads:
			'While reading the model listing, the connection was cut before the answer had arrived (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'reset before',
		call: 'model',
		reads:
			'While reading the model listing, the connection was cut before the answer had arrived (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'reset before',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the connection was cut before the answer had arrived.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'reset before',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, the connection was cut before the answer had arrived',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'reset after',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, the connection was cut before the answer had arrived',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'reset after',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, the connection was cut before the answer had arrived',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'reset after',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, the connection was cut before the answer had arrived',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'reset after',
		call: 'download',
		reads:
			'The image could not be downloaded: the connection was cut before it had arrived (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: 'reset after',
		call: 'listing',
		reads:
			'While reading the model listing, the connection was cut before the answer had arrived (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'reset after',
		call: 'model',
		reads:
			'While reading the model listing, the connection was cut before the answer had arrived (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'reset after',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the connection was cut before the answer had arrived.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'reset after',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, the connection was cut before the answer had arrived',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'silence',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, no complete answer came within the time-out',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'silence',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, no complete answer came within the time-out',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'silence',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, no complete answer came within the time-out',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'silence',
		call: 'download',
		reads:
			'The image could not be downloaded: it did not arrive within the time-out (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: 'silence',
		call: 'listing',
		reads:
			'While reading the model listing, no complete answer came within the time-out (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'silence',
		call: 'model',
		reads:
			'While reading the model listing, no complete answer came within the time-out (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'silence',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, no complete answer came within the time-out.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'silence',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, no complete answer came within the time-out',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'drip',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, no complete answer came within the time-out',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'drip',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, no complete answer came within the time-out',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'drip',
		call: 'poll',
		reads:
			'The generation task … was still open after 300 s; the last question failed: While asking for the task, no complete answer came within the time-out',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'drip',
		call: 'download',
		reads:
			'The image could not be downloaded: it did not arrive within the time-out (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: 'drip',
		call: 'listing',
		reads:
			'While reading the model listing, no complete answer came within the time-out (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'drip',
		call: 'model',
		reads:
			'While reading the model listing, no complete answer came within the time-out (tried … times)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'drip',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, no complete answer came within the time-out.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'drip',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, no complete answer came within the time-out',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'redirect here',
		call: 'submit',
		reads: 'While submitting the image task, the gateway pointed to another address (302)',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'redirect here',
		call: 'sync',
		reads: 'While creating the image, the gateway pointed to another address (302)',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'redirect here',
		call: 'poll',
		reads: 'The gateway knows no generation task … (404)',
		sentAgain: true,
		paid: 0,
	},
	{
		fault: 'redirect here',
		call: 'download',
		reads: 'The image could not be downloaded: its server answered 404',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'redirect here',
		call: 'listing',
		reads: 'The gateway does not know this address (404): no such endpoint: GET /v1/elsewhere',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'redirect here',
		call: 'model',
		reads: 'The gateway publishes no model "…" (404)',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'redirect here',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: The gateway does not know this address (404): no such endpoint: GET /v1/elsewhere.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'redirect here',
		call: 'message',
		reads: 'While sending the message, the gateway pointed to another address (302)',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'redirect away',
		call: 'submit',
		reads: 'While submitting the image task, the gateway pointed to another address (307)',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'redirect away',
		call: 'sync',
		reads: 'While creating the image, the gateway pointed to another address (307)',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'redirect away',
		call: 'poll',
		reads: 'While asking for the task, the gateway pointed to another address (307)',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'redirect away',
		call: 'download',
		reads: 'The image could not be downloaded: its address gives JSON instead (tried … times)',
		sentAgain: true,
		paid: 1,
	},
	{
		fault: 'redirect away',
		call: 'listing',
		reads: 'While reading the model listing, the gateway pointed to another address (307)',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'redirect away',
		call: 'model',
		reads: 'While reading the model listing, the gateway pointed to another address (307)',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'redirect away',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the gateway pointed to another address (307).',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'redirect away',
		call: 'message',
		reads: 'While sending the message, the gateway pointed to another address (307)',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'self-signed',
		call: 'submit',
		reads: 'While submitting the image task, the certificate of the server is not trusted',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'self-signed',
		call: 'sync',
		reads: 'While creating the image, the certificate of the server is not trusted',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'self-signed',
		call: 'poll',
		reads: 'While asking for the task, the certificate of the server is not trusted',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'self-signed',
		call: 'download',
		reads: 'The image could not be downloaded: the certificate of its server is not trusted',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'self-signed',
		call: 'listing',
		reads: 'While reading the model listing, the certificate of the server is not trusted',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'self-signed',
		call: 'model',
		reads: 'While reading the model listing, the certificate of the server is not trusted',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'self-signed',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the certificate of the server is not trusted.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'self-signed',
		call: 'message',
		reads: 'While sending the message, the certificate of the server is not trusted',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'huge',
		call: 'submit',
		reads:
			'The outcome is unknown: while submitting the image task, the answer is larger than the node accepts',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'huge',
		call: 'sync',
		reads:
			'The outcome is unknown: while creating the image, the answer is larger than the node accepts',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'huge',
		call: 'poll',
		reads: 'While asking for the task, the answer is larger than the node accepts',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'huge',
		call: 'download',
		reads: 'The image could not be downloaded: it is larger than 1 MB',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'huge',
		call: 'listing',
		reads: 'While reading the model listing, the answer is larger than the node accepts',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'huge',
		call: 'model',
		reads: 'While reading the model listing, the answer is larger than the node accepts',
		sentAgain: false,
		paid: 0,
	},
	{
		fault: 'huge',
		call: 'check',
		reads:
			'The requests were not checked against the limits of the model: While reading the model listing, the answer is larger than the node accepts.',
		sentAgain: false,
		paid: 1,
	},
	{
		fault: 'huge',
		call: 'message',
		reads:
			'The outcome is unknown: while sending the message, the answer is larger than the node accepts',
		sentAgain: false,
		paid: 0,
	},
];
