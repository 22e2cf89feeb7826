/** The accounts of a world's gateway, and how it refuses. */
import type { Flow } from '../plan/world.mjs';
import { deliverJson, type Delivery } from '../wire/messages.mjs';

/** Obviously no secrets. */
export const KEYS: [string, string] = ['sk-world-account-one-7f3a', 'sk-world-account-two-91bc'];

/** That of no account. */
const UNKNOWN_KEY = 'sk-nobody-knows-this-key';

/** What may be shown nowhere. */
export const SECRETS = [...KEYS, UNKNOWN_KEY];

/** The key that a flow is carried out with. */
export function keyFor({ trouble, account }: Flow): string {
	if (trouble === 'placeholderKey') return '<API_KEY>';
	return trouble === 'wrongKey' ? UNKNOWN_KEY : KEYS[account];
}

/** The key that came with a request. */
export const keyIn = (headers: Record<string, string>): string | undefined =>
	(headers.authorization ?? headers['x-api-key'])?.replace(/^Bearer /, '');

/** Whose key that is; undefined: nobody's. */
export function accountOf(key: string | undefined): string | undefined {
	const index = KEYS.indexOf(key ?? '');
	return index < 0 ? undefined : `account ${index + 1}`;
}

/** In the form of docs/protocol.md, "Errors". */
export function refuse(status: number, message: string): Delivery {
	return deliverJson({ error: { message, type: 'invalid_request_error' } }, status);
}
