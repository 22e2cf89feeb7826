/** A failed item that comes back to its node, as from an error output wired into it, is paid once. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { smallNode } from '../../../harness/engine/built-in-nodes.mjs';
import type { Fault } from '../../../simulator/gateway.mjs';
import { sharedBench } from '../opened.mjs';
import { byName, MODEL, NODE, workflowOf, type Settings } from '../workbench.mjs';

const ROUNDS = 9;

/** What happens to the items on their way back, by the index of their round. */
let onWay: (items: IDataObject[], round: number) => IDataObject[] = (items) => items;

/** Hands items back to the node until it has run nine times. */
const back = smallNode('back', async function () {
	const { $runIndex } = this.getWorkflowDataProxy(0) as unknown as { $runIndex: number };
	if ($runIndex >= ROUNDS - 1) return await Promise.resolve([[]]);
	const items = this.getInputData().map(({ json }) => json);
	return [onWay(structuredClone(items), $runIndex).map((json) => ({ json }))];
});

const bench = sharedBench({ host: { extraNodeTypes: { 'test.back': back } } });
beforeEach(() => {
	onWay = (items) => items;
});

type Faults = Array<Partial<Fault>>;
const PROMPT = '={{ $json.prompt }}';
const SHORT = { pollInterval: 1, maxWait: 3 };
const paidCalls = () =>
	bench.gateway.requests.filter(({ call }) => ['sync', 'submit', 'message'].includes(call)).length;

/** Runs a node whose error output leads back into it. */
async function loop(
	parameters: object,
	faults: Faults,
	{
		type = 'imageGeneration' as const,
		prompts = ['a fox'],
		...settings
	}: Settings & {
		type?: 'imageGeneration' | 'message';
		prompts?: string[];
	} = {},
) {
	bench.gateway.setFaults(faults as Fault[]);
	const { nodes, connections } = workflowOf(
		type as never,
		{ prompt: PROMPT, ...parameters },
		{ onError: 'continueErrorOutput', ...settings },
	);
	const to = (node: string) => [{ node, type: 'main' as const, index: 0 }];
	const result = await bench.host.run(
		{
			nodes: [
				...nodes,
				{ name: 'Back', type: 'test.back' },
				{ name: 'Done', type: 'n8n-nodes-base.noOp' },
			],
			connections: {
				...connections,
				[NODE]: { main: [to('Done'), to('Back')] },
				Back: { main: [to(NODE)] },
			},
		},
		{ input: prompts.map((prompt) => ({ json: { prompt } })) },
	);
	expect(result.error).toBeUndefined();
	const runs = result.runData[NODE] ?? [];
	const failures = runs.map(({ data }) => data?.main?.[1]?.map(({ json }) => json) ?? []);
	const done = (result.runData.Done ?? []).flatMap(({ data }) => data?.main?.[0] ?? []);
	return { rounds: runs.length, failures, done };
}

const WAIT = { mode: 'wait', options: SHORT };
const WORKED = { call: 'sync', kind: 'status', status: 500, charged: true } as const;

test.each<[string, object, Faults]>([
	['did the work and answers 500', {}, [WORKED]],
	['cuts the line', {}, [{ call: 'sync', kind: 'cutAfter' }]],
	['answers 524', {}, [{ ...WORKED, status: 524 }]],
	['cuts the response', {}, [{ call: 'sync', kind: 'badJson', charged: true }]],
	['loses a submit', WAIT, [{ ...WORKED, call: 'submit' }]],
	['never finishes the task', WAIT, [{ call: 'poll', kind: 'status', status: 503 }]],
	['has no image any more', {}, [{ call: 'download', kind: 'status', status: 404 }]],
	['has no image of the task', WAIT, [{ call: 'download', kind: 'status', status: 404 }]],
	['does not know the task', WAIT, [{ call: 'poll', kind: 'status', status: 404 }]],
])('nine rounds with a gateway that %s: one paid request', async (_, parameters, faults) => {
	const { rounds, failures, done } = await loop(parameters, faults);
	expect([rounds, paidCalls(), done]).toEqual([ROUNDS, 1, []]);
	for (const [failed] of failures) {
		expect(failed?.details).toMatchObject({ model: MODEL, prompt: 'a fox' });
		expect((failed?.details as IDataObject).charged).not.toBe('no');
	}
	const [first, second] = failures.map(([failed]) => failed!.details as IDataObject);
	expect([second!.taskId, second!.outcome]).toEqual([first!.taskId, first!.outcome]);
	const last = JSON.stringify(failures.at(-1));
	if (first!.url === undefined) expect(last).toContain("remove 'details' from the item");
	expect(last.length).toBeLessThan(1.5 * JSON.stringify(failures[1]).length);
});

