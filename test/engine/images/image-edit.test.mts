import '../fast-time.mjs';
import { createHash } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import net from 'node:net';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Host } from '../../../harness/engine/host.mjs';
import { startGateway, type Gateway, type ReceivedFile } from '../../../simulator/gateway.mjs';
import { opened } from '../opened.mjs';
import {
	errorOf,
	filesNode,
	openTap,
	partsOf,
	runChain,
	type Given,
	type Part,
	type Tap,
} from '../one-node.mjs';
import {
	byName,
	deadAddress,
	hostFor,
	MODEL,
	NODE,
	sendJson,
	serve,
	TINY_PNG,
	type Settings,
} from '../workbench.mjs';
import { until } from '../../until.mjs';

/** Pictures of one pixel with a tail that is theirs alone, and holds what a bad parser trips over. */
const tail = Buffer.concat([
	Buffer.from('\r\n--\r\n----boundary--\r\n\r\n'),
	Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
]);
const picture = (mark: string, bytes = 0) =>
	Buffer.concat([TINY_PNG, Buffer.from(mark), tail, Buffer.alloc(bytes, mark)]);
const JPEG = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), tail]);

const one: Given = { files: { data: { bytes: picture('one'), fileName: 'fox.png' } } };
const noLimits = { checkLimits: false };
const basics = { model: byName(MODEL), prompt: 'make it night', download: false };

let gateway: Gateway;
let host: Host;

beforeAll(async () => {
	gateway = await startGateway({ taskSeconds: 0, imageSize: 32 });
});
beforeEach(() => gateway.reset());
afterAll(() => gateway.close());

const hostAt = async (
	baseUrl: string,
	binaryMode: 'memory' | 'filesystem' = 'filesystem',
	settings: object = {},
) => await hostFor({ baseUrl, ...settings }, { binaryMode, extraNodeTypes: filesNode });

async function edit(
	to: Host,
	items: Given[],
	parameters: Record<string, unknown> = {},
	settings: Settings = {},
) {
	const options = { ...noLimits, ...(parameters.options as object | undefined) };
	const all = { ...basics, ...parameters, options };
	return await runChain(to, items, [{ type: 'imageEdit', parameters: all, settings }]);
}

const received = () =>
	gateway.requests
		.filter(({ method }) => method === 'POST')
		.map(({ body }) => body as { fields: [string, string][]; files: ReceivedFile[] });

