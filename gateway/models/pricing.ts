import { rounded, inItsUnit } from '../protocol/bill';
import type { Billing } from './models';

/**
 * The estimated cost of a request in the unit of the list; undefined without a published fixed
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
 * The price of a model in words, with its currency where the list or the credential names one; a ratio
 * is told as one, because the list doesn't say of what. Undefined if unknown.
 */
export function describePrice({ mode, value, unit, currency }: Billing = {}): string | undefined {
	if (value === undefined) return undefined;
	const each = unit === undefined ? '' : ` per ${unit}`;
	if (mode === 'price') return inItsUnit(value, currency) + each;
	return mode === 'ratio' ? `${value} × the gateway's base price${each}` : undefined;
}
