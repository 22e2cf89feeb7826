/**
 * The faults and the calls they strike. What becomes of each call under each fault stands in
 * matrix.md: the tests are held to that page.
 */
import type { Fault } from '../../../simulator/gateway.mjs';

/** `listing` and `model` are the Models node, `check` is what Image looks up by itself. */
export type MatrixCall =
	| 'submit'
	| 'sync'
	| 'message'
	| 'poll'
	| 'download'
	| 'listing'
	| 'model'
	| 'check';

export interface MatrixFault {
	/** As the documentation names it. */
	name: string;
	/** What the embedded gateway is told to do. */
	fault?: Omit<Fault, 'call'>;
	/** Nothing responds at the address. */
	dead?: true;
	/** The certificate is signed by nobody. */
	selfSigned?: true;
	/** The redirect leads to another server. */
	otherHost?: true;
	/** Ends with the time-out of the request. */
	timesOut?: true;
	/** Seconds that a task is waited for, if not 30. */
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
	'404': { name: '404', fault: status(404, { message: 'no such thing' }), maxWait: 3600 },
	'408': { name: '408', fault: status(408, { message: 'request timeout' }) },
	'413': { name: '413', fault: status(413, { message: 'too large' }) },
	'429': { name: '429', fault: status(429) },
	'500': { name: '500', fault: status(500) },
	'502': { name: '502', fault: status(502) },
	'503': { name: '503', fault: status(503) },
	'504': { name: '504', fault: status(504) },
	'429 seconds': { name: '429, `Retry-After` in seconds', fault: status(429, { retryAfter: 7 }) },
	'429 date': {
		name: '429, `Retry-After` as a date',
		fault: status(429, { retryAfter: 'date:7' }),
	},
	'429 long': {
		name: '429, `Retry-After` of more than five minutes',
		fault: status(429, { retryAfter: 310 }),
		maxWait: 320,
	},
	'429 absurd': {
		name: '429, invalid `Retry-After`',
		fault: status(429, { retryAfter: 'soon, -1' }),
	},
	'429 quota': {
		name: '429 for insufficient quota',
		fault: status(429, { message: 'quota insufficient', type: 'insufficient_quota' }),
	},
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
	silence: { name: 'No response until the timeout', fault: { kind: 'silence' }, timesOut: true },
	drip: {
		name: 'A response byte by byte until the timeout',
		fault: { kind: 'drip', ms: 200 },
		timesOut: true,
	},
	'redirect here': {
		name: 'Redirect to the same host',
		fault: { kind: 'redirect', location: '/v1/elsewhere' },
		maxWait: 3600,
	},
	'redirect away': {
		name: 'Redirect to another host',
		fault: { kind: 'redirect', status: 307 },
		otherHost: true,
	},
	'self-signed': { name: 'An untrusted certificate', selfSigned: true },
} satisfies Record<string, MatrixFault>;

export type FaultName = keyof typeof FAULTS;

/** The faults with the same consequences in all calls, which share a row of the page. */
export const ROWS: FaultName[][] = [
	['400'],
	['401'],
	['403'],
	['404'],
	['408'],
	['413'],
	['429', '429 seconds', '429 date', '429 absurd'],
	['500', '502', '503', '504'],
	['429 long'],
	['429 quota'],
	['html'],
	['html 502'],
	['truncated'],
	['empty'],
	['wrong type'],
	['refused'],
	['reset before'],
	['reset after'],
	['silence', 'drip'],
	['redirect here'],
	['redirect away'],
	['self-signed'],
];

/** The calls with the same consequences of all faults, which share a column. */
export const COLUMNS: MatrixCall[][] = [
	['submit', 'sync', 'message'],
	['poll'],
	['download'],
	['listing'],
	['model'],
	['check'],
];

/** A fault of a row in a call of a column. */
export interface Struck {
	fault: FaultName;
	call: MatrixCall;
}

export interface Cell extends Struck {
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
