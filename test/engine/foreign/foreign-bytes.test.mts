/** What other nodes, users and gateways hand to the nodes in a form that nobody expects. */
import '../fast-time.mjs';
import type { Host } from '../../../harness/engine/host.mjs';
import {
	errorOf,
	filesNode,
	openTap,
	partsOf,
	runChain,
	withoutBoundary,
	type Given,
	type Part,
	type Tap,
} from '../one-node.mjs';
import {
	byName,
	everythingIn,
	hostFor,
	MODEL,
	serve,
	TINY_PNG,
	type OwnServer,
} from '../workbench.mjs';

const KEY = 'sk-my/team-9f8e7d6c';
const NOTES = Buffer.from('blue, please').toString('base64');
const go = { onError: 'continueRegularOutput' as const };

const fox = { bytes: TINY_PNG, fileName: 'fox.png' };
const one: Given = { files: { data: fox } };

async function edit(to: Host, items: Given[], parameters: Record<string, unknown> = {}) {
	const options = { checkLimits: false, ...(parameters.options as object | undefined) };
	const basics = { model: byName(MODEL), prompt: 'make it night', download: false };
	return await runChain(to, items, [
		{ type: 'imageEdit', parameters: { ...basics, ...parameters, options } },
	]);
}

const hostAt = async (baseUrl: string, binaryMode: 'memory' | 'filesystem' = 'filesystem') =>
	await hostFor({ baseUrl, apiKey: KEY }, { binaryMode, extraNodeTypes: filesNode });

const NO_FILE = "'Images' must be the name of a binary field, or a file";

describe('files', () => {
	let tap: Tap;
	let host: Host;

	beforeAll(async () => {
		tap = await openTap();
		host = await hostAt(tap.url);
	});
	beforeEach(() => void tap.requests.splice(0));
	afterAll(() => tap.close());

	const sent = async (): Promise<Part[]> => {
		expect(tap.posts).toHaveLength(1);
		return await partsOf(tap.posts[0]!);
	};
	const withExtra = (file: object) => ({ options: { extraFiles: { file: [file] } } });

	test('an extra file begins no header by its name, its type or its field', async () => {
		const evil = '\r\nX-Evil: 1';
		const notes = { data: NOTES, fileName: `a"${evil}\r\n\r\n.txt`, mimeType: `text/plain${evil}` };
		const extra = withExtra({ field: `ma"; x="sk${evil}`, binaryProperty: 'notes' });
		const result = await edit(host, [{ ...one, binary: { notes } }], extra);
		expect(result.error).toBeUndefined();
		const form = withoutBoundary(tap.posts[0]!);
		expect(form).not.toMatch(/^X-Evil/im);
		expect(form.match(/^content-type: .*$/gim)).toHaveLength(2);
		expect(form).toContain('filename="a-X-Evil- 1.txt"\r\nContent-Type: text/plain\r\n\r\nblue');
		expect(await sent()).toHaveLength(4);
		expect(tap.posts[0]!.headers['content-length']).toBe(String(tap.posts[0]!.body.length));
	});

	describe('named by an expression', () => {
		const named = async (expression: string, item: Given = one) =>
			await edit(host, [item], { images: expression });
		const images = async () => (await sent()).filter(([name]) => name === 'image');
		const foxPart = [
			'image',
			{ name: 'fox.png', type: 'image/png', base64: TINY_PNG.toString('base64') },
		];

		test.each([
			['the binary data of the item', '={{ $binary.data }}'],
			['the binary data of an earlier node', "={{ $('Start').item.binary.data }}"],
			['a list of them', '={{ [$binary.data] }}'],
			['its name', '={{ Object.keys($binary)[0] }}'],
		])('%s', async (_, expression) => {
			const result = await named(expression);
			expect(result.error).toBeUndefined();
			expect(await images()).toEqual([foxPart]);
		});

		test('several of them, by name and by themselves', async () => {
			const files = { data: fox, b: { bytes: TINY_PNG, fileName: 'b.png' }, 7: fox };
			const result = await named('={{ ["b, data", $binary.b, 7] }}', { files });
			expect(result.error).toBeUndefined();
			expect((await images()).map(([, file]) => (file as { name: string }).name)).toEqual([
				'b.png',
				'fox.png',
				'b.png',
				'fox.png',
			]);
		});

		test('for an extra file', async () => {
			const extra = { field: 'mask', binaryProperty: '={{ $binary.data }}' };
			const result = await edit(host, [one], withExtra(extra));
			expect(result.error).toBeUndefined();
			expect((await sent()).at(-1)).toEqual(['mask', foxPart[1]]);
		});

		test.each([
			['={{ { mimeType: "image/png" } }}', NO_FILE],
			['={{ { mimeType: "image/png", data: 7 } }}', NO_FILE],
			['={{ null }}', "'Images' is empty"],
		])('%s is refused in words', async (expression, message) => {
			expect(errorOf(await named(expression)).message).toBe(message);
			expect(tap.requests).toHaveLength(0);
		});
	});
});

