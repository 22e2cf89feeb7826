import { createHash } from 'crypto';
import { jsonText } from '../util/json';
import type { RequestPlan } from './requestPlan';

/**
 * The identity of a paid request: the account, and everything that is sent, files by their
 * contents. No prompt can be read from the hash.
 *
 * @param account any text that identifies the account
 * @returns 64 hexadecimal digits
 */
export function requestFingerprint(plan: RequestPlan, account: string): string {
	const { call, method, path, query, headers, body, form } = plan;
	return digestOf([account, call, method, path, query, headers, body, form]);
}

/** The SHA-256 of a value as JSON, in hexadecimal digits; the same for all values without JSON. */
export function digestOf(value: unknown): string {
	return createHash('sha256')
		.update(jsonText(value) || '')
		.digest('hex');
}
