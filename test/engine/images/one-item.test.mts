/** The option "One Item per Request": as many items as there are rows, whatever a request returns. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { opened, sharedBench } from '../opened.mjs';
import { byName, hostFor, NODE, sendJson, serve, TINY_PNG, workflowOf } from '../workbench.mjs';

const bench = sharedBench({ imageSize: 16 });

const ROWS = [
	{ sku: 'A', prompt: 'a fox', urls: 'of the row', images: 7, note: 'mine' },
	{ sku: 'B', prompt: 'an owl' },
];
const PROMPT = { prompt: '={{ $json.prompt }}' };
const JOINED = { oneItemPerRequest: true, n: 2 };

test.each(['sync', 'wait'])(
	'%s: an item for each row, with its fields, the addresses and the files of its images',
	async (mode) => {
		const parameters = { ...PROMPT, mode, options: { ...JOINED, binaryPropertyName: 'photo' } };
		const result = await bench.run('imageGeneration', parameters, ROWS);
		expect(result.error).toBeUndefined();
		const items = result.output(NODE);
		expect(items.map(({ pairedItem }) => pairedItem)).toEqual([{ item: 0 }, { item: 1 }]);
		expect(items.map(({ binary }) => Object.keys(binary!))).toEqual(
			ROWS.map(() => ['photo', 'photo_1']),
		);
		expect(items[1]!.binary!.photo_1!.fileName).toMatch(/^an-owl-[0-9a-f]{8}\.png$/);
		expect(items[0]!.json).toMatchObject({ sku: 'A', note: 'mine', prompt: 'a fox' });
		for (const [index, { json }] of items.entries()) {
			const urls = json.urls as string[];
			expect(urls).toHaveLength(2);
			expect((json.images as IDataObject[]).map(({ url }) => url)).toEqual(urls);
			expect(json).toMatchObject({ sku: ROWS[index]!.sku, estimatedCost: 0.08 });
			expect(json).not.toHaveProperty('url');
			expect(json).not.toHaveProperty('index');
		}
	},
);

test('Image Wait does the same for each task', async () => {
	const submitted = await bench.run(
		'imageGeneration',
		{ ...PROMPT, mode: 'submit', options: JOINED },
		ROWS,
	);
	expect(submitted.output(NODE)).toHaveLength(2);
	const result = await bench.host.run(
		workflowOf('imageWait', { options: { oneItemPerRequest: true } }),
		{ input: submitted.output(NODE) },
	);
	expect(result.output(NODE).map(({ binary }) => Object.keys(binary!))).toEqual([
		['data', 'data_1'],
		['data', 'data_1'],
	]);
	expect(result.json(NODE).map(({ urls }) => (urls as string[]).length)).toEqual([2, 2]);
});

test('images inside the response are files without an address', async () => {
	const data = [TINY_PNG, TINY_PNG].map((bytes) => ({ b64_json: bytes.toString('base64') }));
	const server = await opened(
		serve((_, response) => sendJson(response, { created: 1, usage: { total: 3 }, data })),
	);
	const host = await hostFor({ baseUrl: server.url });
	const options = { ...JOINED, checkLimits: false };
	const result = await host.run(workflowOf('imageGeneration', { ...PROMPT, options }), {
		input: ROWS.map((json) => ({ json })),
	});
	const [item, ...others] = result.output(NODE);
	expect(others).toHaveLength(1);
	expect(Object.keys(item!.binary!)).toEqual(['data', 'data_1']);
	expect(item!.json).toMatchObject({ sku: 'A', urls: [], images: [{}, {}], usage: { total: 3 } });
});

describe('where images cannot be downloaded', () => {
	const GONE = /gone/;
	const INLINE = 'inline';
	/** A gateway that returns these images for every request. */
	const run = async (paths: string[], onError = 'continueRegularOutput', options = {}) => {
		const billing = { unit: 'image', mode: 'price', value: 0.04 };
		const items = [{ model: 'm', media_type: 'image', billing }];
		const server = await opened(
			serve(({ method, url }, response, base) => {
				if (url!.endsWith('/models')) return sendJson(response, { data: { items } });
				if (method === 'POST') {
					const data = paths.map((path) =>
						path === INLINE
							? { b64_json: TINY_PNG.toString('base64') }
							: { url: `${base}/${path}`, quality: 'high' },
					);
					return sendJson(response, { created: 1, usage: { total: 3 }, data });
				}
				response.writeHead(GONE.test(url!) ? 404 : 200).end(TINY_PNG);
			}),
		);
		const host = await hostFor({ baseUrl: server.url });
		const all = { oneItemPerRequest: true, checkLimits: false, ...options };
		const result = await host.run(
			workflowOf('imageGeneration', { model: byName('m'), prompt: 'a fox', options: all }, {
				onError,
			} as never),
		);
		return { result, url: server.url };
	};

	test.each([
		['the second', ['1.png', 'gone.png'], ['data']],
		['the first', ['gone.png', '1.png'], ['data_1']],
	])(
		'%s: the item has the other file in its own field, both addresses, and the error',
		async (_, paths, fields) => {
			const { result, url } = await run(paths);
			const [item, ...others] = result.output(NODE);
			expect(others).toEqual([]);
			expect(Object.keys(item!.binary!)).toEqual(fields);
			expect(item!.json).toMatchObject({ prompt: 'a fox', created: 1 });
			expect(item!.json.urls).toEqual(paths.map((path) => `${url}/${path}`));
			expect(item!.json.images).toEqual(
				paths.map((path) =>
					GONE.test(path)
						? { url: `${url}/${path}`, error: expect.stringContaining('404') }
						: { url: `${url}/${path}`, quality: 'high' },
				),
			);
			expect(result.hints(NODE).map(({ message }) => message)).toContainEqual(
				expect.stringMatching(/^Item 1.*: 1 of 2 images couldn't be downloaded/),
			);
		},
	);

	test('one beside an image inside the response: a hint says so as well', async () => {
		const { result, url } = await run([INLINE, 'gone.png']);
		const [item, ...others] = result.output(NODE);
		expect([others, Object.keys(item!.binary!)]).toEqual([[], ['data']]);
		expect(item!.json.urls).toEqual([`${url}/gone.png`]);
		expect(result.hints(NODE).map(({ message }) => message)).toContainEqual(
			expect.stringMatching(/^Item 1.*: 1 of 2 images couldn't be downloaded/),
		);
	});

	test('all: one failed item, whose details name every address', async () => {
		const { result, url } = await run(['gone1.png', 'gone2.png']);
		expect(result.json(NODE)).toEqual([
			{
				error: expect.stringContaining('404'),
				prompt: 'a fox',
				details: expect.objectContaining({
					charged: 'yes',
					url: `${url}/gone1.png`,
					urls: [`${url}/gone1.png`, `${url}/gone2.png`],
				}),
			},
		]);
	});

	test('all: the failed item has the cost of the whole request, as the summary does', async () => {
		const paths = ['gone1.png', 'gone2.png', 'gone3.png', 'gone4.png'];
		const options = { checkLimits: true, addSummary: true, n: 4 };
		const { result } = await run(paths, 'continueRegularOutput', options);
		expect(result.json(NODE)).toMatchObject([
			{ details: { estimatedCost: 0.16, usage: { total: 3 }, summary: { estimatedCost: 0.16 } } },
		]);
	});

	const USED = { total: 3 };
	test.each<[string, string[], unknown[], unknown[]]>([
		['the first', ['gone.png', '1.png', '2.png'], [undefined, USED, undefined], [undefined]],
		['the second', ['1.png', 'gone.png'], [USED, undefined], [undefined]],
		['all', ['gone1.png', 'gone2.png'], [undefined, undefined], [USED, undefined]],
	])('%s: the usage comes out once, of an item that has not failed', async (_, paths, ...used) => {
		const options = { oneItemPerRequest: false };
		const { result } = await run(paths, 'continueRegularOutput', options);
		const items = result.json(NODE);
		const failed = items.flatMap(({ details }) => (details ? [details as IDataObject] : []));
		expect([items.map(({ usage }) => usage), failed.map(({ usage }) => usage)]).toEqual(used);
		const joined = await run(paths);
		const [json] = joined.result.json(NODE) as [IDataObject];
		expect(json.details ?? json).toMatchObject({ usage: USED });
	});

	test('the node stops with the address if it is not to go on', async () => {
		const { result, url } = await run(['1.png', 'gone.png'], 'stopWorkflow');
		expect(result.error?.message).toContain("The image couldn't be downloaded");
		expect(JSON.stringify(result.error?.context)).toContain(`${url}/gone.png`);
	});
});
