import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { choicesOf, type PayingField } from '../fields/choices';
import { runNode } from '../run/itemRunner';
import { PaymentLog } from './paymentLog';

/**
 * Runs the `execute` of a node that pays, with the log of its payments.
 *
 * @param fields of the node, which say what shapes its requests
 * @throws as `runNode`
 */
export async function runPayingNode(
	context: IExecuteFunctions,
	fields: PayingField[],
	execute: (paymentLog: PaymentLog) => Promise<INodeExecutionData[][]>,
): Promise<INodeExecutionData[][]> {
	const paymentLog = new PaymentLog(context, choicesOf(fields, context.getNode().parameters));
	try {
		return await runNode(context, async () => await execute(paymentLog), paymentLog);
	} finally {
		paymentLog.close();
	}
}
