/** Batches that survive: submitted and waited for in one node, throttled, failed as a whole. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult, WorkflowJson } from '../../../harness/engine/host.mjs';
import { opened } from '../opened.mjs';
import { errorOf } from '../one-node.mjs';
import { nextRound, suspended, survivingWorkflow, turned, turnTimeOfDay } from './rounds.mjs';
import { MODEL, NODE, openBench, type Bench, type Settings } from '../workbench.mjs';
import { until } from '../../until.mjs';

turnTimeOfDay();

let children: RunResult[] = [];
const key = { apiKey: 'sk-embedded-gateway-one', baseUrl: '' };

/** What n8n's database can't read, and how often. */
const away = { part: '', times: 0 };
function read(part: string): void {
	if (away.part === part && (away.times -= 1) >= 0) throw new Error('timeout exceeded');
}

/** The credential; undefined if it was deleted. */
let credential: Record<string, unknown> | undefined;
const credentials = {
	get mediaGatewayApi() {
		read('credentials');
		return credential!;
	},
};

let bench: Bench;
beforeAll(async () => {
	bench = await openBench({
		now: () => Date.now(),
		host: {
			credentials,
			onRead: () => read('executions'),
			onSubExecution: (child) => void children.push(child),
			onWake: (until) => void nextRound(until),
		},
	});
	key.baseUrl = bench.gateway.url;
});
beforeEach(() => {
	children = [];
	credential = key;
	away.times = 0;
	bench.gateway.reset();
	bench.gateway.setFaults([]);
});
afterAll(async () => await bench.close());

type Parameters = Record<string, unknown>;

const workflow = (
	type: 'imageGeneration' | 'imageWait',
	parameters: Parameters = {},
	settings: Settings = {},
): WorkflowJson => {
	const made = type === 'imageGeneration' ? { mode: 'wait', prompt: '={{ $json.prompt }}' } : {};
	const options = { checkLimits: false, ...(parameters.options as object) };
	return survivingWorkflow(type, { ...made, ...parameters, options }, settings);
};

const runToEnd = async (json: WorkflowJson, items: IDataObject[]): Promise<RunResult> =>
	await bench.host.resume(await suspended(bench, json, items));

const asItems = (ids: string[]): IDataObject[] => ids.map((taskId) => ({ taskId }));
const progress = () => children.filter(({ workflow: { name } }) => name?.includes('submitted'));
const keptIn = (child: RunResult | undefined): IDataObject[] =>
	(child?.runData['Submitted Image Tasks'] ?? []).flatMap((_, run) =>
		child!.json('Submitted Image Tasks', 0, run),
	);

