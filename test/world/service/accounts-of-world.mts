/** The accounts of a world's gateway, and how it refuses. */
import type { Flow } from '../plan/world.mjs';
import { deliverJson, type Delivery } from '../wire/messages.mjs';

/** Obviously no secrets. */
export const KEYS: [string, string] = ['sk-world-account-one-7f3a', 'sk-world-account-two-91bc'];

/** The same accounts' keys after a person has renewed them. */
const RENEWED: typeof KEYS = ['sk-world-account-one-new-c6d0', 'sk-world-account-two-new-40e8'];

/** That of no account. */
const UNKNOWN_KEY = 'sk-nobody-knows-this-key';

/** What may be shown nowhere. */
export const SECRETS = [...KEYS, ...RENEWED, UNKNOWN_KEY];

/** The key that a flow is carried out with. */
export function keyFor({ trouble, account, isRenewed }: Flow): string {
	if (isRenewed === true) return RENEWED[account];
	if (trouble === 'placeholderKey') return '<API_KEY>';
	return trouble === 'wrongKey' ? UNKNOWN_KEY : KEYS[account];
}

/** The key that came with a request. */
export const keyIn = (headers: Record<string, string>): string | undefined =>
	(headers.authorization ?? headers['x-api-key'])?.replace(/^Bearer /, '');

/** What becomes of a request whose key has been renewed since. */
export const KEY_REFUSED = 'its key was refused';

/** Whose key that is; undefined: nobody's. */
export function accountOf(key: string | undefined): string | undefined {
	const index = [KEYS, RENEWED].map((keys) => keys.indexOf(key ?? '')).find((at) => at >= 0);
	return index === undefined ? undefined : `account ${index + 1}`;
}

/** In the form of the specification, section 7. */
export function refuse(status: number, message: string): Delivery {
	return deliverJson({ error: { message, type: 'invalid_request_error' } }, status);
}
