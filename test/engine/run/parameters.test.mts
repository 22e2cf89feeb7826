/** Parameters of many items: those with an expression are each item's own. */
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { sharedBench } from '../opened.mjs';
import { byName, MODEL, NODE } from '../workbench.mjs';

const bench = sharedBench();

/** The bodies that would be sent for these items. */
async function bodies(parameters: object, items: N8n.IDataObject[]): Promise<unknown[]> {
	const options = { checkLimits: false, ...(parameters as { options?: object }).options };
	const result = await bench.run(
		'imageGeneration',
		{ model: byName(MODEL), prompt: 'a fox', ...parameters, options: { ...options, dryRun: true } },
		items,
	);
	expect(result.error).toBeUndefined();
	return result.json(NODE).map(({ request }) => (request as { body: unknown }).body);
}

test.each([
	['a field of the item', '={{ $json.wanted }}'],
	['a text with an expression in it', '={{ "" }}{{ $json.wanted }}'],
	['a field of an earlier node', '={{ $("Start").item.json.wanted }}'],
])('%s is each item’s own', async (_, prompt) => {
	const items = [{ wanted: 'a fox' }, { wanted: 'an owl' }, { wanted: 'a newt' }];
	expect(await bodies({ prompt }, items)).toEqual(
		items.map(({ wanted }) => ({ model: MODEL, prompt: wanted })),
	);
});

test.each([
	['deep in the options', { options: { extraFields: '={{ { n: $json.count } }}' } }],
	[
		'in the form of the model',
		{ modelParameters: { mappingMode: 'defineBelow', value: { n: '={{ $json.count }}' } } },
	],
])('an expression %s is each item’s own', async (_, parameters) => {
	expect(await bodies(parameters, [{ count: 2 }, { count: 3 }])).toEqual(
		[2, 3].map((n) => ({ model: MODEL, prompt: 'a fox', n })),
	);
});

describe('an option whose expression n8n can’t evaluate', () => {
	const goOn = { onError: 'continueRegularOutput' } as const;
	/** For one of the items, it names a node that isn't there. */
	const failsFor = (item: number, otherwise: string) =>
		`={{ $itemIndex === ${item} ? $("Nobody").item.json.name : ${otherwise} }}`;
	const failedOf = (items: N8n.IDataObject[]) =>
		items.flatMap(({ error }, index) => (error === undefined ? [] : index));

	test.each([
		['fileName', '"a"', 0],
		['extraFields', '({})', 2],
	])('%s: only its own item fails, whichever it is', async (name, otherwise, item) => {
		const options = { [name]: failsFor(item, otherwise), concurrency: 2 };
		const images = { prompt: 'a fox', download: false, options };
		const result = await bench.run('imageGeneration', images, [{}, {}, {}], goOn);
		expect(result.error).toBeUndefined();
		expect(failedOf(result.json(NODE))).toEqual([item]);
		expect(result.json(NODE)[item]).toMatchObject({ details: { charged: 'no' } });
		expect(bench.gateway.paid).toBe(2);
	});

	test.each(['concurrency', 'budget'])(
		'%s is for the whole run, so the first item decides, and without it nothing is sent',
		async (name) => {
			const before = bench.gateway.paid;
			const run = async (item: number) => {
				const options = { [name]: failsFor(item, '1') };
				const images = { prompt: 'a fox', download: false, options };
				return await bench.run('imageGeneration', images, [{}, {}], goOn);
			};
			expect(failedOf((await run(0)).json(NODE))).toEqual([0, 1]);
			expect(bench.gateway.paid).toBe(before);
			// Nobody reads it for another item.
			expect(failedOf((await run(1)).json(NODE))).toEqual([]);
		},
	);
});

describe('the number of images, which has several places', () => {
	const form = (n: unknown) => ({ mappingMode: 'defineBelow', value: { n } });

	test.each<[string, Record<string, unknown>, RegExp]>([
		[
			'form and extra fields',
			{ modelParameters: form('1'), options: { extraFields: { n: 2 } } },
			/"1" by "n" in 'Model Parameters', and to 2 by "n" in 'Extra Fields'/,
		],
		[
			'an expression for one item',
			{ modelParameters: form(2), options: { n: '={{ $itemIndex + 1 }}' } },
			/1 by 'Number of Images' in the options, and to 2/,
		],
	])('%s: numbers that differ are refused by both names', async (_, parameters, message) => {
		const given = { prompt: 'a fox', ...parameters };
		const result = await bench.run('imageGeneration', given, [{}, {}]);
		expect(result.error?.message).toMatch(message);
		expect(bench.gateway.paid).toBe(0);
	});

	test('the same number in each of them is one number', async () => {
		const options = { n: 2, extraFields: '{ "n": 2 }' };
		const [body] = await bodies({ modelParameters: form('2'), options, download: false }, [{}]);
		expect(body).toMatchObject({ n: 2 });
	});
});

describe('a field that is null in Extra Fields', () => {
	test('is left out of the request, whatever sets it, and isn’t checked', async () => {
		const options = { checkLimits: true, n: 2, extraFields: '{ "size": null, "prompt": null }' };
		const form = { mappingMode: 'defineBelow', value: { size: '7x7', quality: 'high' } };
		const parameters = { prompt: '', modelParameters: form, options };
		expect(await bodies(parameters, [{}])).toEqual([{ model: MODEL, quality: 'high', n: 2 }]);
	});

	test('is no model', async () => {
		const options = { extraFields: '{ "model": null }' };
		const result = await bench.run('imageGeneration', { prompt: 'a fox', options });
		expect(result.error?.message).toBe("'Model' is empty");
	});
});