describe('submitted and waited for in one node', () => {
	test('pays once for each item, and gives out images in order', async () => {
		const prompts = ['a fox', 'an owl [slow 90]', 'a hare'];
		const json = workflow('imageGeneration', { options: { n: 2 } });
		const result = await runToEnd(
			json,
			prompts.map((prompt) => ({ prompt })),
		);
		expect(result.status).toBe('success');
		expect(result.json('Done').map(({ prompt, index }) => [prompt, index])).toEqual(
			prompts.flatMap((prompt) => [
				[prompt, 0],
				[prompt, 1],
			]),
		);
		for (const item of result.output('Done')) {
			expect(item.json).toMatchObject({
				model: MODEL,
				taskType: 'generation',
				status: 'completed',
			});
			expect(item.binary).toHaveProperty('data');
		}
		expect(bench.gateway.count('submit')).toBe(3);
	});

	test('the summary counts what was submitted and what the checks did', async () => {
		bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 429, times: 2 }]);
		const options = { n: 2, addSummary: true, checkLimits: true };
		const goOn = { onError: 'continueRegularOutput' as const };
		const summed = await runToEnd(
			workflow('imageGeneration', { options }, goOn),
			['a fox [slow 90]', 'an owl', 'a hare [fail]'].map((prompt) => ({ prompt })),
		);
		const summaries = summed.json('Done').map(({ summary }) => summary as IDataObject | undefined);
		const { rateLimitedRequests, ...summary } = summaries[3]!;
		const made = { images: 4, tasks: 3, estimatedCost: 0.24, unpricedImages: 0 };
		const counts = { ...made, reusedItems: 0, failedItems: 1 };
		expect([...summaries.slice(0, 3), summary, ...summaries.slice(4)]).toEqual([
			...[undefined, undefined, undefined],
			counts,
			undefined,
		]);
		// A check may end while the response to one of its polls is on its way.
		expect([1, 2]).toContain(rateLimitedRequests);
	});

	test('the error of a failed task leads to the others, and not to another submit of all', async () => {
		const prompts = ['a fox [slow 90]', 'a hare [fail]'].map((prompt) => ({ prompt }));
		const { description, messages } = errorOf(await runToEnd(workflow('imageGeneration'), prompts));
		expect(description).toContain(
			'is recorded with this execution. Give the IDs to Image Wait or Image Task.',
		);
		expect(messages).toEqual([expect.stringMatching(/^Item 1 \(".+"\): generation task /)]);
	});

	test('file names are those of the template, and differ also across checks', async () => {
		const prompts = ['a fox [slow 90]', 'an owl', 'A fox '];
		const fileName = '={{ $json.prompt.slice(0, 6) }}';
		const result = await runToEnd(
			workflow('imageGeneration', { options: { fileName } }),
			prompts.map((prompt) => ({ prompt })),
		);
		const names = result.output('Done').map(({ binary }) => binary?.data?.fileName);
		expect(names).toEqual(['a fox.png', 'an owl.png', 'A fox-2.png']);
	});

	test('a failed item in the regular output has the input fields that are asked for', async () => {
		const options = { includeInputFields: true };
		const onError = 'continueRegularOutput';
		const json = workflow('imageGeneration', { options }, { onError });
		const items = ['a fox [slow 90]', 'an owl [slow 90] [fail]'].map((prompt, row) => ({
			prompt,
			row,
		}));
		const done = (await runToEnd(json, items)).json('Done');
		// Led back, an item without its prompt would be said to be not charged.
		expect(done).toMatchObject(items);
	});

	test('a failed item carries the columns of its own input item, and no other ID', async () => {
		bench.gateway.setFaults([{ call: 'submit', kind: 'status', status: 400, match: 'refused' }]);
		const prompts = ['a fox', 'refused', 'an owl [fail]', 'a hare', 'a mole [fail]', 'a cat'];
		const items = prompts.map((prompt, column) => ({ prompt, column, taskId: `mine ${column}` }));
		const onError = 'continueErrorOutput';
		const json = workflow('imageGeneration', { options: { n: 3 } }, { onError });
		const result = await runToEnd(json, items);
		expect(result.status).toBe('success');
		expect(result.json('Done').map(({ prompt }) => prompt)).toEqual(
			['a fox', 'a hare', 'a cat'].flatMap((prompt) => [prompt, prompt, prompt]),
		);
		const failed = result.json('Failed');
		expect(failed).toMatchObject([1, 2, 4].map((column) => items[column]!));
		const ids = failed.map(({ details }) => (details as IDataObject).taskId);
		expect(ids).toEqual([undefined, ...Array(2).fill(expect.stringMatching(/^task_/))]);
	});

	test('several failed images of one input item are one item, which names them all', async () => {
		const gone = { call: 'download', kind: 'status', status: 404, match: 'owl', times: 2 } as const;
		bench.gateway.setFaults([gone]);
		const onError = 'continueErrorOutput';
		const json = workflow('imageGeneration', { options: { n: 3 } }, { onError });
		const items = ['a fox', 'an owl', 'a hare'].map((prompt, column) => ({ prompt, column }));
		const result = await runToEnd(json, items);
		expect(result.json('Done')).toHaveLength(7);
		const url = expect.stringContaining('http');
		const failed = result.json('Failed');
		expect(failed).toMatchObject([{ column: 1, details: { url, more: [{ url }] } }]);

		bench.gateway.setFaults([]);
		const paid = bench.gateway.paid;
		const made = { mode: 'wait', prompt: '={{ $json.prompt }}', options: { n: 3 } };
		const { more, ...details } = failed[0]!.details as IDataObject;
		// As a table or an edit leaves it.
		const changed = { ...details, urls: null, more: [null, 'x', ...(more as IDataObject[])] };
		for (const [type, item] of [
			['imageGeneration', failed[0]!],
			['imageGeneration', { ...failed[0], details: changed }],
			['imageWait', failed[0]!],
		] as const) {
			const back = await bench.run(type, type === 'imageWait' ? {} : made, [item]);
			const wanted = { index: 0, url: details.url };
			expect(back.json(NODE)).toMatchObject([
				wanted,
				{ index: 1, url: (more as IDataObject[])[0]!.url },
			]);
		}
		expect(bench.gateway.paid).toBe(paid);
	});
});

