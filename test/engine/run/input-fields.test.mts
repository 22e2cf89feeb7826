/** Output items with the fields of the input item, and with the parameters that were sent. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { opened } from '../opened.mjs';
import { MODEL, NODE, openBench, workflowOf, type Bench, type NodeName } from '../workbench.mjs';

let bench: Bench;
beforeAll(async () => {
	bench = await opened(openBench());
});
beforeEach(() => bench.gateway.reset());

const INPUT = { sku: 'A-1', tags: ['red'], model: 'of the catalog', error: 'of another node' };
const included = { includeInputFields: true };

describe.each(['sync', 'wait', 'submit'])('%s', (mode) => {
	const run = async (options: IDataObject) =>
		await bench.run(
			'imageGeneration',
			{ prompt: 'a fox', mode, options: { pollInterval: 1, ...options } },
			[INPUT],
		);

	test("the input's fields, where they are wanted; the node's own win", async () => {
		const [item] = (await run(included)).json(NODE);
		expect(item).toMatchObject({ sku: 'A-1', tags: ['red'], model: MODEL, prompt: 'a fox' });
		expect(item).not.toHaveProperty('error');
		expect((await run({})).json(NODE)[0]).not.toHaveProperty('sku');
	});

	test('the parameters that were sent, but for what the item tells elsewhere', async () => {
		const extraFields = { size: '512x512', seed: 42, n: 1, mask: 'A'.repeat(2000) };
		const [item] = (await run({ extraFields, checkLimits: false })).json(NODE);
		expect(item?.parameters).toEqual({ size: '512x512', seed: 42 });
		expect((await run({})).json(NODE)[0]).not.toHaveProperty('parameters');
	});
});

test.each<[NodeName]>([['imageWait'], ['imageTask']])('%s hands both on', async (type) => {
	const submitted = await bench.run(
		'imageGeneration',
		{ prompt: 'a fox', mode: 'submit', options: { ...included, extraFields: { size: '512x512' } } },
		[INPUT],
	);
	const next = async (options: IDataObject) =>
		(await bench.host.run(workflowOf(type, { options }), { input: submitted.output(NODE) })).json(
			NODE,
		)[0];
	expect(await next(included)).toMatchObject({ sku: 'A-1', parameters: { size: '512x512' } });
	expect(await next({})).not.toHaveProperty('sku');
});

test('a dry run has them as well', async () => {
	const options = { ...included, dryRun: true };
	const result = await bench.run('imageGeneration', { prompt: 'a fox', options }, [INPUT]);
	expect(result.json(NODE)).toMatchObject([{ sku: 'A-1', dryRun: true }]);
});

test('what is changed in an output item is not changed in the input', async () => {
	const input = [{ json: { nested: { list: [1] } } }];
	const workflow = workflowOf('imageGeneration', { prompt: 'a fox', options: included });
	const [item] = (await bench.host.run(workflow, { input })).output(NODE);
	(item?.json.nested as { list: number[] }).list.push(2);
	expect(input[0]!.json.nested.list).toEqual([1]);
});

test('an execution that is suspended keeps the fields', async () => {
	const workflow = workflowOf('imageGeneration', {
		prompt: 'a fox',
		mode: 'wait',
		options: { ...included, surviveRestarts: true, extraFields: { size: '512x512' } },
	});
	workflow.nodes.push({ name: 'Done', type: 'n8n-nodes-base.noOp' });
	workflow.connections[NODE] = { main: [[{ node: 'Done', type: 'main', index: 0 }]] };
	const suspended = await bench.host.run(workflow, { input: [{ json: INPUT }] });
	expect(suspended.status).toBe('waiting');
	const [item] = (await bench.host.resume(suspended)).json('Done');
	expect(item).toMatchObject({ sku: 'A-1', model: MODEL, parameters: { size: '512x512' } });
});
