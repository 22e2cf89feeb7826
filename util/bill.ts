import { rounded } from './amount';

/** What a request has cost by the gateway's own bill. Both are absent where it doesn't say. */
export type Bill = {
	/** In the gateway's own unit, or in `costCurrency`. */
	cost?: number;
	/** As the gateway names it; none is assumed. */
	costCurrency?: string;
};

/** The bill of a task: what is said of its end counts, or else what its submit said. */
export const laterBill = (later: Bill, first: Bill): Bill =>
	later.cost === undefined
		? { cost: first.cost, costCurrency: first.costCurrency }
		: { cost: later.cost, costCurrency: later.costCurrency };

/** Several bills together: one for each currency. */
export function sumOfBills(bills: Bill[]): Bill[] {
	const sums = new Map<string | undefined, number>();
	for (const { cost, costCurrency } of bills) {
		if (cost === undefined) continue;
		sums.set(costCurrency, rounded((sums.get(costCurrency) ?? 0) + cost));
	}
	return [...sums].map(([costCurrency, cost]) => ({ cost, costCurrency }));
}

/** More currencies than any gateway bills in. */
const MOST_CURRENCIES = 5;

/** An amount for people: in the currency that the gateway names, or else in the gateway's own unit. */
export const inItsUnit = (cost: number, currency = "in the gateway's unit"): string =>
	`${cost} ${currency}`;

/** Bills as the part of a sentence. */
export const describeBills = (bills: Bill[]): string =>
	bills
		.flatMap(({ cost, costCurrency }) => (cost === undefined ? [] : inItsUnit(cost, costCurrency)))
		.slice(0, MOST_CURRENCIES)
		.join(' and ');
