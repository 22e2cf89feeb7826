import type { Billing } from '../protocol/models';

/**
 * What a request will cost, in the currency of the gateway, where a fixed price per image or
 * request is published (docs/protocol.md, "Model list"); undefined otherwise: a ratio is no price.
 *
 * @param images how many images it asks for
 */
export function estimateCost(billing: Billing | undefined, images: number): number | undefined {
	const price = fixedPrice(billing);
	if (price === undefined) return undefined;
	if (billing?.unit === 'image') return rounded(price * images);
	return billing?.unit === 'request' ? rounded(price) : undefined;
}

/** What each image costs, where that is how a model is priced; undefined otherwise. */
export function pricePerImage(billing: Billing | undefined): number | undefined {
	return billing?.unit === 'image' ? fixedPrice(billing) : undefined;
}

function fixedPrice({ mode, value }: Billing = {}): number | undefined {
	return mode === 'price' && value !== undefined && value >= 0 ? value : undefined;
}

/** A sum of money without the dust of binary fractions. */
export function rounded(amount: number): number {
	return Math.round(amount * 1e6) / 1e6;
}

/**
 * What a model costs, in words; a multiplier is never shown as a price. Undefined if unknown. No
 * currency: the listing publishes none (docs/protocol.md, "Model list").
 */
export function priceInWords(billing: Billing | undefined): string | undefined {
	if (billing?.value === undefined) return undefined;
	const unit = billing.unit === undefined ? '' : ` per ${billing.unit}`;
	if (billing.mode === 'price') return `price ${billing.value}${unit}`;
	return billing.mode === 'ratio' ? `${billing.value} × base price${unit}` : undefined;
}
