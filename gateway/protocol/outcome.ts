import { isJsonObject, type JsonObject } from '../util/json';

/**
 * Faults that are certain to have happened before anything of the request was sent: `unconnected` is a
 * connection, or its TLS handshake, that did not come about, `blocked` n8n's own address protection.
 */
const NEVER_SENT = [
	'refused',
	'notFound',
	'unconnected',
	'certificate',
	'invalidAddress',
	'invalidHeader',
	'invalidBody',
	'blocked',
] as const;

/** Faults after which the request may have arrived; a source image that is `tooSlow` isn't tried again. */
type MaybeSent = 'reset' | 'timeout' | 'tooSlow' | 'tooLarge' | 'diskFull' | 'other';

/** Why no response came. */
export type Fault = (typeof NEVER_SENT)[number] | MaybeSent;

const wasNeverSent = (fault: Fault): boolean => NEVER_SENT.some((known) => known === fault);

/** What came of one attempt to send a plan. */
export type Outcome =
	| {
			kind: 'response';
			httpCode: number;
			/** Lower-case names. */
			headers: Record<string, string>;
			/** The body as text, cut off at the limit of the transport. */
			text: string;
			/** The body as JSON, or undefined if it is none. */
			json: unknown;
	  }
	| {
			kind: 'fault';
			fault: Fault;
			detail: string;
			/** Where the head of a response had come. */
			httpCode?: number;
			/** The beginning of what had arrived of its body, without the key. */
			received?: string;
	  };

export type HttpResponse = Extract<Outcome, { kind: 'response' }>;
export type FaultOutcome = Extract<Outcome, { kind: 'fault' }>;

/** Whether a response is one to work with: 2xx and a JSON object. */
export function isGood(outcome: Outcome): outcome is HttpResponse & { json: JsonObject } {
	return (
		outcome.kind === 'response' &&
		outcome.httpCode >= 200 &&
		outcome.httpCode < 300 &&
		isJsonObject(outcome.json)
	);
}

/**
 * Whether it is certain that the gateway did not take the request on. With a paid request anything
 * else is an unknown outcome: it may have been charged.
 */
export function wasNotAccepted(outcome: Outcome): boolean {
	if (outcome.kind === 'response') return isRefusal(outcome.httpCode, outcome.headers.location);
	// Where the head of a response has come, its status decides; the request was sent.
	if (outcome.httpCode !== undefined) return isRefusal(outcome.httpCode);
	return wasNeverSent(outcome.fault);
}

/**
 * Whether a status says that a request was not taken on. 408 is the gateway's own time-out, and 499
 * that somebody on the way to it gave up: it may have begun. 303 is how a server responds after it has
 * done what it was asked to (RFC 9110, section 15.4.4). The other redirects say that the request belongs
 * elsewhere, or are no response to a POST (304); only where they lead to something below the endpoint, a
 * task that was made, is that not certain.
 */
function isRefusal(httpCode: number, location = ''): boolean {
	if ([303, 408, 499].includes(httpCode)) return false;
	if (httpCode >= 300 && httpCode < 400) return !LEADS_TO_A_RESULT.test(location.slice(0, 2000));
	return httpCode >= 400 && httpCode < 500;
}

const LEADS_TO_A_RESULT = /\/(generations|edits|messages)\/[^/?#]/;

/** What is known about the connection of a request: not made yet, its TLS included, or open. */
export type Connection = 'pending' | 'open';

/** The codes of Node.js. */
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
	// Something responds that does not speak TLS; known to be open, the connection did at first.
	if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(reason)) {
		return connection === 'open' ? 'other' : 'invalidAddress';
	}
	if (reason.includes('CERTIFICATE_VERIFY_FAILED')) return 'certificate';
	// In TLS 1.3 a server refuses the client's certificate when the socket is open already, and before it
	// reads a request. Of everything else the socket says whether it came before.
	return /HANDSHAKE_FAILURE|UNRECOGNIZED_NAME|CERTIFICATE|UNKNOWN_CA/.test(reason)
		? 'unconnected'
		: undefined;
}

