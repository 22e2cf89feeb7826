/** The images of a finished response in places that nobody knows. */
import { addressesSent, type RequestPlan } from '../../../gateway/protocol/requestPlan.js';
import { readPaidResponse } from '../../../gateway/responses/paidResponse.js';
import { placesIn } from '../../../gateway/responses/responseFields.js';
import { readTaskState } from '../../../gateway/responses/task.js';
import { taskError } from '../../../gateway/errors/taskErrors.js';
import { imagesOf } from './receipts.mjs';

const U = 'https://a.example/1.png';
const V = 'https://a.example/2';
const W = 'https://a.example/3';
const SOURCE = 'https://a.example/source.png';
const BYTES = `iVBORw0KGgo${'A'.repeat(120)}`;
const INSIDE = `data:;base64,${BYTES}`;
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
	['Base64 before an address', { ...READY, picture: U, inlineData: { data: BYTES } }, [INSIDE]],
	['Base64 before a page', { vector: BYTES, groundingMetadata: { web: { uri: U } } }, [INSIDE]],
	['Base64 beside empty lists', { data: { images: [], image_base64: BYTES } }, [INSIDE]],
	['the same in a list', { data: { binary_data_base64: [BYTES], image_urls: [] } }, [INSIDE]],
	['the same of a chat', { choices: [], generated: BYTES }, [INSIDE]],
	['a placeholder in an object', { photo: V, placeholder: { data: BYTES } }, [V]],
	['a long placeholder', { images: [{ photo: V, lqip: BYTES + 'A'.repeat(10_000) }] }, [V]],
	['an empty list of more', { ...READY, imageUrl: V, imageUrls: [] }, [V]],
	['the same inside', { ...READY, output: { image_url: V, image_urls: [] } }, [V]],
	['a file beside an avatar', { images: [{ file: U, user: { avatar: `${V}.png` } }] }, [U]],
	['a file beside itself', { images: [{ file: U, self: V }] }, [U]],
	['a file beside its page', { images: [{ file: V, html_url: U, permalink: W }] }, [V]],
	['a file beside a link', { images: [{ file: U, media: V, link: V }] }, [U]],
	['a file beside a logo', { photo: U, provider_logo: `${V}.png`, logo: { url: V } }, [U]],
	['a source in its object', { input_object: { url: U }, output_objects: [{ tmp_url: V }] }, [V]],
	['an address before a placeholder', { ...READY, result: { lqip: INSIDE, picture: V } }, [V]],
	['the same in a list', { ...READY, data: [{ blur_data_url: INSIDE, src: V }] }, [V]],
	['one that says it is an image', { ...READY, picture: V, other: `${V}?a` }, [V]],
	['one that ends like an image', { ...READY, policy: V, other: U }, [U]],
	['in a place, not beside it', { ...READY, data: [{ link: V }], picture: U }, [V]],
	['in the inner place', { ...READY, before: U, result: { files: U, results: [{ src: V }] } }, [V]],
	['the address of a result that ends like an image', { ...READY, result_url: U }, [U]],
	[
		'the same in its query',
		{ ...READY, result_url: `${V}?filename=a.png` },
		[`${V}?filename=a.png`],
	],
	...[{ tasks: [] }, { job: [] }, { output: {} }, { message: [] }, { content: [] }].map(
		(other): [string, object, string[]] => [JSON.stringify(other), { ...other, photo: U }, [U]],
	),
	...['url', 'uri', 'link', 'href', 'src', 'file_url', 'cdn_url', 's3_url', 'signed_url'].map(
		(name): [string, object, string[]] => [`the only address, ${name}`, { [name]: V }, [V]],
	),
	['the only address in a list', { files: [{ url: V }] }, [V]],
	['the only text in a list', { renders: [V] }, [V]],
])('are found: %s', (_, body, urls) => {
	expect(urlsOf(body)).toEqual(urls);
	for (const asynchronous of [true, false]) {
		expect(imagesOf(paid(body, asynchronous))?.map(({ url }) => url)).toEqual(urls);
	}
});

test('a drawing in Base64 may have tags in the comments before it', () => {
	for (const start of [
		'<!-- (c) Foo <foo@bar.com> -->',
		'<?xml version="1.0"?>\n<!-- <a> - -- -->\n',
	]) {
		const b64_json = Buffer.from(`${start}<svg xmlns="x"></svg>`).toString('base64');
		expect(urlsOf({ data: [{ b64_json }] })).toEqual([`data:;base64,${b64_json}`]);
	}
});

