/** What the record of payments asks n8n for, in one run of a node. */
import type {
	IContextObject,
	INodeExecutionData,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { requestIdentity } from '../../../gateway/protocol/requestIdentity.js';
import type { PaidPlan } from '../../../gateway/protocol/requestPlan.js';
import type { ImagesResult } from '../../../nodes/shared/payments/payment.js';
import type { Identity } from '../../../nodes/shared/payments/identity.js';
import type { openPaymentLog, PaymentLog } from '../../../nodes/shared/payments/paymentLog.js';
import { digestOf } from '../../../util/digest.js';

type Context = Parameters<typeof openPaymentLog>[0];

/** @param store the node's context, which n8n stores with the execution */
export const paymentContext = (
	executionId: string,
	store: IContextObject,
	input: INodeExecutionData[] = [],
	others: Partial<Context> = {},
): Context => ({
	getWorkflowDataProxy: () => ({ $runIndex: 0 }),
	getExecutionId: () => executionId,
	getContext: () => store,
	getNode: () => ({ parameters: {} }),
	getInputData: () => input,
	...others,
});

export const requestDigestOf = (plan: PaidPlan, account = 'account'): string =>
	digestOf(requestIdentity(plan, account));

/** Tells a log what an item of the account is known by, with its request if that is read. */
export async function identify(
	log: PaymentLog<ImagesResult>,
	itemIndex: number,
	plan?: PaidPlan,
	account = 'account',
): Promise<Identity> {
	const digest = async (value: unknown) => await Promise.resolve(digestOf(value));
	const identity = await log.assignment.identify(itemIndex, account, digest);
	if (plan !== undefined) identity.requestDigest = requestDigestOf(plan, account);
	return identity;
}
