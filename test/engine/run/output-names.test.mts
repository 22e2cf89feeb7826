/** The output fields of docs/names.json, held against what the nodes put out. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { opened, sharedBench } from '../opened.mjs';
import {
	byName,
	hostFor,
	MODEL,
	NODE,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
	type Bench,
	type NodeName,
} from '../workbench.mjs';

type Names = Record<string, string>;
const root = join(__dirname, '..', '..', '..');
const contract = JSON.parse(readFileSync(join(root, 'docs/names.json'), 'utf8')) as {
	nodes: Record<string, Record<string, Names>>;
	'output of several nodes': Record<string, Names>;
};
const outputOf = (node: NodeName, entry = 'output') =>
	contract.nodes[`n8n-nodes-media-gateway.${node}`]![entry]!;
const shared = contract['output of several nodes'];

const bench = sharedBench();
beforeEach(() => bench.gateway.setFaults([]));

type Runs = Array<Parameters<Bench['run']>>;

/** The items of several runs, one run after another. */
async function itemsOf(runs: Runs): Promise<IDataObject[]> {
	const items: IDataObject[] = [];
	for (const run of runs) {
		const result = await bench.run(...run);
		expect(result.error).toBeUndefined();
		items.push(...result.json(NODE));
	}
	return items;
}

/** Paths and types in items, as the contract writes them. An object without declared fields is foreign. */
function namesIn(items: IDataObject[], declared: Names): Names {
	const found: Names = {};
	const visit = (value: unknown, path: string): void => {
		if (path !== '' && found[path] !== 'number') found[path] = typeOf(value);
		const hasFields = Object.keys(declared).some((name) => name.startsWith(`${path}.`));
		if (Array.isArray(value)) value.forEach((one) => visitFields(one, `${path}[].`));
		else if (path === '' || hasFields) visitFields(value, path === '' ? '' : `${path}.`);
	};
	const visitFields = (value: unknown, prefix: string): void => {
		if (typeof value !== 'object' || value === null) return;
		for (const [name, field] of Object.entries(value)) visit(field, `${prefix}${name}`);
	};
	items.forEach((item) => visit(item, ''));
	return found;
}

function typeOf(value: unknown): string {
	if (Array.isArray(value)) return 'array';
	return Number.isInteger(value) ? 'integer' : typeof value;
}

const SIZE = { prompt: 'a fox', options: { extraFields: { size: '512x512' } } };
const IMAGE = { url: '/1.png', revised_prompt: 'a red fox', size: '1x1', quality: 'high' };
/** A response that tells everything it can about an image. */
const DETAILS = {
	...{ id: 'task_1', status: 'completed', output_format: 'png', usage: { total_tokens: 7 } },
	...{ cost: 0.5, currency: 'EUR' },
	data: [IMAGE, { b64_json: TINY_PNG.toString('base64') }],
};
/** A task whose address the gateway names. */
const ADDRESS = { id: 'r1', task_id: 'task_1', status: 'queued', status_url: '/v1/tasks/task_1' };

/** The items of a node at a gateway that gives this response to everything. */
async function itemsWith(body: object, node: NodeName, parameters: object): Promise<IDataObject[]> {
	const server = await opened(
		serve(({ url }, response) => {
			if (url !== '/1.png') return sendJson(response, body);
			response.writeHead(200, { 'content-type': 'image/png' }).end(TINY_PNG);
		}),
	);
	const host = await hostFor({ baseUrl: server.url });
	const source = { images: `${server.url}/1.png` };
	const result = await host.run(workflowOf(node, { ...source, ...parameters }));
	expect(result.error).toBeUndefined();
	return result.json(NODE);
}

const BY_NAME = { model: byName(MODEL), prompt: 'a fox', options: { checkLimits: false } };
const TASK = { taskId: 'task_1', taskType: 'generation' };

test.each(['imageGeneration', 'imageEdit'] as const)('%s', async (node) => {
	const declared = outputOf(node);
	const imageUrl = `data:image/png;base64,${TINY_PNG.toString('base64')}`;
	const all = { ...SIZE, images: imageUrl };
	const items = await itemsOf(['sync', 'wait', 'submit'].map((mode) => [node, { ...all, mode }]));
	items.push(...(await itemsWith(DETAILS, node, BY_NAME)));
	items.push(...(await itemsWith(ADDRESS, node, { ...BY_NAME, mode: 'submit' })));
	expect(namesIn(items, declared)).toEqual(declared);
});

/** Items of tasks that a node has submitted. */
const submitted = async (...prompts: string[]): Promise<IDataObject[]> =>
	await itemsOf(prompts.map((prompt) => ['imageGeneration', { ...SIZE, prompt, mode: 'submit' }]));

