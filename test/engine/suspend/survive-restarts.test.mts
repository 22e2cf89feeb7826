/** Image Wait that survives restarts, and its second output: through suspensions, errors and deadlines. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { HostOptions, RunResult, WorkflowJson } from '../../../harness/engine/host.mjs';
import { errorOf } from '../one-node.mjs';
import { nextRound, survivingWorkflow, turned, turnTimeOfDay } from './rounds.mjs';
import { opened } from '../opened.mjs';
import {
	hostFor,
	NODE,
	openBench,
	sendJson,
	serve,
	workflowOf,
	type Bench,
	type Settings,
} from '../workbench.mjs';

turnTimeOfDay();

/** For how long the executions were suspended, in milliseconds. */
let wakes: number[] = [];
beforeEach(() => {
	wakes = [];
});

const onWake = (until: Date): void => {
	const pauseMs = nextRound(until);
	if (pauseMs !== undefined) wakes.push(pauseMs);
};

const open: Bench[] = [];
async function openSuspending(host: HostOptions = {}): Promise<Bench> {
	const bench = await openBench({ now: () => Date.now(), host: { onWake, ...host } });
	open.push(bench);
	return bench;
}
afterAll(async () => {
	await Promise.all(open.map(async (bench) => await bench.close()));
});

type Parameters = Record<string, unknown>;

const workflow = (parameters: Parameters, settings: Settings = {}): WorkflowJson =>
	survivingWorkflow('imageWait', parameters, settings);

/** What an error lists of what was paid for. */
/** Runs to the end, over as many suspensions as it takes. */
async function runToEnd(
	bench: Bench,
	json: WorkflowJson,
	items: IDataObject[],
	mode: 'manual' | 'trigger' = 'trigger',
): Promise<RunResult & { waiting: RunResult }> {
	const input = items.map((one) => ({ json: one }));
	const waiting = await bench.host.run(json, { input, mode });
	expect(waiting.error).toBeUndefined();
	expect(waiting.status).toBe('waiting');
	// Nothing has come out so far.
	expect(waiting.output('Done')).toEqual([]);
	return { ...(await bench.host.resume(waiting)), waiting };
}

const polls = ({ gateway }: Bench) => gateway.count('poll');

test.each([
	['memory', 'manual'],
	['filesystem', 'trigger'],
] as const)(
	'suspended, with binary data in %s: images, facts and pairs come out in order (%s)',
	async (binaryMode, mode) => {
		const bench = await openSuspending({ binaryMode });
		const prompts = ['a fox [slow 200]', 'an owl', 'a hare [slow 70]'];
		const ids = await bench.submit(...prompts);
		const items = ids.map((taskId, index) => ({
			...{ taskId, model: `model ${index}`, prompt: prompts[index] },
			field: `picture${index}`,
		}));
		// Expressions are evaluated before the suspension: inside there is nothing to evaluate them on.
		const json = workflow({ maxWait: 900, options: { binaryPropertyName: '={{ $json.field }}' } });
		const { waiting, ...result } = await runToEnd(bench, json, items, mode);
		expect(result.status).toBe('success');
		const output = result.output('Done');
		expect(output.map(({ json: { created: _, ...facts } }) => facts)).toEqual(
			items.map((facts) => ({
				...facts,
				url: expect.stringMatching(/^http.*\.png$/),
				index: 0,
				taskType: 'generation',
				status: 'completed',
			})),
		);
		expect(result.output(NODE).map(({ pairedItem }) => pairedItem)).toEqual(
			ids.map((_, item) => ({ item })),
		);
		for (const [index, item] of output.entries()) {
			expect(Object.keys(item.binary ?? {})).toEqual([`picture${index}`]);
			const bytes = await bench.host.binary(item, `picture${index}`);
			const served = await fetch(String(item.json.url));
			expect(bytes.equals(Buffer.from(await served.arrayBuffer()))).toBe(true);
		}
		// Each picture was fetched once by the node, however often it woke up, and once here.
		expect(bench.gateway.count('download')).toBe(6);
		expect(bench.gateway.paid).toBe(3);
		// On a busy machine a poll takes long on the fast clock, and one more pause is needed.
		expect([4, 5]).toContain(wakes.length);
		// The stored execution does not hold the key.
		for (const { data } of [waiting, result]) {
			expect(JSON.stringify(data)).not.toContain('sk-embedded');
		}
	},
);

