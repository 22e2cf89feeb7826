/** Output items with the fields of the input item, and with the parameters that were sent. */
import '../fast-time.mjs';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { sharedBench } from '../opened.mjs';
import { MODEL, NODE, workflowOf, type NodeName } from '../workbench.mjs';

const root = join(__dirname, '..', '..', '..');

interface Names {
	nodes: Record<string, { output?: Record<string, string> }>;
	'output of several nodes': Record<string, Record<string, string>>;
}

const bench = sharedBench();

const INPUT = { sku: 'A-1', tags: ['red'], model: 'of the catalog', error: 'of another node' };
const left = { includeInputFields: false };

describe.each(['sync', 'wait'])('%s', (mode) => {
	const run = async (options: IDataObject) =>
		await bench.run(
			'imageGeneration',
			{ prompt: 'a fox', mode, options: { pollInterval: 1, ...options } },
			[INPUT],
		);

	test("items have the input's fields unless the option is off; the node's own fields win", async () => {
		const [item] = (await run({})).json(NODE);
		expect(item).toMatchObject({ sku: 'A-1', tags: ['red'], model: MODEL, prompt: 'a fox' });
		expect(item).not.toHaveProperty('error');
		expect((await run(left)).json(NODE)[0]).not.toHaveProperty('sku');
	});

	test('items have the parameters that were sent, except those with a field of their own', async () => {
		const extraFields = { size: '512x512', seed: 42, n: 1, mask: 'A'.repeat(2000) };
		const [item] = (await run({ extraFields, checkLimits: false })).json(NODE);
		expect(item?.parameters).toEqual({ size: '512x512', seed: 42 });
		expect((await run({})).json(NODE)[0]).not.toHaveProperty('parameters');
	});
});

test.each<[NodeName]>([['imageWait'], ['imageTask']])('%s hands both on', async (type) => {
	const submitted = await bench.run(
		'imageGeneration',
		{ prompt: 'a fox', mode: 'submit', options: { extraFields: { size: '512x512' } } },
		[INPUT],
	);
	const next = async (options: IDataObject) =>
		(await bench.host.run(workflowOf(type, { options }), { input: submitted.output(NODE) })).json(
			NODE,
		)[0];
	expect(await next({})).toMatchObject({ sku: 'A-1', parameters: { size: '512x512' } });
	expect(await next(left)).not.toHaveProperty('sku');
});

