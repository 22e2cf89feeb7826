import { reasonsIn } from '../../../gateway/responses/reasons.js';
import {
	idIn,
	idOfAddress,
	layersOf,
	readCreated,
	readImages,
	readStatus,
	readTaskAddress,
	readTaskId,
	readUsage,
	withoutImageIn,
} from '../../../gateway/responses/responseFields.js';
import { readTaskState } from '../../../gateway/responses/task.js';

const URL = 'https://a/1.png';
const LATER = 'https://a/2.png';
const BOTH = [URL, LATER];
const inData = (value: unknown): object => ({ data: value });
const nested = (levels: number, value: object, within: typeof inData): object =>
	levels === 0 ? value : within(nested(levels - 1, value, within));

describe("the ID of a response's task", () => {
	test.each<[string, object, string | undefined]>([
		['beside the ID of the request', { id: 'r1', task_id: 't1' }, 't1'],
		['inside, beside the ID of the request', { id: 'r1', data: { task_id: 't1' } }, 't1'],
		['inside, beside its status', { id: 'r1', data: { id: 't1', status: 'queued' } }, 't1'],
		['in a list', { code: 200, data: [{ status: 'submitted', task_id: 't1' }] }, 't1'],
		['not the kind of its job', { job: 'txt2img', result: 't1' }, 't1'],
		['in place of its object', { task: 't1' }, 't1'],
		['in place of the data', { code: 'success', message: '', data: 't1' }, 't1'],
		['of a finished task', { id: 't1', status: 'completed', data: [{ id: 'i1', url: URL }] }, 't1'],
		['around a result with an ID', { id: 't1', status: 'running', output: { id: 'o1' } }, 't1'],
		['in an output', { request_id: 'r1', output: { task_id: 't1' } }, 't1'],
		['not a text that reports an error', { code: 401, data: 'unauthorized' }, undefined],
		...[400, 599, -1, 'failed'].map((code): [string, object, undefined] => [
			`not a text beside the code ${code}`,
			{ code, data: 'refused' },
			undefined,
		]),
		['beside a code that is no status of HTTP', { code: 600, data: 't1' }, 't1'],
		['not a text of a failure', { success: false, data: 'refused' }, undefined],
		['not beside a code', { base_resp: { status_code: 1008 }, data: 'refused' }, undefined],
		['not a sentence', { data: 'try again later' }, undefined],
		['not an address', { data: URL }, undefined],
		['not longer than any ID', { data: 'x'.repeat(401) }, undefined],
		['not of an image', { created: 1, data: [{ id: 'i1', url: URL }] }, undefined],
	])('%s', (_, body, id) => {
		expect(readTaskId({ ...body })).toBe(id);
	});

	test.each([
		['t1', '{"id":"r1","taskId":"t1","sta'],
		['t1', '{\n  "task_id":\n"t1",'],
		['17', '{"id":17,"sta'],
		['t1', '{"ID":"r1","taskID":"t1","sta'],
		[undefined, '{"id":17'],
		[undefined, `<!-- ${'-'.repeat(2048)} {"id":"page-1"} -->`],
	])('in a response that is no JSON, is %j', (id, text) => {
		expect(idIn(text)).toBe(id);
	});

	test.each([
		['/v1/tasks/t1', 't1'],
		['https://g.example/requests/t1/status?full=1', 't1'],
		['https://g.example/fetch?full=1&task_id=t%2F1#x', 't/1'],
		['/', undefined],
	])('in the address %j it is %j', (address, id) => {
		expect(idOfAddress(address)).toBe(id);
	});
});