test.each<[string, object, Faults, number]>([
	[
		'the task that was still open',
		WAIT,
		[{ call: 'poll', kind: 'status', status: 503, times: 9 }],
		1,
	],
	[
		'the image that could not be had',
		{},
		[{ call: 'download', kind: 'status', status: 404, times: 3 }],
		1,
	],
	['what was refused', {}, [{ call: 'sync', kind: 'status', status: 400, times: 3 }], 4],
])('%s comes out in a later round', async (_, parameters, faults, requests) => {
	const { rounds, done } = await loop(parameters, faults);
	expect([paidCalls(), bench.gateway.paid, done.length]).toEqual([requests, 1, 1]);
	expect(rounds).toBeGreaterThan(1);
	expect(done[0]?.binary?.data?.mimeType).toBe('image/png');
	expect(done[0]?.json).not.toHaveProperty('details');
});

test('of equal requests whose checks are held back by the rate, each task comes out', async () => {
	// It is longer than the wait of the first round, in which the second task isn't asked about.
	const limit = { call: 'poll', kind: 'status', status: 429, retryAfter: 45, times: 1 } as const;
	const parameters = { mode: 'wait', options: { ...SHORT, concurrency: 1 } };
	const { failures, done } = await loop(parameters, [limit], { prompts: ['a fox', 'a fox'] });
	// Either is asked about first, by chance.
	const errors = failures[0]!.map(({ error }) => String(error));
	expect(errors.filter((error) => error.includes("couldn't be checked within"))).toHaveLength(1);
	expect([paidCalls(), done.length]).toEqual([2, 2]);
	expect(new Set(done.map(({ json }) => json.taskId)).size).toBe(2);
});

test('a failed task is submitted anew in each round', async () => {
	const { rounds } = await loop(WAIT, [], { prompts: ['a fox [fail]'] });
	expect([rounds, paidCalls()]).toEqual([ROUNDS, ROUNDS]);
});

test('a task that has failed since is submitted anew, so nothing is to be removed', async () => {
	const prompt = 'a fox [fail]';
	const [taskId] = await bench.submit(prompt);
	const item = { prompt, error: 'x', details: { charged: 'yes', model: MODEL, prompt, taskId } };
	const settings: Settings = { onError: 'continueRegularOutput' };
	const result = await bench.run(
		'imageGeneration',
		{ prompt: PROMPT, ...WAIT },
		[item as never],
		settings,
	);
	const [json] = result.json(NODE) as [{ details: { description: string } }];
	expect(json).toMatchObject({ details: { taskId, status: 'failed' } });
	expect(json.details.description).not.toContain('remove');
	expect(bench.gateway.paid).toBe(1);
});

test('a message is sent in each round', async () => {
	const message = { model: 'reason-large', input: 'prompt' };
	const lost = { call: 'message', kind: 'cutAfter' } as const;
	const { rounds } = await loop(message, [lost], { type: 'message' as never });
	expect([rounds, paidCalls()]).toEqual([ROUNDS, ROUNDS]);
});

