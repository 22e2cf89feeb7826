/** n8n's Retry after an edit that doesn't change the request, or of an item that can't be prepared any more. */
import '../fast-time.mjs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { Container, core } from '../../../harness/engine/n8n.mjs';
import { filesNode, runChain } from '../one-node.mjs';
import { opened } from '../opened.mjs';
import {
	byName,
	hostFor,
	MODEL,
	NODE,
	openBench,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
	type Bench,
} from '../workbench.mjs';

let bench: Bench;
beforeAll(async () => {
	bench = await openBench();
});
beforeEach(() => bench.gateway.reset());
afterAll(async () => await bench.close());

const RANDOM = '={{ $json.prompt }} {{ Math.random() }}';
const INPUT = ['number 0.', 'number 1.'].map((prompt) => ({ json: { prompt } }));
const GO_ON = { onError: 'continueRegularOutput' } as const;

/** Deletes a file of n8n's binary data store. @param id such as `filesystem-v2:path` */
const deleteStored = async (id: string) =>
	await rm(join(Container.get(core.BinaryDataConfig).localStoragePath, id.split(':')[1]!));

const refuseSecond = () =>
	bench.gateway.setFaults([
		{ call: 'sync', kind: 'status', status: 400, match: 'number 1.', times: 1 },
	]);

describe('an edit that does not change the request, with a random seed in the prompt', () => {
	const model = { __rl: true, mode: 'list', value: MODEL, cachedResultName: `${MODEL} (0.04)` };
	const form = (value: object | null, more: object = {}) => ({
		mappingMode: 'defineBelow',
		value,
		...more,
	});
	const rows = (...parameter: object[]) => ({ parametersByName: { parameter } });
	const before = {
		model,
		prompt: RANDOM,
		download: false,
		modelParameters: form({ size: '1024x1024', quality: null }),
		options: {
			...rows({ name: 'seed', value: '7' }),
			extraFields: '{ "user": "u", "style": "s" }',
		},
	};
	const paidAfter = async (change: object) => {
		refuseSecond();
		const failed = await bench.run(
			'imageGeneration',
			before,
			INPUT.map(({ json }) => json),
		);
		expect([failed.status, bench.gateway.paid]).toEqual(['error', 1]);
		const edited = workflowOf('imageGeneration', { ...before, ...change }, GO_ON);
		const result = await bench.host.retry(failed, edited);
		expect(result.json(NODE).map(({ error }) => error)).toEqual([undefined, undefined]);
		return bench.gateway.paid;
	};

	test.each<[string, object]>([
		['nothing', {}],
		[
			'the schema of the form',
			{ modelParameters: form({ size: '1024x1024' }, { schema: [{ id: 'size' }] }) },
		],
		['the label of the model', { model: { ...model, cachedResultName: 'Aurora (0.05)' } }],
		['list or name', { model: byName(MODEL) }],
		['a field taken off the screen', { modelParameters: form({ size: '1024x1024' }) }],
		['an empty field', { modelParameters: form({ size: '1024x1024', quality: '', seed: null }) }],
		[
			'empty rows, and a number in place of its text',
			{
				options: {
					...before.options,
					...rows({ name: '', value: '' }, { name: 'seed', value: 7 }, { name: 'x', value: '' }),
				},
			},
		],
		[
			'the order and spaces of JSON',
			{ options: { ...before.options, extraFields: '{"style":"s","user":"u"}' } },
		],
		[
			'the field by which a parameter is set',
			{
				modelParameters: form({ size: '1024x1024', seed: 7 }),
				options: { extraFields: before.options.extraFields },
			},
		],
		[
			'a number that the form stores as text',
			{
				modelParameters: form({ size: '1024x1024', seed: ' 7' }),
				options: { extraFields: before.options.extraFields },
			},
		],
		[
			'fixed texts that the editor stores as expressions',
			{ model: byName(`=${MODEL}`), modelParameters: form({ size: '=1024x1024' }) },
		],
		['spaces in an expression', { prompt: '={{$json.prompt}} {{Math.random()}}' }],
		['the option for the number of images, as it is', { options: { ...before.options, n: 1 } }],
	])('%s: only the refused item is sent again', async (_, change) => {
		expect(await paidAfter(change)).toBe(2);
	});

	test.each<[string, object]>([
		['another size', { modelParameters: form({ size: '512x512' }) }],
		['another prompt', { prompt: '={{ $json.prompt }} at night {{ Math.random() }}' }],
		['a prompt in quotes', { prompt: '="{{ $json.prompt }} {{ Math.random() }}"' }],
		['another number of images', { options: { ...before.options, n: 2 } }],
		[
			'a text in place of the number',
			{ options: { ...before.options, ...rows({ name: 'seed', value: '"7"' }) } },
		],
		['another seed', { options: { ...before.options, ...rows({ name: 'seed', value: '8' }) } }],
	])('but %s is another request', async (_, change) => {
		expect(await paidAfter(change)).toBe(3);
	});
});

