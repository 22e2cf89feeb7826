/** What a gateway sends in response to a paid request, in whatever form: nothing of it is thrown away. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import {
	byName,
	everythingIn,
	hostFor,
	MODEL,
	NODE,
	serve,
	sendJson,
	TINY_PNG,
	workflowOf,
	type NodeName,
	type OwnServer,
} from '../workbench.mjs';

const BASE64 = TINY_PNG.toString('base64');
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="10"/></svg>';
/** Bytes that stand where an address is expected, and more than the ends of a small image. */
const LARGE = Buffer.concat([TINY_PNG, Buffer.alloc(3000)]).toString('base64');
const KEY = 'sk-embedded-gateway-one';
/** Items name the full address of an image, which a person can open. */
const FULL = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/one\.png$/) as string;
const PROMPT = { prompt: 'a fox', options: { checkLimits: false } };

let posts = 0;
/** What is answered to a POST: a text as it is, else JSON; polls find a finished task. */
let reply: unknown;
let status = 200;
let server: OwnServer;

beforeAll(async () => {
	server = await serve(({ method, url }, response) => {
		if (method !== 'POST') {
			if (/one\.png/.test(url ?? '')) {
				response.writeHead(200, { 'content-type': 'image/png' }).end(TINY_PNG);
				return;
			}
			const id = decodeURIComponent(url?.split('/').pop() ?? '');
			if (id === 'task_gone') {
				return sendJson(response, { error: { message: `There is no task ${id}` } }, 404);
			}
			return sendJson(response, { id, status: 'completed', data: [{ url: '/one.png' }] });
		}
		posts += 1;
		if (typeof reply !== 'string') return sendJson(response, reply, status);
		// A length that promises more than there is: the connection is cut in the middle.
		const cut = reply.endsWith('✂');
		const text = cut ? reply.slice(0, -1) : reply;
		const headers = { 'content-type': 'application/json' };
		response.writeHead(status, cut ? { ...headers, 'content-length': 9999 } : headers);
		response.write(text, () => (cut ? response.destroy() : response.end()));
	});
});
beforeEach(() => {
	posts = 0;
	status = 200;
});
afterAll(async () => await server.close());

async function run(type: NodeName, parameters: object, settings = {}, items = 1) {
	const host = await hostFor({ baseUrl: server.url });
	const model = type === 'message' ? {} : { model: byName(MODEL) };
	const workflow = workflowOf(type, { ...model, ...parameters }, settings);
	return await host.run(workflow, { input: Array.from({ length: items }, () => ({ json: {} })) });
}

test.each<[string, unknown, string]>([
	['submit', { task: { id: 'task_1' } }, 'task_1'],
	['wait', { id: 42 }, '42'],
	['submit', '{"data":{"id":1234567890123456789}}', '1234567890123456789'],
])('a task ID is found wherever it stands (%s): %j', async (mode, given, taskId) => {
	reply = given;
	const result = await run('imageGeneration', { ...PROMPT, mode });
	expect(result.json(NODE)[0]).toMatchObject({ taskId });
	expect([result.output(NODE)[0]?.binary !== undefined, posts]).toEqual([mode === 'wait', 1]);
});

