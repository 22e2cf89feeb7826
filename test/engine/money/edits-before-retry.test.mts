/** n8n's Retry after an edit that doesn't change the request, or of an item that can't be prepared any more. */
import '../fast-time.mjs';
import { errorOf } from '../one-node.mjs';
import { opened, sharedBench } from '../opened.mjs';
import {
	byName,
	hostFor,
	MODEL,
	NODE,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
} from '../workbench.mjs';

const bench = sharedBench();

const RANDOM = '={{ $json.prompt }} {{ Math.random() }}';
const INPUT = ['number 0.', 'number 1.'].map((prompt) => ({ json: { prompt } }));
const GO_ON = { onError: 'continueRegularOutput' } as const;

/** The second of two items is refused once. */
const refuseSecond = (call: 'sync' | 'submit' = 'sync') =>
	bench.gateway.setFaults([{ call, kind: 'status', status: 400, match: 'number 1.', times: 1 }]);

describe('of two items the second was refused; both have a random prompt', () => {
	const model = { __rl: true, mode: 'list', value: MODEL, cachedResultName: `${MODEL} (0.04)` };
	const form = (value: object | null, more: object = {}) => ({
		modelParameters: { mappingMode: 'defineBelow', value, ...more },
	});
	const rows = (...parameter: object[]) => ({ parametersByName: { parameter } });
	const own = {
		...rows({ name: 'seed', value: '7' }),
		extraFields: '{ "user": "u", "style": "s" }',
	};
	const options = (more: object) => ({ options: { ...own, ...more } });
	const before = {
		model,
		prompt: RANDOM,
		download: false,
		...form({ size: '1024x1024', quality: null }),
		...options({}),
	};

	/** How many images are paid for in all. */
	async function paidAfter(change: object, mode = 'sync'): Promise<number> {
		refuseSecond(mode === 'sync' ? 'sync' : 'submit');
		const items = INPUT.map(({ json }) => json);
		const failed = await bench.run('imageGeneration', { ...before, mode }, items);
		expect([failed.status, bench.gateway.paid]).toEqual(['error', 1]);
		const [sent] = Object.keys(bench.gateway.paidByPrompt);
		const edited = workflowOf('imageGeneration', { ...before, mode, ...change }, GO_ON);
		const outputs = (await bench.host.retry(failed, edited)).json(NODE);
		expect(outputs.map(({ error }) => error)).toEqual([undefined, undefined]);
		if (bench.gateway.paid === 2) expect(outputs[0]?.prompt).toBe(sent);
		const isSubmitted = outputs[0]?.statusGroup !== undefined;
		if (!isSubmitted) expect(outputs[0]?.url).toMatch(/^http/);
		return bench.gateway.paid;
	}

	test.each<[string, object]>([
		[
			'what the editor stores about values',
			{
				model: byName(`=${MODEL}`),
				prompt: '={{$json.prompt}} {{Math.random()}}',
				...form({ size: '=1024x1024', quality: '', seed: null }, { schema: [{ id: 'size' }] }),
			},
		],
		[
			'the form of what is sent',
			options({
				...rows({ name: '', value: '' }, { name: 'seed', value: 7 }, { name: 'x', value: '' }),
				extraFields: '{"style":"s","user":"u"}',
				n: 1,
			}),
		],
		[
			'the field by which a parameter is set',
			{ ...form({ size: '1024x1024', seed: ' 7' }), options: { extraFields: own.extraFields } },
		],
		[
			'what does not belong to the request',
			{
				download: true,
				...options({
					...{ maxWait: 900, pollInterval: 4, concurrency: 3, timeout: 60 },
					...{ addSummary: true, fileName: 'another' },
				}),
			},
		],
	])('%s is edited: only the refused item is sent again', async (_, change) => {
		expect(await paidAfter(change)).toBe(2);
	});

	test.each([
		['sync', 'wait'],
		['wait', 'submit'],
		['submit', 'sync'],
	])('mode %s, then %s: only the refused item is sent again', async (mode, next) => {
		expect(await paidAfter({ mode: next }, mode)).toBe(2);
	});

	test.each<[string, object]>([
		['another size', form({ size: '512x512' })],
		['another prompt', { prompt: '={{ $json.prompt }} at night {{ Math.random() }}' }],
		['another number of images', options({ n: 2 })],
		['another seed', options(rows({ name: 'seed', value: '8' }))],
		['another model', { model: byName('plain-image'), ...options({ checkLimits: false }) }],
	])('%s is another request: both are sent', async (_, change) => {
		expect(await paidAfter(change)).toBe(3);
	});
});