test('Image Task', async () => {
	const declared = outputOf('imageTask');
	const tasks = await submitted('a fox', 'a mole [fail]');
	tasks[0]!.statusUrl = `/v1/images/generations/${String(tasks[0]!.taskId)}`;
	const items = await itemsOf([['imageTask', {}, tasks]]);
	items.push(...(await itemsWith(DETAILS, 'imageTask', TASK)));
	bench.gateway.setFaults([{ call: 'download', kind: 'status', status: 404, times: 1 }]);
	const two = { ...SIZE, mode: 'submit', options: { n: 2 } };
	const [task] = await itemsOf([['imageGeneration', two]]);
	const continues = { onError: 'continueRegularOutput' } as const;
	items.push(...(await itemsOf([['imageTask', {}, [task!], continues]])));
	expect(namesIn(items, declared)).toEqual(declared);
});

test('Image Wait', async () => {
	const declared = outputOf('imageWait');
	const items = await itemsOf([['imageWait', {}, await submitted('a fox')]]);
	items.push(...(await itemsWith(DETAILS, 'imageWait', TASK)));
	expect(namesIn(items, declared)).toEqual(declared);
});

test('Message', async () => {
	const declared = outputOf('message');
	const parameters = { model: 'reason-large', prompt: 'What is 17 * 3?', thinking: 'adaptive' };
	const found = namesIn(await itemsOf([['message', parameters]]), declared);
	expect(Object.keys(found)).toEqual(expect.arrayContaining(Object.keys(declared)));
	const ofTheNode = (names: Names) => Object.keys(names).filter((name) => !/[[.]/.test(name));
	expect(ofTheNode(found).sort()).toEqual(ofTheNode(declared));
});

test.each([
	['get', { operation: 'get', model: byName(MODEL) }],
	['getMany', { returnAll: true }],
])('Models, %s: a record as the gateway publishes it', async (operation, parameters) => {
	const declared = outputOf('mediaModels', `output of ${operation}`);
	const found = namesIn(await itemsOf([['mediaModels', parameters]]), declared);
	expect(Object.keys(found)).toEqual(expect.arrayContaining(Object.keys(declared)));
});

test('a failed item', async () => {
	bench.gateway.setFaults([
		{ call: 'submit', kind: 'cutAfter', match: 'hare' },
		{ call: 'submit', kind: 'status', status: 400, match: 'owl' },
		{ call: 'download', kind: 'status', status: 404, match: 'crow' },
		{ call: 'sync', kind: 'badJson', match: 'newt' },
	]);
	const continues = { onError: 'continueRegularOutput' } as const;
	const prompts = ['a hare', 'an owl', 'a crow', 'a mole [fail]'];
	// Its row is named in texts alone.
	const empty = [{ prompt: ' ' }];
	const input = prompts.map((prompt) => ({ prompt }));
	const each = { prompt: '={{ $json.prompt }}', mode: 'wait', options: { pollInterval: 1 } };
	const joined = { prompt: 'a crow', options: { oneItemPerRequest: true, n: 2 } };
	const asJson = { model: 'reason-large', prompt: 'Hello', options: { outputJson: true } };
	const items = await itemsOf([
		['imageGeneration', each, input, continues],
		['imageGeneration', joined, [{}], continues],
		['imageGeneration', { prompt: 'a newt' }, [{}], continues],
		['imageGeneration', each, empty, continues],
		['message', asJson, [{}], continues],
	]);
	const declared = shared['failed item']!;
	expect(namesIn(items, declared)).toEqual(declared);
});

test('One Item per Request', async () => {
	const declared = shared['option oneItemPerRequest']!;
	const options = { oneItemPerRequest: true, checkLimits: false, n: 2 };
	const items = await itemsWith(DETAILS, 'imageGeneration', { ...BY_NAME, options });
	bench.gateway.setFaults([{ call: 'download', kind: 'status', status: 404, times: 1 }]);
	const continues = { onError: 'continueRegularOutput' } as const;
	const parameters = { prompt: 'a fox', options };
	items.push(...(await itemsOf([['imageGeneration', parameters, [{}], continues]])));
	const own = items.map(({ urls, images }) => ({ urls, images }) as IDataObject);
	expect(namesIn(own, declared)).toEqual(declared);
});

test('Add Summary and Dry Run', async () => {
	const itemsWithOption = (name: string) =>
		itemsOf([['imageGeneration', { prompt: 'a fox', options: { [name]: true } }]]);
	const [item] = await itemsWithOption('addSummary');
	const summary = shared['option addSummary']!;
	expect(namesIn([{ summary: item!.summary }], summary)).toEqual(summary);
	const dryRun = shared['option dryRun']!;
	expect(namesIn(await itemsWithOption('dryRun'), dryRun)).toEqual(dryRun);
});
