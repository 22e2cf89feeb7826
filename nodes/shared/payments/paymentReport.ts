import { type Charged, mostCharged } from '../../../gateway';
import {
	type ItemDetails,
	type ItemReport,
	type Recovered,
	type RequestFacts,
	soleIndex,
	type UnreturnedPayment,
} from '../errors/itemReport';
import type { Assignment } from './assignment';
import {
	billOf,
	chargeOf,
	endOf,
	itemsWithoutAddress,
	leadsTo,
	listPayments,
	withPayment,
	type Paid,
} from './payment';
import type { PaymentJournal } from './paymentJournal';

/** What errors and failed items tell of payments. */
export class PaymentReport implements ItemReport {
	readonly isPaying = true;

	/** Those that have failed, and whose recorded images are returned in place of the error. */
	private readonly recovered = new Set<number>();

	/** @param readFacts reads what an item would send, as far as that can be read; never throws */
	constructor(
		private readonly assignment: Assignment,
		private readonly journal: PaymentJournal<Paid>,
		private readonly readFacts: (itemIndex: number) => RequestFacts,
	) {}

	get count(): number {
		return this.assignment.count;
	}

	/** The estimated cost of what an item has paid for in this try or an earlier one. */
	readonly estimateOf = (itemIndex: number): number =>
		this.assignment.owned.get(itemIndex)?.result.facts?.estimatedCost ?? 0;

	/** Whether an item has brought its payment. */
	isOfInput(itemIndex: number): boolean {
		return this.assignment.owned.get(itemIndex)?.result.chargedByInput !== undefined;
	}

	chargeOf(itemIndex: number): Charged {
		const results = this.assignment.resultsOf(itemIndex);
		// A record that can't be read may contain any request.
		const unreadable = this.assignment.unreadableRecord === undefined ? [] : (['maybe'] as const);
		return mostCharged([...results.map(chargeOf), ...unreadable]);
	}

	itemDetails(itemIndex: number): ItemDetails {
		const { assignment } = this;
		const paid = assignment.owned.get(itemIndex)?.result;
		const named = paid ?? assignment.resultsOf(itemIndex).at(-1);
		// A task goes with the prompt that it was paid for.
		const facts = named?.facts ?? assignment.facts.get(itemIndex);
		const { model, prompt, row, meant } = facts ?? this.readFacts(itemIndex);
		return {
			charged: this.chargeOf(itemIndex),
			...(named && leadsTo(named)),
			model,
			prompt,
			row,
			index: soleIndex(meant),
			// Only what is in the sum of this try: not a refused request, or a payment that it doesn't use.
			...(this.journal.isStarted(itemIndex) && paid !== undefined
				? { estimatedCost: paid.facts?.estimatedCost, ...billOf(paid) }
				: {}),
		};
	}

	recover(error: unknown, itemIndex: number): Recovered {
		const payment = this.assignment.assignOwn(itemIndex);
		if (payment === undefined || this.journal.isStarted(itemIndex)) return { error };
		const items = itemsWithoutAddress(payment.result, itemIndex);
		if (items !== undefined) this.recovered.add(itemIndex);
		return { error: withPayment(error, payment), items };
	}

	/** The items for which this try returns what an earlier one has paid for. */
	reused(): number[] {
		return Array.from({ length: this.count }, (_, index) => index).filter(
			(index) => this.recovered.has(index) || this.journal.isReused(index),
		);
	}

	get recoveryAdvice(): string {
		const isThere = this.assignment.payments.some(
			({ result }) => result.kind !== 'unknown' && endOf(result) === undefined,
		);
		return isThere ? this.assignment.recoveryAdvice() : '';
	}

	listUnreturned(): UnreturnedPayment[] {
		const { assignment } = this;
		const own = assignment.ownPayments();
		// Another call of a tool returns the payments that it uses.
		const open = assignment.leftOver().filter((payment) => !own.has(payment));
		// What was sent again is listed already.
		const begun = this.journal
			.begun()
			.filter(({ itemIndex }) => assignment.owned.get(itemIndex) === undefined);
		// A payment joins the others once it is settled.
		return listPayments([...own, ...open, ...begun]).sort((one, other) => one.item - other.item);
	}

	markReturned(failed: Set<number>): void {
		this.assignment.markReturned(failed);
	}
}
