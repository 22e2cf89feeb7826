import { rounded } from '../../util/amount';
import type { Billing } from './models';

/**
 * The estimated cost of a request in the gateway's own unit; undefined without a published fixed
 * price for each image or request (docs/protocol.md, "Model list").
 *
 * @param images the number of requested images
 */
export function estimateCost(billing: Billing | undefined, images: number): number | undefined {
	const price = fixedPrice(billing);
	if (price === undefined) return undefined;
	if (billing?.unit === 'image') return rounded(price * images);
	return billing?.unit === 'request' ? rounded(price) : undefined;
}

/** The price of each image; undefined if the model isn't priced by the image. */
export function pricePerImage(billing: Billing | undefined): number | undefined {
	return billing?.unit === 'image' ? fixedPrice(billing) : undefined;
}

function fixedPrice({ mode, value }: Billing = {}): number | undefined {
	return mode === 'price' && value !== undefined && value >= 0 ? value : undefined;
}

/**
 * The price of a model as a text without currency, because the model list has none, or the ratio as
 * such, because the list doesn't say of what. Undefined if unknown.
 */
export function describePrice(billing: Billing | undefined): string | undefined {
	if (billing?.value === undefined) return undefined;
	const unit = billing.unit === undefined ? '' : ` per ${billing.unit}`;
	const isKnown = billing.mode === 'price' || billing.mode === 'ratio';
	return isKnown ? `${billing.mode} ${billing.value}${unit}` : undefined;
}