describe('an envelope', () => {
	/** The names under which a reader looks into a response. */
	function namesReadBy(read: (body: never) => unknown): string[] {
		const names = new Set<string>();
		const get = (_: object, name: string | symbol) => void names.add(String(name));
		read(new Proxy({}, { get }) as never);
		return [...names];
	}
	const stateOf = (body: object) => readTaskState({ taskId: 't1' }, body as never);
	const readers: Record<string, (inner: object) => unknown> = {
		id: (inner) => readTaskId(inner as never),
		status: (inner) => stateOf(inner).status,
		images: (inner) => stateOf(inner).images[0]?.url,
		reason: (inner) => reasonsIn(inner)[0],
	};
	const facts = [
		// In an unknown word, because one of a task is read in any field.
		['id', { id: 't1', status: 'shiny' }, 't1'],
		['status', { id: 't1', status: 'shiny' }, 'shiny'],
		['images', { images: ['/v1/1.png'] }, '/v1/1.png'],
		['reason', { message: 'blocked' }, 'blocked'],
	] as const;
	const names = new Set(Object.values(readers).flatMap(namesReadBy));
	const readIn = (name: string): string[] =>
		facts
			.filter(([fact, inner, value]) => readers[fact]!({ [name]: inner }) === value)
			.map(([fact]) => fact);
	/** Fields whose name says what is in them. */
	const ONE_FACT =
		/^(choices|message|content|image|url|(image|poll|status|task|query|result)_?url)$/i;

	test('of a name that leads to one of these leads to all: task, status, images and reason', () => {
		const found = [...names].filter((name) => !ONE_FACT.test(name)).map(readIn);
		const read = found.filter((facts) => facts.some((fact) => fact !== 'reason'));
		expect(read.length).toBeGreaterThan(40);
		for (const facts of read) expect(facts).toEqual(Object.keys(readers));
	});

	const task = { id: 't1', status: 'queued' };
	test.each<[string, object, string | undefined]>([
		['payload', { payload: task }, 't1'],
		['another name', { user: task }, undefined],
		['what was sent', { request: task, requestParams: task }, undefined],
		['another name, of another task', { id: 't1', original: { task_id: 't0' } }, 't1'],
		['another name, of an account', { id: 't1', user: { id: 'u1', status: 'ok' } }, 't1'],
	])('%s', (_, body, id) => {
		expect(readTaskId({ ...body })).toBe(id);
	});
});

test.each<[object, string | undefined]>([
	[{ status: 200, data: { status: 'processing' } }, 'processing'],
	[{ status: 'success', data: { data: { status: 'failed' } } }, 'failed'],
	[{ status: 'running', result: { status: 'success' } }, 'running'],
	[{ status: 'failed', output: { status: 'success' } }, 'failed'],
	[{ status: 'shiny', result: { status: 'success' } }, 'shiny'],
	[{ status: 1, state: 'generating' }, 'generating'],
	[{ status: 'completed', data: [{ url: URL, status: 'archived' }] }, 'completed'],
	// One image was refused, the task goes on.
	[{ id: 't1', status: 'processing', data: [{ id: 'i1', status: 'failed' }] }, 'processing'],
	[{ data: [{ status: 'failed' }, { url: URL }] }, undefined],
])("the status of a response's task in %j is %j", (body, status) => {
	expect(readStatus({ ...body })).toBe(status);
});

test.each<[object, object, string | undefined]>([
	...['poll_url', 'polling_url', 'status_url', 'task_url', 'query_url', 'StatusUrl'].map(
		(name): [object, object, string] => [
			{ data: { [name]: ' /v1/tasks/t1 ' } },
			{},
			'/v1/tasks/t1',
		],
	),
	[{ urls: { get: '/v1/tasks/t1', cancel: '/v1/tasks/t1/cancel' } }, {}, '/v1/tasks/t1'],
	[{ data: { task: { id: 't1', links: { self: '/v1/tasks/t1' } } } }, {}, '/v1/tasks/t1'],
	[{ _links: { self: { href: '/v1/tasks/t1' } } }, {}, '/v1/tasks/t1'],
	[{}, { location: '/v1/tasks/t1' }, '/v1/tasks/t1'],
	[{ status: 'accepted' }, { 'operation-location': '/v1/tasks/t1' }, '/v1/tasks/t1'],
	[{ poll_url: '/v1/tasks/t1' }, { location: '/elsewhere' }, '/v1/tasks/t1'],
	[{ poll_url: `/${'x'.repeat(2000)}` }, {}, undefined],
])('the address of a task in %j and headers %j', (body, headers, address) => {
	expect(readTaskAddress({ ...body }, { ...headers })).toBe(address);
});