test('what an image node returns is not taken over: no fact of another request stands beside those of this one', async () => {
	const names = JSON.parse(readFileSync(join(root, 'docs', 'names.json'), 'utf8')) as Names;
	const outputs = Object.entries(names.nodes)
		.filter(([type]) => type.includes('.image'))
		.map(([, { output }]) => output);
	// All but what only the Message node returns.
	const { 'option outputJson': _json, ...shared } = names['output of several nodes'];
	const returned = [...outputs, ...Object.values(shared)].flatMap((fields) =>
		Object.keys(fields ?? {}),
	);
	const own = [...new Set(returned.filter((name) => !/[[.]/.test(name)))];
	expect(own).toEqual(
		expect.arrayContaining(['url', 'dryRun', 'finished', 'summary', 'statusGroup']),
	);
	const before = Object.fromEntries(own.map((name) => [name, 'of another request']));
	for (const [type, parameters] of [
		['imageGeneration', { prompt: 'a fox' }],
		['imageTask', {}],
		['imageWait', {}],
	] as Array<[NodeName, object]>) {
		const [taskId] = await bench.submit('a fox');
		const item = { ...before, sku: 'A-1', taskId, taskType: 'generation' };
		const options = { checkLimits: false };
		const [row] = (await bench.run(type, { ...parameters, options }, [item])).json(NODE);
		expect(row).toMatchObject({ sku: 'A-1' });
		const foreign = Object.entries(row!).filter(([, value]) => value === 'of another request');
		// The facts of the task's own request, which its item hands on.
		expect(foreign.filter(([name]) => !['model', 'prompt', 'statusUrl'].includes(name))).toEqual(
			[],
		);
	}
});

test.each([
	['imageGeneration', 'continueRegularOutput', { prompt: 'a fox [fail]', mode: 'wait' }],
	['imageTask', 'continueErrorOutput', {}],
	['imageWait', 'continueRegularOutput', {}],
] as const)('%s: a failed item has them too (%s)', async (type, onError, parameters) => {
	const options = { pollInterval: 1 };
	const item = { ...INPUT, taskId: 'nowhere', submittedAt: '2026-01-01T00:00:00Z' };
	const result = await bench.run(type, { ...parameters, options }, [item], { onError });
	// On the error output n8n itself adds them, if nothing else stands beside the error.
	const [row] = result.json(NODE, onError === 'continueErrorOutput' ? 1 : 0);
	expect(row).toMatchObject({ error: expect.any(String), sku: 'A-1', tags: ['red'], details: {} });
	expect(row!.error).not.toBe(INPUT.error);
});

test.each(['imageGeneration', 'imageWait'] as const)(
	'%s: where nobody knows whether they are wanted, a failed item has none',
	async (type) => {
		const options = { includeInputFields: '={{ "perhaps" }}' };
		const settings = { onError: 'continueRegularOutput' } as const;
		const item = { sku: 'A-1', taskId: 'task_1' };
		const result = await bench.run(type, { prompt: 'a fox', options }, [item], settings);
		const error = expect.stringContaining("'Include Input Fields'") as string;
		expect([result.error, result.json(NODE)]).toMatchObject([undefined, [{ error }]]);
		expect(result.json(NODE)[0]).not.toHaveProperty('sku');
	},
);

test('an execution that is suspended keeps the fields', async () => {
	const workflow = workflowOf('imageGeneration', {
		prompt: 'a fox',
		mode: 'wait',
		options: { surviveRestarts: true, extraFields: { size: '512x512' } },
	});
	workflow.nodes.push({ name: 'Done', type: 'n8n-nodes-base.noOp' });
	workflow.connections[NODE] = { main: [[{ node: 'Done', type: 'main', index: 0 }]] };
	const suspended = await bench.host.run(workflow, { input: [{ json: INPUT }] });
	expect(suspended.status).toBe('waiting');
	const [item] = (await bench.host.resume(suspended)).json('Done');
	expect(item).toMatchObject({ sku: 'A-1', model: MODEL, parameters: { size: '512x512' } });
});

test('an edit keeps the columns of the row, and nothing of the image that it edits', async () => {
	const P = 'n8n-nodes-media-gateway';
	const node = (name: string, type: string, parameters = {}) => {
		const { parameters: usual } = workflowOf(type as NodeName, parameters).nodes.at(-1)!;
		return { name, type: `${P}.${type}`, parameters: usual };
	};
	const workflow = workflowOf('imageGeneration', { prompt: 'a fox', mode: 'wait' });
	workflow.nodes.push(node('Edit', 'imageEdit', { prompt: 'in the rain', mode: 'sync' }));
	workflow.connections[NODE] = { main: [[{ node: 'Edit', type: 'main', index: 0 }]] };
	const ROW = { name: 'fox', charged: 'maybe', cost: 7, _files: { data: {} } };
	const [drawn, edited] = await bench.host
		.run(workflow, { input: [{ json: ROW }] })
		.then((result) => [result.json(NODE)[0]!, result.json('Edit')[0]!]);
	expect([drawn!.name, edited!.name]).toEqual(['fox', 'fox']);
	expect(drawn!.taskId).toBeDefined();
	expect(edited!.url).not.toBe(drawn!.url);
	for (const name of ['taskId', 'taskType', 'status', 'charged', 'cost', '_files']) {
		expect(edited).not.toHaveProperty(name);
	}
});

test('a failed row has its prompt, as it was to be sent, at its place among the columns', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 400, match: 'an owl' }]);
	const rows = ['a fox', 'an owl'].map((prompt, row) => ({ sku: row, prompt, price: 1 }));
	const goOn = { onError: 'continueRegularOutput' } as const;
	const prompt = '={{ $json.prompt }} at night';
	const result = await bench.run('imageGeneration', { prompt }, rows, goOn);
	bench.gateway.setFaults([]);
	const [made, failed] = result.json(NODE);
	expect(made).toMatchObject({ sku: 0, prompt: 'a fox at night', price: 1 });
	expect(Object.keys(failed!)).toEqual(['sku', 'prompt', 'price', 'error', 'details']);
	expect(failed).toMatchObject({ prompt: 'an owl at night', details: { charged: 'no' } });
});
