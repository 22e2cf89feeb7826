/** How the gateway of a world behaves: a value, so that a world can be repeated and shrunk. */
/** What may go wrong with one request. */
export type FaultKind =
	/** Nobody listens, no such host, no handshake: nothing was sent. */
	| 'refused'
	| 'unknownHost'
	/** Accepted, and then the answer is lost on the way. */
	| 'reset'
	| 'cut'
	| 'silence'
	| 'drip'
	/** Refused with a status, before anything was done. */
	| 'status'
	/** Done and charged, and still answered with this status. */
	| 'statusAfter'
	| 'html'
	| 'redirect'
	| 'slow'
	/** The right answer in another shape. */
	| 'shape';

export interface ServiceFault {
	/** `paid`: whatever is charged. */
	call: 'paid' | 'poll' | 'download' | 'listing' | 'any';
	kind: FaultKind;
	/** Lets so many requests of that call pass first. */
	skip: number;
	times: number;
	/** Chooses among the variants of the kind. */
	variant: number;
}

export interface ServiceSetup {
	ids: 'random' | 'digits' | 'strange';
	/** Seconds until a task settles, from and to. */
	taskSeconds: [number, number];
	/** Seconds until a task can be asked about. */
	lateSeconds: number;
	/** Seconds that a synchronous request takes. */
	syncSeconds: number;
	/** The share of tasks that end without an image, in percent. */
	failPercent: number;
	/** Which spelling of the states: an index into the lists. */
	spelling: number;
	latencyMs: number;
	/** More requests within a second are refused; 0: no limit. */
	perSecond: number;
	/** Pictures lie on another host. */
	foreignHost: boolean;
	/** Pictures come inside the response, as Base64. */
	inline: boolean;
	faults: ServiceFault[];
	/**
	 * What it makes of the keys of payments; `none`: the credential names no header for them. Keys that are
	 * forgotten or ignored are charged anew.
	 */
	keys: 'none' | 'honored' | 'forgotten' | 'ignored';
}

/** The last is in no list of docs/protocol.md: neither success nor failure. */
export const OPEN_WORDS = [
	'queued',
	'pending',
	'processing',
	'in_progress',
	'running',
	' Queued ',
	'moderating',
];
export const GOOD_WORDS = ['completed', 'succeeded', 'success', 'COMPLETED'];
export const BAD_WORDS = ['failed', 'cancelled', 'Failed '];

/** Why tasks fail and requests are refused, in words that somebody may misread. */
export const REASONS = [
	'the picture could not be made',
	'the request was canceled by the upstream',
	'insufficient contrast in the prompt',
	'EPERM: operation not permitted',
	`blocked ${'<!---->'.repeat(40)}`,
	`[${'='.repeat(3000)}](`,
];

/** 429s, and whether they truly speak of money. */
export const REFUSALS_429: Array<{ body: unknown; headers?: Record<string, string> }> = [
	{ body: { error: { message: 'requests too frequent, retry later', type: 'rate_limit_error' } } },
	{
		body: { error: { message: 'requests too frequent', type: 'rate_limit_error' } },
		headers: { 'retry-after': '7' },
	},
	{
		body: {
			error: {
				message: 'Too many requests. See https://example.com/billing/payment to add a method',
				type: 'rate_limit_error',
			},
			credits_remaining: 99,
		},
	},
	{ body: { error: { message: 'load balance: upstream busy', code: 'rate_limit_exceeded' } } },
	{ body: { error: { message: 'quota insufficient', type: 'insufficient_quota' } } },
	{ body: 'slow down' },
	{
		body: { error: { message: 'slow down', type: 'rate_limit_error' } },
		headers: { 'retry-after': '0' },
	},
	{
		body: { error: { message: 'come back later', type: 'rate_limit_error' } },
		headers: { 'retry-after': '7200' },
	},
];

export const STATUSES = [500, 429, 425, 503, 408, 502, 400, 404, 504, 401, 403, 520, 409, 422];
/** Those that pass: of a question that costs nothing these are the ones to get wrong. */
export const PASSING = [425, 408, 500, 429, 425, 502, 408, 503, 504, 429, 520, 503, 503];
/** Those after which a paid request may have been accepted. */
export const STATUSES_AFTER = [500, 502, 503, 504, 408, 520, 599];
