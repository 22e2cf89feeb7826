/** The option "Parameters by Name": rows in place of a JSON object. */
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import { errorOf, openTap, partsOf, type Tap } from '../one-node.mjs';
import { opened } from '../opened.mjs';
import { byName, MODEL, NODE, openBench, TINY_PNG, type Bench } from '../workbench.mjs';

let bench: Bench;
let tap: Tap;
beforeAll(async () => {
	bench = await opened(openBench());
	tap = await opened(openTap(bench.gateway.url));
	tap.requests.length = 0;
});
beforeEach(() => {
	bench.gateway.reset();
});

type Row = { name?: unknown; value?: unknown };
const rows = (...parameter: Row[]) => ({ parametersByName: { parameter } });
/** A model that the gateway does not publish, so that the request is made of what the user set. */
const UNKNOWN = byName('unpublished');

/** What would be sent for each item. */
async function planned(
	options: object,
	more: object = {},
	items: IDataObject[] = [{}],
): Promise<{ bodies: unknown[]; result: RunResult }> {
	const result = await bench.run(
		'imageGeneration',
		{ model: UNKNOWN, prompt: 'a fox', ...more, options: { dryRun: true, ...options } },
		items,
	);
	const bodies = result.json(NODE).map(({ request }) => (request as IDataObject)?.body);
	return { bodies, result };
}

test('numbers, true and false are recognized; what stands in quotes is a text', async () => {
	const { bodies } = await planned(
		rows(
			{ name: ' seed ', value: '42' },
			{ name: 'hd', value: 'true' },
			{ name: 'size', value: '1024x1024' },
			{ name: 'version', value: '"2"' },
			{ name: 'negative_prompt', value: 'fog, rain' },
			{ name: 'id', value: '12345678901234567890' },
			{ name: 'left out', value: '' },
			{ name: 'empty', value: '""' },
			{},
		),
	);
	expect(bodies).toEqual([
		{
			model: 'unpublished',
			prompt: 'a fox',
			seed: 42,
			hd: true,
			size: '1024x1024',
			version: '2',
			negative_prompt: 'fog, rain',
			id: '12345678901234567890',
			empty: '',
		},
	]);
});

