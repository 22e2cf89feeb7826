/**
 * A budget of an execution: over the tries of Retry On Fail, the rounds of a loop and the calls of a
 * tool; and what is no budget.
 */
import '../fast-time.mjs';
import type {
	IDataObject,
	INodeParameters,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import { errorOf } from '../one-node.mjs';
import { opened, sharedBench } from '../opened.mjs';
import {
	byName,
	MODEL,
	NODE,
	openBench,
	reachedAgain,
	serve,
	TINY_PNG,
	workflowOf,
	type Settings,
} from '../workbench.mjs';

/** Each image of the usual model costs 0.04. */
const bench = sharedBench();

const RETRY = { retryOnFail: true, maxTries: 3, waitBetweenTries: 1 };
const GO_ON = { ...RETRY, onError: 'continueRegularOutput' } as const;
const promptOrError = (result: RunResult) =>
	result.json(NODE).map(({ prompt, error }) => error ?? prompt);

/** Edits of the items; the source of the one named "late" is there from its second request on. */
async function edit(budget: number, names: string[], settings: Settings = GO_ON) {
	let requests = 0;
	const { url } = await opened(
		serve((request, response) => {
			const isThere = request.url !== '/late.png' || ++requests > 1;
			response.writeHead(isThere ? 200 : 404, { 'content-type': 'image/png' });
			response.end(isThere ? TINY_PNG : '');
		}),
	);
	const parameters = {
		prompt: '={{ $json.name }}',
		images: `={{ "${url}/" + $json.name + ".png" }}`,
		download: false,
		options: { budget },
	};
	const items = names.map((name) => ({ name }));
	return await bench.run('imageEdit', parameters, items, settings);
}

test('an item that can only be prepared in a later try comes on top of what was paid', async () => {
	const result = await edit(0.08, ['late', 'one', 'two']);
	expect(promptOrError(result)).toEqual([
		'The estimated cost of 0.04 exceeds the remaining budget for this execution: 0 of 0.08',
		'one',
		'two',
	]);
	expect(result.json(NODE)[0]).toMatchObject({
		details: {
			description: expect.stringContaining(
				'Spent in this execution, including requests in progress: 0.08.',
			),
		},
	});
	expect(bench.gateway.paidByPrompt).toEqual({ one: 1, two: 1 });
});

test('what was refused is given back, and an unknown outcome is not', async () => {
	bench.gateway.setFaults([
		{ call: 'sync', kind: 'status', status: 400, match: 'refused', times: 1 },
		{ call: 'sync', kind: 'cutAfter', match: 'unknown', times: 1 },
	]);
	const names = ['late', 'refused', 'unknown'];
	const enough = await edit(0.12, names);
	expect(promptOrError(enough)).toEqual(['late', 'refused', expect.stringMatching(/unknown/)]);
	// Each try looks up the unknown outcome again, but only the first one has paid for it.
	expect(spentIn(enough)).toBe(0.12);
	bench.gateway.reset();
	bench.gateway.setFaults([{ call: 'sync', kind: 'cutAfter', match: 'unknown', times: 1 }]);
	const tight = await edit(0.04, ['late', 'unknown']);
	expect(promptOrError(tight)).toEqual([
		expect.stringMatching(/remaining budget for this execution: 0 of 0.04/),
		expect.stringMatching(/outcome is unknown/),
	]);
});

test('prices that are tiny add up, and a budget below their sum refuses them', async () => {
	const billing = { unit: 'image', mode: 'price', value: 3e-9 };
	const models = [{ model: MODEL, media_type: 'image', billing }];
	const own = await opened(openBench({ models }));
	for (const [budget, paid] of [
		[8e-9, 0],
		[9e-9, 3],
	] as const) {
		own.gateway.reset();
		const parameters = { prompt: 'a fox', options: { budget } };
		const result = await own.run('imageGeneration', parameters, [{}, {}, {}]);
		expect([own.gateway.paid, result.error === undefined]).toEqual([paid, paid > 0]);
	}
});

test.each([
	['0', 0],
	['in a dearer unit', 40],
	['dearer than the price', 0.07],
])('a bill counts for nothing: %s', async (_, bill) => {
	const own = await opened(openBench({ bill }));
	const parameters = { prompt: 'a fox', download: false, options: { budget: 0.08 } };
	const goOn = { onError: 'continueRegularOutput' } as const;
	const workflow = reachedAgain(workflowOf('imageGeneration', parameters, goOn), 6);
	const result = await own.host.run(workflow, { input: [{ json: {} }] });
	expect([own.gateway.paid, spentIn(result)]).toEqual([2, 0.08]);
	const [first] = result.runData[NODE]!.map(({ data }) => data?.main[0]?.[0]?.json);
	expect(first).toMatchObject({ cost: bill, estimatedCost: 0.04 });
});

test('what is sent again with the key of its payment counts once', async () => {
	const credential = { idempotencyHeader: 'Idempotency-Key' };
	const own = await opened(openBench({ credential }));
	own.gateway.setFaults([{ call: 'sync', kind: 'cutAfter', times: 7 }]);
	const parameters = { prompt: 'a fox', download: false, options: { budget: 0.04 } };
	const result = await own.run('imageGeneration', parameters, [{}], GO_ON);
	expect(promptOrError(result)).toEqual(['a fox']);
	expect([own.gateway.count('sync'), own.gateway.paid, spentIn(result)]).toEqual([8, 1, 0.04]);
});

test("n8n's Retry of a failed execution is no further try: its budget starts anew", async () => {
	const workflow = (prompt: string) =>
		workflowOf('imageGeneration', { prompt, download: false, options: { budget: 0.12 } }, RETRY);
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400, match: 'number 2.' }]);
	const input = [0, 1, 2].map((number) => ({ json: { number } }));
	const failed = await bench.host.run(workflow('=number {{ $json.number }}.'), { input });
	expect([failed.status, bench.gateway.paid]).toEqual(['error', 2]);
	const result = await bench.host.retry(failed, workflow('=number {{ $json.number }}, edited'));
	expect([result.error, bench.gateway.paid]).toEqual([undefined, 5]);
});