describe('what was paid for is returned although the item can no longer be prepared', () => {
	/** A server of source images; `gone` makes it refuse, `other` changes their bytes. */
	const sources = async () => {
		const state = { gone: false, other: false };
		const server = await opened(
			serve((_, response) => {
				if (state.gone) return sendJson(response, { error: { message: 'expired' } }, 403);
				const bytes = state.other ? Buffer.concat([TINY_PNG, Buffer.from('other')]) : TINY_PNG;
				response.writeHead(200, { 'content-type': 'image/png' }).end(bytes);
			}),
		);
		return { server, state };
	};
	const edit = (url: string, more: object = {}) => ({
		model: byName(MODEL),
		prompt: RANDOM,
		imageSource: 'url',
		imageUrl: `${url}/source.png`,
		download: false,
		...more,
	});

	test.each<['gone' | 'other', object]>([
		['gone', {}],
		['gone', GO_ON],
		['other', {}],
		['other', GO_ON],
	])('the source image is %s, %j', async (change, settings) => {
		const { server, state } = await sources();
		refuseSecond();
		const failed = await bench.host.run(workflowOf('imageEdit', edit(server.url)), {
			input: INPUT,
		});
		expect([failed.status, bench.gateway.paid]).toEqual(['error', 1]);
		state[change] = true;
		const result = await bench.host.retry(
			failed,
			workflowOf('imageEdit', edit(server.url), settings),
		);
		expect(bench.gateway.paid).toBe(change === 'gone' ? 1 : 2);
		if (change === 'gone' && settings !== GO_ON) {
			// The other item can't be sent: the error names what was paid for this one.
			const { description } = result.error as { description?: string };
			expect(description).toMatch(/Finished images:\nitem 0: http/);
			// And a further retry returns it, at no cost.
			const last = await bench.host.retry(result, workflowOf('imageEdit', edit(server.url), GO_ON));
			expect(last.json(NODE)[0]).toMatchObject({ url: expect.stringMatching(/^http/) });
			expect(bench.gateway.paid).toBe(1);
		} else {
			expect(result.json(NODE)[0]).toMatchObject({ url: expect.stringMatching(/^http/) });
		}
	});

	test('the file of the input item was pruned', async () => {
		const host = await hostFor({ baseUrl: bench.gateway.url }, { extraNodeTypes: filesNode });
		const items = INPUT.map(({ json }) => ({ json, files: { data: { bytes: TINY_PNG } } }));
		const parameters = { model: byName(MODEL), prompt: RANDOM, download: false };
		refuseSecond();
		const failed = await runChain(host, items, [{ type: 'imageEdit', parameters }]);
		expect([failed.status, bench.gateway.paid]).toEqual(['error', 1]);
		for (const { binary } of failed.output('Start')) await deleteStored(String(binary?.data?.id));
		const result = await host.retry(failed, {
			...failed.workflow,
			nodes: failed.workflow.nodes.map((node) =>
				node.name === NODE ? { ...node, ...GO_ON } : node,
			),
		});
		const [paid, other] = result.json(NODE);
		expect(paid).toMatchObject({ url: expect.stringMatching(/^http/) });
		expect([other?.error !== undefined, bench.gateway.paid]).toEqual([true, 1]);
	});

	test.each<[string, object]>([
		['the model list no longer allows the size', { size: 'huge' }],
		['the model now only makes videos', { video: true }],
	])('%s', async (_, { video }: { video?: boolean }) => {
		let isChanged = false;
		const listed = (size: string[]) => [
			{
				model: MODEL,
				media_type: isChanged && video ? 'video' : 'image',
				modes: [isChanged && video ? 'text_to_video' : 'text_to_image'],
				generation_modes: ['sync'],
				parameters: { size },
			},
		];
		const own = await opened(
			serve(({ method, url }, response) => {
				if (method === 'GET') {
					return sendJson(response, {
						success: true,
						data: { items: listed(isChanged ? ['512x512'] : ['1024x1024']) },
					});
				}
				const isSecond = own.requests.filter((one) => one.method === 'POST').length === 2;
				if (isSecond) return sendJson(response, { error: { message: 'no' } }, 400);
				return sendJson(response, {
					data: [{ url: `${own.url}${url}/${own.requests.length}.png` }],
				});
			}),
		);
		const parameters = {
			prompt: RANDOM,
			download: false,
			modelParameters: { mappingMode: 'defineBelow', value: { size: '1024x1024' } },
			options: { concurrency: 1 },
		};
		const credential = { apiKey: 'sk-own', baseUrl: own.url, mediaUrl: own.url };
		const first = await hostFor({}, { credentials: { mediaGatewayApi: credential } });
		const failed = await first.run(workflowOf('imageGeneration', parameters), { input: INPUT });
		expect(failed.status).toBe('error');
		const posts = () => own.requests.filter(({ method }) => method === 'POST').length;
		expect(posts()).toBe(2);
		isChanged = true;
		// At another address, so that the list is requested again.
		credential.mediaUrl = `${own.url}/later`;
		const result = await first.retry(failed, workflowOf('imageGeneration', parameters, GO_ON));
		const [paid, other] = result.json(NODE);
		expect(paid).toMatchObject({ url: expect.stringMatching(/^http/) });
		// The one that was refused isn't sent: its size is no longer allowed.
		expect([other?.error !== undefined, posts()]).toEqual([true, 2]);
	});
});

