/** A budget for a run, over the tries of Retry On Fail. */
import '../fast-time.mjs';
import type { RunResult } from '../../../harness/engine/host.mjs';
import { opened } from '../opened.mjs';
import {
	NODE,
	openBench,
	serve,
	TINY_PNG,
	workflowOf,
	type Bench,
	type Settings,
} from '../workbench.mjs';

/** Each image of the usual model costs 0.04. */
let bench: Bench;
beforeAll(async () => {
	bench = await openBench();
});
beforeEach(() => bench.gateway.reset());
afterAll(async () => await bench.close());

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
		'The estimated cost of 0.04 exceeds the remaining budget for this run: 0 of 0.08',
		'one',
		'two',
	]);
	expect(result.json(NODE)[0]).toMatchObject({
		details: { description: expect.stringContaining('Spent by earlier tries: 0.08. Left: 0. ') },
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
	bench.gateway.reset();
	bench.gateway.setFaults([{ call: 'sync', kind: 'cutAfter', match: 'unknown', times: 1 }]);
	const tight = await edit(0.04, ['late', 'unknown']);
	expect(promptOrError(tight)).toEqual([
		expect.stringMatching(/remaining budget for this run: 0 of 0.04/),
		expect.stringMatching(/outcome is unknown/),
	]);
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

test('each run of a node in one execution has its own', async () => {
	const { nodes, connections } = workflowOf(
		'imageGeneration',
		{ prompt: '={{ $json.name }}', download: false, options: { budget: 0.04 } },
		RETRY,
	);
	// Two branches end in the node: n8n runs it once for each.
	const pass = ['One', 'Two'].map((name) => ({ name, type: 'n8n-nodes-base.noOp' }));
	const to = (node: string) => ({ node, type: 'main' as const, index: 0 });
	const result = await bench.host.run(
		{
			nodes: [...nodes, ...pass],
			connections: {
				...connections,
				Start: { main: [pass.map(({ name }) => to(name))] },
				...Object.fromEntries(pass.map(({ name }) => [name, { main: [[to(NODE)]] }])),
			},
		},
		{ input: [{ json: { name: 'a fox' } }] },
	);
	expect([result.error, bench.gateway.paid]).toEqual([undefined, 2]);
});