describe.each(['memory', 'filesystem'] as const)('with binary data in the %s mode', (mode) => {
	let tap: Tap;

	beforeAll(async () => {
		tap = await openTap();
		host = await hostAt(tap.url, mode);
	});
	beforeEach(() => void tap.requests.splice(0));
	afterAll(() => tap.close());

	const sent = async (): Promise<Part[]> => {
		expect(tap.posts).toHaveLength(1);
		return await partsOf(tap.posts[0]!);
	};

	test('every part arrives with its name, type, file name and bytes', async () => {
		const bytes = picture('large', 300_000);
		const result = await edit(host, [{ files: { data: { bytes, fileName: 'Größe "L".png' } } }], {
			prompt: 'make it “night” — 夜 🌙; filename="x"',
			modelParameters: {
				mappingMode: 'defineBelow',
				value: { size: '1024x1024', quality: '', strength: 0.5, 'f"x': true },
			},
			options: {
				n: 2,
				responseFormat: 'url',
				extraFields: '{ "seed": 42, "tags": ["a", "b"], "tiled": false, "style": "ink" }',
			},
		});
		expect(result.error).toBeUndefined();
		expect(await sent()).toEqual([
			['size', '1024x1024'],
			['strength', '0.5'],
			['f"x', 'true'],
			['model', MODEL],
			['prompt', 'make it “night” — 夜 🌙; filename="x"'],
			['n', '2'],
			['response_format', 'url'],
			['seed', '42'],
			['tags', '["a","b"]'],
			['tiled', 'false'],
			['style', 'ink'],
			['image', { name: 'Größe -L.png', type: 'image/png', bytes }],
		]);
	});

	test('the length is announced, and is right', async () => {
		await edit(host, [{ files: { data: { bytes: picture('x', 200_000), fileName: 'ä.png' } } }], {
			prompt: 'ümläute',
		});
		const [request] = tap.posts;
		expect(request!.headers['content-length']).toBe(String(request!.body.length));
		expect(request!.headers['transfer-encoding']).toBeUndefined();
		expect(request!.headers['content-type']).toMatch(/^multipart\/form-data; ?boundary=\S+$/);
	});

	test('several images go in the order in which their fields are named', async () => {
		const files = {
			a: { bytes: picture('a'), fileName: 'a.png' },
			b: { bytes: JPEG, fileName: 'b.jpg', mimeType: 'image/jpeg' },
			c: { bytes: picture('c', 100_000), fileName: 'c.png' },
		};
		await edit(host, [{ files }], { imageBinaryProperty: ' c, a ,b' });
		const parts = (await sent()).filter(([name]) => name === 'image');
		expect(parts).toEqual([
			['image', { name: 'c.png', type: 'image/png', bytes: files.c.bytes }],
			['image', { name: 'a.png', type: 'image/png', bytes: files.a.bytes }],
			['image', { name: 'b.jpg', type: 'image/jpeg', bytes: files.b.bytes }],
		]);
	});

	test('a gateway that wants brackets gets them', async () => {
		await edit(await hostAt(tap.url, mode, { imageFieldName: 'image[]' }), [one]);
		expect((await sent()).map(([name]) => name)).toEqual(['model', 'prompt', 'image[]']);
	});

	test.each([
		['nothing of it', undefined, 'fox.bin', 'image/png', 'fox.png'],
		['the wrong thing', 'image/webp', 'fox.webp', 'image/png', 'fox.png'],
		['no name', undefined, undefined, 'image/png', 'image.png'],
		['a path as name', 'image/png', '../../etc/passwd', 'image/png', 'passwd.png'],
	])('where n8n knows %s, the first bytes tell', async (_, mimeType, fileName, type, name) => {
		const bytes = picture('one');
		await edit(host, [{ files: { data: { bytes, fileName, mimeType } } }]);
		expect((await sent()).at(-1)).toEqual(['image', { name, type, bytes }]);
	});

	test('further files go along, whatever they are', async () => {
		const files = {
			data: { bytes: picture('one'), fileName: 'fox.png' },
			mask: { bytes: picture('mask'), fileName: 'm.png' },
			notes: { bytes: Buffer.from('blue, please'), fileName: 'notes.txt', mimeType: 'text/plain' },
		};
		const file = [
			{ field: 'mask', binaryProperty: 'mask' },
			{ field: ' hints ', binaryProperty: ' notes ' },
		];
		await edit(host, [{ files }], { options: { extraFiles: { file } } });
		expect((await sent()).slice(-3)).toEqual([
			['image', { name: 'fox.png', type: 'image/png', bytes: files.data.bytes }],
			['mask', { name: 'm.png', type: 'image/png', bytes: files.mask.bytes }],
			['hints', { name: 'notes.txt', type: 'text/plain', bytes: files.notes.bytes }],
		]);
	});

	test('the mask is a part of its own between the images and the other files', async () => {
		const mask = { bytes: picture('the mask'), fileName: 'm.png' };
		const notes = { bytes: Buffer.from('blue, please'), mimeType: 'text/plain', fileName: 'n.txt' };
		const file = [{ field: 'hints', binaryProperty: 'notes' }];
		const files = { ...one.files, area: mask, notes };
		await edit(host, [{ files }], { options: { mask: 'area', extraFiles: { file } } });
		const parts = (await sent()).slice(-3);
		expect(parts.map(([name]) => name)).toEqual(['image', 'mask', 'hints']);
		expect(parts[1]).toEqual(['mask', { name: 'm.png', type: 'image/png', bytes: mask.bytes }]);
	});

	test('the form is made anew when it has to go again', async () => {
		const bytes = picture('again', 150_000);
		const busy = await opened(openTap(undefined, (nth) => (nth === 1 ? 429 : undefined)));
		const result = await edit(await hostAt(busy.url, mode), [
			{ files: { data: { bytes, fileName: 'fox.png' } } },
		]);
		expect(result.error).toBeUndefined();
		expect(busy.posts).toHaveLength(2);
		const [first, second] = await Promise.all(busy.posts.map(partsOf));
		expect(second).toEqual(first);
		expect(second!.at(-1)).toEqual(['image', { name: 'fox.png', type: 'image/png', bytes }]);
	});
});