test('expressions work for each item, also such as give no text', async () => {
	const { bodies } = await planned(
		rows(
			{ name: '={{ $json.name }}', value: '={{ $json.value }}' },
			{ name: 'seed', value: '={{ $itemIndex }}' },
		),
		{},
		[
			{ name: 'steps', value: 20 },
			{ name: 'steps', value: '20' },
			{ name: 'sizes', value: [1, 2] },
			{ name: 'style', value: { mood: 'calm' } },
			{ name: 'hd', value: false },
			{ name: 'hd', value: null },
			{ name: 7, value: 'x' },
		],
	);
	const own = bodies.map((body) => {
		const { model, prompt, seed, ...rest } = body as IDataObject;
		return rest;
	});
	expect(own).toEqual([
		{ steps: 20 },
		{ steps: 20 },
		{ sizes: [1, 2] },
		{ style: { mood: 'calm' } },
		{ hd: false },
		{},
		{ 7: 'x' },
	]);
	expect(bodies.map((body) => (body as IDataObject).seed)).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test('Model Parameters win over them, Extra Fields over both', async () => {
	const form = (value: object) => ({ mappingMode: 'defineBelow', value });
	const names = ['first', 'second', 'third'].map((name) => ({ name, value: 'rows' }));
	const { bodies } = await planned(
		{ ...rows(...names), extraFields: { third: 'extra' } },
		{ modelParameters: form({ second: 'form', third: 'form', first: '' }) },
	);
	expect(bodies).toMatchObject([{ first: 'rows', second: 'form', third: 'extra' }]);
});

test('they are held against the limits of a published model, and take its types', async () => {
	const wrong = await planned(rows({ name: 'size', value: '9x9' }), { model: byName(MODEL) });
	expect(wrong.result.json(NODE)[0]?.checks).toMatchObject({
		passed: false,
		violations: [expect.stringContaining('size is "9x9"')],
	});
	const refused = await bench.run('imageGeneration', {
		prompt: 'a fox',
		options: rows({ name: 'size', value: '9x9' }),
	});
	expect(refused.error?.message).toContain('size is "9x9"');
	expect(bench.gateway.paid).toBe(0);
});

describe('a name that the model does not publish', () => {
	const hintsFor = async (...names: string[]) => {
		const { result } = await planned(
			rows(...names.map((name) => ({ name, value: '1' }))),
			{ model: byName(MODEL) },
			[{}, {}],
		);
		return result.hints(NODE).flatMap(({ type, message }) => (type === 'info' ? [] : [message]));
	};

	test('a hint with the nearest one, once for all items', async () => {
		expect(await hintsFor('sized', 'qualty')).toEqual([
			`'sized' is not a published parameter of the model '${MODEL}'. Did you mean 'size'?`,
			`'qualty' is not a published parameter of the model '${MODEL}'. Did you mean 'quality'?`,
		]);
	});

	test('none where nothing is near', async () => {
		expect(await hintsFor('seed', 'watermark')).toEqual([]);
	});
});

test.each<[string, Row[], RegExp]>([
	['no name', [{ value: '5' }], /has no name/],
	['a name that JavaScript keeps', [{ name: '__proto__', value: '1' }], /"__proto__" can't be/],
	[
		'twice',
		[
			{ name: 'seed', value: '1' },
			{ name: ' seed', value: '2' },
		],
		/'seed' is in .* more/,
	],
	['a line break', [{ name: 'a\nb', value: '1' }], /"a b" can't be the name/],
	['the model', [{ name: 'model', value: 'other' }], /must not set 'model'$/],
	['the prompt', [{ name: 'prompt', value: 'other' }], /must not set 'prompt'/],
	['an object as a name', [{ name: '={{ ({}) }}', value: '1' }], /must be text/],
	['no number', [{ name: 'seed', value: '={{ NaN }}' }], /can't be sent/],
	['the mode', [{ name: 'async', value: 'true' }], /must not set 'async'$/],
	...['two', '0', '={{ [2] }}', '100000'].map((value): [string, Row[], RegExp] => [
		`${value} as the number of images`,
		[{ name: 'n', value }],
		/'n' in 'Parameters by Name' must be a whole number from 1 to 1000/,
	]),
])('%s is refused before anything is sent', async (_, given, message) => {
	const result = await bench.run(
		'imageGeneration',
		{ model: UNKNOWN, prompt: '={{ $json.prompt }}', options: rows(...given) },
		[{ prompt: 'a fox' }, { prompt: 'an owl' }],
	);
	const error = errorOf(result);
	expect(error.message).toMatch(message);
	expect(error.description).toMatch(/Nothing was sent|Item 1/);
	expect(bench.gateway.paid).toBe(0);
});

test('a response format beside that of the options is refused, unless it is the same', async () => {
	const options = (value: string) => ({
		...rows({ name: 'response_format', value }),
		responseFormat: 'url',
	});
	const { result } = await planned(options('b64_json'));
	expect(result.error?.message).toMatch(/response format is set twice: to "url" by .* "b64_json"/);
	const { bodies } = await planned(options('url'));
	expect(bodies).toMatchObject([{ response_format: 'url' }]);
	const alone = await planned(rows({ name: 'response_format', value: 'b64_json' }));
	expect(alone.bodies).toMatchObject([{ response_format: 'b64_json' }]);
});

test('a text with the name of the image to edit is refused', async () => {
	const parameters = {
		prompt: 'Make it night',
		imageSource: 'url',
		imageUrl: `data:image/png;base64,${TINY_PNG.toString('base64')}`,
	};
	const modelParameters = { mappingMode: 'defineBelow', value: { 'image[]': 'x' } };
	for (const [name, more] of [
		['image', { options: rows({ name: 'image', value: 'x' }) }],
		['image[]', { modelParameters }],
	] as const) {
		const result = await bench.run('imageEdit', { ...parameters, ...more });
		expect(result.error?.message).toBe(`Two fields of the request have the name '${name}'`);
	}
	expect(bench.gateway.paid).toBe(0);
});

test('an edit sends them as fields of its form', async () => {
	const own = await opened(openBench({ credential: { baseUrl: tap.url } }));
	const result = await own.run('imageEdit', {
		prompt: 'Make it night',
		imageSource: 'url',
		imageUrl: `data:image/png;base64,${TINY_PNG.toString('base64')}`,
		options: rows(
			{ name: 'seed', value: '42' },
			{ name: 'hd', value: 'true' },
			{ name: 'date', value: '={{ new Date(0) }}' },
			{ name: 'style', value: '={{ ({ mood: "calm" }) }}' },
		),
	});
	expect(result.error).toBeUndefined();
	const parts = Object.fromEntries(await partsOf(tap.posts[0]!));
	expect(parts).toMatchObject({
		seed: '42',
		hd: 'true',
		prompt: 'Make it night',
		date: '1970-01-01T00:00:00.000Z',
		style: '{"mood":"calm"}',
	});
});

test('the Models node takes a locator, with the name from the list, or by an expression', async () => {
	for (const model of [{ __rl: true, mode: 'list', value: MODEL }, byName('={{ $json.wanted }}')]) {
		const result = await bench.run('mediaModels', { operation: 'get', model }, [{ wanted: MODEL }]);
		expect(result.error).toBeUndefined();
		expect(result.json(NODE)).toMatchObject([{ model: MODEL }]);
	}
});
