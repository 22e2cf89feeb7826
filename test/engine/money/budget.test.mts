/**
 * A budget of an execution: over the tries of Retry On Fail, the rounds of a loop and the calls of a
 * tool; and what is no budget.
 */
import '../fast-time.mjs';
import type {
	IDataObject,
	IExecuteFunctions,
	INodeParameters,
	INodeTypeDescription,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import { errorOf } from '../one-node.mjs';
import { opened, sharedBench } from '../opened.mjs';
import {
	byName,
	MODEL,
	NODE,
	openBench,
	serve,
	TINY_PNG,
	workflowOf,
	type Settings,
} from '../workbench.mjs';

/** Each image of the usual model costs 0.04. */
const bench = sharedBench();

/** An agent that calls its tool five times at once. */
const manyCalls = {
	description: {
		name: 'agent',
		displayName: 'agent',
		description: 'agent',
		group: ['transform'],
		version: [1],
		defaults: { name: 'agent' },
		inputs: ['main', 'ai_tool'],
		outputs: ['main'],
		properties: [],
	} as unknown as INodeTypeDescription,
	async execute(this: IExecuteFunctions) {
		const [tool] = (await this.getInputConnectionData('ai_tool', 0)) as [
			{ invoke(args: IDataObject): Promise<unknown> },
		];
		const call = async (): Promise<string> =>
			await tool.invoke({}).then(String, ({ message }: Error) => message);
		const answers = await Promise.all(Array.from({ length: 5 }, call));
		return [[{ json: { answers } }]];
	},
};

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
		imageSource: 'url',
		imageUrl: `={{ "${url}/" + $json.name + ".png" }}`,
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

test('it is paid for where the budget is large enough', async () => {
	const result = await edit(0.12, ['late', 'one', 'two']);
	expect(promptOrError(result)).toEqual(['late', 'one', 'two']);
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
	const models = [1e-7, 3e-9].map((value) => ({
		model: `costs ${value}`,
		media_type: 'image',
		billing: { unit: 'image', mode: 'price', value },
	}));
	const own = await opened(openBench({ models }));
	for (const [model, budget, paid] of [
		['costs 1e-7', 2e-7, 0],
		['costs 1e-7', 3e-7, 3],
		['costs 3e-9', 8e-9, 0],
		['costs 3e-9', 9e-9, 3],
	] as const) {
		own.gateway.reset();
		const parameters = { model: byName(model), prompt: 'a fox', options: { budget } };
		const result = await own.run('imageGeneration', parameters, [{}, {}, {}]);
		expect([own.gateway.paid, result.error === undefined]).toEqual([paid, paid > 0]);
	}
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
	const { nodes, connections } = workflowOf(
		'imageGeneration',
		{ prompt: '={{ $json.name }}', download: false, options: { budget: 0.08 } },
		{ onError: 'continueRegularOutput' },
	);
	// Three branches end in the node: n8n runs it once for each, as a loop does.
	const pass = ['One', 'Two', 'Three'].map((name) => ({ name, type: 'n8n-nodes-base.noOp' }));
	const to = (node: string) => ({ node, type: 'main' as const, index: 0 });
	const workflow = {
		nodes: [...nodes, ...pass],
		connections: {
			...connections,
			Start: { main: [pass.map(({ name }) => to(name))] },
			...Object.fromEntries(pass.map(({ name }) => [name, { main: [[to(NODE)]] }])),
		},
	};
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

test('what was refused before it was sent is given back also where a run fails', async () => {
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

describe('calls of a tool', () => {
	const tool = (budget: number) =>
		({ model: byName(MODEL), prompt: 'a fox', options: { budget } }) as INodeParameters;
	const GENERATION = 'n8n-nodes-media-gateway.imageGeneration';

	test('at once: what one of them is sending counts for the others', async () => {
		const own = await opened(openBench({ host: { extraNodeTypes: { 'test.agent': manyCalls } } }));
		const result = await own.host.run(
			{
				nodes: [
					{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
					{ name: 'Agent', type: 'test.agent' },
					{ name: 'Tool', type: `${GENERATION}Tool`, parameters: tool(0.08) },
				],
				connections: {
					Start: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] },
					Tool: { ai_tool: [[{ node: 'Agent', type: 'ai_tool', index: 0 }]] },
				},
			},
			{ startNode: 'Start' },
		);
		const answers = result.json('Agent')[0]?.answers as string[];
		const refused = answers.filter((answer) => /exceeds the remaining budget/.test(answer));
		expect([refused.length, own.gateway.paid]).toEqual([3, 2]);
	});

	test.each(['engine', 'subNode'] as const)('%s: a call over the budget is refused', async (by) => {
		const call = bench.host.runAsTool(GENERATION, tool(0.03), { through: by });
		const answer = await call.catch(({ message }: Error) => message);
		expect(answer).toContain('The estimated cost of 0.04 exceeds the budget of 0.03');
		expect(bench.gateway.paid).toBe(0);
	});
});

describe('a budget that is no number', () => {
	const NOTHING: Array<[string, unknown]> = [
		['an expression without a value', '={{ undefined }}'],
		['a field that is not there', '={{ $json.limit }}'],
		['null', '={{ null }}'],
		['an empty text', '={{ "" }}'],
		['a blank text', '={{ "  " }}'],
		['false', '={{ false }}'],
		['true', '={{ true }}'],
		['a list', '={{ [] }}'],
		['NaN', '={{ NaN }}'],
		['a word', 'much'],
		['an empty field', ''],
		['nothing stored', null],
		['0, as the editor adds the option', 0],
		['0 as text', '={{ "0" }}'],
		['a negative number', -1],
		['Infinity', '={{ Infinity }}'],
	];

	test.each(NOTHING)('%s: an error before anything is sent', async (_, budget) => {
		for (const type of ['imageGeneration', 'imageEdit'] as const) {
			const result = await bench.run(type, { prompt: 'a fox', options: { budget } });
			expect(errorOf(result)).toMatchObject({
				message: "'Budget' must be a number above 0",
				description: expect.stringMatching(/^It is .+ remove 'Budget' from the options/),
			});
		}
		expect(bench.gateway.requests).toEqual([]);
	});

	test('without the option there is no limit', async () => {
		const parameters = { prompt: 'a fox', download: false, options: {} };
		const result = await bench.run('imageGeneration', parameters, [{}, {}, {}]);
		expect([result.error, bench.gateway.paid]).toEqual([undefined, 3]);
	});

	test('a number as text is one', async () => {
		const result = await bench.run('imageGeneration', {
			prompt: 'a fox',
			options: { budget: '={{ "0.03" }}' },
		});
		expect(errorOf(result).message).toMatch(/exceeds the budget of 0.03/);
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

test('static data stays as it was: n8n loses it where an execution waits, and with it that of others', async () => {
	const kept = { 'node:Other': { count: 7 }, global: { seen: ['a'] } };
	for (const options of [{ budget: 1 }, { budget: 1, surviveRestarts: true }]) {
		const parameters = { prompt: 'a fox', mode: 'wait', options };
		const json = {
			...workflowOf('imageGeneration', parameters),
			staticData: structuredClone(kept) as IDataObject,
		};
		const begun = await bench.host.run(json, { mode: 'trigger' });
		const result = begun.status === 'waiting' ? await bench.host.resume(begun) : begun;
		expect([result.status, json.staticData]).toEqual(['success', kept]);
	}
});

/** What the node's context says was spent, in the gateway's own unit. */
function spentIn({ data }: RunResult): number | undefined {
	const context = data.executionData?.contextData[`node:${NODE}`];
	return (context?.mediaGatewayBudget as { spent: number } | undefined)?.spent;
}
