/** Parameters of many items: those with an expression are each item's own, the others are read once. */
import { createRequire } from 'node:module';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { byName, MODEL, NODE, openBench, type Bench } from '../workbench.mjs';

const { WorkflowExpression } = createRequire(import.meta.url)('n8n-workflow') as typeof N8n;

let bench: Bench;

beforeAll(async () => {
	bench = await openBench();
});
afterAll(async () => await bench.close());

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

test('so is a model that is named by an expression', async () => {
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
	expect(result.json(NODE).map(({ error }) => error)).toEqual(Array(3).fill("'Prompt' is empty"));
});

test('what holds no expression is worked out as often for fifty items as for two', async () => {
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
		expect(await times(50)).toBe(forTwo);
	} finally {
		worked.mockRestore();
	}
});
