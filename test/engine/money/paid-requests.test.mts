/** What was paid for is known by its request: tries, agents' tools, n8n's Retry, edited workflows. */
import '../fast-time.mjs';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
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
import { until } from '../../until.mjs';

let bench: Bench;

beforeAll(async () => {
	bench = await openBench();
});
beforeEach(() => bench.gateway.reset());
afterAll(async () => await bench.close());

const PROMPT = '={{ $json.prompt }}';
const RETRY = { retryOnFail: true, maxTries: 3, waitBetweenTries: 1 };
const asItems = (...prompts: string[]) => prompts.map((prompt) => ({ prompt }));
const WAIT = { mode: 'wait', options: { pollInterval: 1 } };
const paidCalls = () => bench.gateway.count('submit') + bench.gateway.count('sync');
const promptsOf = (result: { json: (node: string) => IDataObject[] }) =>
	result.json(NODE).map(({ prompt }) => prompt);

describe("an agent's tool", () => {
	const GENERATION = 'n8n-nodes-media-gateway.imageGeneration';
	const draw = async (through: 'engine' | 'subNode', parameters: object, node: object = RETRY) =>
		await bench.host
			.runAsTool(GENERATION, { model: byName(MODEL), prompt: 'a fox', ...parameters } as never, {
				through,
				node,
			})
			.catch((error: Error) => error.message);

	describe.each(['engine', 'subNode'] as const)('through %s', (through) => {
		test.each([
			['sync', { kind: 'status', status: 504 }],
			['sync', { kind: 'cutAfter' }],
			['submit', { kind: 'status', status: 502 }],
			['submit', { kind: 'badJson' }],
		] as const)('%s with %o: three tries, one request', async (call, fault) => {
			bench.gateway.setFaults([{ call, ...fault } as never]);
			const answer = await draw(through, { mode: call });
			expect(answer).toMatch(/outcome is unknown|nothing of use/i);
			expect(paidCalls()).toBe(1);
		});

		test('a task that is slow is submitted once', async () => {
			bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 503 }]);
			const slow = { mode: 'wait', options: { pollInterval: 1, maxWait: 20 } };
			expect(await draw(through, slow)).toMatch(/still open/);
			expect(bench.gateway.count('submit')).toBe(1);
		});

		test('a task that fails is submitted once', async () => {
			expect(await draw(through, { ...WAIT, prompt: 'a fox [fail]' })).toMatch(
				/ended with the status "failed"/,
			);
			expect(bench.gateway.count('submit')).toBe(1);
		});

		test('an unknown outcome is not paid for again with On Error set to continue', async () => {
			bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 504 }]);
			await draw(through, {}, { ...RETRY, onError: 'continueRegularOutput' });
			expect(paidCalls()).toBe(1);
		});
	});
});

describe.each(['engine', 'subNode'] as const)('two calls of one tool, %s', (through) => {
	const calls = async () =>
		await bench.host.run(
			{
				nodes: [
					{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
					...['Agent', 'Agent again'].map((name) => ({
						name,
						type: 'test.agent',
						parameters: { args: '{}', through },
						onError: 'continueRegularOutput' as const,
					})),
					{
						name: 'Tool',
						type: 'n8n-nodes-media-gateway.imageGenerationTool',
						parameters: { model: byName(MODEL), prompt: 'a fox', mode: 'sync' },
					},
				],
				connections: {
					Start: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] },
					Agent: { main: [[{ node: 'Agent again', type: 'main', index: 0 }]] },
					Tool: {
						ai_tool: [
							['Agent', 'Agent again'].map((node) => ({ node, type: 'ai_tool', index: 0 })),
						],
					},
				},
			},
			{ startNode: 'Start' },
		);

	test('who asks again after a success gets another image', async () => {
		const result = await calls();
		const [one, other] = ['Agent', 'Agent again'].map((name) => result.json(name)[0]?.answer);
		expect(one).toMatch(/png/);
		expect(other).not.toBe(one);
		expect(bench.gateway.paid).toBe(2);
	});

	test('who asks again after an unknown outcome pays nothing more', async () => {
		bench.gateway.setFaults([{ call: 'sync', kind: 'cutAfter', times: 1 }]);
		await calls();
		expect([bench.gateway.paid, bench.gateway.count('sync')]).toEqual([1, 1]);
	});
});