/** Texts of Node.js, of n8n and of its HTTP library; some come without a code. */
const FAULTS_BY_TEXT: Array<[text: RegExp, fault: Fault]> = [
	[/must be a valid HTTP token|invalid character in header content/i, 'invalidHeader'],
	[/invalid value "[^"]*" for header/i, 'invalidHeader'],
	[/request path contains unescaped characters/i, 'invalidAddress'],
	[/request was blocked because (it resolves to|the destination hostname is)/i, 'blocked'],
	[/domain not allowed: this credential/i, 'blocked'],
	[/before (secure TLS connection was established|receiving CONNECT response)/i, 'unconnected'],
	[/\bgetaddrinfo E/, 'notFound'],
	// Before 2.0 the platform puts a text of its own in place of the code.
	[/^SSL issue/i, 'certificate'],
	[/socket hang up|aborted|premature close/i, 'reset'],
	[/time(d)?[ -]?out/i, 'timeout'],
];

const faultIn = (table: typeof FAULTS_BY_CODE, text: string): Fault | undefined =>
	table.find(([pattern]) => pattern.test(text))?.[1];

/**
 * The fault behind the code of a network error of Node.js. What is neither in the tables nor known
 * to have happened before the connection was made counts as `other`, which may have been sent.
 *
 * @param message of the error, and of those that caused it
 */
export function faultOf(code: unknown, message = '', connection?: Connection): Fault {
	const name = typeof code === 'string' ? code.toUpperCase() : '';
	const text = message.slice(0, 4000);
	const tls = tlsFault(name, text, connection);
	if (tls !== undefined) return tls;
	const byCode = faultIn(FAULTS_BY_CODE, name);
	const byText = faultIn(FAULTS_BY_TEXT, text) ?? 'other';
	// An open connection can lose its way too; then the request may have arrived.
	const isOpen = byCode === 'refused' && connection !== 'pending' && /\b(read|write) E/.test(text);
	const fault = isOpen ? 'reset' : (byCode ?? byText);
	if (wasNeverSent(fault)) return fault;
	const isPending = connection === 'pending' || /\bconnect E[A-Z]/.test(text);
	return isPending || byText === 'unconnected' ? 'unconnected' : fault;
}

/** What says how long to wait, in this order. The others stand on responses that refuse nothing, too. */
const RETRY_AFTER = ['retry-after'];
const RETRY_AFTER_OR_RESET = [...RETRY_AFTER, 'ratelimit-reset', 'x-ratelimit-reset'];

/** The pause that a response asks for: the first one that `retryAfterMs` reads in its headers. */
export function askedPauseMs(outcome: Outcome, now: number): number | undefined {
	if (outcome.kind === 'fault') return undefined;
	const { httpCode, headers } = outcome;
	const names = httpCode === 429 || httpCode === 503 ? RETRY_AFTER_OR_RESET : RETRY_AFTER;
	return names
		.map((name) => retryAfterMs(headers[name], now))
		.find((pauseMs) => pauseMs !== undefined);
}

/** No date is longer; it is not read digit by digit either. */
const LONGEST_RETRY_AFTER = 64;
const A_MONTH_MS = 31 * 86_400_000;

/**
 * The pause that a `Retry-After` header asks for, or one that says the same, in milliseconds: seconds,
 * an HTTP date, or, as a number of more than a month, seconds since 1970. Undefined where there is none,
 * or where it says nothing sensible: not a number, in the past, or more than a month.
 *
 * @param now milliseconds since 1970, for a point in time
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
	if (header === undefined || header.length > LONGEST_RETRY_AFTER) return undefined;
	if (header.trim() === '') return undefined;
	const ms = Number(header) * 1000;
	if (ms <= A_MONTH_MS) return ms >= 0 ? ms : undefined;
	const fromNow = (Number.isNaN(ms) ? Date.parse(header) : ms) - now;
	return fromNow > 0 && fromNow <= A_MONTH_MS ? fromNow : undefined;
}
