import { reasonsIn } from '../../../gateway/protocol/reasons.js';
import {
	idIn,
	idOfAddress,
	readCreated,
	readImages,
	readStatus,
	readTaskAddress,
	readTaskId,
	readUsage,
	withoutImageIn,
} from '../../../gateway/protocol/responseFields.js';

const URL = 'https://a/1.png';
const inData = (value: unknown): object => ({ data: value });
const nested = (levels: number, value: object, within: typeof inData): object =>
	levels === 0 ? value : within(nested(levels - 1, value, within));
const LATER = 'https://a/2.png';

describe("the ID of a response's task", () => {
	test.each<[string, object]>([
		['as the protocol has it', { id: 't1', status: 'queued' }],
		['beside the ID of the request', { id: 'r1', task_id: 't1' }],
		['inside, beside the ID of the request', { id: 'r1', data: { task_id: 't1' } }],
		['inside, beside its status', { id: 'r1', status: 200, data: { id: 't1', status: 'queued' } }],
		['in a list', { code: 200, data: [{ status: 'submitted', task_id: 't1' }] }],
		['in place of the data', { code: 'success', message: '', data: 't1' }],
		['of a finished task', { id: 't1', status: 'completed', data: [{ id: 'i1', url: URL }] }],
		['around a result with an ID', { id: 't1', status: 'running', output: { id: 'o1' } }],
		['in an output', { request_id: 'r1', output: { task_id: 't1', task_status: 'PENDING' } }],
	])('%s', (_, body) => {
		expect(readTaskId({ ...body })).toBe('t1');
	});

	test.each<[string, object]>([
		['a text that reports an error', { code: 401, data: 'unauthorized' }],
		['a text of a failure', { success: false, data: 'refused' }],
		['a code in an object of its own', { base_resp: { status_code: 1008 }, data: 'refused' }],
		['a sentence', { data: 'try again later' }],
		['an address', { data: URL }],
		['more than any ID has', { data: 'x'.repeat(401) }],
		['only images', { created: 1, data: [{ id: 'i1', url: URL }] }],
	])('%s is none', (_, body) => {
		expect(readTaskId(body as never)).toBeUndefined();
	});

	test.each([
		['{"id":17,"sta', '17'],
		['{"id":"r1","taskId":"t1","sta', 't1'],
		['{\n  "task_id":\n"t1",', 't1'],
		['{"id": " my task ", "sta', 'my task'],
		['{"id":17', undefined],
		['{"id":1.5,"sta', undefined],
		[`<!-- ${'-'.repeat(2048)} {"id":"page-1"} -->`, undefined],
	])('in a response that is no JSON: in %.40j it is %j', (text, id) => {
		expect(idIn(text)).toBe(id);
	});
});

describe("the status of a response's task", () => {
	test.each<[object, string | undefined]>([
		[{ status: 'queued' }, 'queued'],
		[{ status: 200, data: { status: 'processing' } }, 'processing'],
		[{ status: 'success', data: { status: 'processing' } }, 'processing'],
		[{ status: 'success', data: { data: { status: 'failed' } } }, 'failed'],
		[{ status: 'running', result: { status: 'success' } }, 'running'],
		[{ status: 'failed', output: { status: 'success' } }, 'failed'],
		[{ status: 'shiny', result: { status: 'success' } }, 'shiny'],
		[{ id: 't1', state: 'generating' }, 'generating'],
		[{ status: 1, state: 'generating' }, 'generating'],
		[{ status: 'completed', data: [{ url: URL, status: 'archived' }] }, 'completed'],
		// One image was refused, the task goes on.
		[{ id: 't1', status: 'processing', data: [{ id: 'i1', status: 'failed' }] }, 'processing'],
		[{ data: [{ status: 'failed' }, { url: URL }] }, undefined],
		[{ status: { name: 'queued' } }, undefined],
		[{}, undefined],
	])('of %j is %j', (body, status) => {
		expect(readStatus({ ...body })).toBe(status);
	});
});

describe('the address of a task', () => {
	test.each(['poll_url', 'polling_url', 'status_url', 'task_url', 'query_url', 'StatusUrl'])(
		'in %s, also below others',
		(name) => {
			const body = { [name]: ' /v1/tasks/t1 ' };
			expect(readTaskAddress({ ...body }, {})).toBe('/v1/tasks/t1');
			expect(readTaskAddress({ data: { ...body } }, {})).toBe('/v1/tasks/t1');
		},
	);

	test.each<[string, object, Record<string, string>]>([
		['urls.get', { urls: { get: '/v1/tasks/t1', cancel: '/v1/tasks/t1/cancel' } }, {}],
		['links.self inside', { data: { task: { id: 't1', links: { self: '/v1/tasks/t1' } } } }, {}],
		['_links.self.href', { _links: { self: { href: '/v1/tasks/t1' } } }, {}],
		['Location', {}, { location: '/v1/tasks/t1' }],
		['Operation-Location', { status: 'accepted' }, { 'operation-location': '/v1/tasks/t1' }],
		['the body first', { poll_url: '/v1/tasks/t1' }, { location: '/elsewhere' }],
	])('in %s', (_, body, headers) => {
		expect(readTaskAddress({ ...body }, headers)).toBe('/v1/tasks/t1');
	});

	test.each([
		[{}, {}],
		[{ poll_url: `/${'x'.repeat(2000)}` }, {}],
	])('is none in %.40j', (body, headers) => {
		expect(readTaskAddress(body, headers)).toBeUndefined();
	});
});

