import { createHash } from 'crypto';
import { isJsonObject, jsonText } from '../util/json';
import type { RequestPlan } from './requestPlan';

/**
 * The identity of a paid request: the account, and what is sent. Files count by their contents, not
 * by their names, and fields in any order. No prompt can be read from the hash.
 *
 * @param account any text that identifies the account
 * @returns 64 hexadecimal digits
 */
export function requestFingerprint(plan: RequestPlan, account: string): string {
	const { path, query, headers, body, form } = plan;
	const files = form?.files.map(({ name, digest }) => [name, digest]);
	return digestOf([account, path, query, headers, body, form && [...form.fields].sort(), files]);
}

/**
 * The SHA-256 of a value as JSON, in hexadecimal digits; the same for objects whose fields have
 * another order. Empty for a value without JSON, such as a circular one.
 */
export function digestOf(value: unknown): string {
	const text = jsonText(value, inOrder) || '';
	return text && createHash('sha256').update(text).digest('hex');
}

function inOrder(_: string, part: unknown): unknown {
	if (!isJsonObject(part)) return part;
	const names = Object.keys(part).sort();
	return Object.fromEntries(names.map((name) => [name, part[name]]));
}
