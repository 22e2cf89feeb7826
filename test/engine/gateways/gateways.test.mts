/** Both image nodes against gateways that speak nearly the protocol (gateway-shapes.mts). */
import '../fast-time.mjs';
import fc from 'fast-check';
import { built, nested } from '../../unit/responses/nested-responses.mjs';
import type { RunResult } from '../../../harness/engine/host.mjs';
import { errorOf, filesNode, runChain, type Given } from '../one-node.mjs';
import { byName, everythingIn, hostFor, NODE, TINY_PNG } from '../workbench.mjs';
import {
	REASON,
	shapedGateway,
	TASK_ID,
	type ShapedGateway,
	type ShapedOptions,
} from './shaped-gateway.mjs';
import { PLACES, SHAPES, type Kind, type Reply, type Shape, type Task } from './gateway-shapes.mjs';

const KEY = 'sk-key-of-this-test';
const SECRET = 'value-of-an-additional-header';

type Mode = 'wait' | 'submit' | 'sync';
type Step = { type: string; parameters?: object };

const ITEM: Given = { files: { data: { bytes: TINY_PNG, fileName: 'photo.png' } } };

/** Runs an image node in a mode, and other nodes after it. */
async function run(
	gateway: ShapedGateway,
	kind: Kind,
	mode: Mode,
	{ asyncFlag = 'query', then = [] as Step[], items = 1, options = {} } = {},
): Promise<RunResult> {
	const headers = { values: [{ name: 'x-tenant', value: SECRET }] };
	const host = await hostFor(
		{ baseUrl: gateway.url, apiKey: KEY, headers, asyncFlag },
		{ extraNodeTypes: filesNode, binaryMode: 'memory' },
	);
	const parameters = {
		model: byName('image-model'),
		prompt: 'a fox',
		mode,
		options: { checkLimits: false, pollInterval: 2, maxWait: 30, ...options },
	};
	const type = kind === 'edits' ? 'imageEdit' : 'imageGeneration';
	// Of several items, one that fails doesn't end the others.
	const settings = items > 1 ? { onError: 'continueRegularOutput' as const } : {};
	const given = Array.from({ length: items }, () => ITEM);
	return await runChain(host, given, [{ type, parameters, settings }, ...then]);
}

/** Responds to each submit with the next of these, and gives the items that come of them. */
async function ofEach(replies: Array<(task: Task) => Reply>, kind: Kind, mode: Mode) {
	let submits = 0;
	const gateway = await open({ submit: (task) => replies[submits++]!(task) });
	// In order: nothing in a request tells which of them it is.
	const options = { concurrency: 1 };
	const result = await run(gateway, kind, mode, { items: replies.length, options });
	expect(gateway.posts()).toHaveLength(replies.length);
	keptSecrets(gateway);
	return { gateway, items: result.output(NODE) };
}

/** Runs a generation, and gives its error as one text. */
async function failing(gateway: ShapedGateway, mode: Mode): Promise<string> {
	const { message, description } = errorOf(await run(gateway, 'generations', mode));
	return `${message} ${description}`;
}

/** No request to another host carried the key or an additional header. */
function keptSecrets({ images }: ShapedGateway): void {
	const sent = everythingIn(images.requests);
	expect(sent).not.toContain(KEY);
	expect(sent).not.toContain(SECRET);
}

const KINDS: Kind[] = ['generations', 'edits'];
const asyncFlagOf = ({ submittedAt }: Shape) => (submittedAt === undefined ? 'query' : 'path');
const of = (name: string): Shape => SHAPES.find((shape) => shape.name === name) as Shape;
const PROTOCOL = of('the protocol as it is documented');

const open = (options: ShapedOptions, shape = PROTOCOL) => shapedGateway(shape, options);

/** Every shape, with generations and edits by turns: of kinds, only the path differs. */
const OF_SHAPES = SHAPES.map((shape, index) => ({ ...shape, kind: KINDS[index % 2]! }));

