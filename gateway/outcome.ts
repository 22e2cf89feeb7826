import { isJsonObject, type JsonObject } from './json';

/** Why no answer came. Only the first four are certain to have happened before anything was sent. */
export type Fault =
	| 'refused'
	| 'notFound'
	| 'certificate'
	| 'invalidAddress'
	| 'reset'
	| 'timeout'
	| 'tooLarge'
	| 'other';

/** What came of one attempt to send a plan. */
export type Outcome =
	| {
			kind: 'answer';
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
			/** Where the head of an answer had come. */
			httpCode?: number;
			/** The beginning of what had arrived of its body, without the key. */
			received?: string;
	  };

export type Answer = Extract<Outcome, { kind: 'answer' }>;
export type FaultOutcome = Extract<Outcome, { kind: 'fault' }>;

/** Whether an answer is one to work with: 2xx and a JSON object. */
export function isGood(outcome: Outcome): outcome is Answer & { json: JsonObject } {
	return (
		outcome.kind === 'answer' &&
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
	if (outcome.kind === 'fault') {
		return ['refused', 'notFound', 'certificate', 'invalidAddress'].includes(outcome.fault);
	}
	// A redirect and a 4xx are refusals. 408 is the gateway's own time-out: it may have begun.
	return outcome.httpCode >= 300 && outcome.httpCode < 500 && outcome.httpCode !== 408;
}

const FAULTS_BY_CODE: Record<string, Fault> = {
	ECONNREFUSED: 'refused',
	EHOSTUNREACH: 'refused',
	ENETUNREACH: 'refused',
	EADDRNOTAVAIL: 'refused',
	ENOTFOUND: 'notFound',
	EAI_AGAIN: 'notFound',
	ECONNRESET: 'reset',
	EPIPE: 'reset',
	ERR_STREAM_PREMATURE_CLOSE: 'reset',
	ETIMEDOUT: 'timeout',
	ECONNABORTED: 'timeout',
	ESOCKETTIMEDOUT: 'timeout',
	ERR_INVALID_URL: 'invalidAddress',
	// Something answers https that does not speak it: the first bytes are none of TLS.
	ERR_SSL_WRONG_VERSION_NUMBER: 'invalidAddress',
	ERR_SSL_PACKET_LENGTH_TOO_LONG: 'invalidAddress',
	DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate',
	SELF_SIGNED_CERT_IN_CHAIN: 'certificate',
	UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate',
	UNABLE_TO_GET_ISSUER_CERT: 'certificate',
	UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate',
	CERT_HAS_EXPIRED: 'certificate',
	CERT_NOT_YET_VALID: 'certificate',
	ERR_TLS_CERT_ALTNAME_INVALID: 'certificate',
};

/**
 * The fault behind the code of a network error of Node.js. What is not in the table counts as
 * `other`, which may have been sent.
 */
export function faultOf(code: unknown, message = ''): Fault {
	const known = typeof code === 'string' ? FAULTS_BY_CODE[code.toUpperCase()] : undefined;
	// An open connection can lose its way too; then the request may have arrived.
	if (known === 'refused' && /\b(read|write) E/.test(message)) return 'reset';
	if (known !== undefined) return known;
	// Before 2.0 the platform puts a text of its own in place of the code.
	if (/^SSL issue/i.test(message)) return 'certificate';
	if (/socket hang up|aborted|premature close/i.test(message)) return 'reset';
	if (/time(d)?[ -]?out/i.test(message)) return 'timeout';
	return 'other';
}

/**
 * The pause that a `Retry-After` header asks for (seconds or an HTTP date), in milliseconds.
 * Undefined where there is none, or where it says nothing sensible: not a number, in the past, or
 * more than a day.
 *
 * @param now milliseconds since 1970, for the form with a date
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
	if (header === undefined || header.trim() === '') return undefined;
	const seconds = Number(header);
	const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000;
	return Number.isFinite(ms) && ms >= 0 && ms <= 86_400_000 ? ms : undefined;
}
