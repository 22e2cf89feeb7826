import type { IExecuteFunctions } from 'n8n-workflow';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { finiteNumber, isJsonObject } from '../../../gateway/util/json';
import { rounded } from '../../../gateway/validation/pricing';
import type { Estimate } from './modelChecks';

/** Where the node's context holds `{ executionId, spent }`. */
const KEY = 'mediaGatewayBudget';

/**
 * The option Budget: the most that a node may spend in one execution, by the published prices.
 *
 * The sum lies in the node's context, which all tries of Retry On Fail, all rounds of a loop and all
 * calls of a tool in an execution share, and which n8n stores with the execution. Costs are added
 * before anything is sent, so that calls at once see each other, and what was not spent is taken off
 * at the end. n8n's Retry of a failed execution is another execution, and starts at 0.
 */
export class Budget {
	/** The estimated cost of each item: of its request once that is checked, then of what came. */
	private readonly costs = new Map<number, number>();

	/** What this run has added to the sum, by item. */
	private readonly reserved = new Map<number, number>();

	/** @param amount in the gateway's currency; 0 sets no limit */
	constructor(
		private readonly context: IExecuteFunctions,
		private readonly amount: number,
	) {}

	/** Whether there is a limit: then every request needs a known price. */
	get isSet(): boolean {
		return this.amount > 0;
	}

	/** @throws GatewayError if there is a limit, and no known price to hold against it */
	assertPriced(model: string, { estimatedCost, noEstimate = '' }: Estimate): void {
		if (!this.isSet || estimatedCost !== undefined) return;
		throw new GatewayError({
			message: `'Budget' is set, but the price of the model '${model.slice(0, 200)}' is unknown`,
			description: `${noEstimate} Nothing was sent for this item. To send it without a limit, remove 'Budget' from the options.`,
		});
	}

	/** Notes what an item will cost; without a price it counts as nothing. */
	expect(itemIndex: number, cost = 0): void {
		this.costs.set(itemIndex, cost);
	}

	/**
	 * Adds the noted costs to what the execution has spent; to be called once all items are checked.
	 *
	 * @param isPaid whether an earlier try has paid for an item
	 * @throws GatewayError if the sum would be higher than the budget; then nothing is added
	 */
	reserve(isPaid: (itemIndex: number) => boolean): void {
		if (!this.isSet) return;
		const due = [...this.costs.keys()].filter((itemIndex) => !isPaid(itemIndex));
		const needed = this.costOf(due);
		const spent = this.spent();
		if (needed > rounded(this.amount - spent)) throw this.exceeded(needed, spent, due.length);
		for (const itemIndex of due) this.reserved.set(itemIndex, this.costs.get(itemIndex) ?? 0);
		this.store(spent + needed);
	}

	/**
	 * Puts what was spent in place of what was reserved.
	 *
	 * @param isPaid whether the request of an item was accepted, or its outcome is unknown
	 */
	settle(isPaid: (itemIndex: number) => boolean): void {
		let unspent = 0;
		for (const [itemIndex, cost] of this.reserved) {
			unspent += cost - (isPaid(itemIndex) ? (this.costs.get(itemIndex) ?? 0) : 0);
		}
		this.reserved.clear();
		if (unspent !== 0) this.store(this.spent() - unspent);
	}

	private costOf(items: number[]): number {
		return rounded(items.reduce((sum, itemIndex) => sum + (this.costs.get(itemIndex) ?? 0), 0));
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

	private exceeded(needed: number, spent: number, count: number): GatewayError {
		const requests = count === 1 ? 'this request' : `these ${count} requests`;
		const left = Math.max(0, rounded(this.amount - spent));
		const isFirst = spent === 0;
		const advice = `Nothing was sent for ${requests}. Increase 'Budget' in the options, or send fewer items.`;
		return new GatewayError({
			message: isFirst
				? `The estimated cost of ${needed} exceeds the budget of ${this.amount}`
				: `The estimated cost of ${needed} exceeds the remaining budget for this execution: ${left} of ${this.amount}`,
			description: isFirst
				? advice
				: `Spent in this execution, including requests in progress: ${spent}. ${advice}`,
		});
	}
}