describe('an edit as JSON', () => {
	const data = (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`;
	const [photo, other, mask] = [picture('a'), picture('bb', 200_000), picture('the mask')];
	const png = (bytes: Buffer) => ({ bytes, fileName: 'x.png' });
	const files = { data: png(photo), other: png(other), mask: png(mask) };
	const URL = 'https://host.example/a.png';
	const object = (url: string) => ({ type: 'image_url', url });
	const [EDITS, GENERATIONS] = ['/v1/images/edits', '/v1/images/generations'];

	test.each<[string, string, object, string, object]>([
		['json', 'image', {}, EDITS, { image: object(data(photo)) }],
		[
			'json',
			'image',
			{ imageBinaryProperty: 'data, other', options: { mask: 'mask' } },
			EDITS,
			{ image: [object(data(photo)), object(data(other))], mask: object(data(mask)) },
		],
		['json', 'images', { imageSource: 'url', imageUrl: URL }, EDITS, { images: object(URL) }],
		['generations', 'image', {}, GENERATIONS, { image: data(photo) }],
		[
			'generations',
			'image_urls',
			{ imageSource: 'url', imageUrl: [URL, data(photo)], options: { mask: `${URL}?mask` } },
			GENERATIONS,
			{ image_urls: [URL, data(photo)], mask: `${URL}?mask` },
		],
	])('%s, the image as %s, %j', async (editFormat, imageFieldName, more, path, sent) => {
		const tap = await opened(openTap());
		const to = await hostAt(tap.url, undefined, { editFormat, imageFieldName });
		const { options, ...others } = more as { options?: object };
		const parameters = { ...others, options: { n: 2, ...options } };
		const result = await edit(to, [{ files }], parameters);
		expect(result.error).toBeUndefined();
		const [request] = tap.posts;
		expect(tap.posts).toHaveLength(1);
		expect(request!.path).toBe(path);
		expect(JSON.parse(request!.body.toString())).toEqual({
			...{ model: MODEL, prompt: 'make it night', n: 2 },
			...sent,
		});
		expect(request!.headers).toMatchObject({
			'content-type': 'application/json',
			'content-length': String(request!.body.length),
		});
		const shown = await edit(to, [{ files }], {
			...parameters,
			options: { ...parameters.options, dryRun: true },
		});
		expect(JSON.stringify(shown.data).length).toBeLessThan(20_000);
		expect(tap.posts).toHaveLength(1);
	});

	test.each(['json', 'generations'] as const)(
		'a gateway with another version that takes edits as %s, in every mode',
		async (edits) => {
			const own = await opened(
				startGateway({ root: '/api/v3', edits, taskSeconds: 0, imageSize: 32 }),
			);
			const baseUrl = `${own.url}/api/v3?api-version=preview`;
			const to = await hostAt(baseUrl, undefined, { editFormat: edits });
			for (const mode of ['sync', 'wait']) {
				const result = await edit(to, [one], { mode });
				expect(result.json(NODE)).toMatchObject([{ url: expect.stringMatching(/^http/) }]);
			}
			const sent = own.requests.filter(({ call }) => call !== 'download');
			for (const { path, query } of sent) {
				expect(path).toMatch(/^\/api\/v3\//);
				expect(query['api-version']).toBe('preview');
			}
			const wrong = await edit(await hostAt(baseUrl), [one]);
			expect(errorOf(wrong)).toMatchObject({
				message: expect.stringMatching(/doesn't take this edit \((404|415)\)/),
				// Where the address may be wrong, it is named.
				description: expect.stringMatching(
					edits === 'json'
						? /'Edit Format' under 'Gateway Settings'/
						: /'Edit Format' .*led to http:\S+\/api\/v3\/images\/edits/,
				),
			});
			expect(own.paid).toBe(2);
		},
	);

	test('a task of a generation is polled as one', async () => {
		const own = await opened(
			serve(({ method, url }, response) => {
				const isTask = url === '/v1/images/generations/task-1';
				if (method === 'POST') return sendJson(response, { id: 'task-1', status: 'queued' });
				if (!isTask) return sendJson(response, { error: { message: 'none' } }, 404);
				sendJson(response, { status: 'completed', data: [{ url: `${own.url}/a.png` }] });
			}),
		);
		const to = await hostAt(own.url, undefined, { editFormat: 'generations' });
		const result = await edit(to, [one], { mode: 'wait' });
		expect(result.json(NODE)).toMatchObject([{ taskId: 'task-1', taskType: 'generation' }]);
		expect(own.requests.map(({ url }) => url)).toEqual([
			'/v1/images/generations?async=true',
			'/v1/images/generations/task-1',
		]);
	});
});

describe('the three forms of asking for a task', () => {
	const asking = async (asyncFlag: string) => await hostAt(gateway.url, undefined, { asyncFlag });

	test.each([
		['query', { async: 'true' }, undefined, []],
		['header', {}, 'true', []],
		['body', {}, undefined, [['async', 'true']]],
	])('%s', async (asyncFlag, query, header, field) => {
		const result = await edit(await asking(asyncFlag), [one], { mode: 'submit' });
		expect(result.json(NODE)).toEqual([
			{
				taskId: expect.stringMatching(/./),
				taskType: 'edit',
				status: 'queued',
				statusGroup: 'waiting',
				model: MODEL,
				prompt: expect.any(String),
				submittedAt: expect.any(String),
			},
		]);
		const [request] = gateway.requests;
		expect(request).toMatchObject({ call: 'submit', path: '/v1/images/edits', query });
		expect(request!.headers['x-async']).toBe(header);
		expect(received()[0]!.fields.filter(([name]) => name === 'async')).toEqual(field);
	});

	test('none of them is there in a synchronous edit', async () => {
		await edit(await asking('body'), [one]);
		expect(gateway.requests[0]).toMatchObject({ call: 'sync', query: {} });
		expect(gateway.requests[0]!.headers).not.toHaveProperty('x-async');
		expect(received()[0]!.fields.map(([name]) => name)).toEqual(['model', 'prompt']);
	});
});

describe('what comes out', () => {
	beforeAll(async () => {
		host = await hostAt(gateway.url);
	});

	test.each(['sync', 'wait'])('%s: the edited image, with its bytes', async (mode) => {
		const result = await edit(host, [one, one], {
			mode,
			prompt: '={{ "night " + $itemIndex }}',
			download: true,
			binaryPropertyName: 'edited',
		});
		expect(result.error).toBeUndefined();
		const items = result.output(NODE);
		expect(items).toHaveLength(2);
		for (const [index, item] of items.entries()) {
			expect(item.json).toMatchObject({ index: 0, model: MODEL, prompt: `night ${index}` });
			expect(item.pairedItem).toEqual({ item: index });
			expect(item.binary!.edited).toMatchObject({ mimeType: 'image/png', fileExtension: 'png' });
			const drawn = await fetch(String(item.json.url));
			const bytes = Buffer.from(await drawn.arrayBuffer());
			expect((await host.binary(item, 'edited')).equals(bytes)).toBe(true);
		}
		expect(items[0]!.json.taskType).toBe(mode === 'wait' ? 'edit' : undefined);
		expect(gateway.paid).toBe(2);
		// An edit is asked for at its own address (docs/protocol.md, "Endpoints").
		const polls = gateway.requests.filter(({ call }) => call === 'poll');
		expect(polls.every(({ path }) => path.startsWith('/v1/images/edits/'))).toBe(true);
		expect(polls.length > 0).toBe(mode === 'wait');
	});

	test('an edited image can be edited again', async () => {
		const parameters = { ...basics, download: true, options: noLimits };
		const step = { type: 'imageEdit', parameters };
		const result = await runChain(host, [one], [step, step]);
		expect(result.error).toBeUndefined();
		const [first] = result.output(NODE);
		const sha256 = received().map(({ files }) => files[0]!.sha256);
		expect(sha256[1]).not.toBe(sha256[0]);
		expect(received()[1]!.files[0]!.size).toBe((await host.binary(first!)).length);
	});

	test('an agent gets the address', async () => {
		const url = await publishedImage();
		const parameters = { ...basics, imageSource: 'url', imageUrl: url, options: noLimits };
		const tool = 'n8n-nodes-media-gateway.imageEdit';
		const answer = await host.runAsTool(tool, { ...parameters, download: true });
		expect(answer).toContain(`${gateway.url}/images/`);
		expect(gateway.paid).toBe(2);
	});
});

/** An image that the gateway has made before. */
async function publishedImage(): Promise<string> {
	const response = await fetch(`${gateway.url}/v1/images/generations`, {
		method: 'POST',
		headers: {
			authorization: `Bearer ${gateway.keys[0]}`,
			'content-type': 'application/json',
		},
		body: JSON.stringify({ model: MODEL, prompt: 'an original' }),
	});
	return ((await response.json()) as { data: { url: string }[] }).data[0]!.url;
}

describe('an image from an address', () => {
	beforeAll(async () => {
		host = await hostAt(gateway.url);
	});

	const from = async (imageUrl: string, options: object = {}) =>
		await edit(host, [{}], { imageSource: 'url', imageUrl, options });

	test('comes from another host, which is shown no key', async () => {
		const bytes = picture('far', 100_000);
		const other = await opened(
			serve((_, response) => {
				response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes);
			}),
		);
		const result = await from(`${other.url}/photos/fox.jpeg?size=full`);
		expect(result.error).toBeUndefined();
		const { size, mimeType, filename } = received()[0]!.files[0]!;
		expect({ size, mimeType, filename }).toEqual({
			size: bytes.length,
			mimeType: 'image/png',
			filename: 'fox.png',
		});
		expect(other.requests).toHaveLength(1);
		expect(other.requests[0]!.headers).not.toHaveProperty('authorization');
		expect(JSON.stringify(other.requests)).not.toContain(gateway.keys[0]);
	});

	test.each([
		['on separate lines', (one: string, two: string) => `${one}\n${two}`, 2],
		['as a list', (one: string, two: string) => `={{ ["${one}", "${two}"] }}`, 2],
		['as a list of one', (one: string) => `={{ ["${one}"] }}`, 1],
	])('comes from several addresses, %s', async (_, write, count) => {
		const result = await from(write(await publishedImage(), await publishedImage()));
		expect(result.error).toBeUndefined();
		expect(received().at(-1)!.files).toHaveLength(count);
	});

	test.each([
		['={{ [] }}', 'is empty'],
		['={{ [1, {}] }}', 'must be a web address'],
		['={{ ["file:///etc/passwd"] }}', 'must be a web address'],
	])('a list without web addresses is refused: %s', async (imageUrl, problem) => {
		const error = errorOf(await from(imageUrl));
		expect(error.message).toBe(`'Image URL' ${problem}`);
		expect(received()).toEqual([]);
	});

	test('the mask comes from an address too, or from a field beside an address', async () => {
		const image = await publishedImage();
		const files = { area: { bytes: picture('area') } };
		for (const mask of [` ${image}`, 'area', '={{ $binary.area }}']) {
			const parameters = { imageSource: 'url', imageUrl: image, options: { mask } };
			const result = await edit(host, [{ files }], parameters);
			expect(result.error).toBeUndefined();
			expect(
				received()
					.at(-1)!
					.files.map(({ field }) => field),
			).toEqual(['image', 'mask']);
		}
	});

	const png = picture('inline');
	const base64 = png.toString('base64');
	const lines = base64.replace(/(.{76})/g, '$1\n');
	test.each<[string, string, number]>([
		['a data URL', `data:image/png;base64,${base64}`, 1],
		['a data URL without an image type', `data:;base64,${base64}`, 1],
		['a data URL in lines', `data:image/png;base64,${lines}`, 1],
		['Base64', base64, 1],
		['Base64 in lines', `  ${lines}\n`, 1],
		['Base64 in the alphabet of addresses', base64.replaceAll('+', '-').replaceAll('/', '_'), 1],
		['two, separated by a comma', `${base64}, data:image/png;base64,${base64}`, 2],
		['a list', `={{ ["${base64}", "data:image/png;base64,${base64}"] }}`, 2],
	])('the image itself is taken, and as the mask too: %s', async (_, imageUrl, count) => {
		const result = await from(imageUrl, count === 1 ? { mask: imageUrl } : {});
		expect(result.error).toBeUndefined();
		const [{ files } = { files: [] }] = received();
		expect(files.map(({ field }) => field)).toEqual(['image', count === 1 ? 'mask' : 'image']);
		for (const { sha256, filename, mimeType } of files) {
			expect({ sha256, filename, mimeType }).toEqual({
				sha256: createHash('sha256').update(png).digest('hex'),
				filename: 'image.png',
				mimeType: 'image/png',
			});
		}
	});

	test.each([
		[`data:image/png;base64,${Buffer.from('no picture').toString('base64')}`, 'is not an image'],
		['data:image/png;base64,', 'is an empty file'],
		[`data:image/svg+xml;utf8,<svg xmlns="http://www.w3.org/2000/svg"></svg>`, 'is not an image'],
		[Buffer.from('%PDF-1.4'.repeat(40)).toString('base64'), 'must be a web address'],
	])('what is no image is refused: %.40s', async (imageUrl, problem) => {
		const error = errorOf(await from(imageUrl));
		expect(error.message).toContain(problem);
		expect(error.description).toContain('Nothing was sent');
		expect(gateway.count('any')).toBe(0);
	});

	test('one source of many items is fetched once, and so is one that fails', async () => {
		const other = await opened(
			serve(({ url }, response) => {
				const isPage = url === '/page';
				response.writeHead(200, { 'content-type': isPage ? 'text/html' : 'image/png' });
				response.end(isPage ? '<html>Sign in</html>' : picture('shared'));
			}),
		);
		const result = await edit(
			host,
			Array.from({ length: 12 }, () => ({})),
			{
				imageSource: 'url',
				imageUrl: `=${other.url}/{{ $itemIndex % 3 === 1 ? "page" : "fox.png" }}`,
				prompt: '={{ "edit " + $itemIndex }}',
			},
			{ onError: 'continueRegularOutput' },
		);
		expect(other.requests.map(({ url }) => url)).toEqual(['/fox.png', '/page']);
		expect(received()).toHaveLength(8);
		expect(new Set(received().map(({ files }) => files[0]!.sha256)).size).toBe(1);
		const failed = result.json(NODE).flatMap(({ error }) => error ?? []);
		expect(failed).toEqual(
			Array(4).fill("The image couldn't be downloaded: its address returned a web page instead"),
		);
	});

	test('more addresses than any model takes are not downloaded', async () => {
		const error = errorOf(await from(`${await publishedImage()}\n`.repeat(101)));
		expect(error.message).toBe("'Image URL' names 101 images");
		expect(gateway.requests.filter(({ call }) => call === 'download')).toEqual([]);
	});

	test('a host that sends nothing holds back no other image, and is asked once', async () => {
		const slow = await opened(
			serve(({ url }, response) => {
				response.writeHead(200, { 'content-type': 'image/png' }).write(TINY_PNG.subarray(0, 20));
				if (url === '/good.png') response.end(TINY_PNG.subarray(20));
			}),
		);
		const count = 6;
		const result = await edit(
			host,
			Array.from({ length: count }, (_, index) => ({ json: { index } })),
			{
				imageSource: 'url',
				imageUrl: `={{ "${slow.url}/" + $json.index + ".png" }}`,
				options: { timeout: 1, concurrency: 2 },
			},
			{ onError: 'continueRegularOutput' },
		);
		expect(result.json(NODE).map(({ error }) => error)).toEqual(
			Array(count).fill("The image couldn't be downloaded: its server took longer than 1 s"),
		);
		expect(JSON.stringify(result.json(NODE)[0])).toContain("set 'Image Source' to 'Binary Field'");
		expect(slow.requests).toHaveLength(2);
		expect(received()).toEqual([]);
	});

	test('several come in order, also one that is its own address', async () => {
		const other = await opened(
			serve((request, response) => {
				response.writeHead(200, { 'content-type': 'image/png' }).end(picture(request.url ?? ''));
			}),
		);
		const inline = `data:image/jpeg;base64,${JPEG.toString('base64')}`;
		const result = await from(`${other.url}/a.png\n  ${inline}\n${other.url}/bbbbbb.png`);
		expect(result.error).toBeUndefined();
		expect(received()[0]!.files.map(({ size, mimeType }) => [size, mimeType])).toEqual([
			[picture('/a.png').length, 'image/png'],
			[JPEG.length, 'image/jpeg'],
			[picture('/bbbbbb.png').length, 'image/png'],
		]);
	});

	const large = picture('large', 1_200_000);
	const bad: Array<[string, Parameters<typeof serve>[0], string, string]> = [
		[
			'one that says it is too large',
			(_, response) => void response.writeHead(200, { 'content-type': 'image/png' }).end(large),
			'larger than 1 MB',
			'Max Download Size',
		],
		[
			'one that turns out too large',
			(_, response) => {
				response.writeHead(200, { 'content-type': 'image/png' });
				response.write(large.subarray(0, 600_000));
				response.end(large.subarray(600_000));
			},
			'larger than 1 MB',
			'Max Download Size',
		],
		[
			'a web page',
			(_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
			'returned a web page instead',
			'Check the address of the image. Nothing was sent',
		],
		[
			'a text that claims to be an image',
			(_, response) => void response.writeHead(200, { 'content-type': 'image/png' }).end('hello'),
			"returned a file that isn't an image instead",
			'Nothing was sent',
		],
		[
			'one that is not there',
			(_, response) => sendJson(response, { error: { message: 'gone' } }, 404),
			'404',
			'Check the address of the image. Nothing was sent',
		],
	];
	test.each(bad)('is refused: %s', async (_, answer, message, description) => {
		const other = await opened(serve(answer));
		const error = errorOf(await from(`${other.url}/x.png`, { maxDownloadMb: 1 }));
		expect(error.message.toLowerCase()).toContain(message.toLowerCase());
		expect(error.description).toContain(description);
		expect(gateway.count('any')).toBe(0);
	});

	test.each(['file:///etc/passwd', 'ftp://example.com/a.png', '/images/a.png'])(
		'is refused: %s is no web address',
		async (imageUrl) => {
			const error = errorOf(await from(imageUrl));
			expect(error.message).toBe("'Image URL' must be a web address");
			expect(gateway.count('any')).toBe(0);
		},
	);
});

describe('before anything is sent', () => {
	beforeAll(async () => {
		host = await hostAt(gateway.url);
	});

	const text = { bytes: Buffer.from('no picture'), fileName: 'a.txt', mimeType: 'text/plain' };
	const faulty: Array<[string, Given, Record<string, unknown>, RegExp]> = [
		['a binary field that is not there', {}, {}, /no binary field 'data'/],
		['an empty file', { files: { data: { bytes: Buffer.alloc(0) } } }, {}, /is an empty file/],
		['a text', { files: { data: text } }, {}, /"data" is not an image/],
		[
			'a text that is called an image',
			{ files: { data: { ...text, mimeType: 'image/png', fileName: 'a.png' } } },
			{},
			/"data" is not an image/,
		],
		['no prompt', one, { prompt: '={{ $itemIndex === 2 ? " " : "x" }}' }, /'Prompt' is empty/],
		[
			'no field at all',
			one,
			{ imageBinaryProperty: '={{ $itemIndex === 2 ? "," : "data" }}' },
			/'Input Binary Field' is empty/,
		],
		[
			'a mask that is not there',
			one,
			{
				options: {
					extraFiles: {
						file: [{ field: 'mask', binaryProperty: '={{ $itemIndex === 2 ? "no" : "data" }}' }],
					},
				},
			},
			/no binary field 'no'/,
		],
		[
			'a mask that is not there: the only image is no mask',
			one,
			{ options: { mask: '={{ $itemIndex === 2 ? "mask" : "data" }}' } },
			/no binary field 'mask'/,
		],
		[
			'a mask of nothing',
			one,
			{ options: { mask: '={{ $itemIndex === 2 ? "" : "data" }}' } },
			/^'Mask' is empty$/,
		],
		[
			'a mask that is two images',
			one,
			{ options: { mask: '={{ $itemIndex === 2 ? ["data", "data"] : ["data"] }}' } },
			/^'Mask' names 2 images$/,
		],
		[
			'a field that every object has',
			one,
			{ imageBinaryProperty: '={{ $itemIndex === 2 ? "constructor, data" : "data" }}' },
			/no binary field 'constructor'/,
		],
		[
			'extra fields that are no JSON',
			one,
			{ options: { extraFields: '={{ $itemIndex === 2 ? "{" : "{}" }}' } },
			/'Extra Fields' must be a JSON object/,
		],
	];

	test.each(faulty)('%s in item 3 of 5: nothing is paid', async (_, third, more, message) => {
		const error = errorOf(await edit(host, [one, one, third, one, one], more));
		expect(error.message).toMatch(message);
		expect(error.itemIndex).toBe(2);
		expect(gateway.count('any')).toBe(0);
		expect(gateway.paid).toBe(0);
	});

	test.each<[string, object]>([
		['an additional file', { extraFiles: { file: [{ field: 'mask', binaryProperty: 'data' }] } }],
		['an extra field', { extraFields: { mask: 'https://example.com/mask.png' } }],
		['a parameter by name', { parametersByName: { parameter: [{ name: 'mask', value: 'all' }] } }],
	])('a mask beside %s called mask is set twice', async (_, options) => {
		const error = errorOf(await edit(host, [one], { options: { mask: 'data', ...options } }));
		expect(error.message).toBe("Two fields of the request have the name 'mask'");
		expect(gateway.count('any')).toBe(0);
	});

	// n8n drops an expression in place of the files.
	test.each([{}, { file: [] }, '={{ { file: [{ field: "a", binaryProperty: "data" }] } }}'])(
		'additional files without a file (%j) are refused',
		async (extraFiles) => {
			const error = errorOf(await edit(host, [one], { options: { extraFiles } }));
			expect(error.message).toBe("'Additional Files' has no file");
			expect(gateway.count('any')).toBe(0);
		},
	);

	test('a file that n8n has deleted is named with its item', async () => {
		const id = 'filesystem-v2:workflows/1/executions/1/binary_data/00000000';
		const binary = { photo: { id, mimeType: 'image/png', fileName: 'fox.png' } };
		const error = errorOf(await edit(host, [{ binary }], { imageBinaryProperty: 'photo' }));
		expect(error.message).toMatch(/^The binary field "photo" can't be read: .*not found/i);
		expect([error.itemIndex, gateway.count('any')]).toEqual([0, 0]);
	});

	test.each<[string, Given['files'], string, string]>([
		[
			'the fields that there are',
			{ one: { bytes: picture('1') }, two: { bytes: picture('2') } },
			"The item has no binary field 'Your photo'",
			"'Input Binary Field' names it. Its binary fields: one, two. Nothing was sent.",
		],
		[
			'that there are no files',
			{},
			"The item has no binary field 'Your photo'",
			"'Input Binary Field' names it. It has no files: check the node before this one. Nothing was sent.",
		],
		[
			'what a text is that is called an image',
			{ 'Your photo': { ...text, mimeType: 'image/png', fileName: 'fake.png' } },
			'The binary field "Your photo" is not an image',
			'It is "fake.png" and contains text. Use an image, such as PNG, JPEG or WebP. Nothing was sent.',
		],
		[
			'that other data is no image',
			{ 'Your photo': { bytes: Buffer.alloc(50), mimeType: 'image/png', fileName: 'fake.png' } },
			'The binary field "Your photo" is not an image',
			'It is "fake.png" and contains no data of the type image/png. Use an image, such as PNG, JPEG or WebP. Nothing was sent.',
		],
	])('says %s', async (_, files, message, description) => {
		const error = errorOf(await edit(host, [{ files }], { imageBinaryProperty: 'Your photo' }));
		expect([error.message, error.description]).toEqual([message, description]);
	});

	test('the only image is taken, whatever its field is called, and a hint says so', async () => {
		const files = { Your_photo: { bytes: picture('me'), mimeType: 'image/png' }, notes: text };
		const result = await edit(host, [{ files }], { imageBinaryProperty: 'Your photo' });
		expect(result.error).toBeUndefined();
		expect(received()[0]!.files[0]!.size).toBe(picture('me').length);
		expect(result.hints(NODE).map(({ message }) => message)).toContain(
			`There is no binary field "Your photo". The item's only image was used: "Your_photo".`,
		);
	});

	test('where the node goes on, the other four are edited', async () => {
		const broken = { files: { data: text } };
		const result = await edit(
			host,
			[one, one, broken, one, one],
			{},
			{ onError: 'continueRegularOutput' },
		);
		const items = result.output(NODE);
		expect(items.map(({ pairedItem }) => pairedItem)).toEqual(
			[0, 1, 2, 3, 4].map((item) => ({ item })),
		);
		expect(items[2]!.json).toEqual({
			error: 'The binary field "data" is not an image',
			details: {
				model: MODEL,
				prompt: 'make it night',
				charged: 'no',
				description: expect.stringContaining('"a.txt" of the type text/plain'),
			},
		});
		expect(gateway.paid).toBe(4);
	});
});