describe('suspended', () => {
	let bench: Bench;
	beforeAll(async () => {
		bench = await openSuspending();
	});
	beforeEach(() => bench.gateway.reset());

	test('tasks are checked about once a minute', async () => {
		const ids = await bench.submit('a fox [slow 310]', 'an owl [slow 310]');
		const items = ids.map((taskId) => ({ taskId }));
		await runToEnd(bench, workflow({ maxWait: 3600, download: false }), items);
		expect(wakes).toHaveLength(6);
		// As early as n8n allows: what is due so soon is taken up at its next round.
		for (const pause of wakes) expect(pause).toBeLessThan(10_000);
		// One for each task in each round.
		expect(polls(bench)).toBe(wakes.length * 2);
	});

	test('a task that is not there in time is an error that names it', async () => {
		const ids = await bench.submit('a fox [slow 9999]', 'an owl');
		const items = ids.map((taskId) => ({ taskId }));
		const result = await runToEnd(bench, workflow({ maxWait: 200, download: false }), items);
		const { message, description } = errorOf(result);
		// The time that the user chose, not that of the last suspension.
		expect(`${message} ${description}`).toContain(
			`The generation task ${ids[0]} was still open after 200 s`,
		);
		expect(result.output('Done')).toEqual([]);
		// It was asked about once more after its deadline, at the next round of n8n.
		expect(turned.ms).toBe(240_000);
		expect(polls(bench)).toBe(5);
	});

	test('the good ones come out where the node goes on', async () => {
		const ids = await bench.submit(
			...['a fox [slow 90]', 'an owl [fail] [slow 20]', 'a hare [slow 9999]', 'a mole'],
		);
		const json = workflow({ maxWait: 150, download: false }, { onError: 'continueErrorOutput' });
		const items = ids.map((taskId) => ({ taskId }));
		const result = await runToEnd(bench, json, items);
		expect(result.status).toBe('success');
		expect(result.json('Done').map(({ taskId }) => taskId)).toEqual([ids[0], ids[3]]);
		expect(result.json('Failed')).toMatchObject([
			{ error: expect.stringMatching(/"failed"/), details: { taskId: ids[1] } },
			{ error: expect.stringMatching(/still open after 150 s/), details: { taskId: ids[2] } },
		]);
	});

	test('a paid image that is gone is in what the error lists, as data and as lines', async () => {
		const ids = await bench.submit('a fox [slow 80]', 'an owl [slow 9999]');
		bench.gateway.setFaults([{ call: 'download', kind: 'status', status: 404 }]);
		const items = ids.map((taskId) => ({ taskId }));
		const result = await runToEnd(bench, workflow({ maxWait: 3600 }), items);
		const { messages, details } = errorOf(result);
		expect(messages).toEqual(ids.map((id, item) => `Item ${item + 1}: generation task ${id}`));
		const paid = ids.map((taskId, item) => ({ item, taskId, taskType: 'generation' }));
		expect(details).toMatchObject({ charged: 'yes', taskId: ids[0], paid });
		expect(details).not.toHaveProperty('messages');
	});

	test('the error names also what had finished before the others were suspended', async () => {
		const ids = await bench.submit('a fox', 'an owl [fail] [slow 80]');
		const parameters = { maxWait: 3600, download: false };
		const items = ids.map((taskId) => ({ taskId }));
		const result = await runToEnd(bench, workflow(parameters), items);
		expect(result.status).toBe('error');
		const { message, messages } = errorOf(result);
		for (const id of ids) expect([message, ...messages].join()).toContain(id);
	});

	test('an item whose task cannot be read fails for itself, and the others keep their places', async () => {
		const [taskId] = await bench.submit('a fox [slow 90]');
		const items = [{}, { taskId: taskId! }, { taskId: '' }];
		const goOn = { onError: 'continueRegularOutput' as const };
		const result = await runToEnd(bench, workflow({ download: false }, goOn), items);
		expect(result.json('Done').map(({ taskId: id, error }) => id ?? error)).toEqual([
			expect.stringContaining("'Task ID' is empty"),
			taskId,
			expect.stringContaining("'Task ID' is empty"),
		]);
	});

	test('a task that is open at its deadline goes to the second output, as an item for Image Wait', async () => {
		const ids = await bench.submit('a fox [slow 9999]', 'an owl', 'a hare [slow 9999]');
		const items = [1, 1, 100].map((wait, index) => ({
			taskId: ids[index]!,
			wait,
			prompt: 'a fox',
		}));
		const options = { onTimeout: 'output' };
		const parameters = { maxWait: '={{ $json.wait }}', download: false, options };
		const result = await runToEnd(bench, workflow(parameters), items);
		expect(result.json('Done')).toMatchObject([{ taskId: ids[1], status: 'completed' }]);
		const open = { taskType: 'generation', statusGroup: 'waiting', prompt: 'a fox' };
		expect(result.json('Failed')).toMatchObject([
			{ taskId: ids[0], ...open },
			{ taskId: ids[2], ...open },
		]);
		expect(polls(bench)).toBe(4);
		// n8n would link them to a second input of the node, and an expression find nothing there.
		const sourceOverwrite = { previousNode: expect.stringContaining('no link') };
		expect(result.output(NODE, 1).map(({ pairedItem }) => pairedItem)).toMatchObject([
			{ sourceOverwrite },
			{ sourceOverwrite },
		]);
	});

	test('a second output beside an error output is refused', async () => {
		const [taskId] = await bench.submit('a fox');
		const parameters = { options: { surviveRestarts: true, onTimeout: 'output' } };
		const result = await bench.run('imageWait', parameters, [{ taskId: taskId! }], {
			onError: 'continueErrorOutput',
		});
		expect(JSON.stringify(result.runData)).toContain(
			"can't be combined with both a second output and an error output",
		);
	});
});