test.each([
	['/v1/tasks/t1', 't1'],
	['https://g.example/requests/t1/status?full=1', 't1'],
	['/tasks/t%2F1#x', 't/1'],
	['/v1/get_result?id=t1', 't1'],
	['https://g.example/fetch?full=1&task_id=t%2F1#x', 't/1'],
	['/', undefined],
	[undefined, undefined],
])('the ID in the address %j is %j', (address, id) => {
	expect(idOfAddress(address)).toBe(id);
});

describe('images', () => {
	const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(200, 7)]);
	const BYTES = PNG.toString('base64');

	test.each<[string, object]>([
		['in place of an address', { data: [{ url: BYTES }] }],
		['in a list', { images: [BYTES] }],
		['as a `data:` URL', { output: `data:;base64,${BYTES}` }],
	])('as Base64, %s', (_, body) => {
		expect(readImages({ ...body })).toEqual([{ url: `data:;base64,${BYTES}` }]);
	});

	test.each([
		...[
			'data',
			'images',
			'result_urls',
			'image_urls',
			'output_images',
			'image_result',
			'artifacts',
		],
		...[
			'results',
			'result',
			'task_result',
			'output',
			'outputs',
			'response',
			'task',
			'tasks',
			'job',
		],
		...['result_json', 'resultUrls', 'OutputImages'],
	])('in %s, as addresses or as objects, also below others', (name) => {
		const addresses = { [name]: [URL, LATER] };
		const objects = { data: { [name]: [{ url: URL }, { url: LATER }] } };
		for (const body of [addresses, objects]) {
			expect(readImages(body).map(({ url }) => url)).toEqual([URL, LATER]);
		}
	});

	test.each<[string, object]>([
		['result.images, addresses in a list', { result: { images: [{ url: [URL, LATER] }] } }],
		['data.data.data', { data: { data: { data: [{ url: URL }, { url: LATER }] } } }],
		['image in objects', { images: [{ image: URL }, { image: { url: LATER } }] }],
		['image_url in objects', { data: [{ image_url: { url: URL } }, { image_url: [LATER] }] }],
		['an image of its output', { output: { image: [URL, { image_url: { url: LATER } }] } }],
		['content of an output', { output: { content: [{ image: URL }, { image_url: LATER }] } }],
		[
			'the content of choices',
			{ output: { choices: [URL, LATER].map((image) => ({ message: { content: [{ image }] } })) } },
		],
		[
			'the images of a message',
			{ choices: [{ message: { content: 'Two', images: [URL, LATER].map((url) => ({ url })) } }] },
		],
		['an image beside a status', { state: 'done', image: [{ url: URL }, { url: LATER }] }],
		['a list, and not in what is beside it', { image_url: '/source.png', images: [URL, LATER] }],
		['a list below', { data: { url: '/v1/tasks/t1', result: { images: [URL, LATER] } } }],
		['several tasks in a list', { data: [{ result: { images: [URL] } }, { images: [LATER] }] }],
		['a list of finished ones', { data: [{ url: URL, status: 'succeeded' }, { url: LATER }] }],
	])('in %s', (_, body) => {
		expect(readImages({ ...body }).map(({ url }) => url)).toEqual([URL, LATER]);
	});

	test.each<[string, object]>([
		['the source of an edit', { input: { images: [{ url: URL }] } }],
		['the address of a task', { poll_url: URL, urls: { get: URL } }],
		['the address of the response', { id: 't1', url: URL }],
		['a sentence in place of an object', { data: [`see ${URL}`] }],
		['the source of an edit, beside an empty list', { data: { image_url: URL, images: [] } }],
		['what a chat says', { choices: [{ message: { content: `see ${URL}` } }] }],
		['words in place of Base64', { data: [{ b64_json: 'quota exceeded' }] }],
		['a text of another type', { output: 'data:text/plain;base64,cXVvdGE=' }],
		['one that is still in the making', { data: [{ url: URL, status: 'processing' }] }],
	])('are not: %s', (_, body) => {
		expect(readImages({ ...body })).toEqual([]);
	});

	test.each([
		['/1.png'],
		[`data:,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg"/>')}`],
	])('as %.40j, in place of an object', (url) => {
		expect(readImages({ images: [url] })).toEqual([{ url }]);
	});

	test.each<[string, object, object]>([
		['an address that may not work', { url: URL, b64_json: BYTES }, { address: URL }],
		['the same bytes', { url: `data:;base64,${BYTES}`, base64: BYTES }, {}],
	])('as bytes beside %s', (_, entry, known) => {
		const image = { url: `data:;base64,${BYTES}`, ...known };
		expect(readImages({ data: [entry] })).toEqual([image]);
		expect(readImages({ ...entry })).toEqual([image]);
	});

	test('as a `data:` URL in place of Base64', () => {
		const body = { data: [{ b64_json: '\n\nData:image/png;base64,iVBOR' }, { b64_json: 'iVBOR' }] };
		const urls = ['data:image/png;base64,iVBOR', 'data:;base64,iVBOR'];
		expect(readImages(body).map(({ url }) => url)).toEqual(urls);
		const twice = 'data:image/png;base64,Data:image/png;base64,iVBOR';
		for (const name of ['url', 'b64_json']) {
			expect(readImages({ data: [{ [name]: twice }] })).toEqual([{ url: urls[0] }]);
		}
	});

	test.each([
		['http://a/1.png'],
		// A server that signs its addresses rejects a changed one.
		['https://a/1.png?as=DATA:1'],
		// These begin like the Base64 of a JPEG.
		['/9j/photos/1.png'],
		[`/9j/${'a'.repeat(70)}.png`],
		[`signed-${'a'.repeat(100)}`],
	])('with the address %.40j keep it', (url) => {
		expect(readImages({ data: [{ url }] })).toEqual([{ url }]);
	});

	test('without any in their place, which may have been refused, are told apart', () => {
		const refused = { error: { message: 'blocked' } };
		expect(withoutImageIn({ data: [{ url: URL }, refused] })).toEqual([refused]);
		expect(withoutImageIn({ result: { images: [URL, 'i2', refused] } })).toEqual([refused]);
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
	[{ created: ' 1900000000999 ' }, 1_900_000_000],
	[{ created: 'soon' }, undefined],
	[{ created: 0 }, undefined],
	[{ created: null, created_at: 5 }, 5],
])('the time of creation in %j is %j', (body, created) => {
	expect(readCreated({ ...body })).toBe(created);
});

