import {
	idIn,
	idOfAddress,
	readCreated,
	readImages,
	readStatus,
	readTaskAddress,
	readTaskId,
	readUsage,
} from '../../../gateway/protocol/responseFields.js';

const URL = 'https://a/1.png';
const nested = (levels: number, value: object): object =>
	levels === 0 ? value : { data: nested(levels - 1, value) };
const LATER = 'https://a/2.png';

describe("the ID of a response's task", () => {
	test.each<[string, object]>([
		['as the protocol has it', { id: 't1', status: 'queued' }],
		['beside the ID of the request', { id: 'r1', task_id: 't1' }],
		['inside, beside the ID of the request', { id: 'r1', data: { task_id: 't1' } }],
		['inside, beside its status', { id: 'r1', status: 200, data: { id: 't1', status: 'queued' } }],
		['in a list', { code: 200, data: [{ status: 'submitted', task_id: 't1' }] }],
		['in a list, called id', { data: [{ id: 't1' }] }],
		['in a list beside its status', { id: 'r1', data: [{ id: 't1', state: 'queued' }] }],
		['in place of the data', { code: 'success', message: '', data: 't1' }],
		['in place of the data, with a number as code', { code: 0, data: 't1' }],
		['in place of the data, with a large number as code', { code: 10_000, data: 't1' }],
		['in a list of texts', { data: ['t1'] }],
		['in place of the result', { code: 1, description: 'submitted', result: 't1' }],
		['in place of the task', { task: ' t1 ' }],
		['of a task whose list of images is empty', { id: 't1', data: [{ id: 'i1', url: '' }] }],
		['of a finished task', { id: 't1', status: 'completed', data: [{ id: 'i1', url: URL }] }],
		['around a result with an ID', { id: 't1', status: 'running', output: { id: 'o1' } }],
		['two levels below', { result: { data: { taskId: 't1' } } }],
		['in an output', { request_id: 'r1', output: { task_id: 't1', task_status: 'PENDING' } }],
		['called taskID', { id: 'r1', taskID: 't1' }],
	])('%s', (_, body) => {
		expect(readTaskId({ ...body })).toBe('t1');
	});

	test.each<[string, object]>([
		['a text that reports an error', { code: 401, data: 'unauthorized' }],
		['a text beside an error', { error: { message: 'no' }, data: 'refused' }],
		['a text of a failure', { success: false, data: 'refused' }],
		['a code in words', { code: 'FAIL', data: 'refused' }],
		['a negative code', { code: -1, data: 'refused' }],
		['a sentence', { data: 'try again later' }],
		['an address', { data: URL }],
		['image data', { data: 'data:image/png;base64,AAAA' }],
		['more than any ID has', { data: 'x'.repeat(401) }],
		['only images', { created: 1, data: [{ id: 'i1', url: URL }] }],
		['nothing', {}],
	])('%s is none', (_, body) => {
		expect(readTaskId(body as never)).toBeUndefined();
	});

	test('in a response that was cut off: that of a task first', () => {
		expect(idIn('{"id":"r1","task_id":"t1","sta')).toBe('t1');
		expect(idIn('{"id":"r1","sta')).toBe('r1');
		expect(idIn('{"status":"queued"')).toBeUndefined();
	});
});

describe("the status of a response's task", () => {
	test.each<[object, string | undefined]>([
		[{ status: 'queued' }, 'queued'],
		[{ status: 200, data: { status: 'processing' } }, 'processing'],
		[{ status: true, data: { status: 'processing' } }, 'processing'],
		[{ status: 'success', data: { status: 'processing' } }, 'processing'],
		[{ status: 'queued', data: { status: 'completed' } }, 'completed'],
		[{ status: 'success', data: { data: { status: 'failed' } } }, 'failed'],
		[{ code: 'success', data: { task_id: 't1', status: 'SUCCESS', data: {} } }, 'SUCCESS'],
		[{ status: 'ok', result: { status: 'running' } }, 'running'],
		[{ status: 'running', result: { status: 'success' } }, 'running'],
		[{ status: 'success', result: { status: 'failed' } }, 'failed'],
		[{ status: 'failed', output: { status: 'success' } }, 'failed'],
		[{ status: 'shiny', result: { status: 'success' } }, 'shiny'],
		[{ result: { status: 'shiny' } }, 'shiny'],
		[{ data: { task_id: 't1', task_status: 'succeed' } }, 'succeed'],
		[{ id: 't1', state: 'generating' }, 'generating'],
		[{ status: 1, state: 'generating' }, 'generating'],
		[{ status: '200', state: 'generating' }, 'generating'],
		[{ status: 'completed', data: [{ url: URL, status: 'archived' }] }, 'completed'],
		[{ data: [{ status: 'submitted', task_id: 't1' }] }, 'submitted'],
		[{ status: ' ' }, undefined],
		[{ status: { name: 'queued' } }, undefined],
		[{}, undefined],
	])('of %j is %j', (body, status) => {
		expect(readStatus({ ...body })).toBe(status);
	});
});

