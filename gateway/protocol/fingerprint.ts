import { digestOf } from '../../util/digest';
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
