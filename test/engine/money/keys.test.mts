/**
 * Under which key a request is sent, with an Idempotency Header: the same after what doesn't change the
 * payment, and another one for another image.
 */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import { sharedBench } from '../opened.mjs';
import { byName, NODE, reachedAgain, workflowOf, type Settings } from '../workbench.mjs';

const bench = sharedBench({ credential: { idempotencyHeader: 'Idempotency-Key' } });

const ROWS = ['a', 'b', 'c'];
const PARAMETERS = { prompt: '={{ $json.prompt }}', mode: 'sync', options: { checkLimits: false } };
const TRIES = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };
const LOST = { call: 'sync', kind: 'cutAfter' } as const;

const workflow = (parameters: object = {}, settings: Settings = {}) =>
	workflowOf('imageGeneration', { ...PARAMETERS, ...parameters }, settings);
const itemsOf = (prompts: string[]) => prompts.map((prompt) => ({ json: { prompt } }));
const run = async (prompts = ROWS, parameters = {}, settings: Settings = {}) =>
	await bench.host.run(workflow(parameters, settings), { input: itemsOf(prompts) });

/** The keys of the requests for a prompt, each once. */
const keysOf = (wanted: string): string[] => {
	const own = bench.gateway.requests.filter(({ body }) => (body as IDataObject)?.prompt === wanted);
	return [...new Set(own.map(({ headers }) => String(headers['idempotency-key'])))];
};

/** A run whose responses are all lost. */
async function lostRun(prompts = ROWS): Promise<RunResult> {
	bench.gateway.setFaults([LOST]);
	const failed = await run(prompts);
	bench.gateway.setFaults([]);
	return failed;
}

/** The execution as n8n has stored it after a crash: without a record, and with what a table then gives. */
function crashed({ data, ...failed }: RunResult, prompts = ROWS): RunResult {
	const stored = structuredClone(data);
	const { executionData } = stored;
	executionData!.contextData = {};
	executionData!.nodeExecutionStack[0]!.data = { main: [itemsOf(prompts)] };
	return { ...failed, data: stored };
}

type Again = (failed: RunResult) => Promise<unknown>;

const afterCrash =
	(prompts?: string[], parameters?: object, settings?: Settings): Again =>
	async (failed) =>
		await bench.host.retry(crashed(failed, prompts), workflow(parameters, settings));
const inRetry =
	(parameters?: object): Again =>
	async (failed) =>
		await bench.host.retry(failed, workflow(parameters));

/** What has changed when the request for `b` is sent again, and whether it has the same key then. */
test.each<[string, 'same' | 'another', Again]>([
	['nothing, in Retry', 'same', inRetry()],
	['nothing, after a crash', 'same', afterCrash()],
	['a crash, then Retry of the Retry', 'same', twice],
	['a row before it', 'same', afterCrash(['x', ...ROWS])],
	['the order of the rows', 'same', afterCrash([...ROWS].reverse())],
	['the row alone', 'same', afterCrash(['b'])],
	['the file name', 'same', afterCrash(ROWS, { options: { checkLimits: false, fileName: 'b' } })],
	['what is not sent', 'same', afterCrash(ROWS, { download: false })],
	['the edited prompt of another item', 'same', inRetry({ prompt: editOf('a') })],
	['its own edited prompt, back again', 'same', editedAndBack],
	['the model', 'another', afterCrash(ROWS, { model: byName('plain-image') })],
	['the size', 'another', afterCrash(ROWS, { modelParameters: { value: { size: '512x512' } } })],
	['the name of the node', 'another', renamed],
	['another execution', 'another', async () => await run()],
])('%s: %s', async (_, expected, again) => {
	const failed = await lostRun();
	const [before] = keysOf('b');
	await again(failed);
	expect(before).toMatch(/^[\da-f]{64}$/);
	expect(keysOf('b').length).toBe(expected === 'same' ? 1 : 2);
});