test.each<[string, Parameters<typeof loop>]>([
	[
		'a failed task',
		[
			WAIT,
			[{ call: 'submit', kind: 'status', status: 400, after: 1, times: 2 }],
			{ prompts: ['a fox [fail]'] },
		],
	],
	[
		'a lost message',
		[
			{ model: 'reason-large', input: 'prompt' },
			[
				{ call: 'message', kind: 'cutAfter', times: 1 },
				{ call: 'message', kind: 'status', status: 400 },
			],
			{ type: 'message' as never },
		],
	],
])('%s that is refused when it is sent again may have been charged still', async (_, given) => {
	const { failures } = await loop(...given);
	expect([failures.flat().length, paidCalls()]).toEqual([ROUNDS, ROUNDS]);
	const [first, ...refused] = failures.map(([failed]) => failed!.details as IDataObject);
	expect(refused.slice(0, 2)).toMatchObject([{ httpCode: 400 }, { httpCode: 400 }]);
	for (const details of refused) {
		expect(details).toMatchObject({ charged: 'maybe', model: first!.model, prompt: first!.prompt });
	}
});

test('each of several images that could not be had comes back as itself', async () => {
	const { failures, done } = await loop({ options: { n: 3 } }, [
		{ call: 'download', kind: 'status', status: 404, times: 5 },
	]);
	expect([paidCalls(), failures[0]!.length, failures[1]!.length]).toEqual([1, 3, 2]);
	expect(new Set(done.map(({ json }) => json.url)).size).toBe(3);
	expect(done.map(({ json }) => json.index).sort()).toEqual([0, 1, 2]);
	expect(done).toHaveLength(3);
});

test.each([
	['in the response', {}, 'sync'],
	['of a task', WAIT, 'wait'],
])('all images %s come back in the one item of their request', async (_, parameters, mode) => {
	const options = { ...('options' in parameters ? SHORT : {}), n: 3, oneItemPerRequest: true };
	const { failures, done } = await loop({ ...parameters, mode, options }, [
		{ call: 'download', kind: 'status', status: 404, times: 3 },
	]);
	expect(failures[0]).toHaveLength(1);
	expect([paidCalls(), done.length]).toEqual([1, 1]);
	expect(Object.keys(done[0]?.binary ?? {})).toHaveLength(3);
});

test('all images of a response come out of Image Wait, from the one item that could not have them', async () => {
	const options = { n: 3, oneItemPerRequest: true };
	const { failures } = await loop({ options }, [
		{ call: 'download', kind: 'status', status: 404, times: 3 * ROUNDS },
	]);
	const { error, details } = failures[0]![0]!;
	const result = await bench.run('imageWait', {}, [{ error, details }]);
	expect(result.json(NODE).map(({ url }) => url)).toEqual((details as IDataObject).urls);
});

test('each of several images of a task comes back as itself, without a hint', async () => {
	const { failures, done } = await loop({ ...WAIT, options: { ...SHORT, n: 3 } }, [
		{ call: 'download', kind: 'status', status: 404, times: 5 },
	]);
	expect([paidCalls(), failures[0]!.length, failures[1]!.length]).toEqual([1, 3, 2]);
	expect(new Set(done.map(({ json }) => json.url)).size).toBe(3);
	expect(done.map(({ json }) => json.index).sort()).toEqual([0, 1, 2]);
});

test('what comes back is not counted in a budget', async () => {
	const budget = { ...SHORT, budget: 0.05 };
	const { failures, done } = await loop({ mode: 'wait', options: budget }, [
		{ call: 'poll', kind: 'status', status: 503, times: 12 },
	]);
	expect([paidCalls(), done.length]).toEqual([1, 1]);
	expect(JSON.stringify(failures)).not.toContain('budget');
});