test('inline images that were paid for get the file name and the input fields of this try', async () => {
	let posts = 0;
	const own = await opened(
		serve((_, response) => {
			posts += 1;
			if (posts === 2) return sendJson(response, { error: { message: 'no' } }, 400);
			const image = { b64_json: TINY_PNG.toString('base64') };
			return sendJson(response, { data: [image, image] });
		}),
	);
	const host = await hostFor({ baseUrl: own.url });
	const options = { checkLimits: false, concurrency: 1, n: 2 };
	const old = { ...options, fileName: 'old-{index}', includeInputFields: true };
	const failed = await host.run(workflowOf('imageGeneration', { prompt: RANDOM, options: old }), {
		input: INPUT.map(({ json }) => ({ json: { ...json, kept: 1 } })),
	});
	expect([failed.status, posts]).toEqual(['error', 2]);
	const change = async (now: object) => {
		const edited = workflowOf('imageGeneration', { prompt: RANDOM, options: now }, GO_ON);
		return (await host.retry(failed, edited)).output(NODE).slice(0, 2);
	};
	const named = await change({ ...options, fileName: 'new-{item}-{index}' });
	expect(named.map(({ binary }) => binary?.data?.fileName)).toEqual(['new-1-1.png', 'new-1-2.png']);
	expect(named.map(({ json }) => json.kept)).toEqual([undefined, undefined]);
	const plain = await change({ ...options, includeInputFields: true });
	expect(plain.map(({ binary }) => binary?.data?.fileName)).toEqual([
		`${MODEL}-0.png`,
		`${MODEL}-1.png`,
	]);
	expect(plain.map(({ json }) => json.kept)).toEqual([1, 1]);
	expect(
		plain.every(({ json }) => String((json as IDataObject).prompt).startsWith('number 0.')),
	).toBe(true);
});