test.each(OF_SHAPES)('$name, $kind: task, status and image', async ({ kind, ...shape }) => {
	const gateway = await shapedGateway(shape);
	const wait = { type: 'imageWait', parameters: { pollInterval: 2, maxWait: 30 } };
	const then = [{ type: 'imageTask' }, { type: 'imageTask' }, wait];
	const asyncFlag = asyncFlagOf(shape);
	const result = await run(gateway, kind, 'submit', { asyncFlag, then });
	expect(errorOf(result).message).toBe('');
	const statusGroup = expect.stringMatching(/^(waiting|working)$/);
	expect(result.json(NODE)).toMatchObject([{ taskId: TASK_ID, statusGroup }]);
	const open = { taskId: TASK_ID, finished: false, images: [] };
	expect(result.json(`${NODE} 1`)).toMatchObject([open]);
	const images = [{ url: gateway.image }];
	const done = { taskId: TASK_ID, finished: true, succeeded: true, images };
	expect(result.json(`${NODE} 2`)).toMatchObject([done]);
	expect(result.json(`${NODE} 3`)).toMatchObject([{ url: gateway.image, taskId: TASK_ID }]);
	expect(gateway.posts()).toHaveLength(1);
	keptSecrets(gateway);
});

/** What a task comes to in Submit and Wait: each shape with one of them, by turns. */
const ENDS: Array<[string, ShapedOptions, string]> = [
	['has failed: the error tells the reason', { stages: ['working', 'failure'] }, REASON],
	['has finished', {}, ''],
	['is nowhere: the error comes after five addresses at most', { isLost: true }, TASK_ID],
];

test.each(
	OF_SHAPES.map((shape, index) => [shape.name, ...ENDS[index % ENDS.length]!, shape] as const),
)('%s: a task that %s', async (_, __, options, told, { kind, ...shape }) => {
	const gateway = await shapedGateway(shape, options);
	const asyncFlag = asyncFlagOf(shape);
	const result = await run(gateway, kind, 'wait', { asyncFlag });
	expect(gateway.posts()).toHaveLength(1);
	keptSecrets(gateway);
	const { message, description } = errorOf(result);
	// The preview that an open task lists is no image.
	const image = { url: gateway.image, taskId: TASK_ID };
	expect(result.json(NODE)).toEqual(told === '' ? [expect.objectContaining(image)] : []);
	expect(`${message} ${description}`).toContain(told);
	expect(`${message} ${description}`).toContain(told && TASK_ID);
	expect(new Set(gateway.polls()).size).toBeLessThanOrEqual(5);
});

test('an unknown word for the status: polled until Max Wait, and the error tells it, with the ID', async () => {
	const words = { ...PROTOCOL.words, working: 'dreaming' };
	const gateway = await shapedGateway({ ...PROTOCOL, words }, { stages: ['working'] });
	const told = await failing(gateway, 'wait');
	expect(told).toContain('dreaming');
	expect(told).toContain(TASK_ID);
	expect(gateway.posts()).toHaveLength(1);
});

describe('what a submit is answered while the task is open', () => {
	const preview = ({ elsewhere }: Task) => `${elsewhere}/preview.png`;

	test.each<[string, (task: Task) => unknown]>([
		['in data', (task) => ({ id: task.id, status: 'processing', data: [{ url: preview(task) }] })],
		['in images', (task) => ({ id: task.id, status: 'queued', images: [preview(task)] })],
		[
			'in a result',
			(task) => ({
				code: 0,
				data: {
					task_id: task.id,
					task_status: 'submitted',
					task_result: { images: [{ url: preview(task) }] },
				},
			}),
		],
	])('a preview %s is no result', async (where, body) => {
		const gateway = await open({ submit: (task) => ({ body: body(task) }) });
		const result = await run(gateway, 'generations', where === 'in data' ? 'wait' : 'submit');
		expect(errorOf(result).message).toBe('');
		expect(everythingIn(result.json(NODE))).not.toContain(gateway.preview);
		expect(everythingIn(result.json(NODE))).toContain(TASK_ID);
		expect(gateway.posts()).toHaveLength(1);
	});

	test('a failure with a placeholder is a failure', async () => {
		for (const mode of ['wait', 'sync'] as const) {
			const body = { status: 'failed', error: { message: REASON } };
			const gateway = await open({
				submit: (task) => ({ body: { ...body, id: task.id, data: [{ url: preview(task) }] } }),
			});
			const told = await failing(gateway, mode);
			expect(told).toContain(REASON);
			expect(told).toContain(TASK_ID);
			expect(gateway.posts()).toHaveLength(1);
		}
	});
});

test('a finished image in each of its places', async () => {
	const replies = PLACES.map(([, body], place) => ({ elsewhere }: Task) => ({
		body: body(`${elsewhere}/finished-${place}.png`, `${elsewhere}/source.png`),
	}));
	const { gateway, items } = await ofEach(replies, 'edits', 'sync');
	const urls = PLACES.map((_, place) => `${gateway.images.url}/finished-${place}.png`);
	expect(items.map(({ json }) => json.url)).toEqual(urls);
});

