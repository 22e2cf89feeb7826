/** What the record of payments asks n8n for, in one run of a node. */
import type {
	IContextObject,
	INodeExecutionData,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { PaymentLog } from '../../../nodes/shared/payments/paymentLog.js';

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