test('all runs of a node in one execution count together, and each execution starts at 0', async () => {
	const parameters = { prompt: '={{ $json.name }}', download: false, options: { budget: 0.08 } };
	const goOn = { onError: 'continueRegularOutput' } as const;
	const workflow = reachedAgain(workflowOf('imageGeneration', parameters, goOn), 3);
	for (const paid of [2, 4]) {
		const result = await bench.host.run(workflow, { input: [{ json: { name: 'a fox' } }] });
		const runs = result.runData[NODE]!.map(({ data }) => data?.main[0]?.[0]?.json);
		expect(runs.map((json) => json?.error ?? json?.prompt)).toEqual([
			'a fox',
			'a fox',
			'The estimated cost of 0.04 exceeds the remaining budget for this execution: 0 of 0.08',
		]);
		expect(bench.gateway.paid).toBe(paid);
	}
});

test('what was refused is given back also where a run fails', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400 }]);
	const failed = await bench.run('imageGeneration', { prompt: 'a fox', options: { budget: 1 } });
	expect([failed.status, spentIn(failed)]).toEqual(['error', 0]);
});

test('Survive Restarts: counted where it was submitted, and kept while it is suspended', async () => {
	const workflow = workflowOf('imageGeneration', {
		prompt: 'a fox',
		mode: 'wait',
		options: { budget: 0.2, surviveRestarts: true },
	});
	workflow.nodes.push({ name: 'Done', type: 'n8n-nodes-base.noOp' });
	workflow.connections[NODE] = { main: [[{ node: 'Done', type: 'main', index: 0 }]] };
	const parked = await bench.host.run(workflow, { input: [{ json: {} }, { json: {} }] });
	expect([parked.status, spentIn(parked)]).toEqual(['waiting', 0.08]);
	const done = await bench.host.resume(parked);
	expect([done.json('Done').length, spentIn(done), bench.gateway.paid]).toEqual([2, 0.08, 2]);
});

test.each(['engine', 'subNode'] as const)('a tool, %s: a call over it is refused', async (by) => {
	const parameters = { model: byName(MODEL), prompt: 'a fox', options: { budget: 0.03 } };
	const generation = 'n8n-nodes-media-gateway.imageGeneration';
	const call = bench.host.runAsTool(generation, parameters as INodeParameters, { through: by });
	const answer = await call.catch(({ message }: Error) => message);
	expect(answer).toContain('The estimated cost of 0.04 exceeds the budget of 0.03');
	expect(bench.gateway.paid).toBe(0);
});