const edited: Array<[string, (json: IDataObject) => IDataObject, number]> = [
	['nothing', (json) => json, 1],
	['blank space around the prompt', (json) => ({ ...json, prompt: ' a fox ' }), 1],
	['the prompt', (json) => ({ ...json, prompt: `a fox ${Math.random()}` }), 9],
	['details removed', ({ details, ...json }) => json, 9],
	[
		'charged removed',
		({ details, ...json }) => {
			const { charged, ...rest } = details as IDataObject;
			return { ...json, details: rest };
		},
		9,
	],
	[
		'charged written by hand',
		({ details, ...json }) => {
			return { ...json, details: { ...(details as IDataObject), charged: 'no' } };
		},
		9,
	],
	['the key of n8n 1', ({ details, ...json }) => ({ ...json, message: details }), 1],
	[
		'a prototype',
		({ details, ...json }) => {
			const own = JSON.stringify(details).replace('{', '{"__proto__":{"status":"failed"},');
			return { ...json, details: JSON.parse(own) as IDataObject };
		},
		1,
	],
	[
		'the model in the details',
		({ details, ...json }) => {
			return { ...json, details: { ...(details as IDataObject), model: 'plain-image' } };
		},
		9,
	],
];
test.each(edited)('edited on the way: %s', async (_, edit, requests) => {
	onWay = (items) => items.map(edit);
	await loop({}, [WORKED]);
	expect(paidCalls()).toBe(requests);
});

test.each<[string, IDataObject, number]>([
	['an ID that is no text', { taskId: { a: 1 } }, 0],
	['an ID that is a number', { taskId: 7 }, 0],
	['an ID that leads elsewhere', { taskId: '..' }, 0],
	['an ID of another account', { taskId: 'task_of_another' }, 0],
	['no more than a charge', {}, 0],
	['an address of another kind', { url: 'ftp://x/y.png' }, 0],
	['a task of an edit', { taskId: 'task_1', taskType: 'edit' }, 1],
	['a task that has failed', { taskId: 'task_1', status: 'failed' }, 1],
	['no charge', { charged: 'no', taskId: 'task_1' }, 1],
])('details written by hand with %s', async (_, given, requests) => {
	const details = { charged: 'yes', model: MODEL, prompt: 'a fox', ...given };
	const item = { prompt: 'a fox', error: 'x', details };
	const settings: Settings = { onError: 'continueRegularOutput' };
	const parameters = { prompt: PROMPT, ...WAIT };
	const result = await bench.run('imageGeneration', parameters, [item as never], settings);
	expect(result.error).toBeUndefined();
	expect(paidCalls()).toBe(requests);
	const [json] = result.json(NODE);
	const charged = expect.stringMatching(/yes|maybe/) as string;
	if (requests === 0) expect(json).toMatchObject({ details: { charged } });
	else expect(json).toMatchObject({ url: expect.any(String) as string });
});

test('an agent gets an image for each call, whatever its input says', async () => {
	const details = { charged: 'maybe', outcome: 'unknown', model: MODEL, prompt: 'a fox' };
	const parameters = { model: byName(MODEL), prompt: 'a fox', mode: 'sync' };
	const args = { error: 'x', details };
	const tool = 'n8n-nodes-media-gateway.imageGeneration';
	await bench.host.runAsTool(tool, parameters as never, { args: args as never });
	expect(paidCalls()).toBe(1);
});

test('what an item has brought is still brought after a try that ends early', async () => {
	const item = {
		prompt: 'a fox',
		error: 'The outcome is unknown: x',
		details: { charged: 'maybe', outcome: 'unknown', model: MODEL, prompt: 'a fox' },
	};
	const settings: Settings = { onError: 'continueRegularOutput' };
	const bad = { prompt: PROMPT, options: { maxWait: 'long' } };
	const [json] = (await bench.run('imageGeneration', bad, [item as never], settings)).json(NODE);
	expect(json).toMatchObject({ details: { charged: 'maybe', model: MODEL, prompt: 'a fox' } });
	expect(paidCalls()).toBe(0);
});
