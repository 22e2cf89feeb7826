/** The accounts of a world's gateway, and how it refuses. */
import { deliverJson, type Delivery } from '../wire/messages.mjs';

/** Obviously no secrets. */
export const KEYS: [string, string] = ['sk-world-account-one-7f3a', 'sk-world-account-two-91bc'];

/** Whose key that is; undefined: nobody's. */
export function accountOf(key: string | undefined): string | undefined {
	const index = KEYS.indexOf(key ?? '');
	return index < 0 ? undefined : `account ${index + 1}`;
}

/** In the form of the specification, section 7. */
export function refuse(status: number, message: string): Delivery {
	return deliverJson({ error: { message, type: 'invalid_request_error' } }, status);
}