test.each(PLACES.slice(0, 2))('the image of a task in another place: %s', async (_, body) => {
	const shape: Shape = {
		...PROTOCOL,
		state: ({ id, elsewhere }, status) => ({
			id,
			status,
			...body(`${elsewhere}/finished.png`, `${elsewhere}/source.png`),
		}),
	};
	const gateway = await shapedGateway(shape);
	const result = await run(gateway, 'edits', 'wait');
	expect(result.json(NODE)).toMatchObject([{ url: gateway.image, taskId: TASK_ID }]);
});

describe('the response itself', () => {
	const event = (name: string, data: unknown) =>
		`event: ${name}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
	const b64_json = TINY_PNG.toString('base64');
	const preview = event('image_generation.partial_image', { b64_json: 'AAAA' });
	const usage = { total_tokens: 7 };
	const completed = event('image_generation.completed', {
		type: 'image_generation.completed',
		b64_json,
		usage,
	});
	const png = { 'content-type': 'image/png' };
	const events = { 'content-type': 'text/event-stream' };

	const WITH_BYTES: Array<[string, Reply]> = [
		['the image', { headers: png, raw: TINY_PNG }],
		['the image without its type', { headers: {}, raw: TINY_PNG }],
		['events', { headers: events, raw: `: hello\n\n${preview}${completed}data: [DONE]\n\n` }],
		['events without their type', { raw: `\n${preview}${completed}` }],
		['events after which the connection breaks', { headers: events, raw: completed, isCut: true }],
		['an error behind the image', { raw: completed + event('error', { message: 'too late' }) }],
		['invalid JSON behind the image', { raw: `${completed}data: {"b64_json": "AA\n\n` }],
		['an event in a list', { raw: event('result', { data: [{ b64_json }] }) }],
	];

	test.each([
		['generations', 'sync'],
		['edits', 'wait'],
	] as const)('is the image, or has it (%s, %s)', async (kind, mode) => {
		const { items } = await ofEach(
			WITH_BYTES.map(
				([, reply]) =>
					() =>
						reply,
			),
			kind,
			mode,
		);
		const data = { mimeType: 'image/png', bytes: TINY_PNG.length };
		expect(items.map(({ binary, json }) => [json.error, binary])).toEqual(
			WITH_BYTES.map(() => [
				undefined,
				expect.objectContaining({ data: expect.objectContaining(data) }),
			]),
		);
	});

	test('is events with addresses: all that are finished, and what was used up', async () => {
		const gateway = await open({
			submit: ({ elsewhere }) => ({
				raw:
					event('image.in_progress', { url: `${elsewhere}/preview.png` }) +
					event('image', { index: 1, url: `${elsewhere}/finished.png`, usage }) +
					event('image', { index: 0, url: `${elsewhere}/first.png` }),
			}),
		});
		const result = await run(gateway, 'generations', 'sync');
		const first = { url: `${gateway.images.url}/first.png` };
		expect(result.json(NODE)).toMatchObject([first, { url: gateway.image }]);
		keptSecrets(gateway);
	});

	test('is an error event: its words are told, and it is sent once', async () => {
		const error = { type: 'error', error: { message: REASON } };
		const raws = [
			event('error', { error: { message: REASON, type: 'upstream' } }),
			event('error', { message: REASON }),
			event('error', REASON),
			`data: ${JSON.stringify(error)}\n\n`,
		];
		const replies = raws.map((raw) => () => ({ headers: events, raw: preview + raw }));
		const { items } = await ofEach(replies, 'generations', 'wait');
		const told = expect.stringContaining(REASON);
		expect(items.map(({ json }) => json.error)).toEqual(raws.map(() => told));
	});

	test('is a preview alone: no image', async () => {
		const gateway = await open({ submit: () => ({ headers: events, raw: preview }) });
		const told = await failing(gateway, 'sync');
		expect(told).toMatch(/contains no image/);
		expect(gateway.posts()).toHaveLength(1);
	});

	test('to a poll is the image, or events', async () => {
		for (const raw of [TINY_PNG, preview + completed]) {
			const gateway = await shapedGateway(PROTOCOL, { polled: () => ({ raw }) });
			const result = await run(gateway, 'generations', 'wait');
			expect(errorOf(result).message).toBe('');
			expect(result.output(NODE)[0]?.binary?.data).toMatchObject({ mimeType: 'image/png' });
		}
	});
});