test('a task that a check finds to be lost is not among those that can still be had', async () => {
	const server = await opened(
		serve(({ url = '' }, response) => {
			if (!url.endsWith('lost')) return sendJson(response, { status: 'running' });
			sendJson(response, { error: { message: 'no such task' } }, 404);
		}),
	);
	const host = await hostFor({ baseUrl: server.url }, { onWake });
	const known = { taskType: 'generation', submittedAt: '2026-01-01T00:00:00Z' };
	const input = ['lost', 'open'].map((taskId) => ({ json: { taskId, ...known } }));
	const waiting = await host.run(workflow({ maxWait: 900 }), { input, mode: 'trigger' });
	const { message, messages } = errorOf(await host.resume(waiting));
	expect([message, messages]).toEqual([
		'The gateway has no generation task lost (404)',
		['Item 2: generation task open'],
	]);
});

describe('without Survive Restarts, what is still open leaves by the second output', () => {
	let bench: Bench;
	beforeAll(async () => {
		bench = await openSuspending();
	});

	test('and is fed back into the node until all are there, beside what has failed', async () => {
		const prompts = ['a fox [slow 100]', 'an owl [fail]', 'a hare [slow 250]'];
		const ids = await bench.submit(...prompts);
		const parameters = { maxWait: 10, options: { onTimeout: 'output' } };
		const json = workflowOf('imageWait', parameters, { onError: 'continueRegularOutput' });
		json.nodes.push({ name: 'Done', type: 'n8n-nodes-base.noOp' });
		const to = (node: string) => [{ node, type: 'main' as const, index: 0 }];
		json.connections[NODE] = { main: [to('Done'), to(NODE)] };
		const result = await bench.host.run(json, {
			input: ids.map((taskId, index) => ({ json: { taskId, prompt: prompts[index] } })),
			// A minute goes by for the gateway with each round.
			onProgress: ({ type, node }) => {
				if (type === 'nodeFinished' && node === NODE) turned.ms += 60_000;
			},
		});
		expect(result.status).toBe('success');
		expect(result.runData[NODE]).toHaveLength(6);
		const doneIn = [0, 1, 2, 3, 4, 5].map((run) => result.json(NODE, 0, run));
		expect(doneIn).toMatchObject([
			[{ details: { taskId: ids[1] } }],
			[],
			[{ taskId: ids[0] }],
			[],
			[],
			// What is known of a task goes round with it.
			[{ taskId: ids[2], prompt: prompts[2] }],
		]);
		const open = { taskType: 'generation', status: 'queued', statusGroup: 'waiting' };
		expect(result.output(NODE, 1)).toMatchObject([
			{ json: { taskId: ids[0], prompt: prompts[0], ...open }, pairedItem: { item: 0 } },
			{ json: { taskId: ids[2], prompt: prompts[2], ...open }, pairedItem: { item: 2 } },
		]);
		expect(result.json(NODE, 1)[0]).not.toHaveProperty('error');
		expect(result.output(NODE, 0, 5)[0]!.binary).toHaveProperty('data');
		expect([bench.gateway.paid, bench.gateway.count('submit')]).toEqual([3, 3]);
	});
});