describe('what is kept while a batch is submitted', () => {
	const prompts = Array.from({ length: 60 }, (_, index) => ({ prompt: `fox ${index}` }));
	const input = prompts.map((json) => ({ json }));
	const refusal = { call: 'submit', kind: 'status', status: 400, match: 'fox 30' } as const;

	test.each(['wait', 'submit'])(
		'are the tasks, and nothing where all goes well (%s)',
		async (mode) => {
			bench.gateway.setFaults([{ call: 'submit', kind: 'latency', ms: 10 }]);
			const json = workflow('imageGeneration', { mode });
			const result = await bench.host.run(json, { input, mode: 'trigger' });
			expect(result.status).toBe(mode === 'wait' ? 'waiting' : 'success');
			const [kept, ...others] = progress();
			expect(others).toEqual([]);
			// n8n deletes it when it succeeds, and stores each of its rounds until then.
			expect(kept!.workflow.settings).toMatchObject({
				saveExecutionProgress: true,
				saveDataSuccessExecution: 'none',
				saveDataErrorExecution: 'all',
			});
			expect(kept!.status).toBe('success');
			expect(kept!.runData['Submitted Image Tasks']!.length).toBeGreaterThan(2);
			// The editor shows the last round, which has all; each task is stored once.
			const last = kept!.runData['Submitted Image Tasks']!.length - 2;
			expect(kept!.json('Submitted Image Tasks', 0, last)).toHaveLength(60);
			expect(keptIn(kept)).toHaveLength(60);
			if (mode === 'submit')
				expect(result.json(NODE)).toEqual(expect.arrayContaining(keptIn(kept)));
		},
	);

	test.each(['error', 'stop'])(
		'stays where the run ends early (%s), and Image Wait takes it',
		async (how) => {
			const latency = { call: 'submit', kind: 'latency', ms: 10 } as const;
			bench.gateway.setFaults(how === 'error' ? [refusal, latency] : [latency]);
			const running = bench.host.start(workflow('imageGeneration'), { input, mode: 'trigger' });
			if (how === 'stop') {
				await until(() => bench.gateway.paid >= 20);
				running.stop();
			}
			const result = await running.promise;
			expect(result.status).toBe(how === 'stop' ? 'canceled' : 'error');
			await until(() => progress().length > 0);
			// What was under way arrives at the gateway.
			await until(() => bench.gateway.requests.every(({ status }) => status));
			const [kept] = progress();
			expect(kept!.status).toBe('error');
			// The last round has the error, which says that the round before it has all tasks.
			const last = kept!.runData['Submitted Image Tasks']!.length - 1;
			expect(errorOf(kept!).description).toContain('choose the run before this one');
			expect(kept!.json('Submitted Image Tasks', 0, last - 1)).toEqual(keptIn(kept));
			expect(keptIn(kept).length).toBeGreaterThanOrEqual(20);
			// What was under way at a Stop is not known here; n8n's own list has all the others.
			const paid = bench.gateway.paid;
			expect(paid - keptIn(kept).length).toBeLessThanOrEqual(how === 'stop' ? 10 : 0);
			bench.gateway.setFaults([]);
			const again = await bench.run('imageWait', { download: false }, keptIn(kept));
			expect(again.json(NODE)).toHaveLength(keptIn(kept).length);
			// After a Stop, what was under way may still arrive.
			if (how === 'error') expect(bench.gateway.paid).toBe(paid);
		},
	);

	test('a retry of the failed execution pays only for what is missing', async () => {
		bench.gateway.setFaults([refusal]);
		const json = workflow('imageGeneration', { download: false });
		const failed = await bench.host.run(json, { input, mode: 'trigger' });
		expect(failed.status).toBe('error');
		bench.gateway.setFaults([]);
		const retried = await bench.host.retry(failed);
		expect(retried.status).toBe('waiting');
		const result = await bench.host.resume(retried);
		expect(result.json('Done').map(({ prompt }) => ({ prompt }))).toEqual(prompts);
		expect(bench.gateway.paid).toBe(60);
	});
});