describe('sending again', () => {
	test('a connection that was refused', async () => {
		const bytes = picture('refused', 150_000);
		const tap = await openTap();
		const to = await hostAt(tap.url);
		const port = Number(new URL(tap.url).port);
		const deadPort = Number(new URL(await deadAddress()).port);
		let attempts = 0;
		// The first connection is sent to a port where nothing listens: a refusal as it really happens.
		const { connect } = net.Socket.prototype;
		const spy = jest.spyOn(net.Socket.prototype, 'connect').mockImplementation(function (
			this: net.Socket,
			...args: unknown[]
		) {
			const options = ([args[0]].flat()[0] ?? {}) as { port?: number | string };
			if (Number(options.port) === port && (attempts += 1) === 1) options.port = deadPort;
			return Reflect.apply(connect, this, args) as net.Socket;
		} as typeof connect);
		try {
			const result = await edit(to, [{ files: { data: { bytes, fileName: 'fox.png' } } }]);
			expect(result.error).toBeUndefined();
			expect(attempts).toBe(2);
			expect(tap.posts).toHaveLength(1);
			const parts = await partsOf(tap.posts[0]!);
			expect(parts.at(-1)).toEqual(['image', { name: 'fox.png', type: 'image/png', bytes }]);
		} finally {
			spy.mockRestore();
			await tap.close();
		}
	});

	test('after a refusal that comes before the image is read, as each refusal is read', async () => {
		const statuses = [429, 413];
		const server = createServer({ keepAliveTimeout: 60_000 }, (_, response) => {
			response.setHeader('retry-after', '1');
			sendJson(response, { error: { message: 'not like this' } }, statuses.shift());
		});
		const open = new Set<net.Socket>();
		server.on('connection', (socket) => {
			open.add(socket);
			socket.once('close', () => open.delete(socket));
		});
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		try {
			const url = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
			const bytes = picture('x', 20_000_000);
			const error = errorOf(await edit(await hostAt(url), [{ files: { data: { bytes } } }]));
			expect(error.message).toContain('(413): not like this');
			expect(statuses).toEqual([]);
			await filesAreClosed();
			await until(() => open.size === 0);
		} finally {
			server.closeAllConnections();
			server.close();
		}
	});

	test('never where the connection breaks while the image is sent', async () => {
		const server = net.createServer((socket) => {
			socket.once('data', () => socket.resetAndDestroy());
			socket.on('error', () => undefined);
		});
		let connections = 0;
		server.on('connection', () => (connections += 1));
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		try {
			const url = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
			const bytes = picture('x', 20_000_000);
			const error = errorOf(await edit(await hostAt(url), [{ files: { data: { bytes } } }]));
			expect(error.message).toMatch(/^The outcome is unknown: while creating the image/);
			expect(connections).toBe(1);
			await filesAreClosed();
		} finally {
			server.close();
		}
	});

	// What a failed attempt leaves half-read would stay open until chance collects it.
	test('leaves no file of the binary store open', async () => {
		const bytes = picture('x', 5_000_000);
		const result = await edit(await hostAt(await deadAddress()), [{ files: { data: { bytes } } }]);
		expect(errorOf(result).message).toContain('tried 6 times');
		await filesAreClosed();
	});
});

