/** What the gateway says that a request has cost, and its number, in items, hints, errors and the log. */
import '../fast-time.mjs';
import { createRequire } from 'node:module';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import { Container } from '../../../harness/engine/n8n.mjs';
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
} from '../workbench.mjs';

const bench = sharedBench({ bill: 0.07, requestIds: true });
const PROMPT = '={{ $json.prompt }}';
const prompts = (...texts: string[]): IDataObject[] => texts.map((prompt) => ({ prompt }));
const hintOf = (result: RunResult) =>
	result
		.hints(NODE)
		.map(({ message }) => message)
		.join('\n');
const costs = (items: IDataObject[]) => items.map(({ cost }) => cost);
const GO_ON = { onError: 'continueRegularOutput' } as const;

/** A gateway whose every response is made by a function, and a host for it. */
async function gatewayOf(
	respond: (request: IncomingMessage, response: ServerResponse, url: string) => void,
) {
	const server = await opened(
		serve((request, response, url) => {
			if (request.url?.startsWith('/v1/') !== true) return void response.end(TINY_PNG);
			respond(request, response, url);
		}),
	);
	return { server, host: await hostFor({ baseUrl: server.url }) };
}

const imageOf = (url: string) => ({ data: [{ url: `${url}/1.png` }] });
const UNCHECKED = { checkLimits: false };

test('a batch: each item its bill, the sum in the hint and in the summary, beside the estimate', async () => {
	const options = { addSummary: true, n: 2 };
	const result = await bench.run('imageGeneration', { prompt: PROMPT, options }, prompts('a', 'b'));
	const items = result.json(NODE);
	expect(costs(items)).toEqual([0.07, 0.07, 0.07, 0.07]);
	expect(items.at(-1)?.summary).toMatchObject({ cost: 0.28, estimatedCost: 0.16 });
	expect(hintOf(result)).toContain('4 images; cost 0.28; estimated cost 0.16.');
});

test('one item for a request: the bill of all its images', async () => {
	const options = { oneItemPerRequest: true, n: 3 };
	const result = await bench.run('imageGeneration', { prompt: 'a', options });
	expect(result.json(NODE)[0]).toMatchObject({ cost: 0.21, estimatedCost: 0.12 });
});

test('tasks: by the node that submits and waits, by Image Wait, and by Image Task', async () => {
	const waited = await bench.run(
		'imageGeneration',
		{ prompt: PROMPT, mode: 'wait' },
		prompts('a', 'b'),
	);
	expect(costs(waited.json(NODE))).toEqual([0.07, 0.07]);
	expect(hintOf(waited)).toContain('2 tasks; cost 0.14; estimated cost 0.08.');

	const submit = { prompt: PROMPT, mode: 'submit' };
	const submitted = await bench.run('imageGeneration', submit, prompts('a', 'b'));
	expect(hintOf(submitted)).toContain('2 tasks; estimated cost 0.08.');
	const tasks = submitted.json(NODE);
	const wait = await bench.run('imageWait', { options: { addSummary: true } }, [
		...tasks,
		tasks[0]!,
	]);
	expect(costs(wait.json(NODE))).toEqual([0.07, 0.07, 0.07]);
	// The third item is the first one's task, which was billed once.
	expect(wait.json(NODE).at(-1)?.summary).toMatchObject({ cost: 0.14, estimatedCost: 0.08 });
	expect(hintOf(wait)).toContain('2 tasks; cost 0.14; estimated cost 0.08.');
	expect(costs((await bench.run('imageTask', {}, tasks)).json(NODE))).toEqual([0.07, 0.07]);
});

test('a bill for some requests only: the sum of what is known', async () => {
	let count = 0;
	const { host } = await gatewayOf((_, response, url) => {
		if (count++ === 0) response.setHeader('x-litellm-response-cost', '0.05');
		sendJson(response, imageOf(url));
	});
	const parameters = { prompt: PROMPT, options: UNCHECKED };
	const input = prompts('a', 'b', 'c').map((json) => ({ json }));
	const result = await host.run(workflowOf('imageGeneration', parameters), { input });
	expect(costs(result.json(NODE)).filter((cost) => cost !== undefined)).toEqual([0.05]);
	expect(hintOf(result)).toBe('3 images; cost 0.05 and 2 images without a known price.');
});

test('several currencies have no sum', async () => {
	let count = 0;
	const { host } = await gatewayOf((_, response, url) =>
		sendJson(response, { ...imageOf(url), cost: 1, currency: count++ === 0 ? 'EUR' : 'USD' }),
	);
	const parameters = { prompt: PROMPT, options: { ...UNCHECKED, addSummary: true } };
	const input = prompts('a', 'b').map((json) => ({ json }));
	const result = await host.run(workflowOf('imageGeneration', parameters), { input });
	expect(hintOf(result)).toContain('cost 1 EUR and 1 USD.');
	expect(
		result
			.json(NODE)
			.map(({ costCurrency }) => costCurrency)
			.sort(),
	).toEqual(['EUR', 'USD']);
	expect(result.json(NODE)[1]?.summary).not.toHaveProperty('cost');
});

