/** What is paid for is paid once, and comes out: batches, On Error settings, Retry On Fail. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { sharedBench } from '../opened.mjs';
import { NODE, workflowOf } from '../workbench.mjs';

const bench = sharedBench();

const GO_ON = ['continueRegularOutput', 'continueErrorOutput'] as const;

/** Prompts that cannot be taken for one another: `match` looks for a part of the text. */
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `number ${index}.`);
const asItems = (prompts: string[]) => prompts.map((prompt) => ({ prompt }));
const PROMPT = '={{ $json.prompt }}';
const mostPaid = () => Math.max(...Object.values(bench.gateway.paidByPrompt));
const paidCalls = () => bench.gateway.count('submit') + bench.gateway.count('sync');

describe('a batch of 100, of which one fails', () => {
	const prompts = numbered(100);

	test.each(GO_ON)('refused by the gateway: %s', async (onError) => {
		bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400, match: 'number 57.' }]);
		const result = await bench.run('imageGeneration', { prompt: PROMPT }, asItems(prompts), {
			onError,
		});
		const images = result.output(NODE).filter(({ binary }) => binary !== undefined);
		expect(images.map(({ json }) => json.prompt)).toEqual(
			prompts.filter((prompt) => prompt !== 'number 57.'),
		);
		expect(bench.gateway.paid).toBe(99);
		const failed =
			onError === 'continueErrorOutput'
				? result.output(NODE, 1)
				: result.output(NODE).slice(57, 58);
		expect(failed).toHaveLength(1);
		expect(failed[0]).toMatchObject({
			json: {
				error: 'The gateway rejected the request (400): invalid request parameters',
				details: { httpCode: 400 },
			},
			pairedItem: { item: 57 },
		});
	});

	test.each(GO_ON)('a task that fails keeps its ID: %s', async (onError) => {
		const some = [...prompts];
		some[57] = 'number 57. [fail]';
		const result = await bench.run(
			'imageGeneration',
			{ prompt: PROMPT, mode: 'wait', options: { pollInterval: 1 } },
			asItems(some),
			{ onError },
		);
		const images = result.output(NODE).filter(({ binary }) => binary !== undefined);
		expect(images).toHaveLength(99);
		expect(bench.gateway.paid).toBe(100);
		const [failed] = result
			.json(NODE, onError === 'continueErrorOutput' ? 1 : 0)
			.filter(({ error }) => error);
		const details = failed!.details as IDataObject;
		expect(details).toMatchObject({ taskType: 'generation', status: 'failed' });
		expect(bench.gateway.task(String(details.taskId))).toMatchObject({ prompt: some[57] });
		// Nothing but what the engine takes for an error; on the error output it adds the input.
		const keys =
			onError === 'continueErrorOutput' ? ['details', 'error', 'prompt'] : ['details', 'error'];
		expect(Object.keys(failed!).sort()).toEqual(keys);
	});

	test.each(GO_ON)('a download that fails keeps its address: %s', async (onError) => {
		bench.gateway.setFaults([
			{ call: 'download', kind: 'status', status: 404, match: 'number 57.' },
		]);
		const result = await bench.run('imageGeneration', { prompt: PROMPT }, asItems(prompts), {
			onError,
		});
		const all = [...result.output(NODE, 0), ...result.output(NODE, 1)];
		expect(all.filter(({ binary }) => binary !== undefined)).toHaveLength(99);
		const [failed] = all.filter(({ json }) => json.error !== undefined);
		expect((failed!.json.details as IDataObject).url).toMatch(/^http.*png$/);
		expect(bench.gateway.paid).toBe(100);
	});

	test.each(GO_ON)('an unknown outcome is marked as one: %s', async (onError) => {
		bench.gateway.setFaults([{ call: 'submit', kind: 'cutAfter', match: 'number 57.' }]);
		const result = await bench.run(
			'imageGeneration',
			{ prompt: PROMPT, mode: 'submit' },
			asItems(prompts),
			{ onError },
		);
		const all = [...result.json(NODE, 0), ...result.json(NODE, 1)];
		expect(all.filter(({ taskId }) => taskId !== undefined)).toHaveLength(99);
		const [failed] = all.filter(({ error }) => error !== undefined);
		expect(failed!.details).toMatchObject({ outcome: 'unknown' });
		expect([bench.gateway.paid, mostPaid()]).toEqual([100, 1]);
	});
});

