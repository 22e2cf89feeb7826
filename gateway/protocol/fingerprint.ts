import { createHash } from 'crypto';
import { jsonText } from '../util/json';
import type { RequestPlan } from './requestPlan';

/**
 * What tells one paid request from every other: who pays, and everything that is sent, files by
 * their contents. It is a hash, so no prompt can be read from it.
 *
 * @param account any text that tells accounts apart
 * @returns 64 hexadecimal digits
 */
export function requestFingerprint(plan: RequestPlan, account: string): string {
	const { call, method, path, query, headers, body, form } = plan;
	return digestOf([account, call, method, path, query, headers, body, form]);
}

/** The SHA-256 of a value as JSON, in hexadecimal digits; what is no JSON counts as nothing. */
export function digestOf(value: unknown): string {
	return createHash('sha256')
		.update(jsonText(value) || '')
		.digest('hex');
}