describe('what a gateway responds with', () => {
	let gateway: OwnServer;
	/** What it responds with, as it is written. */
	let say: (path: string, method: string) => [status: number, text: string];
	let host: Host;

	beforeAll(async () => {
		gateway = await serve(({ url = '', method = '' }, response) => {
			const [status, text] = say(url, method);
			response.writeHead(status, { 'content-type': 'application/json' }).end(text);
		});
		host = await hostAt(gateway.url);
	});
	beforeEach(() => void gateway.requests.splice(0));
	afterAll(() => gateway.close());

	const generation = (parameters: object = {}) => ({
		type: 'imageGeneration',
		parameters: {
			model: byName(MODEL),
			prompt: 'a fox',
			download: false,
			options: { checkLimits: false },
			...parameters,
		},
	});
	const polled = () =>
		gateway.requests.filter(({ method }) => method === 'GET').map(({ url }) => url);

	test('a list is no name of an output field: nothing is sent', async () => {
		const node = generation({ download: true, options: { binaryPropertyName: '={{ ["a"] }}' } });
		const [item] = (await runChain(host, [{}], [{ ...node, settings: go }])).json('Node');
		expect(item!.error).toBe("'Put Output File in Field' must be text");
		expect(gateway.requests).toEqual([]);
	});

	test('an ID that is a number of 19 digits goes from node to node', async () => {
		const id = '9007199254740993123';
		say = (_, method) =>
			method === 'POST'
				? [200, `{"id":${id},"status":"queued"}`]
				: [200, `{"status":"completed","data":[{"url":"http://h/a.png"}],"seed":${id}}`];
		const result = await runChain(
			host,
			[{}],
			[
				generation({ mode: 'submit' }),
				{ type: 'imageTask', parameters: { download: false, taskId: '={{ $json.taskId }}' } },
			],
		);
		expect(result.json('Node 1')).toMatchObject([{ taskId: id, response: { seed: id } }]);
		expect(polled()).toEqual([`/v1/images/generations/${id}`]);
	});

	test('a gateway that calls a task ".." is not believed', async () => {
		const id = '..';
		say = () => [200, JSON.stringify({ id, status: 'queued' })];
		const result = await runChain(host, [{}], [{ ...generation({ mode: 'wait' }), settings: go }]);
		expect(result.json('Node')).toMatchObject([
			{ error: `The task ID "${id}" is not valid`, details: { taskId: id } },
		]);
		expect(polled()).toEqual([]);
	});

	const unicode = (text: string) =>
		Array.from(text, (one) => `\\u00${one.charCodeAt(0).toString(16)}`).join('');

	test.each([
		['with all characters escaped', unicode(KEY)],
		['percent-encoded', encodeURIComponent(KEY)],
	])('the key, quoted %s, is shown nowhere', async (_, quoted) => {
		say = () => [401, `{"error":{"message":"invalid key ${quoted}, sorry","quoted":"${quoted}"}}`];
		const failed = await runChain(host, [{}], [{ ...generation(), settings: go }]);
		const [item] = failed.json('Node');
		expect(item!.error).toContain('***, sorry');
		say = () => [200, `{"status":"queued","note":"${quoted}","${quoted}":1}`];
		const asked = await runChain(
			host,
			[{}],
			[{ type: 'imageTask', parameters: { taskId: 't1', download: false } }],
		);
		expect(asked.json('Node')).toMatchObject([{ response: { note: '***', '***': 1 } }]);
		const all = everythingIn([failed.data, asked.data]);
		expect(all).not.toContain(KEY);
		expect(all).not.toContain(KEY.slice(-8));
	});

	test.each([
		[{ error: { message: 'no more foxes' } }],
		[{ data: { fail_reason: 'no more foxes' } }],
	])('a success that holds %j tells its reason, and may have been charged', async (body) => {
		say = () => [200, JSON.stringify(body)];
		const message = { type: 'message', parameters: { model: 'm', prompt: 'a fox' } };
		for (const node of [generation(), message]) {
			const result = await runChain(host, [{}], [{ ...node, settings: go }]);
			const [item] = result.json('Node');
			expect(item!.error).toMatch(/: no more foxes$/);
			expect(item!.details).toMatchObject({ outcome: 'unknown' });
		}
		expect(gateway.requests).toHaveLength(2);
	});

	test('a submit that says at once that the task has failed is not polled', async () => {
		say = () => [200, '{"id":"t1","status":"failed","failure_reason":"no more foxes"}'];
		const node = { ...generation({ mode: 'wait' }), settings: go };
		const [item] = (await runChain(host, [{}], [node])).json('Node');
		expect(item!.error).toBe(
			'The generation task t1 ended with the status "failed": no more foxes',
		);
		expect(item!.details).toMatchObject({ taskId: 't1', status: 'failed' });
		expect(polled()).toEqual([]);
	});

	test('a key that is a word of an address is erased in what is read, not in what is fetched', async () => {
		const word = 'sunflower';
		const to = await hostFor(
			{ baseUrl: gateway.url, apiKey: word },
			{ binaryMode: 'memory', extraNodeTypes: filesNode },
		);
		const url = `/img/${word}/1.png`;
		say = (path, method) => {
			if (path.endsWith('.png')) return [200, '<svg xmlns="http://www.w3.org/2000/svg"/>'];
			return method === 'GET'
				? [200, '{"success":true,"data":{"items":[]}}']
				: [200, JSON.stringify({ data: [{ url, note: word }], status: 'completed' })];
		};
		const result = await runChain(to, [{}], [generation({ download: true })]);
		expect(result.error).toBeUndefined();
		expect(result.json('Node')).toMatchObject([{ url: gateway.url + url }]);
		expect(gateway.requests.at(-1)!.url).toBe(url);
	});

	test('a task in a response that is nested 100,000 times deep is an unknown outcome', async () => {
		const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
		say = () => [200, `{"id":"t1","status":"queued","x":${deep}}`];
		const result = await runChain(host, [{}], [{ ...generation(), settings: go }]);
		expect(result.error).toBeUndefined();
		expect(result.json('Node')[0]!.error).toMatch(/^The outcome is unknown/);
	});
});