describe('Stop Workflow', () => {
	test('the error lists everything that was paid for and has not come out', async () => {
		bench.gateway.setFaults([{ call: 'submit', kind: 'status', status: 400, match: 'number 11.' }]);
		const result = await bench.run(
			'imageGeneration',
			{ prompt: PROMPT, mode: 'wait', options: { pollInterval: 1 } },
			asItems(numbered(20)),
		);
		expect(result.status).toBe('error');
		const { message, messages } = result.error as unknown as {
			message: string;
			messages: string[];
		};
		expect(message).toBe('The gateway rejected the request (400): invalid request parameters');
		const line = /^Item (\d+): generation task (\S+)$/;
		const listed = messages.flatMap((text) => [line.exec(text) ?? []]);
		expect(listed.length).toBeGreaterThan(0);
		expect(listed).toHaveLength(bench.gateway.paid);
		for (const [, index, taskId] of listed) {
			expect(bench.gateway.task(taskId!)).toMatchObject({ prompt: `number ${index}.` });
		}
		expect(result.error).toMatchObject({ context: { itemIndex: 11 } });
	});

	test('images that were paid for are listed by their addresses', async () => {
		bench.gateway.setFaults([
			{ call: 'download', kind: 'status', status: 404, match: 'number 2.' },
		]);
		const result = await bench.run('imageGeneration', { prompt: PROMPT }, asItems(numbered(3)));
		const { messages } = result.error as unknown as { messages: string[] };
		const lines = messages.filter((text) => /^Item \d: http.*png$/.test(text));
		expect(lines).toHaveLength(bench.gateway.paid);
	});

	test('nothing is begun after the first failure but what was under way', async () => {
		bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400, match: 'number 3.' }]);
		await bench.run(
			'imageGeneration',
			{ prompt: PROMPT, options: { concurrency: 2 } },
			asItems(numbered(50)),
		);
		// Three before it, itself, and at the most what was beside it or began in the same moment.
		expect(bench.gateway.count('sync')).toBeLessThanOrEqual(6);
		expect(bench.gateway.maxInFlight).toBeLessThanOrEqual(2);
	});

	test('a mistake in the parameters of the last item: nothing is paid at all', async () => {
		const prompts = asItems(numbered(50));
		const wrong: Array<[IDataObject, RegExp]> = [
			[{ prompt: ' ' }, /'Prompt' is empty/],
			[{ prompt: 'a fox', n: 0 }, /'Number of Images' must be a whole number/],
			[{ prompt: 'a fox', n: 'NaN' }, /'Number of Images' must be a whole number/],
			[{ prompt: 'a fox', extra: '[1]' }, /'Extra Fields' must be a JSON object/],
			[{ prompt: 'a fox', maxWait: 'soon' }, /'Max Wait \(Seconds\)' must be a number/],
		];
		for (const [last, message] of wrong) {
			const result = await bench.run(
				'imageGeneration',
				{
					prompt: PROMPT,
					options: {
						n: '={{ $json.n }}',
						extraFields: '={{ $json.extra }}',
						maxWait: '={{ $json.maxWait }}',
					},
				},
				[...prompts, last],
			);
			expect(result.error?.message).toMatch(message);
			expect(result.error).toMatchObject({ context: { itemIndex: 50 } });
		}
		expect([bench.gateway.paid, paidCalls()]).toEqual([0, 0]);
	});

	test('with such a mistake and On Error set to go on, the others are made', async () => {
		const result = await bench.run(
			'imageGeneration',
			{ prompt: PROMPT },
			[{ prompt: 'a fox' }, { prompt: '' }, { prompt: 'an owl' }],
			{ onError: 'continueErrorOutput' },
		);
		expect(result.json(NODE, 0).map(({ prompt }) => prompt)).toEqual(['a fox', 'an owl']);
		expect(result.json(NODE, 1)).toEqual([expect.objectContaining({ error: "'Prompt' is empty" })]);
	});
});

