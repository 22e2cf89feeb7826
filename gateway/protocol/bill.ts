/** What a request has cost by the gateway's own bill. Both are absent where it doesn't say. */
export type Bill = {
	/** In `costCurrency`, or in a unit that the gateway doesn't name. */
	cost?: number;
	/** As the gateway names it; none is assumed. */
	costCurrency?: string;
};

/** An amount of money without binary rounding errors: 12 digits are more than any price has. */
export function rounded(amount: number): number {
	return Number(Number(amount.toFixed(12)).toPrecision(12));
}

/** The bill of a task: what is said of its end counts, or else what its submit said. */
export function laterBill(later: Bill, first: Bill) {
	const { cost, costCurrency } = later.cost === undefined ? first : later;
	return { cost, costCurrency };
}

/** An amount for people, with its currency where one is known. */
export const inItsUnit = (cost: number, currency?: string): string =>
	currency === undefined ? String(cost) : `${cost} ${currency}`;
