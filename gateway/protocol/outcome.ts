import { isJsonObject, type JsonObject } from '../util/json';

/**
 * Why no response came. Those of the first group are certain to have happened before anything of the
 * request was sent: `unconnected` is a connection, or its TLS handshake, that did not come about,
 * `tlsMismatch` one that the two sides cannot agree on, `blocked` n8n's own address protection.
 * `tooSlow` is a time-out after which the same isn't tried again.
 */
export type Fault =
	| 'refused'
	| 'notFound'
	| 'unconnected'
	| 'tlsMismatch'
	| 'certificate'
	| 'invalidAddress'
	| 'invalidHeader'
	| 'invalidBody'
	| 'blocked'
	// From here on the request may have arrived.
	| 'reset'
	| 'timeout'
	| 'tooSlow'
	| 'tooLarge'
	| 'diskFull'
	| 'other';

const NEVER_SENT: readonly Fault[] = [
	'refused',
	'notFound',
	'unconnected',
	'tlsMismatch',
	'certificate',
	'invalidAddress',
	'invalidHeader',
	'invalidBody',
	'blocked',
];

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
	return NEVER_SENT.includes(outcome.fault);
}

/**
 * Whether a status says that a request was not taken on. 408 is the gateway's own time-out, and 499
 * that somebody on the way to it gave up: it may have begun. 303 is how a server responds after it has done what it was asked to (RFC 9110, section
 * 15.4.4). The other redirects say that the request belongs elsewhere, or are no response to a POST
 * (304); only where they lead to something below the endpoint, a task that was made, is that not
 * certain.
 */
function isRefusal(httpCode: number, location = ''): boolean {
	if ([303, 408, 499].includes(httpCode)) return false;
	if (httpCode >= 300 && httpCode < 400) return !LEADS_TO_A_RESULT.test(location.slice(0, 2000));
	return httpCode >= 400 && httpCode < 500;
}

const LEADS_TO_A_RESULT = /\/(generations|edits|messages)\/[^/?#]/;

/** What is known about the connection of a request: not made yet, its TLS included, or open. */
export type Connection = 'pending' | 'open';

const FAULTS_BY_CODE: Record<string, Fault> = {
	ECONNREFUSED: 'refused',
	EHOSTUNREACH: 'refused',
	ENETUNREACH: 'refused',
	EADDRNOTAVAIL: 'refused',
	ENOTFOUND: 'notFound',
	ECONNRESET: 'reset',
	EPIPE: 'reset',
	ERR_STREAM_PREMATURE_CLOSE: 'reset',
	ETIMEDOUT: 'timeout',
	ECONNABORTED: 'timeout',
	ESOCKETTIMEDOUT: 'timeout',
	ERR_INVALID_URL: 'invalidAddress',
	ERR_INVALID_PROTOCOL: 'invalidAddress',
	ERR_UNESCAPED_CHARACTERS: 'invalidAddress',
	ERR_SOCKET_BAD_PORT: 'invalidAddress',
	ERR_INVALID_HTTP_TOKEN: 'invalidHeader',
	ERR_INVALID_CHAR: 'invalidHeader',
	ERR_HTTP_INVALID_HEADER_VALUE: 'invalidHeader',
	ENOSPC: 'diskFull',
	EDQUOT: 'diskFull',
};

/** The codes that Node.js gives for a certificate that it does not trust. */
const CERTIFICATE_CODE =
	/CERT|CRL|^UNABLE_TO_|^(HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/;

/**
 * The reasons that OpenSSL gives where two sides cannot agree in a handshake, and for nothing later.
 * The other side sends its alerts before it reads a request, those about a client's certificate too.
 */
const TLS_MISMATCH =
	/(APPLICATION|SUPPORTED|UNKNOWN)_PROTOCOL|PROTOCOLS_AVAILABLE|VERSION|CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|INSUFFICIENT_SECURITY|FALLBACK|EXTENSION|PSK_IDENTITY|CIPHERS_AVAILABLE|SHARED_CIPHER|CIPHER_RETURNED|NO_SUITABLE|SIGNATURE_TYPE|TOO_SMALL|TOO_WEAK|LEGACY_RENEGOTIATION/;

function tlsFault(code: string, message: string, connection?: Connection): Fault | undefined {
	const inText = /SSL routines:[^:]{0,200}:([^:]{1,200})/.exec(message)?.[1];
	const reason = code.startsWith('ERR_SSL_') ? code : inText?.toUpperCase().replace(/ /g, '_');
	if (reason === undefined) return undefined;
	// Something responds that does not speak TLS; known to be open, the connection did at first.
	if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(reason)) {
		return connection === 'open' ? 'other' : 'invalidAddress';
	}
	if (reason.includes('CERTIFICATE_VERIFY_FAILED')) return 'certificate';
	// A load balancer may respond with these two for a moment.
	if (/HANDSHAKE_FAILURE|UNRECOGNIZED_NAME/.test(reason)) return 'unconnected';
	return TLS_MISMATCH.test(reason) ? 'tlsMismatch' : undefined;
}

/** Texts of Node.js, of n8n and of its HTTP library for what is never sent; some come without a code. */
const FAULTS_BY_TEXT: Array<[text: RegExp, fault: Fault]> = [
	[/must be a valid HTTP token|invalid character in header content/i, 'invalidHeader'],
	[/invalid value "[^"]*" for header/i, 'invalidHeader'],
	[/request path contains unescaped characters/i, 'invalidAddress'],
	[/request was blocked because (it resolves to|the destination hostname is)/i, 'blocked'],
	[/domain not allowed: this credential/i, 'blocked'],
	[
		/before secure TLS connection was established|before receiving CONNECT response/i,
		'unconnected',
	],
	[/\bgetaddrinfo E/, 'notFound'],
];

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
	const known = faultOfCode(name);
	// An open connection can lose its way too; then the request may have arrived.
	const isOpen = known === 'refused' && connection !== 'pending' && /\b(read|write) E/.test(text);
	const fault = isOpen ? 'reset' : (known ?? faultOfText(text));
	if (NEVER_SENT.includes(fault)) return fault;
	if (connection === 'pending' || /\bconnect E[A-Z]/.test(text)) return 'unconnected';
	return faultOfText(text) === 'unconnected' ? 'unconnected' : fault;
}

function faultOfCode(name: string): Fault | undefined {
	if (name.startsWith('EAI_')) return 'notFound';
	return CERTIFICATE_CODE.test(name) ? 'certificate' : FAULTS_BY_CODE[name];
}

function faultOfText(text: string): Fault {
	const known = FAULTS_BY_TEXT.find(([pattern]) => pattern.test(text));
	if (known !== undefined) return known[1];
	// Before 2.0 the platform puts a text of its own in place of the code.
	if (/^SSL issue/i.test(text)) return 'certificate';
	if (/socket hang up|aborted|premature close/i.test(text)) return 'reset';
	return /time(d)?[ -]?out/i.test(text) ? 'timeout' : 'other';
}

/** No date is longer; it is not read digit by digit either. */
const LONGEST_RETRY_AFTER = 64;

/**
 * The pause that a `Retry-After` header asks for (seconds or an HTTP date), in milliseconds.
 * Undefined where there is none, or where it says nothing sensible: not a number, in the past, or
 * more than a day.
 *
 * @param now milliseconds since 1970, for the form with a date
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
	if (header === undefined || header.length > LONGEST_RETRY_AFTER) return undefined;
	if (header.trim() === '') return undefined;
	const seconds = Number(header);
	const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000;
	return Number.isFinite(ms) && ms >= 0 && ms <= 86_400_000 ? ms : undefined;
}
