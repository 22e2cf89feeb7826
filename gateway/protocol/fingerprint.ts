import type { RequestPlan } from './requestPlan';

/**
 * What a paid request is known by, for a digest: the account, and what is sent. Files count by their
 * contents, not by their names, and fields in any order.
 *
 * @param account any text that identifies the account
 */
export function requestIdentity(plan: RequestPlan, account: string): unknown[] {
	const { path, query, headers, body, form } = plan;
	const files = form?.files.map(({ name, digest }) => [name, digest]);
	return [account, path, query, headers, body, form && [...form.fields].sort(), files];
}
