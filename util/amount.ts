/** An amount of money without binary rounding errors: 12 digits are more than any price has. */
export function rounded(amount: number): number {
	return Number(Number(amount.toFixed(12)).toPrecision(12));
}