test.each([
	...['fail_reason', 'failure_reason', 'failed_reason', 'failReason', 'failureReason', 'failMsg'],
	...['error_message', 'errorMessage', 'error_msg', 'fail_msg', 'task_status_msg'],
])('the reason of a failure is read from %s', (name) => {
	expect(reasonsIn({ data: { task_id: 't1', status: 'failed', [name]: 'blocked' } })).toEqual([
		'blocked',
	]);
});

test.each<[object, string]>([
	[
		{
			detail: [
				{ loc: ['body', 'images', 0, 'url'], msg: 'Not an address' },
				{ loc: ['query', 'async'], msg: 'Not a boolean' },
			],
		},
		'images.0.url: Not an address; query.async: Not a boolean',
	],
	[{ detail: { loc: ['body', 'size'], msg: 'Field required' } }, 'Field required'],
	[{ errcode: 7, errmsg: 'no such size' }, 'no such size'],
	[{ error: 'invalid_token', error_description: 'It has expired' }, 'It has expired'],
	[{ base_resp: { status_code: 1004, status_msg: 'no such size' } }, 'no such size'],
	[
		{
			message: 'The data was invalid.',
			errors: { size: ['Too large', 'No square'], n: 'Too many' },
		},
		'size: Too large; No square; n: Too many',
	],
	[{ errors: [{ field: 'size', message: 'Too large' }, 'Too many'] }, 'size: Too large; Too many'],
	[{ errors: { message: 'no such size' } }, 'no such size'],
])('the reason in %j is %j', (body, reason) => {
	expect(reasonsIn(body)[0]).toBe(reason);
});

test('the reason of a failure is not the word for success beside it', () => {
	const body = { message: 'success', data: { status: 'failed', fail_reason: 'blocked' } };
	expect(reasonsIn(body)).toEqual(['blocked']);
});

describe('below more levels than any gateway has', () => {
	test.each<[string, (body: never) => unknown, object, typeof inData]>([
		['ID', readTaskId, { task_id: 't1' }, inData],
		['status', readStatus, { status: 'queued' }, inData],
		['image', (body) => readImages(body)[0], { url: URL }, inData],
		['reason', (body) => reasonsIn(body)[0], { message: 'blocked' }, inData],
		['error', (body) => reasonsIn(body)[0], { message: 'blocked' }, (error) => ({ error })],
		['list', (body) => reasonsIn(body)[0], ['blocked'], (error) => [error]],
	])('no %s is read', (_, read, value, within) => {
		expect(read(nested(8, value, within) as never)).toBeDefined();
		expect(read(nested(9, value, within) as never)).toBeUndefined();
	});
});

test('usage is a copy, and neither empty nor endless', () => {
	const usage = { total_tokens: 7, input_tokens_details: { image_tokens: 3 } };
	const read = readUsage({ data: { usage } });
	expect(read).toEqual(usage);
	expect(read).not.toBe(usage);
	expect(readUsage({ usage: {} })).toBeUndefined();
	const ofLength = (length: number) => ({ words: 'x'.repeat(length - '{"words":""}'.length) });
	expect(readUsage({ usage: ofLength(4000) })).toEqual(ofLength(4000));
	expect(readUsage({ usage: ofLength(4001) })).toBeUndefined();
});