test.each<[string, object]>([
	['of two places', { ...READY, picture: U, sample: V }],
	['of what nothing calls an image', { ...READY, policy: V }],
	...[
		'policy',
		'learn_more',
		'help',
		'docs_url',
		'error_url',
		'support',
		'self',
		'job_url',
	].flatMap(
		(name): Array<[string, object]> => [
			[`of a page, ${name}`, { created: 1, data: [{ status: 'blocked', [name]: V }] }],
			[`of a page, ${name}, in an object`, { created: 1, output: { [name]: V } }],
		],
	),
	['of a logo', { ...READY, provider_logo: U }],
	['of a person', { ...READY, user: { avatar: U } }],
	['of a help page in an object', { ...READY, output: { help: { url: V } } }],
	['of a citation', { choices: [{ message: { annotations: [{ url_citation: { url: V } }] } }] }],
	['the source of an edit', { ...READY, source_image: U }],
	['of what may be its source', { ...READY, ref_image: V, data: { output: { link: W } } }],
	[
		'of what may be its source at the top',
		{ ...READY, image_url: V, data: { output: { link: W } } },
	],
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
	...['null', 'a sentence', '<!-- <svg> --><html></html>', '<html><svg></svg></html>'].map(
		(text): [string, object] => [
			`${text} in Base64`,
			{ ...READY, data: [{ b64_json: Buffer.from(text).toString('base64') }] },
		],
	),
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
	expect(taskError(stateOf(body))?.problem).toMatchObject({
		description: expect.stringContaining(`${U} , ${V}`),
		response: expect.stringMatching(/^\{/),
	});
});

const EMPTY: object[] = [
	{ images: [] },
	{ data: [] },
	{ data: { images: [] } },
	{ output_images: [] },
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
	expect(imagesOf(receipt)?.map(({ url }) => url) ?? []).toEqual(urls);
});

test('addresses that were sent are the same in another spelling', () => {
	const task = { taskId: 't1', sent: ['HTTPS://A.Example/source.png', 'https://a.example'] };
	for (const image of [SOURCE, 'https://a.example/./source.png', 'https://A.example/']) {
		expect(readTaskState(task, { ...READY, image }).images).toEqual([]);
	}
});

const PLAN: RequestPlan = {
	call: 'sync',
	method: 'POST',
	path: '/v1/images/generations',
	query: {},
	headers: {},
	paid: true,
};

test.each<[string, unknown]>([
	['image', [U]],
	['image_prompt', [U]],
	['target_image', [U]],
	['prompt', undefined],
	['negative_prompt', undefined],
	['output_url', undefined],
	['uploadUrl', undefined],
	['s3_result_url', undefined],
	['webhook', undefined],
])('an address in the field %s of a request is that of a source: %j', (name, sent) => {
	for (const value of [U, `as ${U} shows`]) {
		const body = { model: 'm', inputs: { [name]: value } };
		expect(addressesSent({ ...PLAN, body })).toEqual(sent);
		const form = { fields: [[name, value]] as Array<[string, string]>, files: [] };
		expect(addressesSent({ ...PLAN, form })).toEqual(sent);
	}
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
	expect(imagesOf(paid({ id: 't1', status: 'generating', data }, true))).toBeUndefined();
	expect(stateOf({ status: 'generating', data }).group).toBe('working');
	expect(urlsOf({ ...READY, data: [{ ...OPEN, url: V }, { url: U }] })).toEqual([U]);
	expect(paid({ status: 'generating', error: 'no', data }, false)).toBeUndefined();
});

test('an image that a finished task calls unfinished is its result', () => {
	const data = [{ status: 'in_progress', b64_json: BYTES }];
	expect(stateOf({ id: 't1', status: 'completed', data }).images).toMatchObject([{ url: INSIDE }]);
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

test('the lists of images are looked for as deep as a response has them, and no deeper', () => {
	let body: object = { data: [{ url: U }] };
	for (let depth = 0; depth < 20_000; depth += 1) body = { data: body };
	expect(placesIn({ ...body })).toBeUndefined();
});