describe('the address of a task', () => {
	test.each<[string, object, Record<string, string>]>([
		['poll_url', { id: 't1', poll_url: '/v1/tasks/t1' }, {}],
		['status_url inside', { data: { status_url: ' /v1/tasks/t1 ' } }, {}],
		['urls.get', { urls: { get: '/v1/tasks/t1', cancel: '/v1/tasks/t1/cancel' } }, {}],
		['Location', {}, { location: '/v1/tasks/t1' }],
		['Operation-Location', { status: 'accepted' }, { 'operation-location': '/v1/tasks/t1' }],
		['the body first', { poll_url: '/v1/tasks/t1' }, { location: '/elsewhere' }],
	])('in %s', (_, body, headers) => {
		expect(readTaskAddress({ ...body }, headers)).toBe('/v1/tasks/t1');
	});

	test.each([
		[{}, {}],
		[{ poll_url: '' }, { location: ' ' }],
		[{ poll_url: 7, urls: [] }, {}],
		[{ poll_url: `/${'x'.repeat(2000)}` }, {}],
	])('is none in %.40j', (body, headers) => {
		expect(readTaskAddress(body, headers)).toBeUndefined();
	});
});

test.each([
	['/v1/tasks/t1', 't1'],
	['https://g.example/requests/t1/status?full=1', 't1'],
	['/tasks/t1/result/', 't1'],
	['/tasks/t%2F1#x', 't/1'],
	['/', undefined],
	['', undefined],
])('the ID at the end of the address %j is %j', (address, id) => {
	expect(idOfAddress(address)).toBe(id);
});

describe('images', () => {
	const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(200, 7)]);
	const BYTES = PNG.toString('base64');

	test.each<[string, object]>([
		['in place of an address', { data: [{ url: BYTES }] }],
		['in place of an object', { data: BYTES }],
		['in a list', { images: [BYTES] }],
		['as a `data:` URL', { output: `data:;base64,${BYTES}` }],
		['under another name', { result: { base64: BYTES } }],
	])('as Base64, %s', (_, body) => {
		expect(readImages({ ...body })).toEqual([{ url: `data:;base64,${BYTES}` }]);
	});

	test.each<[string, object]>([
		['data', { data: [{ url: URL }, { url: LATER }] }],
		['images', { images: [{ url: URL }, { url: LATER }] }],
		['result.data', { result: { data: [{ url: URL }, { url: LATER }] } }],
		['result.images, addresses in a list', { result: { images: [{ url: [URL, LATER] }] } }],
		['data.data.data', { data: { data: { data: [{ url: URL }, { url: LATER }] } } }],
		['data.images', { data: { images: [{ url: URL }, { url: LATER }] } }],
		['data.result_urls', { data: { result_urls: [URL, LATER] } }],
		['task_result.images', { data: { task_result: { images: [{ url: URL }, { url: LATER }] } } }],
		['output', { output: [URL, LATER] }],
		['output.results', { output: { results: [{ url: URL }, { url: LATER }] } }],
		['image_url', { data: [{ image_url: URL }, { imageUrl: LATER }] }],
		['several tasks in a list', { data: [{ result: { images: [URL] } }, { images: [LATER] }] }],
	])('in %s', (_, body) => {
		expect(readImages({ ...body }).map(({ url }) => url)).toEqual([URL, LATER]);
	});

	test.each<[string, object]>([
		['the source of an edit', { input: { images: [{ url: URL }] } }],
		['the address of a task', { poll_url: URL, urls: { get: URL } }],
		['a relative path in place of an object', { data: ['/1.png'] }],
		['one that is still in the making', { data: [{ url: URL, status: 'processing' }] }],
		['one that has failed', { data: [{ url: URL, status: 'failed' }] }],
		['one below more levels than any gateway has', nested(9, { url: URL })],
	])('are not: %s', (_, body) => {
		expect(readImages({ ...body })).toEqual([]);
	});

	test('have the details that their own object has, else those around it', () => {
		const image = { url: URL, revised_prompt: 'a red fox', size: '1x1' };
		const body = {
			size: '2x2',
			quality: 'high',
			output_format: 'webp',
			data: [image, { url: LATER }],
		};
		const shared = { quality: 'high', outputFormat: 'webp' };
		expect(readImages(body)).toEqual([
			{ url: URL, revisedPrompt: 'a red fox', size: '1x1', ...shared },
			{ url: LATER, size: '2x2', ...shared },
		]);
	});
});

test.each<[object, number | undefined]>([
	[{ created: 1_900_000_000 }, 1_900_000_000],
	[{ data: { created_at: 1_900_000_000_999 } }, 1_900_000_000],
	[{ createdAt: '2030-03-17T17:46:40Z' }, 1_900_000_000],
	[{ created: 'soon' }, undefined],
	[{ created: 0 }, undefined],
	[{ created: -1 }, undefined],
	[{ created: null, created_at: 5 }, 5],
])('the time of creation in %j is %j', (body, created) => {
	expect(readCreated({ ...body })).toBe(created);
});

test('usage is a copy, and neither empty nor endless', () => {
	const usage = { total_tokens: 7, input_tokens_details: { image_tokens: 3 } };
	const read = readUsage({ data: { usage } });
	expect(read).toEqual(usage);
	expect(read).not.toBe(usage);
	expect(readUsage({ usage: {} })).toBeUndefined();
	expect(readUsage({ usage: 'much' })).toBeUndefined();
	expect(readUsage({ usage: { words: 'x'.repeat(4001) } })).toBeUndefined();
});