test('a renewed key is the same request; another credential or another file is another one', async () => {
	const [one, other] = bench.gateway.keys;
	const credential = { baseUrl: bench.gateway.url, apiKey: one };
	const host = await hostFor({}, { credentials: { mediaGatewayApi: credential } });
	const parameters = { prompt: RANDOM, download: false };
	const elsewhere = { credentials: { mediaGatewayApi: { id: 'other', name: 'Other' } } };
	const binary = { data: { data: TINY_PNG.toString('base64'), mimeType: 'image/png' } };
	refuseSecond();
	const input = INPUT.map((item) => ({ ...item, binary: structuredClone(binary) }));
	const failed = await host.run(workflowOf('imageEdit', parameters), { input });
	expect([failed.status, bench.gateway.paid]).toEqual(['error', 1]);
	const paidBy = async (retry: Promise<unknown>): Promise<number> => {
		const paid = bench.gateway.paid;
		await retry;
		return bench.gateway.paid - paid;
	};
	credential.apiKey = other;
	expect(await paidBy(host.retry(failed))).toBe(1);
	const edited = workflowOf('imageEdit', parameters, elsewhere);
	expect(await paidBy(host.retry(failed, edited))).toBe(2);
	credential.apiKey = one;
	const [items] = failed.data.executionData!.nodeExecutionStack[0]!.data.main!;
	const changed = Buffer.concat([TINY_PNG, Buffer.from([0])]).toString('base64');
	for (const item of items!) item.binary!.data!.data = changed;
	expect(await paidBy(host.retry(failed))).toBe(2);
});

test('two items now ask for what one has paid for: the other counts toward the budget', async () => {
	refuseSecond();
	const items = [...INPUT, { json: { prompt: 'number 2.' } }];
	const parameters = { prompt: '={{ $json.prompt }}', options: { concurrency: 3 } };
	const failed = await bench.host.run(workflowOf('imageGeneration', parameters), { input: items });
	const prompt = '={{ $itemIndex === 2 ? "number 0." : "number 2." }}';
	const options = { budget: 0.000001 };
	const edited = workflowOf('imageGeneration', { prompt, options }, GO_ON);
	const result = await bench.host.retry(failed, edited);
	expect(result.json(NODE).map(({ error, prompt: of }) => error ?? of)).toEqual([
		'number 2.',
		expect.stringMatching(/exceeds the budget/),
		'number 0.',
	]);
	expect(bench.gateway.paidByPrompt).toEqual({ 'number 0.': 1, 'number 2.': 1 });
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
	const edit = (url: string) => ({
		model: byName(MODEL),
		prompt: RANDOM,
		imageSource: 'url',
		imageUrl: `${url}/source.png`,
		download: false,
	});

	test('the source image is gone', async () => {
		const { server, state } = await sources();
		refuseSecond();
		const stops = workflowOf('imageEdit', edit(server.url));
		const failed = await bench.host.run(stops, { input: INPUT });
		expect([failed.status, bench.gateway.paid]).toEqual(['error', 1]);
		state.gone = true;
		const again = await bench.host.retry(failed, stops);
		// The other item can't be sent: the error names what was paid for this one.
		expect(errorOf(again).messages).toEqual([expect.stringMatching(/^Item 0: http/)]);
		// And a further retry returns it, at no cost.
		const last = await bench.host.retry(again, workflowOf('imageEdit', edit(server.url), GO_ON));
		expect(last.json(NODE)[0]).toMatchObject({ url: expect.stringMatching(/^http/) });
		expect(bench.gateway.paid).toBe(1);
	});

	test('the source image is another', async () => {
		const { server, state } = await sources();
		refuseSecond();
		const workflow = workflowOf('imageEdit', edit(server.url));
		const failed = await bench.host.run(workflow, { input: INPUT });
		state.other = true;
		const result = await bench.host.retry(failed, workflow);
		expect(result.json(NODE)[0]).toMatchObject({ url: expect.stringMatching(/^http/) });
		expect(bench.gateway.paid).toBe(2);
	});
});