describe('by Retry On Fail, where the source cannot be fetched again', () => {
	const again = async (parameters: object, faults: object[]): Promise<unknown> => {
		const imageUrl = await publishedImage();
		gateway.setFaults([
			{ call: 'download', kind: 'status', status: 404, after: 1 },
			...faults,
		] as never);
		const result = await edit(
			await hostAt(gateway.url),
			[{}],
			{ imageSource: 'url', imageUrl, options: { pollInterval: 1, maxWait: 2 }, ...parameters },
			{ onError: 'continueRegularOutput', retryOnFail: true, maxTries: 2, waitBetweenTries: 1 },
		);
		expect(gateway.paid).toBe(2);
		return result.json(NODE);
	};

	test('an unknown outcome is still told', async () => {
		const lost = { call: 'sync', kind: 'status', status: 504, charged: true };
		expect(await again({}, [lost])).toMatchObject([
			{
				error: expect.stringContaining('The outcome is unknown'),
				details: {
					outcome: 'unknown',
					description: expect.stringContaining('may have been accepted and charged'),
				},
			},
		]);
	});

	test('the task of another item still comes out where the rest exceeds the budget', async () => {
		const imageUrl = await publishedImage();
		gateway.setFaults([{ call: 'download', kind: 'status', status: 404, times: 1 }]);
		const result = await edit(
			await hostAt(gateway.url),
			[{}, {}],
			{
				mode: 'submit',
				imageSource: 'url',
				imageUrl: `=${imageUrl}?of={{ $itemIndex }}`,
				prompt: '={{ "edit " + $itemIndex }}',
				options: { budget: 0.05, n: '={{ 2 - $itemIndex }}' },
			},
			{ onError: 'continueRegularOutput', retryOnFail: true, maxTries: 2, waitBetweenTries: 1 },
		);
		expect(gateway.paid).toBe(2);
		expect(result.json(NODE)).toMatchObject([
			{ error: expect.stringContaining('budget') },
			{ prompt: 'edit 1', taskId: expect.any(String), status: 'queued' },
		]);
	});

	test('the task that was submitted is still named', async () => {
		const down = { call: 'poll', kind: 'status', status: 503 };
		expect(await again({ mode: 'wait' }, [down])).toMatchObject([
			{
				error: expect.stringContaining('was still open after 2 s'),
				details: { taskId: expect.any(String), taskType: 'edit' },
			},
		]);
	});
});

