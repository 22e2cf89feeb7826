import type { IExecuteFunctions } from 'n8n-workflow';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { finiteNumber, isJsonObject } from '../../../gateway/util/json';
import { rounded } from '../../../gateway/validation/pricing';
import { isTool, runIndexOf } from '../run/runContext';
import type { Budget } from './budget';

/** In the node's context, which outlives the tries of Retry On Fail. */
const KEY = 'mediaGatewayRunBudget';

/**
 * A run is held against its own estimate and what its earlier tries have spent: an item that can
 * only be prepared in a later try comes on top of what they have paid for. What an earlier try paid
 * for without knowing its price counts as nothing.
 */
export class RunBudget implements Budget {
	readonly isSet = true;
	/** What each item is expected to cost. */
	private charges: Array<readonly [itemIndex: number, cost: number]> = [];

	constructor(
		private readonly context: IExecuteFunctions,
		private readonly amount: number,
	) {}

	reserve(costs: Map<number, number | undefined>): void {
		const charges = [...costs].map(
			([itemIndex, cost]) => [itemIndex, Math.max(0, cost ?? 0)] as const,
		);
		const needed = sumOf(charges);
		const spent = this.spentBefore();
		const left = Math.max(0, rounded(this.amount - spent));
		if (needed > left) throw this.exceeded(needed, spent, left, costs.size);
		this.charges = charges;
	}

	decided(): void {
		// It has no day to count on.
	}

	settle(isPaid: (itemIndex: number) => boolean): void {
		const own = sumOf(this.charges.filter(([itemIndex]) => isPaid(itemIndex)));
		if (own === 0) return;
		const spent = rounded(this.spentBefore() + own);
		this.context.getContext('node')[KEY] = { run: this.run(), spent };
	}

	/** n8n's Retry of a failed execution is another one: a person has looked, and starts anew. */
	private run(): string {
		return `${this.context.getExecutionId()} ${runIndexOf(this.context)}`;
	}

	private spentBefore(): number {
		// The calls of a tool share one context, and each is a run of its own with one request.
		if (isTool(this.context)) return 0;
		const stored: unknown = this.context.getContext('node')[KEY];
		if (!isJsonObject(stored) || stored.run !== this.run()) return 0;
		return Math.max(0, finiteNumber(stored.spent) ?? 0);
	}

	private exceeded(needed: number, spent: number, left: number, count: number): GatewayError {
		const requests = count === 1 ? 'this request' : `these ${count} requests`;
		const advice = "Increase 'Budget' in the options, or send fewer items.";
		if (spent === 0) {
			return new GatewayError({
				message: `The estimated cost of ${needed} exceeds the budget of ${this.amount}`,
				description: `Nothing was sent for ${requests}. ${advice}`,
			});
		}
		return new GatewayError({
			message: `The estimated cost of ${needed} exceeds the remaining budget for this run: ${left} of ${this.amount}`,
			description: `Spent by earlier tries: ${spent}. Left: ${left}. Needed for ${requests}: ${needed}. Nothing was sent for ${count === 1 ? 'it' : 'them'}. ${advice}`,
		});
	}
}

const sumOf = (charges: Array<readonly [itemIndex: number, cost: number]>): number =>
	rounded(charges.reduce((sum, [, cost]) => sum + cost, 0));