describe('Retry On Fail', () => {
	test('a request that an expression makes anew each time is paid once', async () => {
		const prompts = asItems('number 0.', 'number 1.', 'number 2.');
		bench.gateway.setFaults([
			{ call: 'sync', kind: 'status', status: 400, match: 'number 1.', times: 2 },
		]);
		const result = await bench.run(
			'imageGeneration',
			{ prompt: '={{ $json.prompt }} {{ Math.random() }}' },
			prompts,
			RETRY,
		);
		expect(result.error).toBeUndefined();
		expect([bench.gateway.paid, bench.gateway.count('sync')]).toEqual([3, 5]);
	});

	test('equal items are paid for one by one, and each once', async () => {
		bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400, times: 1 }]);
		const result = await bench.run(
			'imageGeneration',
			{ prompt: PROMPT, options: { concurrency: 1 } },
			asItems('a fox', 'a fox', 'a fox', 'an owl'),
			RETRY,
		);
		expect(promptsOf(result)).toEqual(['a fox', 'a fox', 'a fox', 'an owl']);
		expect(bench.gateway.paidByPrompt).toEqual({ 'a fox': 3, 'an owl': 1 });
		expect(new Set(result.json(NODE).map(({ url }) => url)).size).toBe(4);
	});

	test('the listing is there in one try and not in the other: nothing is paid twice', async () => {
		bench.gateway.setFaults([
			{ call: 'listing', kind: 'status', status: 503, times: 1 },
			{ call: 'sync', kind: 'status', status: 400, match: 'number 1.', times: 1 },
		]);
		const size = { mappingMode: 'defineBelow', value: { size: '1024x1024', n: '1' } };
		const result = await bench.run(
			'imageGeneration',
			{ prompt: PROMPT, modelParameters: size, download: false },
			asItems('number 0.', 'number 1.'),
			RETRY,
		);
		expect(result.error).toBeUndefined();
		expect(bench.gateway.paidByPrompt).toEqual({ 'number 0.': 1, 'number 1.': 1 });
	});

	test('with a budget and no listing nothing is sent; the next try has the prices', async () => {
		// At another address: the listing is kept for a while.
		const own = await openBench();
		own.gateway.setFaults([{ call: 'listing', kind: 'status', status: 403, times: 1 }]);
		const result = await own.run(
			'imageGeneration',
			{ prompt: PROMPT, download: false, options: { budget: 0.08 } },
			asItems('number 0.', 'number 1.'),
			{ ...RETRY, onError: 'continueRegularOutput' },
		);
		await own.close();
		expect(promptsOf(result)).toEqual(['number 0.', 'number 1.']);
		expect(own.gateway.requests.map(({ call }) => call)).toEqual([
			...['listing', 'listing'],
			...['sync', 'sync'],
		]);
	});

	/** Items of these prompts with a budget, where the second try finds no model list any more. */
	async function withoutListingLater(...prompts: string[]): Promise<RunResult> {
		let requests = 0;
		const prices = await opened(
			serve((_, response) => {
				requests += 1;
				// Else the model list would be cached for the second try.
				response.setHeader('cache-control', 'no-store');
				const billing = { unit: 'image', mode: 'price', value: 0.04 };
				if (requests > 1) return sendJson(response, {}, 403);
				const items = [{ model: MODEL, media_type: 'image', billing }];
				sendJson(response, { success: true, data: { items, total: 1 } });
			}),
		);
		const to = await hostFor({ baseUrl: bench.gateway.url, mediaUrl: prices.url });
		bench.gateway.setFaults([
			{ call: 'sync', kind: 'status', status: 400, match: 'number 0.', times: 1 },
		]);
		return await to.run(
			workflowOf(
				'imageGeneration',
				{ prompt: PROMPT, download: false, options: { budget: 1, concurrency: 1 } },
				{ ...RETRY, onError: 'continueRegularOutput' },
			),
			{ input: asItems(...prompts).map((json) => ({ json })) },
		);
	}
	const UNPRICED = expect.stringMatching(
		/price of the model 'aurora-image-1' is unknown/,
	) as string;
	const outcomes = (result: RunResult) =>
		result.json(NODE).map(({ error, prompt }) => error ?? prompt);

	test('the listing is down in the next try: what was paid for comes out all the same', async () => {
		const result = await withoutListingLater('number 0.', 'number 1.');
		expect(outcomes(result)).toEqual([UNPRICED, 'number 1.']);
		expect(bench.gateway.paidByPrompt).toEqual({ 'number 1.': 1 });
	});

	test('an item without a price is not taken for paid because others of the same prompt are', async () => {
		const result = await withoutListingLater('number 0.', 'number 0.', 'number 0.');
		expect(outcomes(result)).toEqual([UNPRICED, 'number 0.', 'number 0.']);
		expect(bench.gateway.paidByPrompt).toEqual({ 'number 0.': 2 });
	});
});