/** Files are closed a moment after the run, long before anything else would close them. */
async function filesAreClosed(): Promise<void> {
	if (process.platform !== 'linux') return;
	await until(() => openFiles().length === 0);
}

/** The files of the binary store that this process holds open. */
function openFiles(): string[] {
	const targets = readdirSync('/proc/self/fd').map((descriptor) => {
		try {
			return readlinkSync(`/proc/self/fd/${descriptor}`);
		} catch {
			return '';
		}
	});
	return targets.filter((target) => target.includes('binary_data'));
}

test.each(['memory', 'filesystem'] as const)(
	'a failed edit keeps its file on the error output, with binary data in %s',
	async (mode) => {
		const to = await hostAt(gateway.url, mode);
		gateway.setFaults([{ call: 'any', kind: 'status', status: 400 }]);
		const onError = 'continueErrorOutput' as const;
		const result = await edit(to, [{ ...one, json: { name: 'fox' } }], {}, { onError });
		expect([result.output(NODE, 0), result.json(NODE, 1)]).toEqual([
			[],
			[expect.objectContaining({ name: 'fox', error: expect.stringContaining('400') })],
		]);
		const [failed] = result.output(NODE, 1);
		const file = (one.files as Record<string, { bytes: Buffer }>).data!;
		expect(await to.binary(failed!)).toEqual(file.bytes);
	},
);

