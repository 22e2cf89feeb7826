import type { Billing } from '../protocol/models';

/**
 * What a request will cost, in the currency of the gateway, where a fixed price per image or
 * request is published (specification, 2.8); undefined otherwise: a ratio is no price.
 *
 * @param images how many images it asks for
 */
export function estimateCost(billing: Billing | undefined, images: number): number | undefined {
	if (billing?.mode !== 'price' || billing.value === undefined) return undefined;
	if (billing.value < 0) return undefined;
	if (billing.unit === 'image') return rounded(billing.value * images);
	return billing.unit === 'request' ? rounded(billing.value) : undefined;
}

/** A sum of money without the dust of binary fractions. */
export function rounded(amount: number): number {
	return Math.round(amount * 1e6) / 1e6;
}

/**
 * What a model costs, in words; a multiplier is never shown as a price. Undefined if unknown. No
 * currency: the listing publishes none (specification, 2.8).
 */
export function priceInWords(billing: Billing | undefined): string | undefined {
	if (billing?.value === undefined) return undefined;
	const unit = billing.unit === undefined ? '' : ` per ${billing.unit}`;
	if (billing.mode === 'price') return `price ${billing.value}${unit}`;
	return billing.mode === 'ratio' ? `${billing.value} × base price${unit}` : undefined;
}