describe.each(['executions', 'credentials'])('in a check, n8n can read no %s', (part) => {
	/** The reads of a minute. */
	const MINUTE = 13;

	test.each([
		[MINUTE - 1, 'the images come'],
		[MINUTE, 'each task is a failed item'],
	])('%i times: %s', async (times) => {
		const ids = await bench.submit('a fox', 'an owl');
		const settings = { onError: 'continueRegularOutput' } as const;
		const waiting = await suspended(bench, workflow('imageWait', {}, settings), asItems(ids));
		Object.assign(away, { part, times });
		const result = await bench.host.resume(waiting);
		const isBack = times < MINUTE;
		expect(result.json('Done')).toMatchObject(
			ids.map((taskId) => (isBack ? { taskId, index: 0 } : { details: { taskId } })),
		);
		// In the first round.
		expect(turned.ms).toBe(60_000);
	});
});

describe('what concerns all tasks while they are waited for', () => {
	/** Waits for two tasks, and spoils the credential meanwhile. */
	async function spoilt(wrong: object | undefined, settings: Settings = {}) {
		const input = asItems(await bench.submit('a fox', 'an owl')).map((json) => ({ json }));
		const json = workflow('imageWait', {}, settings);
		const waiting = await bench.host.run(json, { input, mode: 'trigger' });
		credential = wrong && { ...key, ...wrong };
		return await bench.host.resume(waiting);
	}

	test('the error names every task, in one round', async () => {
		const result = await spoilt(undefined);
		expect(result.status).toBe('error');
		// The description counts them, and the lines below it name them.
		expect(
			errorOf(result)
				.messages.join('\n')
				.match(/task_\w+/g),
		).toHaveLength(2);
		expect(result.error).toMatchObject({ node: { name: NODE } });
	});

	test.each([
		['continueRegularOutput', 'Done', { apiKey: '<API_KEY>' }],
		['continueErrorOutput', 'Failed', { baseUrl: 'nowhere' }],
	] as const)(
		'an item for each task, where the node goes on (%s)',
		async (onError, output, wrong) => {
			const result = await spoilt(wrong, { onError });
			expect(result.status).toBe('success');
			expect(result.json(output)).toMatchObject(
				Array(2).fill({ details: { taskId: expect.stringMatching(/^task_/) } }),
			);
			expect(turned.ms).toBe(60_000);
		},
	);
});

test('a throttled gateway: every task is asked about, and every response is used', async () => {
	const { host, submit, gateway } = await opened(
		openBench({
			now: () => Date.now(),
			requestsPerSecond: 38,
			host: { onWake: (until) => void nextRound(until) },
		}),
	);
	const ids: string[] = [];
	for (let batch = 0; batch < 3; batch += 1) {
		ids.push(...(await submit(...Array.from({ length: 35 }, (_, fox) => `fox ${fox} [slow 30]`))));
		turned.ms += 2000;
	}
	const json = workflow('imageWait', { download: false, maxWait: 50 });
	const input = asItems(ids).map((one) => ({ json: one }));
	const result = await host.resume(await host.run(json, { input, mode: 'trigger' }));
	expect(result.json('Done').map(({ taskId }) => taskId)).toEqual(ids);
	// It is more than one round has time for, unless the machine is busy, and the deadlines are over in
	// the first: none is called open without having been asked about.
	expect(gateway.count('poll')).toBeLessThan(ids.length * 2);
}, 60_000);
