import type { IExecuteFunctions } from 'n8n-workflow';
import { GatewayError, inItsUnit, rounded } from '../../../gateway';
import { finiteNumber, isJsonObject } from '../../../util/json';
import { counted } from '../../../util/text';
import type { Checked } from '../../../gateway/models';
import type { Failure } from '../run/itemRunner';

/** Where the node's context holds `{ executionId, spent }`. */
const KEY = 'mediaGatewayBudget';

/**
 * The option Budget: the maximum cost of a node in one execution, by listed prices: those of what it has
 * sent, also with an unknown outcome, and of what it is about to send. A bill may be in another unit.
 *
 * The sum is stored in the node's context, which all tries of Retry On Fail, all rounds of a loop
 * and all calls of a tool in an execution share. Costs are added before anything is sent, so that
 * concurrent calls see each other; unspent amounts are subtracted at the end. n8n's Retry of a
 * failed execution is a new execution and starts at 0.
 */
export class Budget {
	/** By item, the estimated cost, or the error of a request without a known price. */
	private readonly expected = new Map<number, number | GatewayError>();

	/** The requests of a dry run, those of them with a known price, and the cost of these. */
	private readonly dry = { requests: 0, priced: 0, cost: 0 };

	/** The items that this run pays for, and the amount that it has added to the sum for them. */
	private due: number[] = [];
	private reserved = 0;

	/** @param amount in the unit of the gateway's prices; Infinity for no limit */
	constructor(
		private readonly context: IExecuteFunctions,
		private readonly amount: number,
	) {}

	/** Whether there is a limit: then every request needs a known price. */
	get isSet(): boolean {
		return this.amount < Infinity;
	}

	/** @returns the error of a request without a known price, if there is a limit */
	unpriced(
		model: string,
		{ estimatedCost, noEstimate = '' }: Partial<Checked>,
	): GatewayError | undefined {
		if (!this.isSet || estimatedCost !== undefined) return undefined;
		return new GatewayError({
			message: `'Budget' is set, but the price of the model '${model.slice(0, 200)}' is unknown`,
			description: `${noEstimate} This request wasn't sent. To send it without a limit, remove 'Budget' from the options.`,
		});
	}

	/** Adds a request that isn't sent. @param cost undefined if no price is known */
	expectDry(cost: number | undefined): void {
		this.dry.requests += 1;
		if (cost === undefined) return;
		this.dry.priced += 1;
		this.dry.cost = rounded(this.dry.cost + cost);
	}

	/** The error of a dry run whose requests so far exceed the budget. */
	dryOverrun(): GatewayError | undefined {
		return this.overrun(this.dry.cost, this.dry.requests);
	}

	/**
	 * The total of a dry run for its hint.
	 *
	 * @param failed the number of items that can't be sent at all
	 * @returns undefined if the items already say as much
	 */
	describeDry(failed: number, currency?: string): string | undefined {
		const { requests, priced, cost } = this.dry;
		if (requests === 0 || (requests + failed === 1 && !this.isSet)) return undefined;
		const count = counted(requests, 'request');
		const estimated = priced === 0 ? '' : `; estimated cost ${inItsUnit(cost, currency)}`;
		const unknown = priced === requests ? '' : `; ${requests - priced} without a known price`;
		const spent = this.spent();
		const left = spent > 0 ? `, of which ${spent} is spent` : '';
		const budget = this.isSet ? `; budget ${this.amount}${left}` : '';
		const failures = failed === 0 ? '' : `; ${counted(failed, 'item')} failed`;
		const isRefused = this.dryOverrun() !== undefined || (this.isSet && priced < requests);
		const end = isRefused ? ': would be refused' : '';
		return `Dry run: ${count}${estimated}${unknown}${failures}${budget}${end}.`;
	}

	/** Adds the request of an item, or its error if it can't be sent within the budget. */
	expect(itemIndex: number, model: string, estimate: Partial<Checked>): void {
		const error = this.unpriced(model, estimate);
		this.expected.set(itemIndex, error ?? estimate.estimatedCost ?? 0);
	}

	/**
	 * Adds the items' costs to the execution's sum; called once all items are checked.
	 *
	 * @param isPaid whether an earlier try has paid for an item
	 * @returns the errors of the items without a known price, and of all others that are due if the
	 *   sum would be higher than the budget; then nothing is added
	 */
	reserve(isPaid: (itemIndex: number) => boolean): Failure[] {
		if (!this.isSet) return [];
		const due = [...this.expected].filter(([itemIndex]) => !isPaid(itemIndex));
		const costs = due.flatMap(([, cost]) => (typeof cost === 'number' ? cost : []));
		const needed = rounded(costs.reduce((sum, cost) => sum + cost, 0));
		const overrun = this.overrun(needed, costs.length);
		if (overrun === undefined) {
			this.due = due.map(([itemIndex]) => itemIndex);
			this.reserved = needed;
			this.store(this.spent() + needed);
		}
		return due.flatMap(([itemIndex, cost]) => {
			const error = typeof cost === 'number' ? overrun : cost;
			return error === undefined ? [] : [{ itemIndex, error }];
		});
	}

	/**
	 * Replaces the reserved amount by what this run has spent.
	 *
	 * @param spentOn the cost of an item by the images that came; 0 if it was refused, or not sent
	 */
	close(spentOn: (itemIndex: number) => number): void {
		const spent = this.due.reduce((sum, itemIndex) => sum + spentOn(itemIndex), 0);
		const unspent = this.reserved - spent;
		if (this.isSet && unspent !== 0) this.store(this.spent() - unspent);
		this.due = [];
		this.reserved = 0;
	}

	/** What is left of it, as the end of a line; empty without a limit. */
	describeLeft(): string {
		const left = rounded(Math.max(0, this.amount - this.spent()));
		return this.isSet ? ` Remaining budget: ${left} of ${this.amount}.` : '';
	}

	private spent(): number {
		const stored: unknown = this.context.getContext('node')[KEY];
		if (!isJsonObject(stored) || stored.executionId !== this.executionId()) return 0;
		return Math.max(0, finiteNumber(stored.spent) ?? 0);
	}

	private store(spent: number): void {
		this.context.getContext('node')[KEY] = {
			executionId: this.executionId(),
			spent: rounded(spent),
		};
	}

	private executionId(): string {
		return this.context.getExecutionId() ?? '';
	}

	/**
	 * @param needed the cost of `count` requests
	 * @returns the error if that exceeds the remaining budget
	 */
	private overrun(needed: number, count: number): GatewayError | undefined {
		const spent = this.spent();
		if (rounded(spent + needed) <= this.amount) return undefined;
		const requests = count === 1 ? 'this request' : `these ${count} requests`;
		const left = Math.max(0, rounded(this.amount - spent));
		const isFirst = spent === 0;
		const before = `Spent in this execution, including requests in progress: ${spent}. `;
		const advice = `Nothing was sent for ${requests}. Increase 'Budget' in the options, or send fewer items.`;
		return new GatewayError({
			message: isFirst
				? `The estimated cost of ${needed} exceeds the budget of ${this.amount}`
				: `The estimated cost of ${needed} exceeds the remaining budget for this execution: ${left} of ${this.amount}`,
			description: isFirst ? advice : before + advice,
		});
	}
}