test('an ID that would lead to another address is named, and the request was sent', async () => {
	reply = { id: '..', status: 'queued' };
	const { error } = await run('imageGeneration', { ...PROMPT, mode: 'wait' });
	expect(error?.message).toBe('The task ID ".." is not valid');
	expect(error?.description).toMatch(/The task can't be checked/);
	expect(everythingIn(error)).not.toMatch(/nothing was sent/i);
	expect(posts).toBe(1);
});

const CONTINUES = { onError: 'continueRegularOutput' } as const;

test.each<[string, object, string]>([
	['sync', { code: 402, msg: 'not enough credits' }, '402 not enough credits'],
	['wait', { code: '429', message: 'slow down', data: null }, '429 slow down'],
	['sync', { success: false, message: 'refused', data: 'refused' }, 'refused'],
])(
	'an error with the status of a success is not sent again (%s): %j',
	async (mode, given, said) => {
		reply = given;
		const [item] = (await run('imageGeneration', { ...PROMPT, mode }, CONTINUES)).json(NODE);
		expect(item?.error).toBe(`The response contains no image or task ID: ${said}`);
		expect(item?.details).toMatchObject({ outcome: 'unknown' });
		// A mark of the record is no detail.
		expect(Object.keys(item?.details ?? {})).not.toContain('isAnswered');
		expect(posts).toBe(1);
	},
);

/** What JSON can contain, and `Number` throws at. */
const NO_NUMBER = { toString: 1, valueOf: 1 };

test.each<[number, object]>([
	[200, { code: NO_NUMBER }],
	[200, { base_resp: { status_code: NO_NUMBER } }],
	[500, { code: NO_NUMBER, error: { message: 'bad' } }],
])('a code that is no number is read, and the request sent once: %i %j', async (code, given) => {
	[reply, status] = [given, code];
	const settings = { ...CONTINUES, retryOnFail: true, maxTries: 3, waitBetweenTries: 1 };
	const [item] = (await run('imageGeneration', { ...PROMPT, mode: 'sync' }, settings)).json(NODE);
	expect(item?.details).toMatchObject({ outcome: 'unknown', charged: 'maybe' });
	expect(posts).toBe(1);
});

test('a message beside an empty error is none that has failed', async () => {
	reply = { id: 'm1', error: null, content: [{ type: 'text', text: 'hello' }] };
	const parameters = { model: 'reason-large', prompt: 'hello', simplify: false };
	const result = await run('message', parameters, { onError: 'continueErrorOutput' });
	// Without the empty error: n8n 1 takes any for a failure.
	expect(result.json(NODE)).toEqual([{ ...(reply as object), error: undefined }]);
	expect(JSON.stringify(result.hints(NODE))).not.toContain('failed');
});

describe('an image beside a status that is no success', () => {
	const data = [{ url: 'https://h/preview.png' }];

	test.each(['processing', 'shiny'])('is none of an open task (%s)', async (word) => {
		reply = { id: 'task_1', status: word, data };
		const [open] = (await run('imageGeneration', { ...PROMPT, mode: 'submit' })).json(NODE);
		expect(open).toMatchObject({ taskId: 'task_1', status: word });
		const { alsoNamed = [], ...others } = open!;
		expect(JSON.stringify(others)).not.toContain('preview.png');
		// Beside a status that nobody knows, it may be all there ever is.
		expect(alsoNamed).toEqual(word === 'shiny' ? ['https://h/preview.png'] : []);
		const waited = await run('imageGeneration', { ...PROMPT, mode: 'wait', download: false });
		expect(waited.json(NODE)).toMatchObject([{ url: FULL, taskId: 'task_1' }]);
	});

	test.each<[string, unknown]>([
		['sync', 7],
		['wait', {}],
		['submit', null],
	])('is kept (%s) beside %j', async (mode, odd) => {
		reply = { id: 'task_1', status: odd, data: [{ url: '/one.png' }] };
		const result = await run('imageGeneration', { ...PROMPT, mode });
		expect(result.json(NODE)).toMatchObject([{ url: FULL }]);
	});
});

test('a task that has failed at once with a reason is an error in every mode, and is not polled', async () => {
	const error = { message: 'too dark' };
	reply = { id: 'task_1', status: 'failed', data: [{ url: 'https://h/one.png' }], error };
	const polled = server.requests.length + 1;
	const result = await run('imageGeneration', { ...PROMPT, mode: 'submit' }, CONTINUES);
	const [failed] = result.json(NODE);
	expect(failed?.error).toBe('The generation task task_1 ended with the status "failed": too dark');
	expect(failed?.details).toMatchObject({ taskId: 'task_1', charged: 'maybe' });
	// Beside a status that is no success, it may be all there ever is.
	expect(JSON.stringify(failed?.details)).toContain('https://h/one.png');
	expect([server.requests.length - polled, posts]).toEqual([0, 1]);
});

test('a task that has failed at once without a reason is polled: it may have one, or an image', async () => {
	reply = { id: 'task_1', status: 'failed' };
	const submitted = (await run('imageGeneration', { ...PROMPT, mode: 'submit' })).json(NODE);
	expect(submitted).toMatchObject([{ taskId: 'task_1', statusGroup: 'unsuccessful' }]);
	const waited = await run('imageGeneration', { ...PROMPT, mode: 'wait' }, CONTINUES);
	expect(waited.output(NODE)[0]?.binary).toBeDefined();
});

test('it has failed, and is not lost, if its gateway does not keep it', async () => {
	reply = { id: 'task_gone', status: 'failed' };
	const result = await run('imageGeneration', { ...PROMPT, mode: 'wait' }, CONTINUES);
	const [{ error, details } = {}] = result.json(NODE);
	expect(error).toBe('The generation task task_gone ended with the status "failed"');
	expect(details).toMatchObject({ taskId: 'task_gone', charged: 'maybe' });
});

test('a hint tells why one of two images is missing, and usage stands in the first', async () => {
	const usage = { total_tokens: 7 };
	reply = {
		usage,
		data: [{ url: '/one.png' }, { url: '/one.png' }, { error: { message: 'too dark' } }],
	};
	const options = { ...PROMPT.options, n: 3, extraFields: { style: { tone: 'warm' } } };
	const result = await run('imageGeneration', { ...PROMPT, mode: 'sync', options });
	const [one, two] = result.json(NODE);
	expect([one?.usage, two?.usage]).toEqual([usage, undefined]);
	expect(one?.parameters).toEqual(two?.parameters);
	expect(one?.parameters).not.toBe(two?.parameters);
	expect(result.hints(NODE)).toContainEqual(
		expect.objectContaining({
			message: expect.stringMatching(/^Item 1.*: the gateway returned 2 of 3 images: too dark$/),
		}),
	);
});

describe('what came is not what was asked for: a hint says so', () => {
	const warnings = (result: Awaited<ReturnType<typeof run>>): string[] =>
		result.hints(NODE).flatMap(({ type, message }) => (type === 'warning' ? [message] : []));
	const options = { ...PROMPT.options, n: 4 };

	test('fewer images', async () => {
		const mode = 'wait';
		reply = { id: 'task_1' };
		const fewer = await run('imageGeneration', { ...PROMPT, mode, options });
		expect(warnings(fewer)).toEqual([
			expect.stringMatching(/^Item 1.*: the gateway returned 1 of 4 images\.$/),
		]);
		expect(warnings(await run('imageGeneration', { ...PROMPT, mode }))).toEqual([]);
	});

	test('one task ID for two items', async () => {
		reply = { id: 'task_1' };
		const twice = await run('imageGeneration', { ...PROMPT, mode: 'submit' }, {}, 2);
		expect(warnings(twice)).toEqual([
			'The gateway gave items 1 and 2 the same task ID, task_1. Check whether the images match their prompts.',
		]);
		expect(warnings(await run('imageGeneration', { ...PROMPT, mode: 'submit' }))).toEqual([]);
	});
});

test.each<[boolean, unknown]>([
	[true, { images: [{ url: '/one.png' }] }],
	[false, { data: [{ b64_json: BASE64 }] }],
	[true, { data: { b64_json: `data:image/png;base64,\n${BASE64.replace(/.{60}/g, '$&\n')}` } }],
	[false, { data: [{ url: `DATA:image/png;base64,${encodeURIComponent(BASE64)}` }] }],
	[true, { data: [{ url: `data:image/svg+xml;utf8,${encodeURIComponent(SVG)}` }] }],
	[false, { data: [{ url: LARGE }] }],
	[true, `\ufeff${JSON.stringify({ data: [{ base64: BASE64 }] })}`],
])('images in other forms come out (Download %s): %#', async (download, given) => {
	reply = given;
	const result = await run('imageGeneration', { ...PROMPT, download });
	const [item] = result.output(NODE);
	expect(item?.binary?.data?.mimeType).toMatch(/^image\/(png|svg)/);
	expect(JSON.stringify(item?.json)).not.toMatch(/data:|base64|iVBOR/i);
});

test.each([
	['AAAA', 'application/octet-stream'],
	[`data:image/jxl;base64,${BASE64.slice(8)}`, 'image/jxl'],
])(
	'what inside the response is kept though it is not an image that is known: %#',
	async (url, mimeType) => {
		const isUrl = url.startsWith('data:');
		reply = { data: [isUrl ? { url } : { b64_json: url }] };
		const result = await run('imageGeneration', PROMPT);
		const [item] = result.output(NODE);
		expect(result.error).toBeUndefined();
		const host = await hostFor({ baseUrl: server.url });
		expect((await host.binary(item!)).length).toBeGreaterThan(0);
		expect(item?.binary?.data?.mimeType).toBe(mimeType);
		expect(posts).toBe(1);
	},
);

describe('an outcome that is unknown keeps what arrived', () => {
	test.each<[string, string, string | undefined]>([
		['submit', '{"created":1,"task_id" : "task_77"✂', 'task_77'],
		['wait', '{"request":{"id":"r1"},"task_id":"task_77", ✂', 'task_77'],
		['submit', '{"id":12345678901234567890, ✂', '12345678901234567890'],
		['wait', '{"id":"task_7✂', undefined],
		['submit', '<html>not now</html>', undefined],
		['wait', `{"id":"task_77","echo":"Bearer ${KEY}✂`, 'task_77'],
	])('%s: %s', async (mode, given, taskId) => {
		reply = given;
		const result = await run('imageGeneration', { ...PROMPT, mode }, CONTINUES);
		const { error, details } = result.json(NODE)[0] as { error: string; details: IDataObject };
		expect(error).toMatch(/outcome is unknown|nothing of use/i);
		expect(details).toMatchObject({ outcome: 'unknown' });
		expect(details.taskId).toBe(taskId);
		expect(details.response).toContain(given.replace('✂', '').slice(0, 10));
		if (taskId !== undefined) expect(details.description).toContain(taskId);
		expect(JSON.stringify(details)).not.toContain(KEY);
		expect(posts).toBe(1);
	});

	test('never more than 2 kB of it, and no image', async () => {
		reply = { huge: 'x'.repeat(100_000), preview: `data:image/png;base64,${BASE64}` };
		const result = await run('imageGeneration', PROMPT, CONTINUES);
		const { details } = result.json(NODE)[0] as { details: IDataObject };
		expect(String(details.response).length).toBeLessThanOrEqual(2048);
		const failed = await run('imageGeneration', PROMPT);
		const { contextData } = failed.data.executionData!;
		expect(contextData[`node:${NODE}`]).toMatchObject({ mediaGatewayPaid: { payments: [{}] } });
		expect(JSON.stringify(contextData).length).toBeLessThan(5000);
		reply = { preview: `data:image/png;base64,${BASE64}` };
		const other = await run('imageGeneration', PROMPT, CONTINUES);
		expect(JSON.stringify(other.json(NODE))).not.toMatch(/iVBOR/);
	});

	test('of a message too', async () => {
		reply = '{"id":"msg_1","content":[{"type":"text","te✂';
		const result = await run('message', { model: 'reason-large', prompt: 'hello' }, CONTINUES);
		const { details } = result.json(NODE)[0] as { details: IDataObject };
		expect(details).toMatchObject({ outcome: 'unknown' });
		expect(details.response).toContain('msg_1');
		expect(details).not.toHaveProperty('taskId');
	});
});

test('images inside the response come out even if the next try cannot prepare their item', async () => {
	let sources = 0;
	const own = await serve(({ method, url }, response) => {
		if (method === 'POST') return sendJson(response, { data: [{ b64_json: BASE64 }] });
		const isThere = url === '/once.png' && (sources += 1) === 1;
		if (!isThere) return sendJson(response, { error: { message: 'gone' } }, 404);
		response.writeHead(200, { 'content-type': 'image/png' }).end(TINY_PNG);
	});
	const host = await hostFor({ baseUrl: own.url });
	const parameters = { images: '={{ $json.source }}', ...PROMPT };
	const options = { ...PROMPT.options, addSummary: true };
	const workflow = workflowOf(
		'imageEdit',
		{ model: byName(MODEL), ...parameters, options },
		{ retryOnFail: true, maxTries: 2, waitBetweenTries: 1, onError: 'continueRegularOutput' },
	);
	const input = ['never', 'once'].map((name) => ({ json: { source: `${own.url}/${name}.png` } }));
	const result = await host.run(workflow, { input }).finally(async () => await own.close());
	expect(sources).toBe(1);
	expect(own.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
	const [failed, item] = result.output(NODE);
	expect(failed?.json.error).toMatch(/404/);
	expect(item?.pairedItem).toEqual({ item: 1 });
	expect(item?.json.summary).toMatchObject({ images: 1, reusedItems: 1, failedItems: 1 });
	expect(await host.binary(item!)).toEqual(TINY_PNG);
});

test('an agent reads no Base64', async () => {
	reply = { data: [{ b64_json: BASE64 }, { b64_json: BASE64 }] };
	const host = await hostFor({ baseUrl: server.url });
	const parameters = { model: byName(MODEL), ...PROMPT } as never;
	const answer = await host.runAsTool('n8n-nodes-media-gateway.imageGeneration', parameters);
	expect(answer).toMatch(/made and charged.*contained the image itself.*don't make it again/);
	expect(answer).not.toMatch(/iVBOR|data:/);
});
