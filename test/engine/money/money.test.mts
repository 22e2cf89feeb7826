/** What is paid for in a batch comes out, whatever becomes of the other items. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Fault } from '../../../simulator/gateway.mjs';
import { errorOf } from '../one-node.mjs';
import { sharedBench } from '../opened.mjs';
import { NODE } from '../workbench.mjs';

const bench = sharedBench();

/** Prompts that cannot be taken for one another: `match` looks for a part of the text. */
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `number ${index}.`);
const asItems = (prompts: string[]) => prompts.map((prompt) => ({ prompt }));
const PROMPT = '={{ $json.prompt }}';
const paidCalls = () => bench.gateway.count('submit') + bench.gateway.count('sync');

const refused: Fault = { call: 'sync', kind: 'status', status: 400, match: 'number 7.' };
const noImage: Fault = { call: 'download', kind: 'status', status: 404, match: 'number 7.' };
const noTask: Fault = { call: 'poll', kind: 'status', status: 403, match: 'number 7.' };
const unknown: Fault = { call: 'submit', kind: 'cutAfter', match: 'number 7.' };

describe('a batch of which one item fails', () => {
	test.each<
		[string, string, Fault, 'continueRegularOutput' | 'continueErrorOutput', number, object]
	>([
		['is refused', 'sync', refused, 'continueErrorOutput', 11, { httpCode: 400 }],
		['cannot be downloaded', 'sync', noImage, 'continueRegularOutput', 12, { url: /^http.*png$/ }],
		['cannot be asked for', 'wait', noTask, 'continueErrorOutput', 12, { taskType: 'generation' }],
		['has no response', 'submit', unknown, 'continueRegularOutput', 12, { outcome: 'unknown' }],
	])('it %s (mode %s)', async (_, mode, fault, onError, paid, facts) => {
		bench.gateway.setFaults([fault]);
		const prompts = numbered(12);
		const parameters = { prompt: PROMPT, mode, options: { pollInterval: 1 } };
		const items = asItems(prompts);
		const result = await bench.run('imageGeneration', parameters, items, { onError });
		const good = result.json(NODE).filter(({ error }) => error === undefined);
		expect(good.map(({ prompt }) => prompt)).toEqual(prompts.filter((one) => one !== 'number 7.'));
		expect(good.every(({ url, taskId }) => (url ?? taskId) !== undefined)).toBe(true);
		const [failed, ...others] =
			onError === 'continueErrorOutput' ? result.output(NODE, 1) : result.output(NODE).slice(7, 8);
		expect([others, failed!.pairedItem]).toEqual([[], { item: 7 }]);
		const details = failed!.json.details as IDataObject;
		for (const [name, value] of Object.entries(facts)) {
			expect(details[name]).toEqual(value instanceof RegExp ? expect.stringMatching(value) : value);
		}
		if (mode === 'wait') {
			expect(bench.gateway.task(String(details.taskId))).toMatchObject({ prompt: 'number 7.' });
		}
		// The row's own column, beside what the engine takes for an error.
		expect(Object.keys(failed!.json).sort()).toEqual(['details', 'error', 'prompt']);
		expect(Object.values(bench.gateway.paidByPrompt)).toEqual(Array(paid).fill(1));
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
		const { message, messages } = errorOf(result);
		expect(message).toBe('The gateway rejected the request (400): invalid request parameters');
		const line = /^Item (\d+) \("(number \d+\.)"\): generation task (\S+)$/;
		const listed = messages.flatMap((text) => [line.exec(text) ?? []]);
		expect(listed.length).toBeGreaterThan(0);
		expect(listed).toHaveLength(bench.gateway.paid);
		for (const [, row, prompt, taskId] of listed) {
			expect(prompt).toBe(`number ${Number(row) - 1}.`);
			expect(bench.gateway.task(taskId!)).toMatchObject({ prompt });
		}
		expect(result.error).toMatchObject({ context: { itemIndex: 11 } });
	});

	test.each([1, 2])('after the failure nothing is begun (Concurrency %i)', async (concurrency) => {
		bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400, match: 'number 3.' }]);
		const parameters = { prompt: PROMPT, download: false, options: { concurrency } };
		await bench.run('imageGeneration', parameters, asItems(numbered(12)));
		// Three before it, itself, and at the most what was beside it or began in the same moment.
		expect(bench.gateway.count('sync')).toBeLessThanOrEqual(concurrency === 1 ? 4 : 6);
		expect(bench.gateway.maxInFlight).toBeLessThanOrEqual(concurrency);
	});

	test.each<[IDataObject, RegExp]>([
		[{ prompt: ' ' }, /'Prompt' is empty/],
		[{ prompt: 'a fox', n: 'NaN' }, /'Number of Images' must be a whole number/],
		[{ prompt: 'a fox', extra: '[1]' }, /'Extra Fields' must be a JSON object/],
		[{ prompt: 'a fox', maxWait: 'soon' }, /'Max Wait \(Seconds\)' must be a number/],
	])('a mistake in the last item, %j: nothing is paid at all', async (last, message) => {
		const options = {
			n: '={{ $json.n }}',
			extraFields: '={{ $json.extra }}',
			maxWait: '={{ $json.maxWait }}',
		};
		const items = [...asItems(numbered(12)), last];
		const result = await bench.run('imageGeneration', { prompt: PROMPT, options }, items);
		expect(result.error?.message).toMatch(message);
		expect(result.error).toMatchObject({ context: { itemIndex: 12 } });
		expect([bench.gateway.paid, paidCalls()]).toEqual([0, 0]);
	});
});

test('Image Wait with Retry On Fail: a second try asks for what is missing', async () => {
	const ids = await bench.submit(...numbered(8));
	bench.gateway.setFaults([{ ...noTask, times: 1 }]);
	const retry = { retryOnFail: true, waitBetweenTries: 1 };
	const tasks = ids.map((taskId) => ({ taskId }));
	const result = await bench.run('imageWait', {}, tasks, retry);
	expect(result.json(NODE).map(({ taskId }) => taskId)).toEqual(ids);
	expect(bench.gateway.paid).toBe(8);
});

test('30 tasks through one Image Wait while half of all polls fail: all come back', async () => {
	const ids = await bench.submit(...numbered(30));
	bench.gateway.setFaults([
		{ call: 'poll', kind: 'latency', ms: 5 },
		{ call: 'poll', kind: 'status', status: 502, share: 0.2 },
		{ call: 'poll', kind: 'status', status: 429, share: 0.2 },
		{ call: 'poll', kind: 'cut', share: 0.2 },
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
	expect(bench.gateway.maxInFlight).toBeGreaterThan(1);
	expect(bench.gateway.maxInFlight).toBeLessThanOrEqual(10);
});