/** An expression that edits the prompt of one row. */
function editOf(row: string): string {
	return `={{ $json.prompt === "${row}" ? "an owl" : $json.prompt }}`;
}

async function twice(failed: RunResult): Promise<void> {
	bench.gateway.setFaults([LOST]);
	const second = await bench.host.retry(crashed(failed));
	bench.gateway.setFaults([]);
	await bench.host.retry(crashed(second));
}

async function editedAndBack(failed: RunResult): Promise<void> {
	bench.gateway.setFaults([LOST]);
	const second = await bench.host.retry(failed, workflow({ prompt: editOf('b') }));
	bench.gateway.setFaults([]);
	await bench.host.retry(second, workflow());
}

async function renamed(failed: RunResult): Promise<void> {
	const stored = crashed(failed);
	const edited = JSON.parse(JSON.stringify(workflow()).replaceAll(NODE, 'Renamed'));
	stored.data.executionData!.nodeExecutionStack[0]!.node.name = 'Renamed';
	await bench.host.retry(stored, edited);
}

test('rows that shift after a crash are charged once', async () => {
	const failed = await lostRun();
	await bench.host.retry(crashed(failed, ['x', ...ROWS]));
	expect(bench.gateway.paidByPrompt).toEqual({ a: 1, b: 1, c: 1, x: 1 });
	expect(bench.gateway.paid).toBe(4);
});

test('equal rows have a key each, the same ones after a crash and among other rows', async () => {
	const failed = await lostRun(['a', 'a', 'b', 'a']);
	const before = keysOf('a');
	expect(before).toHaveLength(3);
	await bench.host.retry(crashed(failed, ['x', 'a', 'b', 'a', 'a']));
	expect(keysOf('a')).toEqual(before);
	expect(bench.gateway.paidByPrompt).toEqual({ a: 3, b: 1, x: 1 });
});

test('of equal rows, the one that was refused gets an image of its own in a Retry', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400, times: 1 }]);
	const failed = await run(['a', 'a', 'a']);
	expect([failed.error?.message, bench.gateway.paid]).toEqual([expect.stringMatching(/400/), 2]);
	const again = await bench.host.retry(failed);
	expect(new Set(again.json(NODE).map(({ url }) => url)).size).toBe(3);
	expect([keysOf('a').length, bench.gateway.paid]).toEqual([3, 3]);
});

test('rounds of a loop and nodes have keys of their own, tries have not', async () => {
	const four = reachedAgain(workflow(), 4);
	await bench.host.run(four, { input: itemsOf(['a']) });
	expect([keysOf('a').length, bench.gateway.paid]).toEqual([4, 4]);
	bench.gateway.reset();
	const one = workflow({}, { executeOnce: true });
	const second = { ...one.nodes[1]!, name: 'Second' };
	const to = (node: string) => ({ node, type: 'main' as const, index: 0 });
	const connections = { Start: { main: [[to(NODE), to('Second')]] } };
	const two = { ...one, nodes: [...one.nodes, second], connections };
	await bench.host.run(two, { input: itemsOf(['a']) });
	expect([keysOf('a').length, bench.gateway.paid]).toEqual([2, 2]);
	bench.gateway.reset();
	bench.gateway.setFaults([{ ...LOST, times: 8 }]);
	await run(['a'], {}, TRIES);
	expect([keysOf('a').length, bench.gateway.paid]).toEqual([1, 1]);
});

test('a message that is changed before a Retry has another key', async () => {
	bench.gateway.setFaults([{ call: 'message', kind: 'cutAfter', times: 6 }]);
	const message = (prompt: string) => workflowOf('message', { model: 'reason-large', prompt });
	const failed = await bench.host.run(message('a'));
	const again = await bench.host.retry(failed, message('b'));
	expect([failed.error?.message, again.error]).toEqual([
		expect.stringMatching(/outcome is unknown/),
		undefined,
	]);
	const keys = bench.gateway.requests.map(({ headers }) => headers['idempotency-key']);
	expect([new Set(keys).size, bench.gateway.paid]).toEqual([2, 2]);
});
