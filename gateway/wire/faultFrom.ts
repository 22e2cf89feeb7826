import { faultOf, type Connection } from '../protocol/networkFault';
import type { FaultOutcome } from '../protocol/outcome';
import { isJsonObject } from '../../util/json';
import { InvalidBodyError } from './multipart';
import { TooLargeError } from './responseBody';

/**
 * The fault of a request, from the error that the transport threw, which may wrap that of the
 * network: unwrapped here, told apart by `faultOf`. Only its code and text are used: the error contains
 * the request, and with it the key.
 */
export function faultFrom(error: unknown): FaultOutcome {
	if (error instanceof InvalidBodyError) return { kind: 'fault', fault: 'invalidBody', detail: '' };
	if (error instanceof TooLargeError) return { kind: 'fault', fault: 'tooLarge', detail: '' };
	const chain: Array<Record<string, unknown>> = [];
	for (let link: unknown = error; isJsonObject(link) && chain.length < 5; link = link.cause)
		chain.push(link);
	const code = chain.map((link) => link.code).find((value) => typeof value === 'string');
	const texts = chain.map((link) => link.message).filter((value) => typeof value === 'string');
	const fault = chain.some(({ name }) => NOT_SENT_BY_NAME.includes(String(name)))
		? 'blocked'
		: faultOf(code, texts.join(' '), connectionOf(chain));
	// n8n's code for a request that it ended itself says nothing about the network.
	const detail = typeof code === 'string' && code !== 'ERR_CANCELED' ? code : '';
	return { kind: 'fault', fault, detail };
}

/** Errors of n8n's protection against server-side request forgery. */
const NOT_SENT_BY_NAME = ['SsrfBlockedIpError', 'SsrfBlockedHostnameError'];

/**
 * The state of a request's connection, read from its socket, which the HTTP library attaches to its
 * errors. Node.js sends nothing of a request before the connection and its TLS handshake are
 * complete.
 */
function connectionOf(chain: Array<Record<string, unknown>>): Connection | undefined {
	for (const { request: sent } of chain) {
		const socket = isJsonObject(sent) ? sent.socket : undefined;
		if (!isJsonObject(socket)) continue;
		if (socket.connecting === true || socket.secureConnecting === true) return 'pending';
		// Node.js keeps the data here until the connection is complete.
		if (socket._pendingData !== undefined && socket._pendingData !== null) return 'pending';
		return socket.secureConnecting === false ? 'open' : undefined;
	}
	return undefined;
}
