/** Parameters of many items: those with an expression are each item's own, the others are read once. */
import { createRequire } from 'node:module';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { sharedBench } from '../opened.mjs';
import { byName, MODEL, NODE } from '../workbench.mjs';

const { WorkflowExpression } = createRequire(import.meta.url)('n8n-workflow') as typeof N8n;

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
	['an expression', '={{ $json.wanted + "" }}'],
	['a text with an expression in it', '={{ "" }}{{ $json.wanted }}'],
	['a field of an earlier node', '={{ $("Start").item.json.wanted }}'],
])('%s is each item’s own', async (_, prompt) => {
	const items = [{ wanted: 'a fox' }, { wanted: 'an owl' }, { wanted: 'a newt' }];
	expect(await bodies({ prompt }, items)).toEqual(
		items.map(({ wanted }) => ({ model: MODEL, prompt: wanted })),
	);
});

test.each([
	['among the options', { options: { n: '={{ $json.count }}' } }],
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

test('a model that is named by an expression is each item’s own', async () => {
	const items = [{ name: 'one' }, { name: 'two' }];
	expect(await bodies({ model: byName('={{ $json.name }}') }, items)).toEqual(
		items.map(({ name }) => ({ model: name, prompt: 'a fox' })),
	);
});

test('a text that only looks like an expression is sent as it is', async () => {
	const prompt = 'a sign that says "={{ 1 + 1 }}" =';
	expect(await bodies({ prompt }, [{}, {}])).toEqual([
		{ model: MODEL, prompt },
		{ model: MODEL, prompt },
	]);
});

test('a field that holds an object or nothing is what n8n makes of it', async () => {
	const result = await bench.run(
		'imageGeneration',
		{ model: byName(MODEL), prompt: '={{ $json.wanted }}', options: { dryRun: true } },
		[{ wanted: { a: 1 } }, { wanted: null }, {}],
		{ onError: 'continueRegularOutput' },
	);
	expect(result.json(NODE).map(({ error }) => error)).toEqual([
		"'Prompt' must be text",
		"'Prompt' is empty",
		"'Prompt' is empty",
	]);
	const [{ details }] = result.json(NODE) as [{ details: { description: string } }];
	expect(details.description).toContain('JSON.stringify');
});

test('a parameter without an expression is worked out as often for fifty items as for two', async () => {
	const worked = jest.spyOn(WorkflowExpression.prototype, 'getParameterValue');
	const times = async (count: number): Promise<number> => {
		worked.mockClear();
		await bodies(
			{ options: { n: 2, extraFields: '{ "seed": 7 }' }, download: false },
			Array.from({ length: count }, () => ({})),
		);
		return worked.mock.calls.length;
	};
	try {
		const forTwo = await times(2);
		expect(forTwo).toBeGreaterThan(0);
		// The credential may differ between items: n8n works out two values for each.
		expect(await times(50)).toBe(forTwo + 48 * 2);
	} finally {
		worked.mockRestore();
	}
});

describe('an option whose expression n8n can’t evaluate', () => {
	const goOn = { onError: 'continueRegularOutput' } as const;
	/** For one of the items, it names a node that isn't there. */
	const failsFor = (item: number, otherwise: string) =>
		`={{ $itemIndex === ${item} ? $("Nobody").item.json.name : ${otherwise} }}`;
	const failedOf = (items: N8n.IDataObject[]) =>
		items.flatMap(({ error }, index) => (error === undefined ? [] : index));

	test.each([
		['fileName', '"a"'],
		['n', '1'],
		['extraFields', '({})'],
		['dryRun', 'false'],
		['includeInputFields', 'true'],
		['maxDownloadMb', '5'],
		['maxWait', '60'],
		['checkLimits', 'true'],
	])('%s: only its own item fails, whichever it is', async (name, otherwise) => {
		for (const item of [0, 2]) {
			const before = bench.gateway.paid;
			const options = { [name]: failsFor(item, otherwise), concurrency: 2 };
			const images = { prompt: 'a fox', download: false, options };
			const result = await bench.run('imageGeneration', images, [{}, {}, {}], goOn);
			expect(result.error).toBeUndefined();
			expect(failedOf(result.json(NODE))).toEqual([item]);
			expect(result.json(NODE)[item]).toMatchObject({ details: { charged: 'no' } });
			expect(bench.gateway.paid - before).toBe(2);
		}
	});

	test('in Image Wait and Models it is the same', async () => {
		const taskId = `={{ ${JSON.stringify(await bench.submit('one', 'two'))}[$itemIndex] }}`;
		const waiting = { taskId, download: false, options: { fileName: failsFor(0, '"a"') } };
		const waited = await bench.run('imageWait', waiting, [{}, {}], goOn);
		expect(failedOf(waited.json(NODE))).toEqual([0]);
		const listing = {
			operation: 'get',
			model: MODEL,
			simplify: false,
			options: { format: failsFor(0, '"json"') },
		};
		const listed = await bench.run('mediaModels', listing, [{}, {}], goOn);
		expect(failedOf(listed.json(NODE))).toEqual([0]);
	});

	test.each(['concurrency', 'budget', 'addSummary'])(
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
	const byName = (value: unknown) => ({ parameter: [{ name: 'n', value }] });

	test.each<[string, Record<string, unknown>, RegExp]>([
		[
			'form and options',
			{ modelParameters: form(3), options: { n: 2 } },
			/twice: to 2 by 'Number of Images' in the options, and to 3 by "n" in 'Model Parameters'/,
		],
		[
			'extra fields and options',
			{ options: { n: 2, extraFields: '{ "n": 3 }' } },
			/2 by 'Number of Images' in the options, and to 3 by "n" in 'Extra Fields'/,
		],
		[
			'form and extra fields',
			{ modelParameters: form('1'), options: { extraFields: { n: 2 } } },
			/"1" by "n" in 'Model Parameters', and to 2 by "n" in 'Extra Fields'/,
		],
		[
			'form and row',
			{ modelParameters: form(1), options: { parametersByName: byName('2') } },
			/1 by "n" in 'Model Parameters', and to 2 by "n" in 'Parameters by Name'/,
		],
		[
			'an expression for one item',
			{ modelParameters: form(2), options: { n: '={{ $itemIndex + 1 }}' } },
			/1 by 'Number of Images' in the options, and to 2/,
		],
		['a list', { options: { n: 2, extraFields: { n: [2] } } }, /2 by .*, and to \[2\] by/],
	])('%s: numbers that differ are refused by both names', async (_, parameters, message) => {
		const before = bench.gateway.paid;
		for (const node of ['imageGeneration', 'imageEdit'] as const) {
			const result = await bench.run(node, { prompt: 'a fox', ...parameters }, [{}, {}]);
			expect(result.error?.message).toMatch(message);
		}
		expect(bench.gateway.paid).toBe(before);
	});

	test('the same number in each of them is one number', async () => {
		const options = { n: 2, extraFields: '{ "n": 2 }', parametersByName: byName('2') };
		const [body] = await bodies({ modelParameters: form('2'), options, download: false }, [{}]);
		expect(body).toMatchObject({ n: 2 });
	});

	test('a place that is empty sets nothing', async () => {
		const options = { n: 2, extraFields: { n: null } };
		const parameters = { modelParameters: form(''), options: { ...options, dryRun: true } };
		const result = await bench.run('imageGeneration', { prompt: 'a fox', ...parameters });
		expect(result.error).toBeUndefined();
	});
});

describe('a field that is null in Extra Fields', () => {
	test('is left out of the request, whatever sets it, and isn’t checked', async () => {
		const options = { checkLimits: true, n: 2, extraFields: '{ "size": null, "prompt": null }' };
		const form = { mappingMode: 'defineBelow', value: { size: '7x7', quality: 'high' } };
		const parameters = { prompt: '', modelParameters: form, options };
		expect(await bodies(parameters, [{}])).toEqual([{ model: MODEL, quality: 'high', n: 2 }]);
	});

	test('is no field of an edit', async () => {
		const picture = 'data:image/png;base64,iVBORw0KGgo=';
		const options = { dryRun: true, extraFields: { prompt: null, user: null } };
		const parameters = { prompt: '', imageSource: 'url', imageUrl: picture, options };
		const [item] = (await bench.run('imageEdit', parameters)).json(NODE);
		expect(item).toMatchObject({ request: { form: { fields: { model: MODEL } } } });
		expect(JSON.stringify(item!.request)).not.toMatch(/prompt|user/);
	});

	test('is no model', async () => {
		const options = { extraFields: '{ "model": null }' };
		const result = await bench.run('imageGeneration', { prompt: 'a fox', options });
		expect(result.error?.message).toBe("'Model' is empty");
	});
});

test('a dry run shows what each costs beside the fields of its input, and fails in one hint', async () => {
	const items = [{ sku: 'A1' }, { sku: 'B2' }, { sku: 'C3' }];
	const options = { dryRun: true, n: '={{ [1, 9, 0][$itemIndex] }}' };
	const goOn = { onError: 'continueRegularOutput' } as const;
	const result = await bench.run('imageGeneration', { prompt: 'a fox', options }, items, goOn);
	const [first, second, third] = result.json(NODE);
	const columns = ['estimatedCost', 'model', 'prompt', 'verdict', 'sku', 'dryRun', 'checks'];
	expect(Object.keys(first!)).toEqual([...columns, 'request']);
	expect(first).toMatchObject({ estimatedCost: 0.04, verdict: 'Passed', sku: 'A1' });
	expect(second).toMatchObject({ verdict: expect.stringMatching(/^Would be refused: .* is 9/) });
	expect(third).toMatchObject({ error: expect.any(String) });
	expect(result.hints(NODE).map(({ message }) => message)).toEqual([
		expect.stringMatching(/^Dry run: 2 requests; estimated cost [\d.]+; 1 item failed\.$/),
	]);
});