test('inline images that were paid for get the field, the file name and the input fields of this try', async () => {
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
		const parameters = { prompt: RANDOM, binaryPropertyName: 'picture', options: now };
		const edited = workflowOf('imageGeneration', parameters, GO_ON);
		return (await host.retry(failed, edited)).output(NODE).slice(0, 2);
	};
	const named = await change({ ...options, fileName: 'new-{item}-{index}' });
	expect(named.map(({ binary }) => binary?.picture?.fileName)).toEqual([
		'new-1-1.png',
		'new-1-2.png',
	]);
	expect(named.map(({ json }) => json.kept)).toEqual([undefined, undefined]);
	const plain = await change({ ...options, includeInputFields: true });
	expect(plain.map(({ binary }) => binary?.picture?.fileName)).toEqual([
		expect.stringMatching(/^number-0-0-\d+\.png$/),
		expect.stringMatching(/^number-0-0-\d+-2\.png$/),
	]);
	expect(plain.map(({ json }) => json.kept)).toEqual([1, 1]);
	const [joined, other] = await change({ ...options, oneItemPerRequest: true });
	expect(Object.keys(joined!.binary!)).toEqual(['picture', 'picture_1']);
	expect([joined!.json.images, other!.pairedItem]).toEqual([[{}, {}], { item: 1 }]);
});

describe('a record of payments that another version of the package wrote', () => {
	test.each<[string, (record: { version: number; payments: unknown[] }) => unknown]>([
		['a later version', (record) => ({ ...record, version: 2 })],
		['no record at all', () => 'x'],
	])('%s: nothing is paid for in the same execution, and a hint says so', async (_, rewrite) => {
		refuseSecond();
		const parameters = { prompt: RANDOM, download: false };
		const items = INPUT.map(({ json }) => json);
		const failed = await bench.run('imageGeneration', parameters, items);
		expect([failed.status, bench.gateway.paid]).toEqual(['error', 1]);
		const context = failed.data.executionData!.contextData[`node:${NODE}`]!;
		const record = rewrite(context.mediaGatewayPaid as never) as never;
		const retry = async (settings: object) => {
			context.mediaGatewayPaid = structuredClone(record);
			const twice = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1, ...settings };
			return await bench.host.retry(failed, workflowOf('imageGeneration', parameters, twice));
		};
		const continued = await retry(GO_ON);
		const unknown = { error: expect.stringContaining('another version of this package recorded') };
		expect(continued.json(NODE)).toMatchObject([unknown, unknown]);
		expect(JSON.stringify(continued.runData[NODE]![0]!.hints)).toContain('another version');
		const ended = await retry({});
		expect([ended.status, bench.gateway.paid]).toEqual(['error', 1]);
		// A person has seen it: a retry of the retry sends the requests.
		const last = await bench.host.retry(ended, workflowOf('imageGeneration', parameters));
		const url = expect.stringMatching(/^http/);
		expect(last.json(NODE)).toMatchObject([{ url }, { url }]);
		expect(bench.gateway.paid).toBe(3);
	});
});