describe('images', () => {
	const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(200, 7)]);
	const BYTES = PNG.toString('base64');
	const SVG = `data:,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg"/>')}`;
	const urlsIn = (body: object): string[] => readImages({ ...body }).map(({ url }) => url);

	test.each([
		...['data', 'images', 'result_urls', 'image_urls', 'output_images', 'image_result'],
		...['artifacts', 'results', 'result', 'task_result', 'output', 'outputs', 'response'],
		...['task', 'tasks', 'job', 'payload', 'result_json', 'resultUrls', 'OutputImages'],
	])('in %s, as addresses or as objects, also below others', (name) => {
		expect(urlsIn({ [name]: BOTH })).toEqual(BOTH);
		expect(urlsIn({ data: { [name]: [{ url: URL }, { url: LATER }] } })).toEqual(BOTH);
	});

	const message = (inner: object): object => ({ choices: [{ message: inner }] });
	test.each<[string, object]>([
		['result.images, addresses in a list', { result: { images: [{ url: BOTH }] } }],
		['data.data.data', { data: { data: { data: [{ url: URL }, { url: LATER }] } } }],
		['image in objects', { images: [{ image: URL }, { image: { url: LATER } }] }],
		['image_url in objects', { data: [{ image_url: { url: URL } }, { image_url: [LATER] }] }],
		['an image of its output', { output: { image: [URL, { image_url: { url: LATER } }] } }],
		['content of an output', { output: { content: [{ image: URL }, { image_url: LATER }] } }],
		['the content of choices', { output: message({ content: BOTH.map((image) => ({ image })) }) }],
		['images of a message', message({ content: 'Two', images: BOTH.map((url) => ({ url })) })],
		['an image beside a status', { state: 'done', image: [{ url: URL }, { url: LATER }] }],
		['a list, and not in what is beside it', { image_url: '/source.png', images: BOTH }],
		['a list below', { data: { url: '/v1/tasks/t1', result: { images: BOTH } } }],
		['several tasks in a list', { data: [{ result: { images: [URL] } }, { images: [LATER] }] }],
		['a list of finished ones', { data: [{ url: URL, status: 'succeeded' }, { url: LATER }] }],
	])('in %s', (_, body) => {
		expect(urlsIn(body)).toEqual(BOTH);
	});

	test.each<[string, object]>([
		['the source of an edit', { input: { images: [{ url: URL }] } }],
		['the address of a task', { poll_url: URL, urls: { get: URL } }],
		['the address of the response', { id: 't1', url: URL }],
		['a sentence in place of an object', { data: [`see ${URL}`] }],
		['the source of an edit, beside an empty list', { data: { image_url: URL, images: [] } }],
		['what a chat says', message({ content: `see ${URL}` })],
		['words in place of Base64', { data: [{ b64_json: 'quota exceeded' }] }],
		['a text of another type', { output: 'data:text/plain;base64,cXVvdGE=' }],
		['one that is still in the making', { data: [{ url: URL, status: 'processing' }] }],
	])('are not: %s', (_, body) => {
		expect(urlsIn(body)).toEqual([]);
	});

	test.each<[string, object, string]>([
		['Base64 in place of an address', { data: [{ url: BYTES }] }, `data:;base64,${BYTES}`],
		['Base64 in a list', { images: [BYTES] }, `data:;base64,${BYTES}`],
		['a `data:` URL', { output: `data:;base64,${BYTES}` }, `data:;base64,${BYTES}`],
		['a `data:` URL without Base64', { images: [SVG] }, SVG],
		['a path', { images: ['/1.png'] }, '/1.png'],
		...['url', 'b64_json'].flatMap((name): Array<[string, object, string]> => {
			const url = 'data:image/png;base64,iVBOR';
			return [
				[`a \`data:\` URL in ${name}`, { data: [{ [name]: `\nData${url.slice(4)}` }] }, url],
				[`one twice in ${name}`, { data: [{ [name]: `data:image/png;base64,${url}` }] }, url],
			];
		}),
		// A server that signs its addresses rejects a changed one.
		['a signed address', { data: [{ url: `${URL}?as=DATA:1` }] }, `${URL}?as=DATA:1`],
		// These begin like the Base64 of a JPEG, and are as long.
		...[`/9j/${'a'.repeat(70)}.png`, `signed-${'a'.repeat(100)}`].map(
			(url): [string, object, string] => ['a path like Base64', { data: [{ url }] }, url],
		),
	])('as %s', (_, body, url) => {
		expect(readImages({ ...body })).toEqual([{ url }]);
	});

	test.each<[string, object, object]>([
		['an address that may not work', { url: URL, b64_json: BYTES }, { address: URL }],
		['the same bytes', { url: `data:;base64,${BYTES}`, base64: BYTES }, {}],
	])('as bytes beside %s', (_, entry, known) => {
		const image = { url: `data:;base64,${BYTES}`, ...known };
		expect(readImages({ data: [entry] })).toEqual([image]);
		expect(readImages({ ...entry })).toEqual([image]);
	});

	test('without any in their place, which may have been refused, are told apart', () => {
		const refused = { error: { message: 'blocked' } };
		expect(withoutImageIn(layersOf({ data: [{ url: URL }, refused] }))).toEqual([refused]);
		expect(withoutImageIn(layersOf({ result: { images: [URL, 'i2', refused] } }))).toEqual([
			refused,
		]);
	});

	test('have the details that their own object has, else those around it', () => {
		const image = { url: URL, revised_prompt: 'a red fox', size: '1x1' };
		const around = { size: '2x2', quality: 'high', output_format: 'webp' };
		const shared = { quality: 'high', outputFormat: 'webp' };
		expect(readImages({ ...around, data: [image, { url: LATER }] })).toEqual([
			{ url: URL, revisedPrompt: 'a red fox', size: '1x1', ...shared },
			{ url: LATER, size: '2x2', ...shared },
		]);
	});
});

