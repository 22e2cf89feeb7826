import { rounded, type Bill } from '../protocol/bill';
import { isJsonObject, numberOf, type JsonObject } from '../../util/json';
import { firstOf } from './responseFields';

/**
 * The names of what a request has cost, the best witness first, with what one unit is worth and the
 * currency of some. Totals of a key or a day, and estimates, are no bill.
 */
const AMOUNTS: Array<[name: string, unit: number, currency?: string]> = [
	['cost', 1],
	['cost_usd', 1, 'USD'],
	['cost_in_usd_ticks', 1e-10, 'USD'],
	['creditsCharged', 1, 'credits'],
	['credits_charged', 1, 'credits'],
	['creditsConsumed', 1, 'credits'],
];

/** The headers with the cost, of proxies. */
const COST_HEADERS: typeof AMOUNTS = [
	['x-litellm-response-cost', 1],
	['x-cost', 1],
];

/** More than any image costs, in any currency. */
const HIGHEST = 1e12;

/** A number in a text; an empty one would be 0. */
const AMOUNT = /^\s*\d{1,15}(\.\d{1,20})?(e-\d{1,2})?\s*$/;
const CURRENCY = /^([A-Z]{3}|credits)$/;

/**
 * The bill in a response: what the request has cost, from the usage, the body, or a header. Amounts
 * that are no number, negative, or too high don't count, and the next place is asked.
 *
 * @param layers the response and the objects in it that are about its task (`layersOf`)
 * @param headers with lower-case names; none of a status check, which costs nothing itself
 */
export function readBill(layers: JsonObject[], headers: JsonObject = {}): Bill {
	const usages = layers.map(({ usage }) => usage);
	const inBody = firstOf([...usages, ...layers], (object) => billIn(object, AMOUNTS));
	const ofProxy = billIn(headers, COST_HEADERS);
	// Proxies write 0 where they know no price, and to what is free.
	return inBody ?? (ofProxy?.cost === 0 ? undefined : ofProxy) ?? {};
}

/** The bill in an object, with the currency beside it. */
function billIn(object: unknown, amounts: typeof AMOUNTS): Bill | undefined {
	if (!isJsonObject(object)) return undefined;
	const { currency: beside } = object;
	const isCurrency = typeof beside === 'string' && CURRENCY.test(beside);
	for (const [name, unit, currency = isCurrency ? beside : undefined] of amounts) {
		const amount = amountOf(object[name]) * unit;
		if (amount >= 0 && amount < HIGHEST) return { cost: rounded(amount), costCurrency: currency };
	}
	return undefined;
}

const amountOf = (value: unknown): number =>
	typeof value === 'string' && !AMOUNT.test(value) ? NaN : numberOf(value);