describe('a record of payments that an older version wrote, or somebody edited', () => {
	type Stored = Record<string, unknown> & { result?: Record<string, unknown> };
	const failedRun = async () => {
		refuseSecond();
		const parameters = { prompt: RANDOM, download: false };
		const failed = await bench.run(
			'imageGeneration',
			parameters,
			INPUT.map(({ json }) => json),
		);
		expect([failed.status, bench.gateway.paid]).toEqual(['error', 1]);
		const context = failed.data.executionData!.contextData[`node:${NODE}`]!;
		const records = context.mediaGatewayPaid as Stored[];
		const retry = async () =>
			await bench.host.retry(failed, workflowOf('imageGeneration', parameters, GO_ON));
		return { context, records, retry };
	};

	test.each<[string, (stored: Stored) => void]>([
		[
			'the result has another name',
			(one) => Object.assign(one, { paid: one.result, result: undefined }),
		],
		['no digest', (one) => Object.assign(one, { source: undefined, fingerprint: 5 })],
		['no execution', (one) => Object.assign(one, { executionId: 7, runIndex: 'x' })],
		[
			'a price that is text, and a part that is no part',
			(one) => Object.assign(one.result!, { facts: 'x', created: '1', other: [] }),
		],
		['a cost that is text', (one) => Object.assign(one.result!, { facts: { estimatedCost: '1' } })],
		['a price below 0', (one) => Object.assign(one.result!, { facts: { pricePerImage: -1 } })],
		['a mark that is no mark', (one) => Object.assign(one, { delivered: 'x' })],
	])('%s: its image still comes out at no cost', async (_, damage) => {
		const { records, retry } = await failedRun();
		damage(records[0]!);
		const result = await retry();
		expect(result.json(NODE)[0]).toMatchObject({ url: expect.stringMatching(/^http/) });
		expect(bench.gateway.paid).toBe(2);
	});

	test.each<[string, (stored: Stored) => void]>([
		['the result is text', (one) => Object.assign(one, { result: 'gone' })],
		['no result', (one) => Object.assign(one, { result: null })],
		['images without an address', (one) => Object.assign(one.result!, { images: [{ url: 5 }] })],
		[
			'a task without its ID',
			(one) => Object.assign(one, { result: { task: { status: 'queued' } } }),
		],
		[
			'a task with no list of what its submit mentioned',
			(one) => {
				const task = { taskId: 'gone', taskType: 'generation', status: 'queued' };
				const submittedAt = '2026-11-24T12:00:00Z';
				Object.assign(one, { result: { task: { ...task, submittedAt, mentioned: 5 } } });
			},
		],
		['items that are none', (one) => Object.assign(one, { result: { items: ['x'] } })],
		['empty lists', (one) => Object.assign(one, { result: { items: [], images: [] } })],
		[
			'items whose file has no type',
			(one) =>
				Object.assign(one, { result: { items: [{ json: {}, binary: { data: { data: 'x' } } }] } }),
		],
		['nothing in the result', (one) => Object.assign(one, { result: {} })],
		[
			'a result with names of all objects',
			(one) => Object.assign(one, { result: { toString: 1 } }),
		],
	])('%s: the item is not paid for again, and says why', async (_, damage) => {
		const { records, retry } = await failedRun();
		damage(records[0]!);
		const result = await retry();
		expect(result.json(NODE)).toMatchObject([
			{ error: expect.stringContaining('is damaged'), details: { outcome: 'unknown' } },
			{ url: expect.stringMatching(/^http/) },
		]);
		expect(bench.gateway.paid).toBe(2);
		expect(JSON.stringify(result.runData[NODE]![0]!.hints)).toContain('are damaged in one place');
	});

	test.each<[string, unknown]>([
		['a text', 'x'],
		['an object', { 0: {} }],
		['a list of anything', [null, 5, 'x', [], {}, { itemIndex: 'x' }, { itemIndex: -1 }]],
	])(
		'%s in place of the list ends nothing, and a hint says that it was left out',
		async (_, value) => {
			const { context, retry } = await failedRun();
			context.mediaGatewayPaid = value as never;
			const result = await retry();
			expect(result.json(NODE).map(({ error }) => error)).toEqual([undefined, undefined]);
			expect(JSON.stringify(result.runData[NODE]![0]!.hints)).toMatch(
				/are damaged in (one|\d) place/,
			);
		},
	);
});
