import { rounded } from '../../util/amount';
import { isJsonObject, type JsonObject } from '../../util/json';
import { firstOf, inAllSpellings, valuesAt } from './responseFields';

/** What a request has cost by the gateway's own bill. Both are absent where it doesn't say. */
export type Bill = {
	/** In the gateway's own unit, or in `costCurrency`. */
	cost?: number;
	/** As the gateway names it; none is assumed. */
	costCurrency?: string;
};

/** How an amount under a name is meant. */
interface Meaning {
	/** What one unit of it is worth, in whole units; 1 by default. */
	unit?: number;
	currency?: string;
}

const CENTS: Meaning = { unit: 1 / 100 };
const USD: Meaning = { currency: 'USD' };

/**
 * Where a response says what a request has cost: one table, the best witness first. The usage is about
 * this request alone, a field of the body nearly always, and a header may be that of a proxy. Totals of
 * a key or a day, and estimates, are no bill.
 */
const PLACES = {
	...inAllSpellings({
		/** The objects of a body that have the amount, each in all layers of the response. */
		usage: ['usage'],
		inside: ['cost_details', 'billing', '_hidden_params', 'inference_status', 'metadata', 'meta'],
		/** Lists whose entries may each have the cost of an image. */
		entries: ['data', 'images', 'results', 'artifacts', 'output'],
		/** The parts of an amount that is an object. */
		amount: ['total_cost', 'total', 'amount', 'value', 'cost'],
		currency: ['currency', 'cost_currency'],
	}),
	headers: [
		'x-litellm-response-cost',
		'x-response-cost',
		'x-request-cost',
		'x-total-cost',
		'x-cost',
	],
};

/** The names of an amount, in order. */
const AMOUNTS: Array<[names: readonly string[], meaning: Meaning]> = (
	[
		[['cost', 'total_cost', 'response_cost', 'request_cost'], {}],
		[['cost_usd', 'cost_in_usd', 'total_cost_usd', 'cost_usd_total'], USD],
		[['cost_cents', 'cost_in_cents', 'total_cost_cents'], CENTS],
		[['cost_in_usd_cents', 'cost_usd_cents'], { ...CENTS, ...USD }],
		[['cost_in_usd_ticks'], { unit: 1e-10, currency: 'USD' }],
	] as Array<[string[], Meaning]>
).map(([names, meaning]) => [inAllSpellings({ names }).names, meaning]);

/** More than any image costs, in any currency. */
const HIGHEST = 1e12;

/** An amount in a text, perhaps with its currency before or behind it. */
const AMOUNT =
	/^(\p{Sc}|[a-z]{3})?\s?(\d{1,15}(?:\.\d{1,20})?(?:e-\d{1,2})?)\s?([a-z]{3,12}|\p{Sc})?$/iu;
const CURRENCY = /^(\p{Sc}|[a-z][a-z _-]{0,18}[a-z])$/iu;
/** Units that are hundredths of a currency, which may be named before. */
const HUNDREDTHS = /^(?:([a-z]{3})[ _-])?cents?$/i;

/**
 * The bill in a response: what the request has cost, from the usage, the body, or a header. Amounts
 * that are no number, negative, or too high don't count, and the next place is asked.
 *
 * @param layers the response and the objects in it that are about its task (`layersOf`)
 * @param headers with lower-case names
 */
export function readBill(layers: JsonObject[], headers: JsonObject = {}): Bill {
	const usages = layers.flatMap((layer) => valuesAt(layer, PLACES.usage));
	const inside = [...usages, ...layers].flatMap((object) => valuesAt(object, PLACES.inside));
	return (
		firstOf([...usages, ...layers, ...inside], billIn) ??
		firstOf(layers, billOfEntries) ??
		// Proxies write 0 where they know no price, and to what is free.
		firstOf(valuesAt(headers, PLACES.headers), (value) => unlessFree(billOf(value))) ??
		{}
	);
}

/** The bill of a task: what is said of its end counts, or else what its submit said. */
export const laterBill = (later: Bill, first: Bill): Bill =>
	later.cost === undefined
		? { cost: first.cost, costCurrency: first.costCurrency }
		: { cost: later.cost, costCurrency: later.costCurrency };

const unlessFree = (bill?: Bill): Bill | undefined => (bill?.cost === 0 ? undefined : bill);

/** The bill in an object, with the currency beside it. */
function billIn(object: unknown): Bill | undefined {
	if (!isJsonObject(object)) return undefined;
	const beside = currencyIn(object);
	return firstOf(AMOUNTS, (entry) => {
		const [names, { unit, currency = beside }] = entry as (typeof AMOUNTS)[number];
		return firstOf(valuesAt(object, names), (value) => billOf(value, currency, unit));
	});
}

const currencyIn = (object: JsonObject): string | undefined =>
	firstOf(valuesAt(object, PLACES.currency), (value) =>
		typeof value === 'string' && CURRENCY.test(value.trim()) ? value.trim() : undefined,
	);

/** A value as a bill: a number, a text, or an object with the total. */
function billOf(value: unknown, beside?: string, unit = 1): Bill | undefined {
	if (isJsonObject(value)) {
		const currency = currencyIn(value) ?? beside;
		return firstOf(valuesAt(value, PLACES.amount), (amount) =>
			isJsonObject(amount) ? undefined : billOf(amount, currency, unit),
		);
	}
	const [, before, digits, behind] =
		typeof value === 'string' && value.length <= 60 ? (AMOUNT.exec(value.trim()) ?? []) : [];
	const amount = typeof value === 'number' ? value : Number(digits ?? NaN);
	if (!(amount >= 0 && amount < HIGHEST)) return undefined;
	return inWholeUnits(amount * unit, before ?? behind ?? beside);
}

/** An amount in cents as one of the currency that they are of. */
function inWholeUnits(amount: number, named?: string): Bill {
	const cents = HUNDREDTHS.exec(named ?? '');
	const cost = rounded(cents === null ? amount : amount / 100);
	const currency = cents === null ? named : cents[1];
	return { cost, costCurrency: currency?.length === 3 ? currency.toUpperCase() : currency };
}

/** The bill of a response that has a cost for each image: their sum, in one currency. */
function billOfEntries(layer: unknown): Bill | undefined {
	return firstOf(valuesAt(layer, PLACES.entries), (list) => {
		const bills = Array.isArray(list) ? list.flatMap((entry) => billIn(entry) ?? []) : [];
		const [sum, ...others] = sumOfBills(bills);
		return others.length === 0 ? sum : undefined;
	});
}

/** Several bills together: one for each currency. */
export function sumOfBills(bills: Bill[]): Bill[] {
	const sums = new Map<string | undefined, number>();
	for (const { cost, costCurrency } of bills) {
		if (cost === undefined) continue;
		sums.set(costCurrency, rounded((sums.get(costCurrency) ?? 0) + cost));
	}
	return [...sums].map(([costCurrency, cost]) => ({ cost, costCurrency }));
}

/** Bills as the part of a sentence. */
export const describeBills = (bills: Bill[]): string =>
	bills
		.map(({ cost, costCurrency }) => [cost, costCurrency].join(' ').trim())
		.slice(0, MOST_CURRENCIES)
		.join(' and ');

/** More currencies than any gateway bills in. */
const MOST_CURRENCIES = 5;
