import fc from 'fast-check';
import { readPaidResponse } from '../../../gateway/responses/paidResponse.js';
import { readTaskState } from '../../../gateway/responses/task.js';
import { built, nested } from './nested-responses.mjs';
import { imagesOf } from './receipts.mjs';

const URL = 'https://a/1.png';
const AT = '2027-01-31T00:00:00.000Z';
const data = [{ url: URL }];
const bytes = { b64_json: 'AAAA' };

const read = (json: object, asynchronous = true, headers: Record<string, string> = {}) =>
	readPaidResponse(
		{ json: { ...json }, headers },
		{ taskType: 'edit', asynchronous, submittedAt: AT },
	);

describe('finished images', () => {
	test.each<[string, object]>([
		['as the protocol has them', { created: 1, data }],
		['with a status of success', { status: 'SUCCESS', data }],
		['beside a number', { status: 200, data }],
		['beside a status that is null', { id: 't1', status: null, data }],
		['beside an unknown word, without an ID', { status: 'shiny', data }],
		['beside the kind of their job', { job: 'txt2img', data }],
		['in a field of their own beside it', { job: 'txt2img', picture: URL }],
	])('%s', (_, json) => {
		for (const asynchronous of [true, false]) {
			expect(imagesOf(read(json, asynchronous))).toEqual([{ url: URL }]);
		}
	});

	test('name their task where it lists new addresses later', () => {
		const json = { id: 't1', status: 'completed', data };
		const task = { taskId: 't1', taskType: 'edit', status: 'completed', submittedAt: AT };
		expect(read(json)?.task).toMatchObject(task);
		expect(read(json, false)?.task).toBeUndefined();
		expect(read({ ...json, data: [bytes] })?.task).toBeUndefined();
		expect(read({ ...json, data: [...data, bytes] })?.task).toBeUndefined();
		expect(read({ id: 'r1', data })?.task).toBeUndefined();
	});

	test('come with the time, with what they used up, and with why one is missing', () => {
		const usage = { total_tokens: 7 };
		const refused = { error: { message: 'too dark' } };
		const told = { images: [{ url: URL }], created: 5, usage, refusal: 'too dark' };
		expect(read({ created: 5, usage, data: [...data, refused] })).toMatchObject(told);
		expect(read({ message: 'all done', data })).not.toHaveProperty('refusal', expect.anything());
	});
});

describe('images with IDs of their own', () => {
	const refused = { id: 'i1', status: 'failed', error: { message: 'too dark' } };
	const good = { id: 'i2', status: 'succeeded', url: URL };
	const stateOf = (json: object) => readTaskState({ taskId: 't1' }, json as never);

	test('are no tasks, though one was refused', () => {
		for (const data of [
			[refused, good],
			[good, refused],
		]) {
			for (const around of [{}, { status: 'succeeded' }, { code: 'success' }]) {
				const result = read({ ...around, data });
				expect([imagesOf(result)?.length, result?.task?.taskId]).toEqual([1, undefined]);
			}
			const running = read({ task_id: 't1', status: 'processing', data });
			expect(running?.task).toMatchObject({ taskId: 't1', status: 'processing' });
			const ended = stateOf({ task_id: 't1', status: 'done', data });
			expect([ended.group, ended.images.length]).toEqual(['success', 1]);
		}
	});

	test('are waited for while one is still made', () => {
		const data = [{ id: 'i1', status: 'processing' }, good];
		expect(stateOf({ data }).status).toBe('processing');
	});
});