describe('a budget that is no number', () => {
	test.each<[string, 'imageGeneration' | 'imageEdit', unknown]>([
		['a field that is not there', 'imageGeneration', '={{ $json.limit }}'],
		['null', 'imageEdit', '={{ null }}'],
		['a blank text', 'imageGeneration', '={{ "  " }}'],
		['a list', 'imageGeneration', '={{ [] }}'],
		['a word', 'imageEdit', 'much'],
		['an empty field', 'imageGeneration', ''],
		['0, as the editor adds the option', 'imageGeneration', 0],
		['a negative number', 'imageEdit', -1],
	])('%s (%s): an error before anything is sent', async (_, type, budget) => {
		const result = await bench.run(type, { prompt: 'a fox', options: { budget } });
		expect(errorOf(result)).toMatchObject({
			message: "'Budget' must be a number above 0",
			description: expect.stringMatching(/^It is .+ remove 'Budget' from the options/),
		});
		expect(bench.gateway.requests).toEqual([]);
	});

	test('a batch that exceeds it is refused as a whole, and not by its first item', async () => {
		const parameters = { prompt: 'a fox', options: { budget: 0.03 } };
		const refused = async (rows: IDataObject[]) => {
			const { error } = await bench.run('imageGeneration', parameters, rows);
			return error?.context?.itemIndex;
		};
		expect([await refused([{}, {}]), await refused([{}])]).toEqual([undefined, 0]);
	});
});

/** What the node's context says was spent. */
function spentIn({ data }: RunResult): number | undefined {
	const context = data.executionData?.contextData[`node:${NODE}`];
	return (context?.mediaGatewayBudget as { spent: number } | undefined)?.spent;
}

describe('images that another parameter than n counts', () => {
	const billing = { unit: 'image', mode: 'price', value: 0.04 };
	const numbers = [1, 2, 4];
	const COUNTED = { num_images: numbers, batchSize: numbers, max_images: [], outputs: [4] };
	const listed = async (parameters: IDataObject) =>
		await opened(
			openBench({ models: [{ model: MODEL, media_type: 'image', billing, parameters }] }),
		);
	const form = (value: IDataObject) => ({ modelParameters: { mappingMode: 'defineBelow', value } });
	const extra = (value: IDataObject) => ({ options: { extraFields: JSON.stringify(value) } });

	test.each([
		['in the form', { num_images: numbers }, form({ num_images: 4 })],
		['as text', { batchSize: numbers }, form({ batchSize: '4' })],
		['in the extra fields', { max_images: numbers }, extra({ max_images: 4 })],
		['by the model alone', { outputs: [4] }, {}],
	])('%s: counted by the budget and by a dry run', async (_, published, given) => {
		const { options = {}, ...others } = given as IDataObject;
		const own = await listed(published as IDataObject);
		const make = async (more: IDataObject) =>
			await own.run('imageGeneration', {
				prompt: 'a fox',
				...others,
				options: { ...(options as IDataObject), ...more },
			});
		const refused = await make({ budget: 0.1 });
		expect(errorOf(refused).message).toBe('The estimated cost of 0.16 exceeds the budget of 0.1');
		expect(own.gateway.paid).toBe(0);
		expect((await make({ dryRun: true })).json(NODE)).toMatchObject([{ estimatedCost: 0.16 }]);
		expect((await make({ budget: 0.16 })).error).toBeUndefined();
	});

	test.each([
		['two that may multiply', COUNTED, { n: 2, extraFields: '{ "num_images": 2 }' }],
		['one that the model does not publish', {}, { extraFields: '{ "num_images": 2 }' }],
	])('%s: the price is unknown', async (_, { outputs, ...published }: IDataObject, options) => {
		const own = await listed(published);
		const make = async (more: IDataObject) =>
			await own.run('imageGeneration', { prompt: 'a fox', options: { ...options, ...more } });
		const { message, description } = errorOf(await make({ budget: 100 }));
		expect(message).toMatch(/^'Budget' is set, but the price of the model .* is unknown$/);
		expect(description).toMatch(
			/^It isn't clear how many images the request is for: .*'num_images'/,
		);
		expect(own.gateway.paid).toBe(0);
		const [dry] = (await make({ dryRun: true })).json(NODE);
		expect(dry).toMatchObject({ estimatedCost: null });
		// The images that came have a price.
		const costs = (await make({ addSummary: true })).json(NODE).map((json) => json.estimatedCost);
		expect(new Set(costs)).toEqual(new Set([0.04]));
	});
});
