import { isJsonObject, type JsonObject } from '../util/json';

/**
 * Faults that happen before anything of the request is sent. `unconnected`: no connection, or no
 * TLS; `connectTimeout`: neither within the time limit; `blocked`: n8n's own address protection.
 */
const NEVER_SENT = [
	'refused',
	'notFound',
	'unconnected',
	'connectTimeout',
	'certificate',
	'invalidAddress',
	'invalidHeader',
	'invalidBody',
	'blocked',
] as const;

/**
 * Faults after which the request may have arrived. A source image that is `tooSlow` isn't tried
 * again.
 */
type MaybeSent = 'reset' | 'timeout' | 'tooSlow' | 'tooLarge' | 'diskFull' | 'other';

/** The reason why no response came. */
export type Fault = (typeof NEVER_SENT)[number] | MaybeSent;

const wasNeverSent = (fault: Fault): boolean => NEVER_SENT.some((known) => known === fault);

/** The outcome of one attempt to send a plan. */
export type Outcome =
	| {
			kind: 'response';
			httpCode: number;
			/** Lower-case names. */
			headers: Record<string, string>;
			/** The body as text, up to the transport's size limit. */
			text: string;
			/** The body as JSON; undefined if it isn't JSON. */
			json: unknown;
	  }
	| {
			kind: 'fault';
			fault: Fault;
			detail: string;
			/** The status, if the head of a response had arrived. */
			httpCode?: number;
			/** The beginning of the partial body, without the key. */
			received?: string;
	  };

export type HttpResponse = Extract<Outcome, { kind: 'response' }>;
export type FaultOutcome = Extract<Outcome, { kind: 'fault' }>;

/** A usable response: 2xx with a JSON object. */
export type GoodResponse = HttpResponse & { json: JsonObject };

/** Whether a response is usable. */
export function isGood(outcome: Outcome): outcome is GoodResponse {
	return (
		outcome.kind === 'response' &&
		outcome.httpCode >= 200 &&
		outcome.httpCode < 300 &&
		isJsonObject(outcome.json)
	);
}

/** The outcome with an empty object for the missing body of an accepted task, whose address is in `Location`. */
export function withLocationOnly(outcome: Outcome): Outcome {
	if (outcome.kind === 'fault' || ![201, 202].includes(outcome.httpCode)) return outcome;
	const isEmpty = outcome.text.trim() === '' && outcome.headers.location !== undefined;
	return isEmpty ? { ...outcome, json: {} } : outcome;
}

/**
 * Whether the gateway certainly didn't accept the request. Otherwise a paid request has an unknown
 * outcome: it may have been charged.
 */
export function wasNotAccepted(outcome: Outcome): boolean {
	if (outcome.kind === 'response') return isRefusal(outcome.httpCode, outcome.headers.location);
	// The status in the head of a partial response decides.
	if (outcome.httpCode !== undefined) return isRefusal(outcome.httpCode);
	return wasNeverSent(outcome.fault);
}

/**
 * Whether a status means that the request wasn't accepted. After 408 (the gateway's time-out) and
 * 499 (a proxy gave up) the gateway may have begun. 303 is the response after the work is done (RFC
 * 9110, section 15.4.4). Other redirects refuse the request, unless they lead to a task below the
 * endpoint.
 */
export function isRefusal(httpCode: number, location = ''): boolean {
	if ([303, 408, 499].includes(httpCode)) return false;
	if (httpCode >= 300 && httpCode < 400) return !leadsToResult(location);
	return httpCode >= 400 && httpCode < 500;
}

