/** The gateway's own bill, in the places where gateways have it. */
import { readBill } from '../../../gateway/responses/cost.js';
import { layersOf } from '../../../gateway/responses/responseFields.js';
import { readTaskState } from '../../../gateway/responses/task.js';

const billOf = (body: Record<string, unknown>, headers = {}) => readBill(layersOf(body), headers);
const IMAGE = { url: 'https://images.example/1.png' };

test.each<[string, Record<string, unknown>, Record<string, string>, unknown]>([
	[
		'OpenRouter: usage, in credits, beside what its source has cost',
		{ data: [IMAGE], usage: { cost: 0.95, cost_details: { upstream_inference_cost: 19 } } },
		{},
		{ cost: 0.95 },
	],
	[
		'LiteLLM: a header, beside the total of the key',
		{ data: [IMAGE] },
		{ 'x-litellm-response-cost': '0.0402', 'x-litellm-key-spend': '12.5' },
		{ cost: 0.0402 },
	],
	[
		'in scientific notation',
		{ data: [] },
		{ 'x-litellm-response-cost': '4.2e-05' },
		{ cost: 0.000042 },
	],
	['the body', { cost: '0.5', currency: 'EUR' }, {}, { cost: 0.5, costCurrency: 'EUR' }],
	['inside of the result', { data: { status: 'ok', cost: 2 } }, {}, { cost: 2 }],
	['named dollars', { usage: { cost_usd: 0.04 } }, {}, { cost: 0.04, costCurrency: 'USD' }],
	['ticks', { usage: { cost_in_usd_ticks: 400_000_000 } }, {}, { cost: 0.04, costCurrency: 'USD' }],
	['credits', { cost: 4, currency: 'credits' }, {}, { cost: 4, costCurrency: 'credits' }],
	['nothing', { usage: { cost: 0 } }, {}, { cost: 0 }],
	['two places: the usage', { usage: { cost: 1 }, cost: 2 }, { 'x-cost': '3' }, { cost: 1 }],
	['two places: the body', { usage: { cost: 'free' }, cost: 2 }, { 'x-cost': '3' }, { cost: 2 }],
])('%s', (_, body, headers, bill) => {
	expect(billOf(body, headers)).toEqual(bill);
});

test.each<[string, number, string | undefined]>([
	['cost', 7, undefined],
	['cost_usd', 7, 'USD'],
	['cost_in_usd_ticks', 7e10, 'USD'],
	['creditsCharged', 7, 'credits'],
	['credits_charged', 7, 'credits'],
	['creditsConsumed', 7, 'credits'],
])('an amount is %s in the usage, the body, or a task inside', (name, amount, costCurrency) => {
	const told = { [name]: amount };
	for (const body of [{ usage: told }, told, { data: { id: 't1', ...told } }]) {
		expect(billOf(body, { 'x-cost': '3' })).toEqual({ cost: 7, costCurrency });
	}
	expect(billOf({}, told)).toEqual({});
});

test.each(['x-litellm-response-cost', 'x-cost'])('an amount is %s in the headers', (name) => {
	expect(billOf({ data: [IMAGE] }, { [name]: '0.5' })).toEqual({ cost: 0.5 });
	expect(billOf({ data: [IMAGE], cost: 1 }, { [name]: '0.5' })).toEqual({ cost: 1 });
	expect(billOf({ [name]: 0.5 })).toEqual({});
});

test('the headers of a status check are no bill of the request', () => {
	const body = { id: 't1', status: 'completed', data: [IMAGE] };
	expect(readTaskState({ taskId: 't1' }, body, { 'x-cost': '3' }).cost).toBeUndefined();
	expect(readTaskState({ taskId: 't1' }, { ...body, cost: 2 }, { 'x-cost': '3' }).cost).toBe(2);
});

test.each([
	-1,
	NaN,
	Infinity,
	'-1',
	'NaN',
	'1e999',
	'',
	'None',
	'0,04',
	'$0.04',
	'0.04 USD',
	'0x10',
	true,
	null,
	[1],
	{},
	1e15,
	'9'.repeat(60),
])('%j is no bill, and the next place counts', (cost) => {
	expect(billOf({ usage: { cost } }, { 'x-litellm-response-cost': cost })).toEqual({});
	expect(billOf({ usage: { cost }, cost: 7 })).toEqual({ cost: 7 });
});

test('a proxy that knows no price says 0: that is none', () => {
	expect(billOf({ data: [IMAGE] }, { 'x-litellm-response-cost': '0.0' })).toEqual({});
});

test('a currency that is no name is left out', () => {
	for (const currency of ['', 'usd', '$', 'USD cents', 'x'.repeat(300), '<b>', 7, { a: 1 }]) {
		expect(billOf({ cost: 1, currency })).toEqual({ cost: 1 });
	}
});
