import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import type { GoodResponse, PaidPlan } from '../../../gateway';
import { choicesOf, type PayingField } from '../fields/choices';
import type { RequestFacts } from '../errors/itemReport';
import type { Run } from '../run/runContext';
import { runNode } from '../run/runNode';
import type { Paid, Payment } from './payment';
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

/** A job that returns what was paid for. */
export interface PaidJob<O> {
	itemIndex: number;
	/** What to pay for, or what an earlier try has paid for: then the request isn't even read. */
	source: { order: O } | { earlier: Payment };
}

/**
 * Pays for the job of an item, unless an earlier try has.
 *
 * @param read reads what was paid for; undefined if a response contains nothing usable
 * @throws GatewayError, with the code `outcomeUnknown` if it may have been charged
 */
export async function payForJob<O extends { plan: PaidPlan }, R extends Paid>(
	{ gateway }: Run,
	{ journal }: PaymentLog<R>,
	{ itemIndex, source }: PaidJob<O>,
	read: (response: GoodResponse, order: O) => R | undefined,
): Promise<R> {
	if ('earlier' in source) return journal.reuse(itemIndex, source.earlier);
	const { order } = source;
	const entry = { journal, key: itemIndex };
	return await gateway.payFor(order.plan, (response) => read(response, order), entry);
}
