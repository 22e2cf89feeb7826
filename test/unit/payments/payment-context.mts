/** What the record of payments asks n8n for, in one run of a node. */
import type {
	IContextObject,
	INodeExecutionData,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { requestIdentity } from '../../../gateway/protocol/fingerprint.js';
import type { PaidPlan } from '../../../gateway/protocol/requestPlan.js';
import type { ImagesReceipt } from '../../../nodes/shared/payments/payment.js';
import type { PaymentLog } from '../../../nodes/shared/payments/paymentLog.js';
import { digestOf } from '../../../util/digest.js';

type Context = ConstructorParameters<typeof PaymentLog>[0];

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

export const fingerprintOf = (plan: PaidPlan, account = 'account'): string =>
	digestOf(requestIdentity(plan, account));

/** Tells a log what an item of the account is known by, with its request if that is read. */
export async function identify(
	log: PaymentLog<ImagesReceipt>,
	itemIndex: number,
	plan?: PaidPlan,
	account = 'account',
): Promise<void> {
	await log.identify(itemIndex, account, async (value) => await Promise.resolve(digestOf(value)));
	if (plan !== undefined) log.identifyRequest(itemIndex, fingerprintOf(plan, account));
}
