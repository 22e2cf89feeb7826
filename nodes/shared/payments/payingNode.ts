import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { runNode } from '../run/itemRunner';
import { PaymentLog } from './paymentLog';

/**
 * Runs the `execute` of a node that pays, with the log of its payments.
 *
 * @param choices what the person chose for the node's requests
 * @throws as `runNode`
 */
export async function runPayingNode(
	context: IExecuteFunctions,
	choices: unknown,
	execute: (paymentLog: PaymentLog) => Promise<INodeExecutionData[][]>,
): Promise<INodeExecutionData[][]> {
	const paymentLog = new PaymentLog(context, choices);
	try {
		return await runNode(context, async () => await execute(paymentLog), paymentLog);
	} finally {
		paymentLog.close();
	}
}
