import { planImages, type ImageRequest, type PaidPlan, type RequestPlan } from './requestPlan';
import type { TaskType } from './taskType';

/**
 * The plan by which the payment for an image request is known: as given, in the usual style, because what
 * the credential says about the gateway, and the mode, may change before somebody recovers it.
 */
export const usualPlan = (kind: TaskType, request: ImageRequest): PaidPlan =>
	planImages(kind, request);

/**
 * What the digest of a paid request is made of: the account, and what is sent. Files count by their
 * contents, not by their names, and fields in any order.
 *
 * @param account any text that identifies the account
 */
export function requestIdentity(plan: RequestPlan, account: string): unknown[] {
	const { path, query, headers, body, form } = plan;
	const files = form?.files.map(({ name, digest }) => [name, digest]);
	return [account, path, query, headers, body, form && [...form.fields].sort(), files];
}
