/** The images of a finished response in places that nobody knows. */
import { readPaidResponse } from '../../../gateway/responses/paidResponse.js';
import { readTaskState } from '../../../gateway/responses/task.js';
import { taskError } from '../../../gateway/errors/taskErrors.js';

const U = 'https://a.example/1.png';
const V = 'https://a.example/2';
const BYTES = `iVBORw0KGgo${'A'.repeat(120)}`;
const INSIDE = `data:;base64,${BYTES}`;
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
	['Base64 before an address', { ...READY, picture: U, inlineData: { data: BYTES } }, [INSIDE]],
	['the address of a result that ends like an image', { ...READY, result_url: U }, [U]],
])('are found: %s', (_, body, urls) => {
	expect(urlsOf(body)).toEqual(urls);
	for (const asynchronous of [true, false]) {
		expect(paid(body, asynchronous)?.images?.map(({ url }) => url)).toEqual(urls);
	}
});

test.each<[string, object]>([
	['of two places', { ...READY, picture: U, other: V }],
	['the source of an edit', { ...READY, source_image: U }],
	['of what may be one beside the result', { ...READY, image: V, output: { file: U } }],
	['the request', { ...READY, input: { image: U }, request: { picture: V } }],
	['a preview', { ...READY, preview: U }],
	['the task', { ...READY, location: 'https://g.example/v1/anything/t1' }],
	['to poll', { ...READY, polling_url: V, urls: { get: U } }],
	['of a result elsewhere', { ...READY, response_url: V }],
	['in a sentence', { ...READY, note: `see ${U}` }],
	['while it is open', { id: 't1', status: 'running', picture: U }],
	['beside an error', { error: { message: 'no' }, picture: U }],
	['of a task to poll', { id: 't1', picture: U }],
	['Base64 that is no image', { ...READY, picture: 'A'.repeat(5000) }],
])('are not taken: %s', (_, body) => {
	expect(urlsOf(body)).toEqual([]);
});

test('addresses of a finished task in several places are kept with it, for errors and items', () => {
	const body = { ...READY, polling_url: 'https://g.example/t', picture: U, other: V };
	for (const asynchronous of [true, false]) {
		expect(paid(body, asynchronous)?.task).toMatchObject({ taskId: 't1', mentioned: [U, V] });
	}
	expect(taskError(stateOf(body))?.problem.description).toContain(`${U} , ${V}`);
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
