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
	tap.requests.length = 0;
	bench.gateway.reset();
});

type Row = { name?: unknown; value?: unknown };
const row = (name: unknown, value = '1'): Row => ({ name, value });
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
			row(' seed ', '42'),
			row('hd', 'true'),
			row('size', '1024x1024'),
			row('version', '"2"'),
			row('left out', ''),
			{},
		),
	);
	const values = { seed: 42, hd: true, size: '1024x1024', version: '2' };
	expect(bodies).toEqual([{ model: 'unpublished', prompt: 'a fox', ...values }]);
});

test('expressions work for each item, also such as give no text', async () => {
	const { bodies } = await planned(
		rows(row('={{ $json.name }}', '={{ $json.value }}'), row('seed', '={{ $itemIndex }}')),
		{},
		[
			{ name: 'steps', value: '20' },
			{ name: 'sizes', value: [1, 2] },
			{ name: 'hd', value: false },
			{ name: 'hd', value: null },
			{ name: 7, value: 'x' },
		],
	);
	expect(bodies).toEqual(
		[{ steps: 20 }, { sizes: [1, 2] }, { hd: false }, {}, { 7: 'x' }].map((own, seed) => {
			return { model: 'unpublished', prompt: 'a fox', ...own, seed };
		}),
	);
});

test('Model Parameters win over them, Extra Fields over both', async () => {
	const form = (value: object) => ({ mappingMode: 'defineBelow', value });
	const names = ['first', 'second', 'third'].map((name) => row(name, 'rows'));
	const { bodies } = await planned(
		{ ...rows(...names), extraFields: { third: 'extra' } },
		{ modelParameters: form({ second: 'form', third: 'form', first: '' }) },
	);
	expect(bodies).toMatchObject([{ first: 'rows', second: 'form', third: 'extra' }]);
});

test('they are held against the limits of a published model, and take its types', async () => {
	const wrong = await planned(rows(row('size', '9x9')), { model: byName(MODEL) });
	expect(wrong.result.json(NODE)[0]?.checks).toMatchObject({
		passed: false,
		violations: [expect.stringContaining('size is "9x9"')],
	});
	const refused = await bench.run('imageGeneration', {
		prompt: 'a fox',
		options: rows(row('size', '9x9')),
	});
	expect(refused.error?.message).toContain('size is "9x9"');
	expect(bench.gateway.paid).toBe(0);
});

test('a name that the model does not publish: the nearest one, once for all items', async () => {
	const names = ['sized', 'seed', 'watermark'].map((name) => row(name));
	const { result } = await planned(rows(...names), { model: byName(MODEL) }, [{}, {}]);
	const hints = result.hints(NODE).filter(({ type }) => type !== 'info');
	expect(hints.map(({ message }) => message)).toEqual([
		`'sized' is not a published parameter of the model '${MODEL}'. Did you mean 'size'?`,
	]);
});

test.each<[string, Row[], RegExp]>([
	['no name', [{ value: '5' }], /has no name/],
	['a name that JavaScript keeps', [row('__proto__')], /"__proto__" can't be/],
	['another of them', [row('constructor')], /"constructor" can't be/],
	['twice', [row('seed'), row(' seed', '2')], /'seed' is in .* more/],
	['an object as a name', [row('={{ ({}) }}')], /must be text/],
	['the model', [row('model', 'other')], /must not set 'model'$/],
	['the prompt', [row('prompt', 'other')], /must not set 'prompt'/],
	['the mode', [row('async', 'true')], /must not set 'async'$/],
	['a word as the number of images', [row('n', 'two')], /'n' in .* must be a whole number from 1/],
	['more images than that', [row('n', '100000')], /'n' in .* a whole number from 1 to 1000/],
])('%s: refused before anything is sent', async (_, given, message) => {
	const parameters = { model: UNKNOWN, prompt: 'a fox', options: rows(...given) };
	const error = errorOf(await bench.run('imageGeneration', parameters, [{}, {}]));
	expect(error.message).toMatch(message);
	expect(error.description).toMatch(/Nothing was sent|Item 1/);
	expect(bench.gateway.paid).toBe(0);
});

const PHOTO = {
	prompt: 'Make it night',
	images: `data:image/png;base64,${TINY_PNG.toString('base64')}`,
};

test('a text with the name of the image to edit is refused', async () => {
	const modelParameters = { mappingMode: 'defineBelow', value: { 'image[]': 'x' } };
	for (const [name, more] of [
		['image', { options: rows(row('image')) }],
		['image[]', { modelParameters }],
	] as const) {
		const result = await bench.run('imageEdit', { ...PHOTO, ...more });
		expect(result.error?.message).toBe(`Two fields of the request have the name '${name}'`);
	}
	expect(bench.gateway.paid).toBe(0);
});

test('what newer models take passes as it is, also beside a model that publishes other parameters', async () => {
	const own = await opened(openBench({ credential: { baseUrl: tap.url } }));
	const given = [row('complexity', 'low'), row('frame_count', '2'), row('output_format', 'svg')];
	const sent = { complexity: 'low', frame_count: 2, output_format: 'svg' };
	for (const type of ['imageGeneration', 'imageEdit'] as const) {
		const options = { ...rows(...given), checkLimits: false };
		const result = await own.run(type, { ...PHOTO, mode: 'sync', options });
		expect(result.error).toBeUndefined();
	}
	const [generation, edit] = tap.posts;
	expect(JSON.parse(String(generation!.body))).toMatchObject(sent);
	expect(Object.fromEntries(await partsOf(edit!))).toMatchObject({ ...sent, frame_count: '2' });
});

test('an edit sends them as fields of its form', async () => {
	const own = await opened(openBench({ credential: { baseUrl: tap.url } }));
	const given = [row('seed', '42'), row('hd', 'true'), row('style', '={{ ({ mood: "calm" }) }}')];
	const date = row('date', '={{ new Date(0) }}');
	const result = await own.run('imageEdit', { ...PHOTO, options: rows(...given, date) });
	expect(result.error).toBeUndefined();
	expect(Object.fromEntries(await partsOf(tap.posts[0]!))).toMatchObject({
		seed: '42',
		hd: 'true',
		prompt: 'Make it night',
		date: '1970-01-01T00:00:00.000Z',
		style: '{"mood":"calm"}',
	});
});
