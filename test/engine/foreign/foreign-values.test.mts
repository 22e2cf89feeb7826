/** Values that an expression, a listing or a server writes in another way than usual. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { IncomingMessage, ServerResponse } from 'node:http';
import { filesNode, runChain } from '../one-node.mjs';
import {
	byName,
	everythingIn,
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
) {
	const host = await hostFor({ baseUrl: server.url });
	return await host.run(workflowOf(type, parameters, settings), {
		input: items.map((json) => ({ json })),
	});
}

describe('a choice in another case, or none', () => {
	test.each([
		['Edit', 'edits'],
		[' GENERATION ', 'generations'],
		['={{ "Edit" }}', 'edits'],
		['={{ null }}', 'generations'],
		['={{ $json.nothing }}', 'generations'],
	])('Task Type %j', async (taskType, place) => {
		respond = (_, response) =>
			sendJson(response, { status: 'completed', data: [{ url: `${server.url}/1.png` }] });
		for (const type of ['imageTask', 'imageWait'] as const) {
			const result = await run(type, { taskId: 't1', taskType, download: false });
			expect(result.error).toBeUndefined();
			expect(server.requests.at(-1)?.url).toBe(`/v1/images/${place}/t1`);
		}
	});

	test('a Task Type that is none is refused', async () => {
		respond = (_, response) => response.end();
		const result = await run('imageWait', { taskId: 't1', taskType: 'video' });
		expect(result.error?.message).toMatch(/'Task Type' must be one of auto, generation, edit/);
		expect(server.requests).toEqual([]);
	});

	test.each(['Output', '={{ "OUTPUT " }}', 'output'])(
		'On Timeout %j: no open task is lost',
		async (onTimeout) => {
			respond = (_, response) => sendJson(response, { status: 'queued' });
			const items = [{ taskId: 't1' }, { taskId: 't2' }];
			const parameters = {
				taskId: '={{ $json.taskId }}',
				maxWait: 20,
				options: { onTimeout },
			};
			const result = await run('imageWait', parameters, items);
			expect(result.error).toBeUndefined();
			expect(result.json(NODE, 1)).toMatchObject(items);
		},
	);

	test('Image Source', async () => {
		respond = ({ url }, response) =>
			url === '/v1/images/edits'
				? sendJson(response, { data: [{ url: `${server.url}/1.png` }] })
				: void response.end(TINY_PNG);
		const parameters = {
			prompt: 'at night',
			imageSource: '={{ "URL" }}',
			imageUrl: `${server.url}/photo.png`,
			options: { checkLimits: false },
		};
		expect((await run('imageEdit', parameters)).error).toBeUndefined();
		const wrong = await run('imageEdit', { ...parameters, imageSource: '={{ "clipboard" }}' });
		expect(wrong.error?.message).toMatch(/'Image Source' must be one of binary, url/);
		expect(posts()).toHaveLength(1);
	});
});

describe('the Models node', () => {
	const names = ['image', 'video'];
	beforeEach(() => {
		const items = names.map((media_type) => ({ model: media_type, media_type }));
		respond = (_, response) => sendJson(response, { success: true, data: { items, total: 2 } });
	});

	test.each(['Image', ' IMAGE ', '={{ "Image" }}'])('Media Type %j', async (mediaType) => {
		const result = await run('mediaModels', { filters: { mediaType } });
		expect(result.json(NODE).map(({ model }) => model)).toEqual(['image']);
	});

	test.each([1, '1', '={{ "1" }}'])('Limit %j', async (limit) => {
		expect((await run('mediaModels', { limit })).json(NODE)).toHaveLength(1);
	});

	test.each(['={{ null }}', '={{ undefined }}', ''])('no limit set: %j', async (limit) => {
		expect((await run('mediaModels', { limit })).json(NODE)).toHaveLength(2);
	});

	test.each(['many', '={{ "all" }}', 0, -1, '={{ ({}) }}'])('no Limit: %j', async (limit) => {
		const result = await run('mediaModels', { limit });
		expect(result.error?.message).toMatch(/'Limit' must be a whole number/);
		expect(server.requests).toEqual([]);
	});
});

describe('the address of a task that was made', () => {
	test.each<[number, string, string]>([
		[200, '/v1/images/generations/task_9', 'task_9'],
		[303, '/v1/images/edits/task_9#now', 'task_9'],
		[302, '/v1/images/generations/task_9', 'task_9'],
	])('%d with Location: %s', async (status, location, taskId) => {
		respond = (_, response) => void response.writeHead(status, { location }).end();
		const result = await run(
			'imageGeneration',
			{ prompt: 'a fox', options: { checkLimits: false } },
			[{}],
			{
				onError: 'continueRegularOutput',
			},
		);
		expect(result.json(NODE)).toMatchObject([{ details: { outcome: 'unknown', taskId } }]);
		expect(posts()).toHaveLength(1);
	});

	test.each<[number, string, string, string?]>([
		[202, '/v1/images/generations/task_9', 'task_9'],
		[201, 'https://gateway.example/v1/images/generations/a%2Fb/?x=1', 'a/b'],
		[202, '/v1/images/generations/task_9', 'task_9', '{"status":"accepted"}'],
		[201, '/v1/images/generations/task_9', 'task_9', '{}'],
	])('of an accepted task, %d with Location: %s', async (status, location, taskId, body = '') => {
		respond = (_, response) => void response.writeHead(status, { location }).end(body);
		const parameters = { prompt: 'a fox', mode: 'submit', options: { checkLimits: false } };
		const result = await run('imageGeneration', parameters);
		expect(result.json(NODE)).toMatchObject([{ taskId, taskType: 'generation' }]);
		expect(posts()).toHaveLength(1);
	});
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
		{ operation: 'get', model: MODEL },
		{ simplify: false, options: { format: 'jsonc' } },
		{ operation: 'get', model: MODEL, simplify: false, options: { format: 'jsonc' } },
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

	test.each([-5, '-5', '', 0, null, '={{ -3 }}'])(
		'a count of %j does not lower the estimate',
		async (n) => {
			const result = await run(
				'imageGeneration',
				{
					prompt: 'a fox',
					options: {
						budget: 2.5,
						extraFields: '={{ ({ n: $json.n }) }}',
					},
				},
				[{ n: 2 }, { n: n as number }],
			);
			expect(result.error?.message).toMatch(/estimated cost of 3 exceeds the budget of 2.5/);
			expect(posts()).toEqual([]);
		},
	);

	test('with a price below 0 does not lower the estimate', async () => {
		respond = ({ method }, response) => {
			if (method === 'POST') {
				response.end();
				return;
			}
			const other = { ...record, model: 'other', billing: { ...record.billing, value: -9 } };
			sendJson(response, { success: true, data: { items: [record, other], total: 2 } });
		};
		const result = await run(
			'imageGeneration',
			{ model: byName('={{ $json.model }}'), prompt: 'a fox', options: { budget: 1.5 } },
			[{ model: MODEL }, { model: 'other' }],
		);
		expect(result.error?.message).toMatch(/price of the model 'other' is unknown/);
		expect(posts()).toEqual([]);
	});
});

describe('the server of an image', () => {
	test.each(
		[1, 5, 500].flatMap((first) => [[first, 'filesystem'] as const, [first, 'memory'] as const]),
	)('that sends %d bytes at first, %s', async (first, binaryMode) => {
		const image = Buffer.concat([TINY_PNG, Buffer.alloc(9000)]);
		respond = ({ method }, response) => {
			if (method === 'POST') return sendJson(response, { data: [{ url: `${server.url}/1` }] });
			response.writeHead(200, { 'content-type': 'application/octet-stream' });
			response.write(image.subarray(0, first));
			setTimeout(() => response.end(image.subarray(first)), 30);
		};
		const parameters = { prompt: 'a fox', options: { checkLimits: false } };
		const host = await hostFor({ baseUrl: server.url }, { binaryMode });
		const result = await host.run(workflowOf('imageGeneration', parameters), {
			input: [{ json: {} }],
		});
		expect(result.error).toBeUndefined();
		expect(await host.binary(result.output(NODE)[0]!)).toEqual(image);
	});

	test.each(['filesystem', 'memory'] as const)(
		'that sends an image of 8 bytes, %s',
		async (binaryMode) => {
			const tiny = Buffer.from('GIF89a..');
			respond = ({ method }, response) =>
				method === 'POST'
					? sendJson(response, { data: [{ url: `${server.url}/1` }, { url: `${server.url}/2` }] })
					: void response.end(tiny);
			const host = await hostFor({ baseUrl: server.url }, { binaryMode });
			const parameters = { prompt: 'a fox', options: { checkLimits: false } };
			const result = await host.run(workflowOf('imageGeneration', parameters), {
				input: [{ json: {} }],
			});
			for (const item of result.output(NODE)) expect(await host.binary(item)).toEqual(tiny);
			expect(result.output(NODE)).toHaveLength(2);
		},
	);

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
	for (const simplify of [true, false]) {
		for (const through of ['engine', 'subNode'] as const) {
			const parameters = { model: 'reason-large', prompt: 'a fox', simplify };
			const said = await host.runAsTool('n8n-nodes-media-gateway.message', parameters as never, {
				through,
			});
			expect(said).toMatch(/image data/);
			expect(said).not.toMatch(/iVBOR/);
		}
	}
});

test('a hint shows no image', async () => {
	respond = ({ method, url }, response) => {
		if (method === 'POST') return sendJson(response, { data: [{ url: `${server.url}/1.png` }] });
		if (url === '/1.png') return void response.end(TINY_PNG);
		const message = `No: data:image/png;base64,${BASE64}`;
		sendJson(response, { success: false, message }, 400);
	};
	const host = await hostFor({ baseUrl: server.url }, { extraNodeTypes: filesNode });
	const result = await runChain(
		host,
		[{}],
		[{ type: 'imageGeneration', parameters: { model: byName(MODEL), prompt: 'a fox' } }],
	);
	expect(result.error).toBeUndefined();
	expect(everythingIn(result)).toContain("weren't checked");
	expect(everythingIn(result)).not.toContain('iVBOR');
});
