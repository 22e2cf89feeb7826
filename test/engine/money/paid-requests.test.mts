/** What was paid for is known by its request: tries, agents' tools, n8n's Retry, edited workflows. */
import '../fast-time.mjs';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import { opened, sharedBench } from '../opened.mjs';
import {
	byName,
	hostFor,
	MODEL,
	NODE,
	openBench,
	sendJson,
	serve,
	workflowOf,
} from '../workbench.mjs';
import { until } from '../../until.mjs';

const bench = sharedBench();

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

	test.each([
		['engine', 'sync', { kind: 'status', status: 504 }, {}],
		['subNode', 'sync', { kind: 'cutAfter' }, {}],
		['subNode', 'submit', { kind: 'badJson' }, {}],
		['engine', 'sync', { kind: 'cutAfter' }, { onError: 'continueRegularOutput' }],
	] as const)('through %s, %s with %o: three tries, one request', async (...given) => {
		const [through, call, fault, settings] = given;
		bench.gateway.setFaults([{ call, ...fault } as never]);
		const answer = await draw(through, { mode: call }, { ...RETRY, ...settings });
		if (!('onError' in settings)) expect(answer).toMatch(/outcome is unknown|nothing of use/i);
		expect(paidCalls()).toBe(1);
	});

	test('a task that is slow is submitted once', async () => {
		bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 503 }]);
		const slow = { mode: 'wait', options: { pollInterval: 1, maxWait: 3 } };
		expect(await draw('engine', slow)).toMatch(/still open/);
		expect(bench.gateway.count('submit')).toBe(1);
	});

	test('a task that fails is submitted once', async () => {
		const answer = await draw('subNode', { ...WAIT, prompt: 'a fox [fail]' });
		expect(answer).toMatch(/ended with the status "failed"/);
		expect(bench.gateway.count('submit')).toBe(1);
	});
});

describe('Retry On Fail', () => {
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

test("n8n's Retry submits a task anew that has failed", async () => {
	const items = asItems('a fox', 'an owl [fail]');
	const failed = await bench.run('imageGeneration', { prompt: PROMPT, ...WAIT }, items);
	expect(failed.error?.description).not.toMatch(/item 1/);
	await bench.host.retry(failed);
	expect(bench.gateway.paidByPrompt).toEqual({ 'a fox': 1, 'an owl [fail]': 2 });
});

test.each([
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
	['{"id":"task_7","status":"que', RETRY, 'outcome of the request is unknown; .* the ID task_7$'],
	['{"id":"task_7', {}, 'request is unknown$'],
] as const)(
	'a Stop while the response arrives keeps the ID that has arrived: %j with %o',
	async (half, settings, words) => {
		const stop = new AbortController();
		const server = await serve((_, response) => {
			response.writeHead(200, { 'content-type': 'application/json' });
			response.write(half);
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