describe('what a poll is answered', () => {
	test('errors that pass are not the failure of the task', async () => {
		const passing = [
			{ code: 503, status: 'error', message: 'busy' },
			{ code: '429', status: 'error', message: 'too many requests' },
			{ code: 429, status: 'ERROR', message: 'Insufficient balance', data: null },
			{ code: 500, msg: 'Server exception' },
			{ code: 502, status: 'error', task_id: TASK_ID, message: 'busy' },
			{ code: 503, status: 'error', request_id: TASK_ID, message: 'busy' },
			{ status: 'error', message: 'busy' },
			{ status: 'error', error: { message: 'busy' }, data: {} },
		];
		const polled = (_: Task, count: number) => passing[count] && { body: passing[count] };
		const gateway = await shapedGateway(PROTOCOL, { polled });
		const result = await run(gateway, 'generations', 'wait', { options: { maxWait: 600 } });
		expect(errorOf(result).message).toBe('');
		expect(result.json(NODE)).toMatchObject([{ url: gateway.image, taskId: TASK_ID }]);
		expect(gateway.polls().length).toBeGreaterThan(passing.length);
		expect(gateway.posts()).toHaveLength(1);
	});

	test.each([
		[{ id: TASK_ID, status: 'error', message: REASON }],
		[{ code: 500, data: { task_id: TASK_ID, status: 'failed', fail_reason: REASON } }],
		[{ code: 400, status: 'error', data: { task_id: TASK_ID }, message: REASON }],
		[{ status: 'ERROR', request_id: TASK_ID, message: REASON }],
		[{ status: 'error', about: `/v1/anything/${TASK_ID}`, message: REASON }],
		[{ code: 402, status: 'error', message: REASON }],
		[{ code: 422, message: REASON }],
		[{ id: TASK_ID, status: 'Request Moderated', details: {}, message: REASON }],
	])('%j is the failure of the task', async (body) => {
		const gateway = await shapedGateway(PROTOCOL, { polled: () => ({ body }) });
		const told = await failing(gateway, 'wait');
		expect(told).toContain(REASON);
		expect(gateway.polls()).toHaveLength(1);
	});

	test('its own words are told while such an error lasts', async () => {
		const body = { code: 503, status: 'error', message: 'busy with others' };
		const gateway = await shapedGateway(PROTOCOL, { polled: () => ({ body }) });
		const { message, description } = errorOf(await run(gateway, 'generations', 'wait'));
		expect(message).toMatch(/still open after 30 s.*busy with others/);
		expect(`${message} ${description}`).toContain(TASK_ID);
		expect(gateway.posts()).toHaveLength(1);
	});

	test('UNKNOWN ends the wait with what it means', async () => {
		const gateway = await shapedGateway(PROTOCOL, {
			polled: ({ id }) => ({ body: { id, status: 'TASK_STATUS_UNKNOWN' } }),
		});
		const options = { maxWait: 600 };
		const { message, description } = errorOf(await run(gateway, 'edits', 'wait', { options }));
		expect(message).toMatch(/doesn't know the edit task/);
		expect(`${message} ${description}`).toContain(TASK_ID);
		expect(gateway.polls().length).toBeLessThan(40);
		expect(gateway.posts()).toHaveLength(1);
	});

	test('UNKNOWN of a task that has just been submitted passes', async () => {
		const gateway = await shapedGateway(PROTOCOL, {
			polled: ({ id }, count) => (count < 3 ? { body: { id, status: 'UNKNOWN' } } : undefined),
		});
		const result = await run(gateway, 'generations', 'wait');
		expect(result.json(NODE)).toMatchObject([{ url: gateway.image }]);
	});

	test('completed without an image, and processing again: it may list the image later', async () => {
		const gateway = await shapedGateway(PROTOCOL, {
			polled: ({ id }, count) => {
				if (count > 6) return undefined;
				const isOpen = count > 0 && count < 6;
				return { body: { id, status: isOpen ? 'processing' : 'completed' } };
			},
			stages: ['success'],
		});
		const options = { maxWait: 100 };
		const result = await run(gateway, 'generations', 'wait', { options });
		expect(result.json(NODE)).toMatchObject([{ url: gateway.image }]);
	});

	test('completed without an image that is read: the addresses in it are told, without the key', async () => {
		const picture = { a: 'https://images.example/paid.png?sig=1', b: `https://a/?k=${KEY}` };
		for (const mode of ['wait', 'sync'] as const) {
			const gateway = await open({
				submit: ({ id }) => ({ body: mode === 'sync' ? { picture } : { id, status: 'queued' } }),
				polled: ({ id }) => ({ body: { id, status: 'completed', picture } }),
			});
			const told = await failing(gateway, mode);
			expect(told).toContain(picture.a);
			expect(told).not.toContain(KEY);
			expect(gateway.posts()).toHaveLength(1);
		}
	});

	test('a result at another host is not requested', async () => {
		const gateway = await shapedGateway(PROTOCOL, {
			polled: ({ id, elsewhere }) => ({
				body: { id, status: 'completed', response_url: `${elsewhere}/v1/${TASK_ID}` },
			}),
		});
		const { message, description } = errorOf(await run(gateway, 'generations', 'wait'));
		expect(message).toMatch(/without an image/);
		expect(description).toContain(`${gateway.images.url}/v1/${TASK_ID}`);
		expect(gateway.images.requests).toEqual([]);
	});

	test('a result that leads to itself, or to nothing, ends', async () => {
		for (const response_url of [`/v1/images/generations/${TASK_ID}`, '/v1/nothing']) {
			const gateway = await shapedGateway(PROTOCOL, {
				polled: ({ id }) => ({ body: { id, status: 'completed', response_url } }),
			});
			const told = await failing(gateway, 'wait');
			expect(told).toMatch(/without an image/);
			expect(gateway.polls().length).toBeLessThan(20);
		}
	});
});

describe('addresses of what was paid for', () => {
	/** A route of the gateway by tenant, which has nothing to do with its key. */
	const TENANT = 'project-1234';
	const hostOf = async (gateway: ShapedGateway) =>
		await hostFor(
			{
				baseUrl: `${gateway.url}?team=${TENANT}`,
				apiKey: KEY,
				headers: { values: [{ name: 'OpenAI-Organization', value: TENANT }] },
			},
			{ extraNodeTypes: filesNode, binaryMode: 'memory' },
		);
	const image = (mode: Mode) => ({
		type: 'imageGeneration',
		parameters: {
			model: byName('image-model'),
			prompt: 'a fox',
			mode,
			options: { checkLimits: false, pollInterval: 2, maxWait: 30 },
		},
	});
	const wait = { type: 'imageWait', parameters: { pollInterval: 2, maxWait: 30 } };

	test.each([
		['sync', []],
		['wait', []],
		['submit', [wait]],
		['submit', [{ type: 'imageTask' }, { type: 'imageTask' }]],
	] as Array<[Mode, Step[]]>)(
		'a header that does not authenticate, and the query of the Base URL, stay in them: %s, %#',
		async (mode, then) => {
			const path = `/${TENANT}/finished.png?for=${TENANT}`;
			const task_url = `/v1/${TENANT}/jobs/${TASK_ID}`;
			const done = ({ elsewhere }: Task) => [{ url: elsewhere + path, revised_prompt: TENANT }];
			const gateway = await shapedGateway(
				{
					...PROTOCOL,
					polledAt: () => [`${task_url}?team=${TENANT}`],
					state: (task, status) => ({ id: task.id, status, data: done(task) }),
				},
				{
					submit: (task) => ({
						body:
							mode === 'sync' ? { data: done(task) } : { id: task.id, status: 'queued', task_url },
					}),
				},
			);
			const result = await runChain(await hostOf(gateway), [ITEM], [image(mode), ...then]);
			expect(errorOf(result).message).toBe('');
			const shown = everythingIn(result.json(then.length === 0 ? NODE : `${NODE} ${then.length}`));
			expect(shown).toContain(gateway.images.url + path);
			expect(gateway.images.requests.map(({ url }) => url)).toContain(path);
		},
	);

	test.each(['sync', 'wait', 'submit'] as const)(
		'the key that the gateway itself puts into one is asked for with it, and shown without: %s',
		async (mode) => {
			const url = `/v1/files/${KEY}/finished.png?key=${KEY}`;
			const body = { data: [{ url, note: `a-${KEY}-b`, model: `${KEY}/v1` }] };
			const status_url = `/v1/jobs/${TASK_ID}?key=${KEY}`;
			const gateway = await shapedGateway(
				{ ...PROTOCOL, polledAt: () => [status_url], state: (_, status) => ({ status, ...body }) },
				{
					submit: ({ id }) => ({
						body: mode === 'sync' ? body : { id, status: 'queued', status_url },
					}),
				},
			);
			const result = await run(gateway, 'generations', mode, {
				then: mode === 'submit' ? [wait] : [],
			});
			expect(errorOf(result).message).toBe('');
			expect(gateway.requests.map((request) => request.url)).toContain(url);
			const last = mode === 'submit' ? `${NODE} 1` : NODE;
			expect(result.json(last)).toMatchObject([
				{ url: `${gateway.url}/v1/files/***/finished.png?key=***` },
			]);
			expect(everythingIn(result.data)).not.toContain(KEY);
			keptSecrets(gateway);
		},
	);

	test('no other host is asked with the key, whoever puts it into the address', async () => {
		const gateway = await open({
			submit: ({ elsewhere }) => ({ body: { data: [{ url: `${elsewhere}/1.png?key=${KEY}` }] } }),
		});
		const result = await run(gateway, 'generations', 'sync');
		expect(gateway.images.requests.map(({ url }) => url)).toEqual(['/1.png?key=***']);
		expect(everythingIn(result.data)).not.toContain(KEY);
	});

	test.each(['/v1/files/a b.png', '/v1/files/Red%20fox (1).png'])(
		'the relative address %j is one of an image',
		async (url) => {
			const gateway = await open({ submit: () => ({ body: { data: [{ url }] } }) });
			const result = await run(gateway, 'generations', 'sync');
			expect(errorOf(result).message).toBe('');
			expect(result.output(NODE)[0]?.binary?.data).toMatchObject({ mimeType: 'image/png' });
		},
	);
});

describe('a finished response with its image in a place that nobody knows', () => {
	const body = (task: Task) => ({
		id: task.id,
		status: 'Ready',
		result: { sample: `${task.elsewhere}/finished.png` },
	});
	const wait = { type: 'imageWait', parameters: { pollInterval: 2, maxWait: 30 } };

	test.each(['sync', 'wait', 'submit'] as const)('has the image: %s', async (mode) => {
		const gateway = await open({ isLost: true, submit: (task) => ({ body: body(task) }) });
		const result = await run(gateway, 'generations', mode);
		expect(result.json(NODE)).toMatchObject([{ url: gateway.image }]);
		expect(gateway.polls()).toEqual([]);
	});

	test('to Image Wait and Image Task', async () => {
		for (const type of ['imageWait', 'imageTask']) {
			const gateway = await shapedGateway(
				{ ...PROTOCOL, state: (task) => body(task) },
				{ stages: ['success'] },
			);
			const then = [type === 'imageWait' ? wait : { type }];
			const result = await run(gateway, 'edits', 'submit', { then });
			expect(errorOf(result).message).toBe('');
			expect(everythingIn(result.json(`${NODE} 1`))).toContain(gateway.image);
		}
	});

	test('with several such places: every error about the task names their addresses', async () => {
		for (const mode of ['sync', 'wait'] as const) {
			const gateway = await open({
				isLost: true,
				submit: (task) => ({ body: { ...body(task), picture: `${task.elsewhere}/other` } }),
			});
			const told = await failing(gateway, mode);
			expect(told).toContain(gateway.image);
			expect(told).toContain(TASK_ID);
		}
	});

	test.each<['sync' | 'wait' | 'submit', string]>([
		['sync', ''],
		['wait', ''],
		['submit', 'imageWait'],
		['submit', 'imageTask'],
	])('what the request has sent is not its image: %s %s', async (mode, type) => {
		const source = 'https://images.example/photo.png';
		const finished = { id: TASK_ID, status: 'completed', image: source };
		const gateway = await shapedGateway(
			{ ...PROTOCOL, state: () => finished },
			{ stages: ['success'], ...(mode === 'sync' && { submit: () => ({ body: finished }) }) },
		);
		const options = { extraFields: JSON.stringify({ reference: [source] }) };
		const then = type === '' ? [] : [{ type, parameters: { download: false } }];
		const result = await run(gateway, 'generations', mode, { options, then });
		expect(errorOf(result).message).toContain('without an image');
		expect(everythingIn(gateway.images.requests)).not.toContain('photo.png');
	});

	test('at a deadline, beside an unknown word: the addresses and the message are told', async () => {
		const gateway = await shapedGateway(PROTOCOL, {
			polled: (task) => ({ body: { ...body(task), status: 'dreaming', message: REASON } }),
		});
		const told = await failing(gateway, 'wait');
		expect(told).toContain(gateway.image);
		expect(told).toContain(REASON);
	});
});

describe('a row of a table', () => {
	const rowOf = async (gateway: ShapedGateway, json: object) => {
		const fields = { baseUrl: gateway.url, apiKey: KEY };
		const host = await hostFor(fields, { extraNodeTypes: filesNode, binaryMode: 'memory' });
		const parameters = { pollInterval: 2, maxWait: 10 };
		return await runChain(host, [{ json } as Given], [{ type: 'imageWait', parameters }]);
	};

	test.each([null, ''])(
		'with the address of an image and the ID %j is this image',
		async (taskId) => {
			const gateway = await open({});
			const result = await rowOf(gateway, { taskId, url: gateway.image });
			expect(result.json(NODE)).toMatchObject([{ url: gateway.image }]);
		},
	);

	test.each(['approved', undefined, 'completed'])(
		'of an edit that was refused does not bring its source back, with the status %j',
		async (status) => {
			const gateway = await open({});
			const details = { charged: 'no', httpCode: 400 };
			const result = await rowOf(gateway, { taskId: TASK_ID, status, error: 'refused', details });
			expect(errorOf(result).message).not.toBe('');
			expect(gateway.requests).toEqual([]);
		},
	);
});

test('one of several images that was refused is told, also where no n announced it', async () => {
	const refused = { error: { message: REASON } };
	const gateway = await open({
		submit: ({ elsewhere }) => ({
			body: { data: [{ url: `${elsewhere}/finished.png` }, refused] },
		}),
		polled: ({ id, elsewhere }) => ({
			body: { id, status: 'completed', data: [{ url: `${elsewhere}/finished.png` }, refused] },
		}),
	});
	const hintsOf = (result: RunResult, node: string) =>
		result
			.hints(node)
			.map(({ message }) => message)
			.join();
	const options = { extraFields: '{"num_images": 2}' };
	const atOnce = await run(gateway, 'generations', 'sync', { options });
	expect(hintsOf(atOnce, NODE)).toContain(`not all images: ${REASON}`);

	const later = await open({
		polled: ({ id, elsewhere }) => ({
			body: { id, status: 'completed', data: [{ url: `${elsewhere}/finished.png` }, refused] },
		}),
	});
	const waited = await run(later, 'generations', 'submit', { then: [{ type: 'imageWait' }] });
	expect(hintsOf(waited, `${NODE} 1`)).toContain(REASON);
});

test('relative addresses lie below the Base URL, also with a path', async () => {
	const gateway = await open({ submit: () => ({ body: { images: ['/v1/files/finished.png'] } }) });
	const result = await run(gateway, 'generations', 'sync');
	expect(result.json(NODE)).toMatchObject([{ url: `${gateway.url}/v1/files/finished.png` }]);
	expect(result.output(NODE)[0]?.binary?.data).toMatchObject({ mimeType: 'image/png' });
});

test('bytes beside an address that does not work are the image, and the address is told', async () => {
	const url = 'http://127.0.0.1:9/gone.png';
	const b64_json = TINY_PNG.toString('base64');
	const gateway = await open({ submit: () => ({ body: { data: [{ url, b64_json }] } }) });
	for (const mode of ['sync', 'wait'] as const) {
		const result = await run(gateway, 'generations', mode);
		expect(errorOf(result).message).toBe('');
		expect(result.json(NODE)).toMatchObject([{ url, index: 0 }]);
		expect(result.output(NODE)[0]?.binary?.data).toMatchObject({ bytes: TINY_PNG.length });
	}
});

describe('a list in place of the object', () => {
	test('of images', async () => {
		const png = TINY_PNG.toString('base64');
		const gateway = await open({
			submit: ({ elsewhere }) => ({
				body: [{ url: `${elsewhere}/finished.png` }, { b64_json: png }],
			}),
		});
		const result = await run(gateway, 'generations', 'wait');
		expect(result.json(NODE)).toMatchObject([{ url: gateway.image }, { index: 1 }]);
		expect(gateway.posts()).toHaveLength(1);
	});

	test('two tasks for one request: the image of the first, and a hint that names the other', async () => {
		const gateway = await open({
			submit: ({ id }) => ({
				body: {
					data: [
						{ task_id: id, status: 'submitted' },
						{ task_id: 'task-2', status: 'submitted' },
					],
				},
			}),
		});
		const result = await run(gateway, 'generations', 'wait', { options: { n: 2 } });
		expect(result.json(NODE)).toMatchObject([{ url: gateway.image, taskId: TASK_ID }]);
		expect(
			result
				.hints(NODE)
				.map(({ message }) => message)
				.join(),
		).toContain('1 of 2 images. The response to the submit also names task-2');
	});

	test('two tasks for one request: Submit Only names the other, and so does the error of Image Wait', async () => {
		const tasks = [{ task_id: TASK_ID }, { task_id: 'task-2' }];
		const gateway = await open({ isLost: true, submit: () => ({ body: { data: tasks } }) });
		const then = [{ type: 'imageWait', parameters: { pollInterval: 2, maxWait: 10 } }];
		const result = await run(gateway, 'generations', 'submit', { then });
		expect(result.json(NODE)).toMatchObject([{ taskId: TASK_ID, alsoNamed: ['task-2'] }]);
		const { description } = errorOf(result);
		expect(description).toContain('also names task-2');
	});
});

describe('gateways without tasks', () => {
	test('the image comes at once', async () => {
		const gateway = await open({
			submit: ({ elsewhere }) => ({
				body: { created: 1_795_000_000, data: [{ url: `${elsewhere}/finished.png` }] },
			}),
		});
		const result = await run(gateway, 'generations', 'wait');
		expect(result.json(NODE)).toMatchObject([{ url: gateway.image }]);
		expect(gateway.posts()).toHaveLength(1);
		expect(gateway.polls()).toEqual([]);
	});

	test.each(["Unknown parameter: 'async'.", 'Unrecognized request argument supplied: async'])(
		'400 %j: the error says that Synchronous would do',
		async (message) => {
			const gateway = await open({
				submit: () => ({
					status: 400,
					body: { error: { message, type: 'invalid_request_error', code: 'unknown_parameter' } },
				}),
			});
			const error = errorOf(await run(gateway, 'generations', 'wait'));
			expect(error.message).toContain(message);
			expect(error.description).toMatch(/Synchronous/);
			expect(gateway.posts()).toHaveLength(1);
		},
	);
});

describe('refusals in other words', () => {
	test('are told, and not sent again', async () => {
		const refusals = [
			{ status: 402, message: 'Payment required' },
			{ status: 524, message: 'A timeout occurred' },
			{ status: 529, message: 'Overloaded' },
			// The HTTP status as code.
			{ status: 400, message: 'Budget has been exceeded!', type: 'budget_exceeded', code: '400' },
		];
		const replies = refusals.map(({ status, ...error }) => () => ({ status, body: { error } }));
		const { items } = await ofEach(replies, 'generations', 'wait');
		expect(items.map(({ json }) => json.error)).toEqual(
			refusals.map(({ message }) => expect.stringContaining(message)),
		);
	});

	test('429 with the HTTP status as code is a rate limit: sent again, and charged once', async () => {
		let submits = 0;
		const error = { message: 'Too many', type: 'throttling_error', param: null, code: '429' };
		const gateway = await open({
			submit: (task) =>
				submits++ === 0
					? { status: 429, headers: { 'retry-after': '1' }, body: { error } }
					: PROTOCOL.submit(task),
		});
		const result = await run(gateway, 'generations', 'wait');
		expect(result.json(NODE)).toMatchObject([{ url: gateway.image }]);
		expect(gateway.posts()).toHaveLength(2);
	});
});

test('any response to a submit whose task is nowhere: sent once, and every ID is told', async () => {
	const property = fc.asyncProperty(nested, async (shape) => {
		const ids: string[] = [];
		const gateway = await open({
			isLost: true,
			submit: ({ elsewhere }) => {
				ids.splice(0);
				return { body: built(shape, ids, `${elsewhere}/finished.png`) };
			},
		});
		const result = await run(gateway, 'generations', 'wait', { options: { maxWait: 10 } });
		expect(gateway.posts()).toHaveLength(1);
		const hasImage = result.json(NODE).some(({ url }) => url === gateway.image);
		const { message, description, messages } = errorOf(result);
		const told = hasImage ? ids.join() : everythingIn({ message, description, messages });
		expect(ids.filter((id) => !told.includes(id))).toEqual([]);
	});
	await fc.assert(property, { numRuns: 8 });
}, 120_000);