describe('an open task', () => {
	test.each<[string, object, string]>([
		['as the protocol has it', { id: 't1', status: 'queued' }, 'queued'],
		['without a status', { id: 't1' }, 'queued'],
		['with a preview', { id: 't1', status: 'processing', data }, 'processing'],
		['with a preview inside', { id: 't1', data: { status: 'running', images: [URL] } }, 'running'],
		['in a success', { status: 'success', data: { task_id: 't1', status: 'new' } }, 'new'],
		['with an unknown word', { id: 't1', status: '<b>shiny</b>', data }, 'shiny'],
		['finished without an image', { id: 't1', status: 'completed', data: [] }, 'completed'],
		['with its own address', { id: 't1', task: { url: '/v1/tasks/t1' } }, 'queued'],
		[
			'with it as data',
			{ id: 't1', data: { url: 'https://a/images/generations/t1?x=1' } },
			'queued',
		],
	])('%s', (_, json, status) => {
		const result = read(json);
		expect(imagesOf(result)).toBeUndefined();
		expect(result?.task).toMatchObject({ taskId: 't1', taskType: 'edit', status, submittedAt: AT });
		expect(result?.task?.reason).toBeUndefined();
	});

	test('an image may have the ID of its task as its name', () => {
		for (const url of ['https://files.example/t1', 'https://a/tasks/t1/1.png']) {
			expect(imagesOf(read({ id: 't1', data: [{ url }] }, false))).toEqual([{ url }]);
		}
	});

	test.each<[string, object, string[]]>([
		['an image with an address', { id: 't1', status: 'shiny', data: [...data, bytes] }, [URL]],
		['no preview', { id: 't1', status: 'queued', data }, []],
		['the ID of the request', { id: 'r1', data: { task_id: 't1' } }, ['r1']],
		['other tasks', { data: [{ task_id: 't1' }, { task_id: 't2' }, { task_id: 3 }] }, ['t2', '3']],
	])('keeps what else the response names, for errors to tell: %s', (_, json, mentioned) => {
		expect(read(json)?.task).toMatchObject({ taskId: 't1', mentioned });
	});

	test.each<[object, Record<string, string>, string, string]>([
		[{ task_id: 't1', poll_url: '/v1/tasks/t1' }, {}, 't1', '/v1/tasks/t1'],
		[{ status: 'accepted' }, { location: '/tasks/t%201/?a=1' }, 't 1', '/tasks/t%201/?a=1'],
		[{}, { location: 'https://b/v1/tasks/t1' }, 't1', 'https://b/v1/tasks/t1'],
	])('has its address in %j and headers %j', (json, headers, taskId, statusUrl) => {
		for (const asynchronous of [true, false]) {
			expect(read(json, asynchronous, headers)?.task).toMatchObject({ taskId, statusUrl });
		}
	});

	test('is one although images were asked for, if the response says so', () => {
		expect(read({ id: 't1', status: 'queued' }, false)?.task?.taskId).toBe('t1');
		expect(read({ task_id: 't1' }, false)?.task?.taskId).toBe('t1');
		expect(read({ id: 'r1' }, false)).toBeUndefined();
	});
});

test('a task that has failed, whatever image is beside it', () => {
	const json = { id: 't1', status: 'failed', error: 'too dark', data };
	const task = { taskId: 't1', status: 'failed', reason: 'too dark' };
	for (const asynchronous of [true, false]) {
		expect(read(json, asynchronous)).toMatchObject({ task });
		expect(imagesOf(read(json, asynchronous))).toBeUndefined();
	}
});

test.each<object>([
	{},
	{ error: { message: 'no' } },
	{ code: 402, message: 'no', data: null },
	{ status: 'failed', error: 'too dark', data },
	{ id: 'r1', error: { message: 'no' } },
	{ id: 'r1', code: '429', message: 'no' },
])('%j is unusable', (json) => {
	expect([read(json, false), read(json, true)]).toEqual([undefined, undefined]);
});

test('of any response, all IDs are told, unless it has the images', () => {
	fc.assert(
		fc.property(nested, fc.boolean(), (shape, asynchronous) => {
			const ids: string[] = [];
			const json = built(shape, ids, URL);
			const result = read(json, asynchronous);
			// An unusable response is told as it is.
			if (result === undefined || result.kind === 'images') return;
			const { taskId, mentioned = [] } = result.task;
			const told = new Set([taskId, ...mentioned]);
			expect(ids.filter((id) => !told.has(id))).toEqual([]);
		}),
		{ numRuns: 600 },
	);
});

/** Envelopes around a task: the ID and the status stand in the same object, requests have IDs too. */
const envelope = fc.letrec<{ task: object; wrapped: object }>((tie) => ({
	task: fc.record(
		{
			task_id: fc.constant('the-task'),
			status: fc.constantFrom('queued', 'PENDING', 'in_progress', 'running', 'not_start'),
			data: fc.constantFrom(data, [], null, data[0], { images: [URL] }, [{ id: 'i1', url: URL }]),
			progress: fc.nat(),
		},
		{ requiredKeys: ['task_id', 'status'] },
	),
	wrapped: fc.oneof(
		{ maxDepth: 4 },
		tie('task'),
		fc
			.tuple(
				fc.constantFrom('data', 'task', 'result', 'output', 'response', 'payload', 'outputs'),
				tie('wrapped'),
				fc.record(
					{
						id: fc.constantFrom('r1', 7),
						status: fc.constantFrom<unknown>(200, true, 'success', 'ok', null, {}, []),
						code: fc.constantFrom<unknown>(0, 200, 'success'),
						message: fc.constantFrom('', 'success'),
						created: fc.nat(),
					},
					{ requiredKeys: [] },
				),
			)
			.map(([name, inner, around]) => ({
				...around,
				[name]: 'task_id' in inner && around.code !== 0 ? [inner] : inner,
			})),
	),
})).wrapped;

test('in any envelope, an open task is found, and its preview is never a result', () => {
	fc.assert(
		fc.property(envelope, fc.boolean(), (json, asynchronous) => {
			const result = read(json, asynchronous);
			expect(imagesOf(result)).toBeUndefined();
			expect(result?.task?.taskId).toBe('the-task');
		}),
		{ numRuns: 400 },
	);
});
