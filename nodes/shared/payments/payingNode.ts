import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { choicesOf, type PayingField } from '../fields/choices';
import type { RequestFacts } from '../errors/itemReport';
import { runNode } from '../run/runNode';
import type { Paid } from './payment';
import type { PaymentSources } from './assignment';
import { openPaymentLog, type PaymentLog } from './paymentLog';

/**
 * Runs the `execute` of a node that pays, with the log of its payments.
 *
 * @param fields of the node, which say what shapes its requests
 * @param readFacts reads what an item would send, as far as it can be read; never throws
 * @param sources @see PaymentSources
 * @throws as `runNode`
 */
export async function runPayingNode<R extends Paid>(
	context: IExecuteFunctions,
	fields: PayingField[],
	execute: (paymentLog: PaymentLog<R>) => Promise<INodeExecutionData[][]>,
	readFacts: (itemIndex: number) => RequestFacts,
	sources: PaymentSources = {},
): Promise<INodeExecutionData[][]> {
	const choices = choicesOf(fields, context.getNode().parameters);
	const paymentLog = openPaymentLog<R>(context, choices, readFacts, sources);
	try {
		return await runNode(context, async () => await execute(paymentLog), paymentLog.itemReport);
	} finally {
		paymentLog.journal.close();
	}
}