/** Whether a `Location` leads to a task below its endpoint, or to a message. */
export const leadsToResult = (location = ''): boolean =>
	/\/(generations|edits|tasks|messages)\/[^/?#]/.test(location.slice(0, 2000));

/** The state of a request's connection: `pending` up to and including the TLS handshake. */
export type Connection = 'pending' | 'open';

/** Faults by the error codes of Node.js. */
const FAULTS_BY_CODE: Array<[code: RegExp, fault: Fault]> = [
	[/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'refused'],
	[/^(ENOTFOUND$|EAI_)/, 'notFound'],
	[/^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/, 'reset'],
	[/^(ETIMEDOUT|ECONNABORTED|ESOCKETTIMEDOUT)$/, 'timeout'],
	[/^ERR_(INVALID_URL|INVALID_PROTOCOL|UNESCAPED_CHARACTERS|SOCKET_BAD_PORT)$/, 'invalidAddress'],
	[/^ERR_(INVALID_HTTP_TOKEN|INVALID_CHAR|HTTP_INVALID_HEADER_VALUE)$/, 'invalidHeader'],
	[/^(ENOSPC|EDQUOT)$/, 'diskFull'],
	// A certificate that is not trusted.
	[/CERT|CRL|^UNABLE_TO_/, 'certificate'],
	[/^(HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/, 'certificate'],
];

function tlsFault(code: string, message: string, connection?: Connection): Fault | undefined {
	const inText = /SSL routines:[^:]{0,200}:([^:]{1,200})/.exec(message)?.[1];
	const reason = code.startsWith('ERR_SSL_') ? code : inText?.toUpperCase().replace(/ /g, '_');
	if (reason === undefined) return undefined;
	// A server without TLS has responded; on an open connection TLS had worked before.
	if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(reason)) {
		return connection === 'open' ? 'other' : 'invalidAddress';
	}
	if (reason.includes('CERTIFICATE_VERIFY_FAILED')) return 'certificate';
	// In TLS 1.3 a server refuses the client's certificate on an open socket, before it reads a
	// request. For other TLS errors the state of the socket decides.
	return /HANDSHAKE_FAILURE|UNRECOGNIZED_NAME|CERTIFICATE|UNKNOWN_CA/.test(reason)
		? 'unconnected'
		: undefined;
}

/** Faults by the texts of Node.js, n8n and its HTTP library, some of which have no code. */
const FAULTS_BY_TEXT: Array<[text: RegExp, fault: Fault]> = [
	[/must be a valid HTTP token|invalid character in header content/i, 'invalidHeader'],
	[/invalid value "[^"]*" for header/i, 'invalidHeader'],
	[/request path contains unescaped characters/i, 'invalidAddress'],
	[/request was blocked because (it resolves to|the destination hostname is)/i, 'blocked'],
	[/domain not allowed: this credential/i, 'blocked'],
	[/before (secure TLS connection was established|receiving CONNECT response)/i, 'unconnected'],
	[/\bgetaddrinfo E/, 'notFound'],
	// n8n before 2.0 replaces the code by this text.
	[/^SSL issue/i, 'certificate'],
	[/socket hang up|aborted|premature close/i, 'reset'],
	[/time(d)?[ -]?out/i, 'timeout'],
];

const faultIn = (table: typeof FAULTS_BY_CODE, text: string): Fault | undefined =>
	table.find(([pattern]) => pattern.test(text))?.[1];

/**
 * The fault for the code and text of a network error. An unknown error counts as `other`, which may
 * have been sent, unless the connection was pending.
 *
 * @param message texts of the error and its causes
 */
export function faultOf(code: unknown, message = '', connection?: Connection): Fault {
	const name = typeof code === 'string' ? code.toUpperCase() : '';
	const text = message.slice(0, 4000);
	const tls = tlsFault(name, text, connection);
	if (tls !== undefined) return tls;
	const byCode = faultIn(FAULTS_BY_CODE, name);
	const byText = faultIn(FAULTS_BY_TEXT, text) ?? 'other';
	// An error while reading or writing comes from an open connection: the request may have arrived.
	const isOpen = byCode === 'refused' && connection !== 'pending' && /\b(read|write) E/.test(text);
	const fault = isOpen ? 'reset' : (byCode ?? byText);
	if (wasNeverSent(fault)) return fault;
	const isPending = connection === 'pending' || /\bconnect E[A-Z]/.test(text);
	if (!isPending && byText !== 'unconnected') return fault;
	return fault === 'timeout' ? 'connectTimeout' : 'unconnected';
}

/**
 * Headers with the pause, in this order. The reset headers also come with responses that refuse
 * nothing.
 */
const RETRY_AFTER = ['retry-after'];
const RETRY_AFTER_OR_RESET = [...RETRY_AFTER, 'ratelimit-reset', 'x-ratelimit-reset'];

/** The pause in a response's headers, in milliseconds; undefined if there is none. */
export function requestedPauseMs(outcome: Outcome, now: number): number | undefined {
	if (outcome.kind === 'fault') return undefined;
	const { httpCode, headers } = outcome;
	const names = httpCode === 429 || httpCode === 503 ? RETRY_AFTER_OR_RESET : RETRY_AFTER;
	return names
		.map((name) => retryAfterMs(headers[name], now))
		.find((pauseMs) => pauseMs !== undefined);
}

/** In characters: no date is longer. */
const LONGEST_RETRY_AFTER = 64;
const A_MONTH_MS = 31 * 86_400_000;

/**
 * The pause in a `Retry-After` or reset header, in milliseconds. Its value is seconds, an HTTP
 * date, or (above a month) seconds since 1970. Undefined if it is missing, invalid, in the past, or
 * more than a month.
 *
 * @param now milliseconds since 1970
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
	if (header === undefined || header.length > LONGEST_RETRY_AFTER) return undefined;
	if (header.trim() === '') return undefined;
	const ms = Number(header) * 1000;
	if (ms <= A_MONTH_MS) return ms >= 0 ? ms : undefined;
	const fromNow = (Number.isNaN(ms) ? Date.parse(header) : ms) - now;
	return fromNow > 0 && fromNow <= A_MONTH_MS ? fromNow : undefined;
}