describe('what has failed', () => {
	const bill = { usage: { cost: 0.3 } };
	const failing = async (
		respond: (response: ServerResponse, method: string) => void,
		mode: string,
	) => {
		const { host } = await gatewayOf((request, response) => {
			response.setHeader('request-id', `req_${request.method}`);
			respond(response, request.method ?? '');
		});
		const parameters = { prompt: 'a', mode, options: { ...UNCHECKED, addSummary: true } };
		const result = await host.run(workflowOf('imageGeneration', parameters, GO_ON), {
			input: [{ json: {} }],
		});
		const { summary, ...details } = result.json(NODE)[0]?.details as IDataObject;
		return { summary, details, hint: hintOf(result) };
	};

	test('a task that has failed, and was billed', async () => {
		const { summary, details, hint } = await failing((response, method) => {
			if (method === 'POST') return sendJson(response, { id: 'task_1', status: 'queued' });
			sendJson(response, { id: 'task_1', status: 'failed', error: { message: 'no' }, ...bill });
		}, 'wait');
		expect(details).toMatchObject({
			charged: 'maybe',
			cost: 0.3,
			requestId: 'req_GET',
			taskId: 'task_1',
		});
		expect(summary).toMatchObject({ cost: 0.3 });
		expect(hint).toContain('cost 0.3');
	});

	test('a request of unknown outcome that was billed', async () => {
		const { summary, details } = await failing((response) => {
			sendJson(response, { error: { message: 'late' }, ...bill }, 504);
		}, 'sync');
		expect(details).toMatchObject({ charged: 'maybe', cost: 0.3, requestId: 'req_POST' });
		expect(details.description).toMatch(/\(request ID req_POST\)$/);
		expect(summary).toMatchObject({ cost: 0.3 });
	});

	test('a response without an image', async () => {
		const { details } = await failing(
			(response) => sendJson(response, { data: [], ...bill }),
			'sync',
		);
		expect(details).toMatchObject({ charged: 'maybe', cost: 0.3, requestId: 'req_POST' });
	});

	test('a response that was cut off names its number', async () => {
		const { details } = await failing((response) => {
			response.writeHead(200, { 'content-length': '100' }).write('{"data": [');
			setImmediate(() => response.destroy());
		}, 'sync');
		expect(details).toMatchObject({ charged: 'maybe', requestId: 'req_POST' });
	});

	test('a refusal names its number, and has no bill', async () => {
		const { summary, details } = await failing(
			(response) => sendJson(response, { error: { message: 'bad' }, ...bill }, 400),
			'sync',
		);
		expect(details).toMatchObject({ charged: 'no', requestId: 'req_POST' });
		for (const one of [details, summary]) expect(one).not.toHaveProperty('cost');
	});
});

test('the error that ends a batch lists the number of each paid request', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 500, match: 'owl' }]);
	const result = await bench.run('imageGeneration', { prompt: PROMPT }, prompts('a fox', 'an owl'));
	const details = (result.error as { context?: { details?: IDataObject } }).context?.details;
	expect(details).toMatchObject({ requestId: expect.stringMatching(/^req_/) });
	const paid = details?.paid as IDataObject[];
	expect(paid).toEqual([
		{ item: 0, requestId: expect.stringMatching(/^req_/), url: expect.anything() },
		{ item: 1, requestId: details?.requestId, outcome: 'unknown' },
	]);
	expect(result.error?.description).toContain(`(request ID ${String(details?.requestId)})`);
});

test('a cost in a row of a table is no bill', async () => {
	const [taskId] = await bench.submit('a fox');
	bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 404 }]);
	const rows = [{ taskId, cost: 12 }];
	const result = await bench.run('imageWait', {}, rows as IDataObject[], GO_ON);
	expect(result.json(NODE)[0]?.details).not.toHaveProperty('cost');
});

test('Message: the bill in a header, summed and in the item', async () => {
	const { host } = await gatewayOf((_, response) => {
		response.setHeader('x-litellm-response-cost', '0.002');
		const content = [{ type: 'text', text: 'Hi' }];
		sendJson(response, {
			role: 'assistant',
			content,
			usage: { input_tokens: 1, output_tokens: 1 },
		});
	});
	const parameters = { model: byName(MODEL), prompt: 'Hi' };
	const input = [{ json: {} }, { json: {} }];
	const result = await host.run(workflowOf('message', parameters), { input });
	expect(costs(result.json(NODE))).toEqual([0.002, 0.002]);
	expect(hintOf(result)).toContain('cost 0.004');
});

test('the log has a line for each attempt at debug level, without the key', async () => {
	const require = createRequire(createRequire(import.meta.url).resolve('n8n-core'));
	const { Logger } = require('@n8n/backend-common') as {
		Logger: abstract new () => { debug(message: string): void };
	};
	const lines: string[] = [];
	const spy = jest
		.spyOn(Container.get(Logger), 'debug')
		.mockImplementation((message) => void lines.push(message));
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 429, times: 1 }]);
	await bench.run('imageGeneration', { prompt: 'a fox', options: UNCHECKED });
	spy.mockRestore();
	const own = lines.filter((line) => line.startsWith('Media Gateway'));
	const { url } = bench.gateway;
	expect(own).toEqual([
		expect.stringMatching(
			`^Media Gateway, "Node": sync, POST ${url}/v1/images/generations: 429 after \\d+ ms, request ID req_\\S+, item 0$`,
		),
		expect.stringMatching(
			`^Media Gateway, "Node": sync, POST ${url}/v1/images/generations: 200 after \\d+ ms, request ID req_\\S+, item 0$`,
		),
		expect.stringMatching(
			`^Media Gateway, "Node": download, GET ${url}/images/\\S+: 200 after \\d+ ms, request ID req_\\S+, item 0$`,
		),
	]);
	expect(own.join()).not.toContain('sk-embedded');
});
