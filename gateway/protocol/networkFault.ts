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
 * Faults after which the request may have arrived. `tooSlow`: a time limit that no setting changes. A
 * source image of this kind, or that is `notAnImage`, isn't tried again, nor is a request that its own
 * signal has `ended`.
 */
type MaybeSent =
	| 'reset'
	| 'timeout'
	| 'ended'
	| 'tooSlow'
	| 'tooLarge'
	| 'notAnImage'
	| 'diskFull'
	| 'other';

/** The reason why no response came. */
export type Fault = (typeof NEVER_SENT)[number] | MaybeSent;

/** Whether nothing of the request was sent. */
export const wasNeverSent = (fault: Fault): boolean => NEVER_SENT.some((one) => one === fault);

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
	const isOpen = byCode === 'refused' && /\b(read|write) E/.test(text);
	const fault = isOpen ? 'reset' : (byCode ?? byText);
	if (wasNeverSent(fault)) return fault;
	const isPending = connection === 'pending' || /\bconnect E[A-Z]/.test(text);
	if (!isPending && byText !== 'unconnected') return fault;
	return fault === 'timeout' ? 'connectTimeout' : 'unconnected';
}