describe("n8n's Retry of a failed execution", () => {
	const failing = async (call: 'sync' | 'submit', fault: object, parameters: object = {}) => {
		bench.gateway.setFaults([{ call, match: 'number 1.', times: 1, ...fault } as never]);
		const failed = await bench.run(
			'imageGeneration',
			{ prompt: PROMPT, ...parameters },
			asItems('number 0.', 'number 1.', 'number 2.'),
		);
		expect(failed.status).toBe('error');
		return failed;
	};

	test.each(['sync', 'submit'] as const)('%s: only what has failed is sent', async (call) => {
		const failed = await failing(
			call,
			{ kind: 'status', status: 400 },
			call === 'sync' ? {} : WAIT,
		);
		// Whatever was begun beside the failing one has ended; the rest was not begun.
		const before = paidCalls();
		const result = await bench.host.retry(failed);
		expect(promptsOf(result)).toEqual(['number 0.', 'number 1.', 'number 2.']);
		expect(bench.gateway.paidByPrompt).toEqual({
			'number 0.': 1,
			'number 1.': 1,
			'number 2.': 1,
		});
		expect(paidCalls()).toBeGreaterThan(before);
	});

	test('with an edited prompt: what was changed is sent, and only that', async () => {
		const failed = await failing('sync', { kind: 'status', status: 400 });
		const edited = workflowOf('imageGeneration', {
			prompt: '={{ $json.prompt === "number 2." ? "another one" : $json.prompt }}',
		});
		const result = await bench.host.retry(failed, edited);
		expect(promptsOf(result)).toEqual(['number 0.', 'number 1.', 'another one']);
		expect(bench.gateway.paidByPrompt).toEqual({
			'number 0.': 1,
			'number 1.': 1,
			'number 2.': 1,
			'another one': 1,
		});
	});

	test('two items now ask for what one has paid for: the other one is held against the budget', async () => {
		const failed = await failing('sync', { kind: 'status', status: 400 });
		const edited = workflowOf(
			'imageGeneration',
			{
				prompt: '={{ $itemIndex === 2 ? "number 0." : "number 2." }}',
				options: { budget: 0.000001 },
			},
			{ onError: 'continueRegularOutput' },
		);
		const result = await bench.host.retry(failed, edited);
		expect(result.json(NODE).map(({ error, prompt }) => error ?? prompt)).toEqual([
			'number 2.',
			expect.stringMatching(/exceeds the budget/),
			'number 0.',
		]);
		expect(bench.gateway.paidByPrompt).toEqual({ 'number 0.': 1, 'number 2.': 1 });
	});

	test.each([
		['the model', { model: byName('plain-image') }],
		['an extra field', { options: { extraFields: '{"seed":7}' } }],
		['the number of images', { options: { n: 2 } }],
	])('with %s changed: everything is sent', async (_, change) => {
		const failed = await failing('sync', { kind: 'status', status: 400 });
		const before = bench.gateway.paid;
		const options = { checkLimits: false, ...(change as { options?: object }).options };
		await bench.host.retry(
			failed,
			workflowOf('imageGeneration', { prompt: PROMPT, ...change, options }),
		);
		expect(bench.gateway.paid).toBe(before + 3);
	});

	test.each<[from: 'sync' | 'submit', parameters: object, to: object]>([
		['sync', {}, WAIT],
		['submit', WAIT, { mode: 'sync' }],
		['submit', WAIT, { mode: 'submit' }],
		['submit', { mode: 'submit' }, WAIT],
	])('in another mode: what was paid for comes out (%s, %j, %j)', async (call, parameters, to) => {
		const failed = await failing(call, { kind: 'status', status: 400 }, parameters);
		const result = await bench.host.retry(
			failed,
			workflowOf('imageGeneration', { prompt: PROMPT, ...to }),
		);
		expect(promptsOf(result)).toEqual(['number 0.', 'number 1.', 'number 2.']);
		expect(bench.gateway.paidByPrompt).toEqual({
			'number 0.': 1,
			'number 1.': 1,
			'number 2.': 1,
		});
		if ((to as typeof WAIT).mode === 'submit') return;
		expect(result.json(NODE).every(({ url }) => String(url).startsWith('http'))).toBe(true);
	});

	test.each([
		['has expired: its task gives a new one', '/second.png'],
		['is all that is left of its task: it is used', '/first.png'],
	])('the address of an image %s', async (_, there) => {
		let isRetry = false;
		const own = await serve(({ method, url }, response) => {
			if (method === 'POST') return sendJson(response, { id: 'task' });
			if (url === there && isRetry) {
				return response.writeHead(200, { 'content-type': 'image/png' }).end(TINY_PNG);
			}
			if (url?.endsWith('.png')) return sendJson(response, {}, 403);
			const address = isRetry ? '/second.png' : '/first.png';
			if (isRetry && address !== there) return sendJson(response, { error: { message: '' } }, 403);
			return sendJson(response, { id: 'task', status: 'completed', data: [{ url: address }] });
		});
		const host = await hostFor({ baseUrl: own.url });
		const parameters = { model: byName(MODEL), prompt: 'a fox', ...WAIT };
		const failed = await host.run(workflowOf('imageGeneration', parameters));
		expect(failed.status).toBe('error');
		isRetry = true;
		const result = await host.retry(failed).finally(async () => await own.close());
		const [item] = result.output(NODE);
		expect(item?.json.url).toBe(own.url + there);
		expect(item?.binary?.data?.mimeType).toBe('image/png');
		expect(own.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
	});

	test('an unknown outcome was looked at by a person, and is sent again', async () => {
		const failed = await failing('sync', { kind: 'status', status: 504 });
		expect(failed.error).toMatchObject({
			messages: expect.arrayContaining(['Item 1: the outcome of the request is unknown']),
		});
		const result = await bench.host.retry(failed);
		expect(promptsOf(result)).toHaveLength(3);
		expect(bench.gateway.count('sync')).toBe(4);
	});

	test('a task that has failed is submitted anew', async () => {
		const failed = await bench.run(
			'imageGeneration',
			{ prompt: PROMPT, ...WAIT },
			asItems('a fox', 'an owl [fail]'),
		);
		expect(failed.error?.description).not.toMatch(/item 1/);
		await bench.host.retry(failed);
		expect(bench.gateway.paidByPrompt).toEqual({ 'a fox': 1, 'an owl [fail]': 2 });
	});

	test('with the credential of another account: everything is sent', async () => {
		const failed = await failing('sync', { kind: 'status', status: 400 });
		const before = bench.gateway.paid;
		const [, second] = bench.gateway.keys;
		const other = await openBench({ credential: { baseUrl: bench.gateway.url, apiKey: second } });
		const credentials = { mediaGatewayApi: { id: 'other', name: 'Other' } };
		const edited = workflowOf('imageGeneration', { prompt: PROMPT }, { credentials });
		const result = await other.host.retry(failed, edited).finally(async () => await other.close());
		expect(result.error).toBeUndefined();
		expect(bench.gateway.paid).toBe(before + 3);
	});

	test('an edit is known by the contents of its file', async () => {
		const edit = async (bytes: Buffer) => [
			{
				json: { prompt: 'number 1.' },
				binary: { data: { data: bytes.toString('base64'), mimeType: 'image/png' } },
			},
		];
		bench.gateway.setFaults([{ call: 'download', kind: 'status', status: 403 }]);
		const failed = await bench.host.run(workflowOf('imageEdit', { prompt: PROMPT }), {
			input: await edit(TINY_PNG),
		});
		expect(failed.status).toBe('error');
		expect(bench.gateway.paid).toBe(1);
		bench.gateway.setFaults([]);
		await bench.host.retry(failed);
		expect(bench.gateway.paid).toBe(1);
		const entry = failed.data.executionData!.nodeExecutionStack[0]!;
		entry.data.main![0]![0]!.binary!.data!.data = Buffer.concat([
			TINY_PNG,
			Buffer.from([0]),
		]).toString('base64');
		await bench.host.retry(failed);
		expect(bench.gateway.paid).toBe(2);
	});
});

test('what was delivered is not handed out to a second run of the node', async () => {
	const workflow = workflowOf('message', { model: 'reason-large', prompt: PROMPT }, RETRY);
	const to = (node: string) => ({ node, type: 'main' as const, index: 0 });
	workflow.nodes.push({ name: 'Again', type: 'n8n-nodes-base.noOp' });
	workflow.connections.Start = { main: [[to(NODE), to('Again')]] };
	workflow.connections.Again = { main: [[to(NODE)]] };
	await bench.host.run(workflow, { input: [{ json: { prompt: 'hello' } }] });
	expect(bench.gateway.count('message')).toBe(2);
});

test.each([
	['sync', {}],
	['submit', {}],
	// The engine tries again after a Stop, too.
	['sync', RETRY],
] as const)(
	'a Stop during a paid request says that it may have been charged: %s with %o',
	async (call, settings) => {
		bench.gateway.setFaults([{ call, kind: 'silence', match: 'number 1.' }]);
		const stop = new AbortController();
		const running = bench.run(
			'imageGeneration',
			{ prompt: PROMPT, mode: call, download: false },
			asItems('number 0.', 'number 1.'),
			settings,
			{ signal: stop.signal },
		);
		await until(() => bench.gateway.count(call) >= 2);
		await new Promise((wake) => setTimeout(wake, 50));
		stop.abort();
		const result = await running;
		expect(result.status).toBe('canceled');
		const { description } = Object.values(result.runData[NODE]!)[0]!.error as {
			description?: string;
		};
		expect(description).toMatch(
			call === 'sync'
				? /^Finished images:\nitem 0: http/
				: /^Image tasks that .*:\nitem 0: generation task /,
		);
		expect(description).toMatch(
			new RegExp(`may have been charged\\..*:\nitem 1: the outcome of the request is unknown$`),
		);
	},
);

test.each([
	// Quoted to its end, an ID can be read from half a response.
	['{"id":"task_7","status":"que', {}, 'outcome of the request is unknown; .* the ID task_7$'],
	['{"id":"task_7","status":"que', RETRY, 'outcome of the request is unknown; .* the ID task_7$'],
	['{"id":"task_7', {}, 'request is unknown$'],
	['', {}, 'request is unknown$'],
] as const)(
	'a Stop while the response arrives keeps the ID that has arrived: %j with %o',
	async (half, settings, words) => {
		const stop = new AbortController();
		const server = await serve((_, response) => {
			response.writeHead(200, { 'content-type': 'application/json' });
			response.write(half || ' ');
		});
		const hasHead = once('http.client.response.finish');
		const host = await hostFor({ baseUrl: server.url });
		const options = { mode: 'submit', options: { checkLimits: false } };
		const workflow = workflowOf(
			'imageGeneration',
			{ model: byName(MODEL), prompt: 'a fox', ...options },
			settings,
		);
		const running = host.run(workflow, { signal: stop.signal });
		await hasHead;
		// The first piece has come with the head; the node reads it in one of the next turns.
		for (let turn = 0; turn < 20; turn += 1) await new Promise((wake) => setImmediate(wake));
		stop.abort();
		const { status, runData } = await running.finally(async () => await server.close());
		expect(status).toBe('canceled');
		const { description } = Object.values(runData[NODE]!)[0]!.error as { description?: string };
		expect(description).toMatch(new RegExp(words));
		expect(server.requests).toHaveLength(1);
	},
);

/** Resolves when something is published there. */
async function once(channel: string): Promise<void> {
	await new Promise<void>((resolve) => {
		const listen = (): void => {
			unsubscribe(channel, listen);
			resolve();
		};
		subscribe(channel, listen);
	});
}
