import { rounded } from './amount';

/** What a request has cost by the gateway's own bill. Both are absent where it doesn't say. */
export type Bill = {
	/** In `costCurrency`, or in a unit that the gateway doesn't name. */
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

/** An amount for people, with its currency where one is known. */
export const inItsUnit = (cost: number, currency?: string): string =>
	currency === undefined ? String(cost) : `${cost} ${currency}`;

/** Bills as the part of a sentence. @param currency of those that name none, if it is known */
export const describeBills = (bills: Bill[], currency?: string): string =>
	bills
		.flatMap(({ cost, costCurrency = currency }) =>
			cost === undefined ? [] : inItsUnit(cost, costCurrency),
		)
		.slice(0, MOST_CURRENCIES)
		.join(' and ');
