/** Values that an expression, a listing or a server writes in another way than usual. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
	hostFor,
	MODEL,
	NODE,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
	type NodeName,
	type OwnServer,
} from '../workbench.mjs';

const BASE64 = TINY_PNG.toString('base64');

let server: OwnServer;
let respond: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
	server = await serve((request, response) => respond(request, response));
});
afterEach(async () => await server.close());

const posts = () => server.requests.filter(({ method }) => method === 'POST');

async function run(
	type: NodeName,
	parameters: Record<string, unknown>,
	items: IDataObject[] = [{}],
	settings = {},
	credential: Record<string, unknown> = {},
) {
	const host = await hostFor({ baseUrl: server.url, ...credential });
	return await host.run(workflowOf(type, parameters, settings), {
		input: items.map((json) => ({ json })),
	});
}

describe('a choice in another case, or none', () => {
	test.each<[NodeName, string, string]>([
		['imageTask', 'Edit', 'edits'],
		['imageWait', ' GENERATION ', 'generations'],
		['imageTask', '={{ $json.nothing }}', 'generations'],
	])('%s, Task Type %j', async (type, taskType, place) => {
		respond = (_, response) =>
			sendJson(response, { status: 'completed', data: [{ url: `${server.url}/1.png` }] });
		const result = await run(type, { taskId: 't1', taskType, download: false });
		expect(result.error).toBeUndefined();
		expect(server.requests.map(({ url }) => url)).toEqual([`/v1/images/${place}/t1`]);
	});

	test('On Timeout: no open task is lost', async () => {
		respond = (_, response) => sendJson(response, { status: 'queued' });
		const items = [{ taskId: 't1' }, { taskId: 't2' }];
		const options = { onTimeout: '={{ "OUTPUT " }}' };
		const parameters = { taskId: '={{ $json.taskId }}', maxWait: 20, options };
		// An error output comes after the two that an expression may need.
		for (const onError of ['stopWorkflow', 'continueErrorOutput'] as const) {
			const result = await run('imageWait', parameters, items, { onError });
			expect(result.error).toBeUndefined();
			expect(result.json(NODE, 1)).toMatchObject(items);
		}
	});

	test.each<[Record<string, unknown>, string[]]>([
		[{ limit: '={{ "1" }}' }, ['image']],
		[{ limit: '={{ null }}' }, ['image', 'video']],
		[{ limit: '' }, ['image', 'video']],
	])('the Models node with %j', async (parameters, names) => {
		const items = ['image', 'video'].map((kind) => ({ model: kind, media_type: kind }));
		respond = (_, response) => sendJson(response, { success: true, data: { items, total: 2 } });
		const result = await run('mediaModels', parameters);
		expect(result.json(NODE).map(({ model }) => model)).toEqual(names);
	});

	test('the Models node with an empty limit lists fifty', async () => {
		const items = Array.from({ length: 60 }, (_, index) => ({ model: `m${index}` }));
		respond = (_, response) => sendJson(response, { success: true, data: { items, total: 60 } });
		const result = await run('mediaModels', { limit: '={{ null }}' });
		expect(result.json(NODE)).toHaveLength(50);
	});
});

test.each<[string, number, string, string, object]>([
	['sync', 200, '', '/v1/images/generations/task_9', { outcome: 'unknown', taskId: 'task_9' }],
	['sync', 303, '', '/v1/images/edits/task_9#now', { outcome: 'unknown', taskId: 'task_9' }],
	['submit', 202, '', '/v1/images/generations/task_9', { taskId: 'task_9' }],
	['submit', 201, '{}', 'https://a.example/v1/images/generations/a%2Fb/?x=1', { taskId: 'a/b' }],
])(
	'%s: %d, body "%s", Location: %s names the task',
	async (mode, status, body, location, facts) => {
		respond = (_, response) => void response.writeHead(status, { location }).end(body);
		const parameters = { prompt: 'a fox', mode, options: { checkLimits: false } };
		const settings = { onError: 'continueRegularOutput' };
		// With a key, a success without a body may come from something in between, and is sent again.
		for (const idempotencyHeader of ['', 'Idempotency-Key']) {
			server.requests.length = 0;
			const credential = { idempotencyHeader };
			const result = await run('imageGeneration', parameters, [{}], settings, credential);
			const [json] = result.json(NODE);
			expect(json?.details ?? json).toMatchObject(facts);
			const isAgain = idempotencyHeader !== '' && status === 200;
			expect(posts().length > 1).toBe(isAgain);
		}
	},
);

test('a key that is ignored: the task of each lost response is named', async () => {
	const task = (id: number) => JSON.stringify({ id: `task_${id}`, status: 'queued' });
	respond = (_, response) => {
		const count = posts().length;
		response.end(count > 2 ? task(count) : task(count).slice(0, -4));
	};
	const parameters = { prompt: 'a fox', mode: 'submit', options: { checkLimits: false } };
	const credential = { idempotencyHeader: 'Idempotency-Key' };
	const result = await run('imageGeneration', parameters, [{}], {}, credential);
	expect(result.json(NODE)).toMatchObject([{ taskId: 'task_3' }]);
	const hints = result.runData[NODE]![0]!.hints!.map(({ message }) => message);
	expect(hints.join()).toContain('of these: task_1, task_2.');
	expect(hints.join()).not.toContain('task_3');
});

test('a message whose content is a text is not lost', async () => {
	respond = (_, response) => sendJson(response, { content: 'a fox', stop_reason: 'end_turn' });
	const result = await run('message', { model: 'reason-large', prompt: 'what is it?' });
	const content = [{ type: 'text', text: 'a fox' }];
	expect(result.json(NODE)).toMatchObject([
		{ text: 'a fox', messages: [{ role: 'user' }, { role: 'assistant', content }] },
	]);
});

describe('a model list', () => {
	const record = {
		model: MODEL,
		media_type: 'image',
		parameters: { size: Array.from({ length: 20_000 }, (_, index) => `${index}x${index}`) },
		billing: { mode: 'price', unit: 'image', value: 1 },
		icon: `data:image/png;base64,${BASE64}`,
		note: `See data:image/png;base64,${BASE64}`,
		preview: { b64_json: BASE64 },
	};
	beforeEach(() => {
		respond = ({ method, url = '' }, response) => {
			if (method === 'POST') return sendJson(response, { data: [{ url: `${server.url}/1.png` }] });
			if (url.includes('jsonc')) return void response.end(`/* all */ ${JSON.stringify(record)}`);
			const isOne = url.includes(MODEL);
			sendJson(response, { success: true, data: isOne ? record : { items: [record], total: 1 } });
		};
	});

	test.each([
		{},
		{ operation: 'get', model: MODEL, simplify: false },
		{ simplify: false, options: { format: 'jsonc' } },
	])('is shown without images: %j', async (parameters) => {
		const result = await run('mediaModels', parameters);
		expect(result.json(NODE)).toHaveLength(1);
		expect(JSON.stringify(result.json(NODE))).toContain(MODEL);
		expect(JSON.stringify(result.json(NODE))).not.toMatch(/data:image|iVBOR.*"preview/);
	});

	test('with thousands of values is shortened in an error', async () => {
		const modelParameters = { mappingMode: 'defineBelow', value: { size: 'x'.repeat(100_000) } };
		const result = await run('imageGeneration', { prompt: 'a fox', modelParameters });
		expect(result.error?.message).toMatch(/size is "x+….*allowed: 0x0, 1x1, .*…$/);
		expect(result.error?.message.length).toBeLessThan(2000);
	});

	const UNCLEAR = /price of the model 'aurora-image-1' is unknown/;
	test.each([
		[-5, UNCLEAR],
		['', UNCLEAR],
		['={{ -3 }}', /estimated cost of 3 exceeds the budget of 2.5|is unknown/],
	])('a count of %j does not lower the estimate', async (n, message) => {
		const options = { budget: 2.5, extraFields: '={{ ({ n: $json.n }) }}' };
		const parameters = { prompt: 'a fox', options };
		const result = await run('imageGeneration', parameters, [{ n: 2 }, { n }]);
		expect(result.error?.message).toMatch(message);
		expect(posts()).toEqual([]);
	});
});

describe('the server of an image', () => {
	const large = Buffer.concat([TINY_PNG, Buffer.alloc(9000)]);

	test.each([
		[1, 'filesystem', large],
		[5, 'memory', large],
		[500, 'filesystem', large],
		[8, 'memory', Buffer.from('GIF89a..')],
	] as const)('that sends %d bytes at first, %s', async (first, binaryMode, image) => {
		respond = ({ method }, response) => {
			if (method === 'POST') return sendJson(response, { data: [{ url: `${server.url}/1` }] });
			response.writeHead(200, { 'content-type': 'application/octet-stream' });
			response.write(image.subarray(0, first));
			setTimeout(() => response.end(image.subarray(first)), 30);
		};
		const host = await hostFor({ baseUrl: server.url }, { binaryMode });
		const parameters = { prompt: 'a fox', options: { checkLimits: false } };
		const workflow = workflowOf('imageGeneration', parameters);
		const result = await host.run(workflow, { input: [{ json: {} }] });
		expect(result.error).toBeUndefined();
		expect(await host.binary(result.output(NODE)[0]!)).toEqual(image);
	});

	test('whose address has 200,000 characters', async () => {
		const long = () => `${server.url}/${'x'.repeat(200_000)}.png`;
		respond = ({ method }, response) =>
			method === 'POST'
				? sendJson(response, { data: [{ url: long() }] })
				: void response.writeHead(404).end();
		const parameters = { prompt: 'a fox', options: { checkLimits: false } };
		const result = await run('imageGeneration', parameters, [{}], {
			onError: 'continueRegularOutput',
		});
		const [json] = result.json(NODE) as [{ details: { url: string } }];
		expect(json.details.url).toContain(`${server.url}/xxx`);
		expect(JSON.stringify(json).length).toBeLessThan(10_000);
	});
});

test('an agent is given no image inside a message', async () => {
	respond = (_, response) =>
		sendJson(response, {
			content: [
				{ type: 'text', text: `![a fox](data:image/png;base64,${BASE64})` },
				{ type: 'image', source: { type: 'base64', data: BASE64.repeat(20) } },
			],
			stop_reason: 'end_turn',
		});
	const host = await hostFor({ baseUrl: server.url });
	for (const [simplify, through] of [
		[true, 'engine'],
		[false, 'subNode'],
	] as const) {
		const parameters = { model: 'reason-large', prompt: 'a fox', simplify };
		const said = await host.runAsTool('n8n-nodes-media-gateway.message', parameters as never, {
			through,
		});
		expect(said).toMatch(/image data/);
		expect(said).not.toMatch(/iVBOR/);
	}
});