describe('where n8n keeps files in the JSON', () => {
	const settings = { binaryMode: 'combined' } as N8n.IWorkflowSettings;

	test.each(['data', '={{ $json._files.data }}'])(
		'the file in %s is edited',
		async (imageBinaryProperty) => {
			const to = await hostAt(gateway.url);
			const parameters = { ...basics, imageBinaryProperty, options: noLimits };
			const result = await runChain(to, [one], [{ type: 'imageEdit', parameters }], { settings });
			expect(result.error).toBeUndefined();
			expect(result.output(NODE)).toHaveLength(1);
			expect(gateway.count('sync')).toBe(1);
		},
	);

	test('a failed edit is on the error output as well', async () => {
		const to = await hostAt(gateway.url);
		gateway.setFaults([{ call: 'any', kind: 'status', status: 400 }]);
		const step = {
			type: 'imageEdit',
			parameters: { ...basics, options: noLimits },
			settings: { onError: 'continueErrorOutput' as const },
		};
		const result = await runChain(to, [one], [step], { settings });
		expect([result.output(NODE, 0), result.json(NODE, 1)]).toEqual([
			[],
			// The engine adds the fields of the input, and the files are among them.
			[
				expect.objectContaining({
					error: expect.stringContaining('400'),
					_files: { data: expect.objectContaining({ fileName: 'fox.png' }) },
				}),
			],
		]);
	});

	test('a Retry after that was set has failed edits on the error output', async () => {
		const to = await hostAt(gateway.url);
		gateway.setFaults([{ call: 'any', kind: 'status', status: 400 }]);
		const failed = await edit(to, [one]);
		expect(failed.status).toBe('error');
		const onError = 'continueErrorOutput' as const;
		const { workflow } = failed;
		const result = await to.retry(failed, {
			...workflow,
			nodes: workflow.nodes.map((node) => (node.name === NODE ? { ...node, onError } : node)),
			settings,
		});
		expect([result.output(NODE, 0), result.json(NODE, 1)]).toEqual([
			[],
			[expect.objectContaining({ error: expect.stringContaining('400') })],
		]);
	});
});
