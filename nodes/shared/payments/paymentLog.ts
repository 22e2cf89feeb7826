import type { RequestFacts } from '../errors/itemReport';
import { isTool } from '../run/runContext';
import { Assignment, type PaymentContext, type PaymentSources } from './assignment';
import { CallAssignment } from './callAssignment';
import { PaymentReport } from './paymentReport';
import type { Paid } from './payment';
import { PaymentJournal } from './paymentJournal';

/** The payments of a run of a node. */
export interface PaymentLog<R extends Paid> {
	/** Which is whose. */
	assignment: Assignment;
	/** The record that requests go through. */
	journal: PaymentJournal<R>;
	/** What errors tell of them. */
	itemReport: PaymentReport;
}

/**
 * Opens the payments of a node, which n8n stores with the execution.
 *
 * @param choices what the person chose for the node's requests
 * @param readFacts reads what an item would send, as far as that can be read; never throws
 */
export function openPaymentLog<R extends Paid>(
	context: PaymentContext,
	choices: unknown,
	readFacts: (itemIndex: number) => RequestFacts = () => ({}),
	sources: PaymentSources = {},
): PaymentLog<R> {
	const assignment = isTool(context)
		? new CallAssignment(context, choices, { ...sources, readPaymentOfInput: undefined })
		: new Assignment(context, choices, sources);
	const journal = new PaymentJournal<R>(assignment);
	return { assignment, journal, itemReport: new PaymentReport(assignment, journal, readFacts) };
}
