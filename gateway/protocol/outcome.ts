import { isJsonObject, type JsonObject } from '../util/json';

/**
 * Why no response came. Those of the first group are certain to have happened before anything of the
 * request was sent: `unconnected` is a connection, or its TLS handshake, that did not come about,
 * `tlsMismatch` one that the two sides cannot agree on, `blocked` n8n's own address protection.
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
	| 'tooLarge'
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
 * Whether a status says that a request was not taken on. 408 is the gateway's own time-out: it may
 * have begun. 303 is how a server responds after it has done what it was asked to (RFC 9110, section
 * 15.4.4). The other redirects say that the request belongs elsewhere, or are no response to a POST
 * (304); only where they lead to something below the endpoint, a task that was made, is that not
 * certain.
 */
function isRefusal(httpCode: number, location = ''): boolean {
	if (httpCode === 408 || httpCode === 303) return false;
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
	// What Node.js and OpenSSL have against a certificate (X509_V_ERR_…).
	DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate',
	SELF_SIGNED_CERT_IN_CHAIN: 'certificate',
	UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate',
	UNABLE_TO_GET_ISSUER_CERT: 'certificate',
	UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate',
	UNABLE_TO_GET_CRL: 'certificate',
	UNABLE_TO_DECRYPT_CERT_SIGNATURE: 'certificate',
	UNABLE_TO_DECRYPT_CRL_SIGNATURE: 'certificate',
	UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY: 'certificate',
	CERT_SIGNATURE_FAILURE: 'certificate',
	CRL_SIGNATURE_FAILURE: 'certificate',
	CERT_HAS_EXPIRED: 'certificate',
	CERT_NOT_YET_VALID: 'certificate',
	CRL_HAS_EXPIRED: 'certificate',
	CRL_NOT_YET_VALID: 'certificate',
	ERROR_IN_CERT_NOT_BEFORE_FIELD: 'certificate',
	ERROR_IN_CERT_NOT_AFTER_FIELD: 'certificate',
	ERROR_IN_CRL_LAST_UPDATE_FIELD: 'certificate',
	ERROR_IN_CRL_NEXT_UPDATE_FIELD: 'certificate',
	CERT_CHAIN_TOO_LONG: 'certificate',
	CERT_REVOKED: 'certificate',
	CERT_UNTRUSTED: 'certificate',
	CERT_REJECTED: 'certificate',
	INVALID_CA: 'certificate',
	INVALID_PURPOSE: 'certificate',
	PATH_LENGTH_EXCEEDED: 'certificate',
	HOSTNAME_MISMATCH: 'certificate',
	ERR_TLS_CERT_ALTNAME_INVALID: 'certificate',
	ERR_TLS_CERT_ALTNAME_FORMAT: 'certificate',
};

/**
 * What OpenSSL says of a handshake and of nothing later, without the name of the protocol before
 * it. The alerts come from the other side, which sends them before it reads a request, that about a
 * client's certificate too. A bad record or an internal error is not among them: it also happens
 * later.
 */
const TLS_REASONS: Record<string, Fault> = {
	CERTIFICATE_VERIFY_FAILED: 'certificate',
	// Whoever balances the load may say these two for a moment.
	HANDSHAKE_FAILURE: 'unconnected',
	UNRECOGNIZED_NAME: 'unconnected',
	...Object.fromEntries(
		[
			'PROTOCOL_VERSION',
			'INSUFFICIENT_SECURITY',
			'INAPPROPRIATE_FALLBACK',
			'NO_APPLICATION_PROTOCOL',
			'MISSING_EXTENSION',
			'UNSUPPORTED_EXTENSION',
			'UNKNOWN_PSK_IDENTITY',
			'CERTIFICATE_REQUIRED',
			'NO_CERTIFICATE',
			'BAD_CERTIFICATE',
			'UNSUPPORTED_CERTIFICATE',
			'CERTIFICATE_REVOKED',
			'CERTIFICATE_EXPIRED',
			'CERTIFICATE_UNKNOWN',
			'UNKNOWN_CA',
			'ACCESS_DENIED',
			'UNSUPPORTED_PROTOCOL',
			'UNKNOWN_PROTOCOL',
			'UNSUPPORTED_SSL_VERSION',
			'WRONG_SSL_VERSION',
			'VERSION_TOO_LOW',
			'NO_PROTOCOLS_AVAILABLE',
			'NO_CIPHERS_AVAILABLE',
			'NO_SHARED_CIPHER',
			'WRONG_CIPHER_RETURNED',
			'UNKNOWN_CIPHER_RETURNED',
			'NO_SUITABLE_KEY_SHARE',
			'NO_SUITABLE_SIGNATURE_ALGORITHM',
			'WRONG_SIGNATURE_TYPE',
			'UNSAFE_LEGACY_RENEGOTIATION_DISABLED',
			'DH_KEY_TOO_SMALL',
			'EE_KEY_TOO_SMALL',
			'CA_KEY_TOO_SMALL',
			'CA_MD_TOO_WEAK',
		].map((reason): [string, Fault] => [reason, 'tlsMismatch']),
	),
};

/** Something responds to https that does not speak it: the first bytes are none of TLS. */
const NO_TLS = ['WRONG_VERSION_NUMBER', 'PACKET_LENGTH_TOO_LONG'];

/** The reason that OpenSSL gives, from the code or, in a handshake, from the text of the error. */
function tlsReason(code: string, message: string): string | undefined {
	const start = message.indexOf('SSL routines:');
	const inText = start < 0 ? undefined : message.slice(start, start + 300).split(':')[2];
	const reason = code.startsWith('ERR_SSL_') ? code.slice('ERR_SSL_'.length) : inText;
	return reason
		?.trim()
		.toUpperCase()
		.replace(/ /g, '_')
		.replace(/^(SSL|TLS)V[0-9]+_/, '')
		.replace(/^ALERT_/, '');
}

function tlsFault(code: string, message: string, connection?: Connection): Fault | undefined {
	const reason = tlsReason(code, message);
	if (reason === undefined) return undefined;
	// Known to be open, it was TLS at first: what came later is none.
	if (NO_TLS.includes(reason)) return connection === 'open' ? 'other' : 'invalidAddress';
	return TLS_REASONS[reason];
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
	const known = name.startsWith('EAI_') ? 'notFound' : FAULTS_BY_CODE[name];
	// An open connection can lose its way too; then the request may have arrived.
	const isOpen = known === 'refused' && connection !== 'pending' && /\b(read|write) E/.test(text);
	const fault = isOpen ? 'reset' : (known ?? faultOfText(text));
	if (NEVER_SENT.includes(fault)) return fault;
	if (connection === 'pending' || /\bconnect E[A-Z]/.test(text)) return 'unconnected';
	return faultOfText(text) === 'unconnected' ? 'unconnected' : fault;
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
