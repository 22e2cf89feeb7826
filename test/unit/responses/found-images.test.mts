/** The images of a finished response in places that nobody knows. */
import { readPaidResponse } from '../../../gateway/responses/paidResponse.js';
import { readTaskState } from '../../../gateway/responses/task.js';
import { taskError } from '../../../gateway/errors/taskErrors.js';

const U = 'https://a.example/1.png';
const V = 'https://a.example/2';
const SOURCE = 'https://a.example/source.png';
const BYTES = `iVBORw0KGgo${'A'.repeat(120)}`;
const INSIDE = `data:;base64,${BYTES}`;
/** Longer than any placeholder. */
const WHOLE = BYTES + 'A'.repeat(10_000);
/** As in the Responses API: the call of a tool, not a task. */
const OPEN = { type: 'image_generation_call', status: 'generating' };
const READY = { id: 't1', status: 'Ready' };

const stateOf = (body: object) => readTaskState({ taskId: 't1' }, { ...body });
const urlsOf = (body: object) => stateOf(body).images.map(({ url }) => url);
const paid = (json: object, asynchronous: boolean) =>
	readPaidResponse(
		{ json: { ...json }, headers: {} },
		{ taskType: 'generation', asynchronous, submittedAt: '2027-01-31T00:00:00.000Z' },
	);

test.each<[string, object, string[]]>([
	['an address under any name', { ...READY, result: { sample: V } }, [V]],
	['beside documentation', { ...READY, picture: U, docs_url: V, help: 'https://docs.a/x' }, [U]],
	['documentation by its path', { ...READY, picture: U, about: 'https://a.example/docs/1' }, [U]],
	['several in one place', { ...READY, pictures: [{ src: U }, { src: V }] }, [U, V]],
	['a list of texts', { ...READY, generated: [U] }, [U]],
	['without a status or a task', { generated: [U] }, [U]],
	['Base64 in a list', { ...READY, image_base64: [BYTES] }, [INSIDE]],
	['Base64 in a list of a known name', { ...READY, data: { b64_json: [BYTES] } }, [INSIDE]],
	['Base64 under any name', { predictions: [{ bytesBase64Encoded: BYTES }] }, [INSIDE]],
	[
		'Base64 before an address',
		{ ...READY, picture: U, inlineData: { data: WHOLE } },
		[`data:;base64,${WHOLE}`],
	],
	['an address before a placeholder', { ...READY, result: { lqip: INSIDE, picture: V } }, [V]],
	['the same in a list', { ...READY, data: [{ blur_data_url: INSIDE, src: V }] }, [V]],
	['one that says it is an image', { ...READY, picture: V, other: `${V}?a` }, [V]],
	['one that ends like an image', { ...READY, policy: V, other: U }, [U]],
	['in a place, not beside it', { ...READY, data: [{ link: V }], picture: U }, [V]],
	['in the inner place', { ...READY, before: U, result: { files: U, results: [{ src: V }] } }, [V]],
	['the address of a result that ends like an image', { ...READY, result_url: U }, [U]],
])('are found: %s', (_, body, urls) => {
	expect(urlsOf(body)).toEqual(urls);
	for (const asynchronous of [true, false]) {
		expect(paid(body, asynchronous)?.images?.map(({ url }) => url)).toEqual(urls);
	}
});

test.each<[string, object]>([
	['of two places', { ...READY, picture: U, sample: V }],
	['of what nothing calls an image', { ...READY, policy: V }],
	['the source of an edit', { ...READY, source_image: U }],
	['of what may be one beside the result', { ...READY, image: V, output: { file: U } }],
	['the request', { ...READY, input: { image: U }, request: { picture: V } }],
	['a preview', { ...READY, preview: U }],
	['previews in an object', { ...READY, previews: { image: U } }],
	['the task', { ...READY, location: 'https://g.example/v1/anything/t1' }],
	['to poll', { ...READY, polling_url: V, urls: { get: U } }],
	['of a result elsewhere', { ...READY, response_url: V }],
	['in a sentence', { ...READY, note: `see ${U}` }],
	['while it is open', { id: 't1', status: 'running', picture: U }],
	['beside an error', { error: { message: 'no' }, picture: U }],
	['of a task to poll', { id: 't1', picture: U }],
	...['null', 'a sentence', '<html><svg></svg></html>'].map((text): [string, object] => [
		`${text} in Base64`,
		{ ...READY, data: [{ b64_json: Buffer.from(text).toString('base64') }] },
	]),
	['the word null', { ...READY, data: [{ b64_json: 'null' }] }],
	['Base64 that is no image', { ...READY, picture: 'A'.repeat(5000) }],
])('are not taken: %s', (_, body) => {
	expect(urlsOf(body)).toEqual([]);
});

test('addresses of a finished task in several places are kept with it, for errors and items', () => {
	const body = { ...READY, polling_url: 'https://g.example/t', picture: U, sample: V };
	for (const asynchronous of [true, false]) {
		expect(paid(body, asynchronous)?.task).toMatchObject({ taskId: 't1', mentioned: [U, V] });
	}
	expect(taskError(stateOf(body))?.problem.description).toContain(`${U} , ${V}`);
});

