import type { IncomingHttpHeaders } from 'node:http';
import { messageRefusal, refusal } from './gateway-response.mjs';

/** The keys of the two accounts; obviously no secrets. */
export const keys: [string, string] = ['sk-embedded-gateway-one', 'sk-embedded-gateway-two'];
/** A key that is known and not enabled. */
export const disabledKey = 'sk-embedded-gateway-disabled';

const accounts = new Map([
	[keys[0], 'one'],
	[keys[1], 'two'],
]);

/**
 * Account of an image submit or query: `Authorization: Bearer <API_KEY>` (docs/protocol.md, "Authentication").
 * Throws a 401 for anything else.
 */
export function imageAccount(headers: IncomingHttpHeaders): string {
	const sent = headers.authorization;
	if (sent === undefined || sent === '') {
		throw refusal(401, 'API key not provided: send the header Authorization: Bearer <API_KEY>');
	}
	const key = /^Bearer +(\S+)$/i.exec(sent)?.[1];
	if (key === undefined) {
		throw refusal(401, 'API key invalid: the Authorization header must read Bearer <API_KEY>');
	}
	const account = accounts.get(key);
	if (account === undefined)
		throw refusal(401, `API key invalid${key === disabledKey ? ': this key is not enabled' : ''}`);
	return account;
}

/**
 * Account of a message: the bare key in `authorization`, or in `x-api-key`. A `Bearer ` prefix is
 * part of the key here, and no key is called that.
 */
export function messageAccount(headers: IncomingHttpHeaders): string {
	const sent = headers.authorization || headers['x-api-key'];
	const key = Array.isArray(sent) ? sent[0] : sent;
	const refuse = (message: string) => messageRefusal(401, message, 'authentication_error');
	if (!key) throw refuse('No token provided');
	if (key === disabledKey) throw refuse('this key is not enabled');
	const account = accounts.get(key);
	if (account !== undefined) return account;
	throw refuse(
		key.startsWith('Bearer ')
			? 'invalid key: this endpoint takes the key alone, without Bearer'
			: 'invalid key',
	);
}