test.each<[object, number | undefined]>([
	[{ data: { created_at: 1_900_000_000_999 } }, 1_900_000_000],
	[{ createdAt: '2030-03-17T17:46:40Z' }, 1_900_000_000],
	[{ created: ' 1900000000999 ' }, 1_900_000_000],
	[{ created: 'soon' }, undefined],
	[{ created: 0, created_at: 5 }, 5],
])('the time of creation in %j is %j', (body, created) => {
	expect(readCreated(layersOf({ ...body }))).toBe(created);
});

describe('the reason of a failure', () => {
	const loc = ['body', 'images', 0, 'url'];
	test.each<[object, string]>([
		...[
			...['fail_reason', 'failure_reason', 'failed_reason', 'failReason', 'failureReason'],
			...['failMsg', 'error_message', 'errorMessage', 'error_msg', 'fail_msg', 'task_status_msg'],
			...['message', 'detail', 'reason', 'msg', 'err_msg', 'errmsg', 'status_msg', 'description'],
			...['title', 'code', 'rai_filtered_reason', 'block_reason', 'finish_reason', 'error'],
		].map((name): [object, string] => [{ data: { status: 'failed', [name]: 'no' } }, 'no']),
		[
			{
				detail: [
					{ loc, msg: 'Not an address' },
					{ loc: ['query', 'async'], msg: 'No boolean' },
				],
			},
			'images.0.url: Not an address; query.async: No boolean',
		],
		[{ detail: { loc: ['body', 'size'], msg: 'Field required' } }, 'Field required'],
		[{ errcode: 7, errmsg: 'no such size' }, 'no such size'],
		[{ error: 'invalid_token', error_description: 'It has expired' }, 'It has expired'],
		[{ base_resp: { status_code: 1004, status_msg: 'no such size' } }, 'no such size'],
		[
			{ message: 'Invalid.', errors: { size: ['Too large', 'No square'], n: 'Too many' } },
			'size: Too large; No square; n: Too many',
		],
		[{ errors: [{ field: 'size', message: 'Too large' }, 'No'] }, 'size: Too large; No'],
		[{ errors: { message: 'no such size' } }, 'no such size'],
		// Not the word for success beside it.
		[{ message: 'success', data: { status: 'failed', fail_reason: 'blocked' } }, 'blocked'],
	])('in %j is %j', (body, reason) => {
		expect(reasonsIn(body)[0]).toBe(reason);
	});
});

test.each<[string, (body: never) => unknown, object, typeof inData]>([
	['ID', readTaskId, { task_id: 't1' }, inData],
	['status', readStatus, { status: 'queued' }, inData],
	['image', (body) => readImages(body)[0], { url: URL }, inData],
	['reason', (body) => reasonsIn(body)[0], { message: 'blocked' }, inData],
	['error', (body) => reasonsIn(body)[0], { message: 'blocked' }, (error) => ({ error })],
	['list', (body) => reasonsIn(body)[0], ['blocked'], (error) => [error]],
])('below more levels than any gateway has, no %s is read', (_, read, value, within) => {
	expect(read(nested(8, value, within) as never)).toBeDefined();
	expect(read(nested(9, value, within) as never)).toBeUndefined();
});

test('usage is a copy, and neither empty nor endless', () => {
	const usage = { total_tokens: 7, input_tokens_details: { image_tokens: 3 } };
	const read = readUsage(layersOf({ data: { usage } }));
	expect(read).toEqual(usage);
	expect(read).not.toBe(usage);
	expect(readUsage(layersOf({ usage: {} }))).toBeUndefined();
	const ofLength = (length: number) => ({ words: 'x'.repeat(length - '{"words":""}'.length) });
	expect(readUsage(layersOf({ usage: ofLength(4000) }))).toEqual(ofLength(4000));
	expect(readUsage(layersOf({ usage: ofLength(4001) }))).toBeUndefined();
});