const EMPTY: object[] = [
	{ images: [] },
	{ data: [] },
	{ data: { images: [] } },
	{ result: {} },
	{ output: { results: [{}] } },
	{ images: [null] },
	{ images: [{ url: null }, { b64_json: '' }] },
];
const NAMES = ['image', 'image_url', 'url', 'ref_image', 'control_image', 'first_frame', 'before'];

test.each(EMPTY)('a response with %j has no image elsewhere', (place) => {
	for (const name of [...NAMES, 'input_image', 'policy']) {
		for (const body of [
			{ ...READY, ...place, [name]: SOURCE },
			{ ...READY, [name]: SOURCE, data: { ...place, [name]: SOURCE } },
			{ ...READY, data: [{ ...place, [name]: SOURCE }] },
		]) {
			expect(urlsOf(body)).toEqual([]);
			expect(taskError(stateOf(body))?.problem).toMatchObject({
				message: expect.stringContaining('without an image'),
				description: expect.stringContaining(SOURCE),
			});
		}
		expect(paid({ ...place, [name]: SOURCE }, false)).toBeUndefined();
	}
});

test.each<[object, string[]]>([
	[{ image: SOURCE }, []],
	[{ data: [{ url: SOURCE }] }, []],
	[{ data: [{ url: SOURCE }, { url: U }] }, [U]],
	[{ url: SOURCE, generated_image: U }, [U]],
	[{ result: { sample: SOURCE } }, []],
	[{ data: [{ b64_json: BYTES, url: SOURCE }] }, [INSIDE]],
])('what the request has sent is not its image: %j', (body, urls) => {
	const task = { taskId: 't1', sent: [SOURCE] };
	const { images } = readTaskState(task, { ...READY, ...body });
	expect(images.map(({ url }) => url)).toEqual(urls);
	expect(images.map(({ address }) => address)).not.toContain(SOURCE);
	const sent = { taskType: 'edit' as const, asynchronous: false, submittedAt: '', sent: [SOURCE] };
	const receipt = readPaidResponse({ json: { ...READY, ...body }, headers: {} }, sent);
	expect(receipt?.images?.map(({ url }) => url) ?? []).toEqual(urls);
});

test.each<[string, object, string]>([
	['beside its status', { status: 'generating', data: [{ url: U }] }, U],
	['in its object', { data: [{ status: 'in_progress', b64_json: BYTES }] }, INSIDE],
	['in a finished response', { status: 'completed', output: [{ ...OPEN, result: BYTES }] }, INSIDE],
])('an unfinished image is the result where there is no task to poll: %s', (_, body, url) => {
	for (const asynchronous of [true, false]) {
		expect(paid(body, asynchronous)).toMatchObject({ images: [{ url }] });
	}
});

test('an unfinished image is none where there is a task, a finished one or an error', () => {
	const data = [{ url: U }];
	expect(paid({ id: 't1', status: 'generating', data }, true)?.images).toBeUndefined();
	expect(stateOf({ status: 'generating', data }).group).toBe('working');
	expect(urlsOf({ ...READY, data: [{ ...OPEN, url: V }, { url: U }] })).toEqual([U]);
	expect(paid({ status: 'generating', error: 'no', data }, false)).toBeUndefined();
});

test('an unknown word at 100 % with an image is a result', () => {
	for (const progress of [100, '100%', ' 100.0 % ']) {
		expect(stateOf({ id: 't1', status: 'archived', progress, picture: U })).toMatchObject({
			group: 'success',
			images: [{ url: U }],
		});
	}
	for (const progress of [99, '99%', 1, null]) {
		const body = { id: 't1', status: 'archived', progress, picture: U };
		expect(stateOf(body)).toMatchObject({ group: 'unknown', images: [] });
	}
});

test('a success with some of its images, or with flagged ones, has a hint', () => {
	const data = [{ url: U }];
	const some = { status: 'partial_success', message: 'one was refused', data };
	expect(stateOf(some)).toMatchObject({ group: 'success', refusal: 'one was refused' });
	expect(stateOf({ ...some, message: undefined }).refusal).toBe('partial_success');
	const flagged = { status: 'completed', data, has_nsfw_concepts: [false, true] };
	expect(stateOf(flagged).refusal).toContain('has_nsfw_concepts');
	expect(stateOf({ ...flagged, has_nsfw_concepts: [false] }).refusal).toBeUndefined();
});

test.each<[object, string]>([
	[{ error: 'the style was refused' }, 'the style was refused'],
	[{ fail_reason: 'the style was refused' }, 'the style was refused'],
	[{ results: [{ code: 'E1', message: 'the style was refused' }] }, 'the style was refused'],
	[{ output: { raiFilteredReason: 'a person of note' } }, 'a person of note'],
	[{ has_nsfw_concepts: [true] }, 'has_nsfw_concepts'],
])('a success without an image tells its reason: %j', (body, reason) => {
	expect(taskError(stateOf({ status: 'completed', ...body }))?.problem.message).toContain(reason);
});

test('ten thousand addresses, and sixty million characters that are no image, are read at once', () => {
	const many = Array.from({ length: 10_000 }, (_, at) => `https://a.example/${at}`);
	expect(urlsOf({ ...READY, many }).length).toBeLessThan(100);
	expect(urlsOf({ ...READY, long: 'A'.repeat(60_000_000) })).toEqual([]);
});