describe('Retry On Fail', () => {
	const RETRY = { retryOnFail: true, maxTries: 5, waitBetweenTries: 1 };
	const prompts = numbered(20);

	test.each([
		['the first', 0],
		['one in the middle', 7],
		['the last', 19],
	])('20 tasks, %s fails, five tries: 20 payments', async (_, index) => {
		const some = [...prompts];
		some[index] += ' [fail]';
		for (const onError of [undefined, ...GO_ON]) {
			bench.gateway.reset();
			const result = await bench.run(
				'imageGeneration',
				{ prompt: PROMPT, mode: 'wait', options: { pollInterval: 1 } },
				asItems(some),
				{ ...RETRY, onError },
			);
			expect([bench.gateway.paid, mostPaid(), bench.gateway.count('submit')]).toEqual([20, 1, 20]);
			if (onError === undefined)
				expect(result.error?.message).toMatch(/ended with the status "failed"/);
			else expect(result.output(NODE).filter(({ binary }) => binary)).toHaveLength(19);
		}
	});

	test('what was never accepted is sent again, and only that', async () => {
		bench.gateway.setFaults([
			{ call: 'sync', kind: 'status', status: 400, match: 'number 7.', times: 3 },
		]);
		const result = await bench.run('imageGeneration', { prompt: PROMPT }, asItems(prompts), RETRY);
		expect(result.error).toBeUndefined();
		expect(result.output(NODE).map(({ json }) => json.prompt)).toEqual(prompts);
		expect([bench.gateway.paid, mostPaid(), bench.gateway.count('sync')]).toEqual([20, 1, 23]);
	});

	test('a download that fails at first costs nothing more', async () => {
		bench.gateway.setFaults([
			{ call: 'download', kind: 'status', status: 403, match: 'number 7.', times: 2 },
		]);
		const result = await bench.run('imageGeneration', { prompt: PROMPT }, asItems(prompts), RETRY);
		expect(result.output(NODE).filter(({ binary }) => binary)).toHaveLength(20);
		expect([bench.gateway.paid, bench.gateway.count('sync')]).toEqual([20, 20]);
	});

	test.each(['sync', 'submit', 'wait'] as const)(
		'an unknown outcome is left alone: %s',
		async (mode) => {
			const call = mode === 'sync' ? 'sync' : 'submit';
			for (const onError of [undefined, ...GO_ON]) {
				bench.gateway.reset();
				bench.gateway.setFaults([{ call, kind: 'cutAfter', match: 'number 0.', times: 1 }]);
				const result = await bench.run(
					'imageGeneration',
					{ prompt: PROMPT, mode, options: { pollInterval: 1 } },
					asItems(prompts),
					{ ...RETRY, onError },
				);
				expect([bench.gateway.paid, mostPaid()]).toEqual([20, 1]);
				expect(bench.gateway.count(call)).toBe(20);
				const message =
					result.error?.message ??
					[...result.json(NODE, 0), ...result.json(NODE, 1)].find(({ error }) => error)?.error;
				expect(message).toMatch(/^The outcome is unknown/);
			}
		},
	);

	test('Image Wait: a second try asks for what is missing', async () => {
		const ids = await bench.submit(...prompts);
		bench.gateway.setFaults([
			{ call: 'poll', kind: 'status', status: 403, match: 'number 7.', times: 1 },
		]);
		const result = await bench.run(
			'imageWait',
			{},
			ids.map((taskId) => ({ taskId })),
			RETRY,
		);
		expect(result.json(NODE).map(({ taskId }) => taskId)).toEqual(ids);
		expect(bench.gateway.paid).toBe(20);
	});

	test.each([undefined, ...GO_ON])(
		'two runs of one node are not confused (%s)',
		async (onError) => {
			// The node is reached twice: its second run has the same items and must pay for itself.
			const workflow = workflowOf(
				'imageGeneration',
				{ prompt: PROMPT, mode: 'wait', options: { pollInterval: 1 } },
				{ ...RETRY, onError },
			);
			const to = (node: string) => ({ node, type: 'main' as const, index: 0 });
			workflow.nodes.push({ name: 'Again', type: 'n8n-nodes-base.noOp' });
			workflow.connections.Start = { main: [[to(NODE), to('Again')]] };
			workflow.connections.Again = { main: [[to(NODE)]] };
			// An item that fails at the end leaves the notes of the first run behind.
			const some = onError === undefined ? ['a fox', 'an owl'] : ['a fox', 'an owl [fail]'];
			const result = await bench.host.run(workflow, {
				input: asItems(some).map((json) => ({ json })),
			});
			expect(result.runData[NODE]).toHaveLength(2);
			expect(bench.gateway.paidByPrompt).toEqual({ [some[0]!]: 2, [some[1]!]: 2 });
			const ids = [0, 1].map((run) => result.json(NODE, 0, run)[0]!.taskId);
			expect(ids[0]).toEqual(expect.any(String));
			expect(new Set(ids).size).toBe(2);
		},
	);
});

test('100 tasks through one Image Wait while a fifth of all polls fail: all come back', async () => {
	const ids = await bench.submit(...numbered(100));
	bench.gateway.setFaults([
		{ call: 'poll', kind: 'latency', ms: 5 },
		{ call: 'poll', kind: 'status', status: 502, share: 0.07 },
		{ call: 'poll', kind: 'status', status: 429, share: 0.07 },
		{ call: 'poll', kind: 'cut', share: 0.07 },
	]);
	const items = ids.map((taskId) => ({ taskId }));
	const result = await bench.run('imageWait', { pollInterval: 1 }, items);
	expect(result.error).toBeUndefined();
	expect(result.json(NODE).map(({ taskId }) => taskId)).toEqual(ids);
	expect(result.output(NODE).every(({ binary }) => binary?.data?.mimeType === 'image/png')).toBe(
		true,
	);
	const polls = bench.gateway.requests.filter(({ call }) => call === 'poll');
	expect(new Set(polls.map(({ status }) => status))).toEqual(new Set([200, 502, 429, undefined]));
	expect(bench.gateway.maxInFlight).toBeGreaterThan(5);
	expect(bench.gateway.maxInFlight).toBeLessThanOrEqual(10);
});
