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
	type Tap,
} from '../one-node.mjs';
import {
	byName,
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
const inBase64 = (bytes: Buffer) => bytes.toString('base64');

const one = { files: { data: { bytes: picture('one'), fileName: 'fox.png' } } };
const noLimits = { checkLimits: false };
const basics = { model: byName(MODEL), prompt: 'make it night', download: false };

let gateway: Gateway;
let host: Host;

beforeAll(async () => {
	gateway = await startGateway({ taskSeconds: 0, imageSize: 32 });
	host = await hostAt(gateway.url);
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

describe('the form', () => {
	let tap: Tap;

	beforeAll(async () => {
		tap = await opened(openTap());
	});
	beforeEach(() => void tap.requests.splice(0));

	test('has every part in order, with its bytes and the length of all', async () => {
		const files = {
			a: { bytes: picture('a', 300_000), fileName: 'Größe "L".png' },
			b: { bytes: JPEG, fileName: 'b.jpg', mimeType: 'image/jpeg' },
			area: { bytes: picture('the mask'), fileName: 'm.png' },
			notes: { bytes: Buffer.from('blue'), fileName: 'notes.txt', mimeType: 'text/plain' },
		};
		const to = await hostAt(tap.url, 'memory', { imageFieldName: 'image[]' });
		const result = await edit(to, [{ files }], {
			prompt: 'make it “night” — 夜 🌙; filename="x"',
			images: ' b, a ',
			modelParameters: {
				mappingMode: 'defineBelow',
				value: { size: '1024x1024', quality: '', strength: 0.5, 'f"x': true },
			},
			options: {
				n: 2,
				mask: 'area',
				responseFormat: 'url',
				extraFields: '{ "seed": 42, "tags": ["a", "b"], "tiled": false, "style": "ink" }',
				extraFiles: { file: [{ field: ' hints ', binaryProperty: ' notes ' }] },
			},
		});
		expect(result.error).toBeUndefined();
		const [request] = tap.posts;
		expect(tap.posts).toHaveLength(1);
		expect(await partsOf(request!)).toEqual([
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
			['image[]', { name: 'b.jpg', type: 'image/jpeg', base64: inBase64(JPEG) }],
			['image[]', { name: 'Größe -L.png', type: 'image/png', base64: inBase64(files.a.bytes) }],
			['mask', { name: 'm.png', type: 'image/png', base64: inBase64(files.area.bytes) }],
			['hints', { name: 'notes.txt', type: 'text/plain', base64: inBase64(files.notes.bytes) }],
		]);
		expect(request!.headers['content-length']).toBe(String(request!.body.length));
		expect(request!.headers['transfer-encoding']).toBeUndefined();
		expect(request!.headers['content-type']).toMatch(/^multipart\/form-data; ?boundary=\S+$/);
	});

	test('the first bytes tell the type of a file, and end its name', async () => {
		const bytes = picture('one');
		const files = {
			nothing: { bytes, fileName: 'fox.bin' },
			wrong: { bytes, fileName: 'fox.webp', mimeType: 'image/webp' },
			unnamed: { bytes },
			path: { bytes, fileName: '../../etc/passwd', mimeType: 'image/png' },
		};
		const images = Object.keys(files).join();
		await edit(await hostAt(tap.url), [{ files }], { images });
		const parts = (await partsOf(tap.posts[0]!)).slice(-4);
		expect(parts).toEqual(
			['fox.png', 'fox.png', 'image.png', 'passwd.png'].map((name) => [
				'image',
				{ name, type: 'image/png', base64: inBase64(bytes) },
			]),
		);
	});

	test('is made anew when it has to go again', async () => {
		const bytes = picture('again', 150_000);
		const busy = await opened(openTap(undefined, (nth) => (nth === 1 ? 429 : undefined)));
		await edit(await hostAt(busy.url), [{ files: { data: { bytes, fileName: 'fox.png' } } }]);
		expect(busy.posts).toHaveLength(2);
		const [first, second] = await Promise.all(busy.posts.map(partsOf));
		expect(second).toEqual(first);
		const file = { name: 'fox.png', type: 'image/png', base64: inBase64(bytes) };
		expect(second!.at(-1)).toEqual(['image', file]);
	});
});

describe('an edit as JSON', () => {
	const data = (bytes: Buffer) => `data:image/png;base64,${inBase64(bytes)}`;
	const [photo, other, mask] = [picture('a'), picture('bb', 200_000), picture('the mask')];
	const png = (bytes: Buffer) => ({ bytes, fileName: 'x.png' });
	const files = { data: png(photo), other: png(other), mask: png(mask) };
	const URL = 'https://host.example/a.png';
	const object = (url: string) => ({ type: 'image_url', url });
	const [EDITS, GENERATIONS] = ['/v1/images/edits', '/v1/images/generations'];

	test.each<[string, string, object, string, object]>([
		[
			'json',
			'image',
			{ images: 'data, other', options: { mask: 'mask' } },
			EDITS,
			{ image: [object(data(photo)), object(data(other))], mask: object(data(mask)) },
		],
		['json', 'images', { images: URL }, EDITS, { images: object(URL) }],
		[
			'images',
			'image',
			{
				images: `data, ${URL}, file-abcDEF123, other`,
				options: { mask: 'file-mask0001' },
			},
			EDITS,
			{
				images: [
					{ image_url: data(photo) },
					{ image_url: URL },
					{ file_id: 'file-abcDEF123' },
					{ image_url: data(other) },
				],
				mask: { file_id: 'file-mask0001' },
			},
		],
		['images', 'image[]', {}, EDITS, { images: [{ image_url: data(photo) }] }],
		['generations', 'image', {}, GENERATIONS, { image: data(photo) }],
		[
			'generations',
			'image_urls',
			{ images: [URL, data(photo)], options: { mask: `${URL}?mask` } },
			GENERATIONS,
			{ image_urls: [URL, data(photo)], mask: `${URL}?mask` },
		],
	])('%s, the image as %s', async (imageApi, imageFieldName, more, path, sent) => {
		const tap = await opened(openTap());
		const to = await hostAt(tap.url, undefined, { imageApi, imageFieldName });
		const result = await edit(to, [{ files }], more as Record<string, unknown>);
		expect(result.error).toBeUndefined();
		const [request] = tap.posts;
		expect(tap.posts).toHaveLength(1);
		expect(request!.path).toBe(path);
		const body = { model: MODEL, prompt: 'make it night', ...sent };
		expect(JSON.parse(request!.body.toString())).toEqual(body);
		// An image is none of the parameters by which an item says how it was made.
		expect(result.json(NODE)[0]).not.toHaveProperty('parameters');
		// Nor does a dry run show what stands for the bytes until they are sent, or its length.
		const { options, ...others } = more as { options?: object };
		const dryRun = { ...others, options: { ...options, dryRun: true } };
		const [shown] = (await edit(to, [{ files }], dryRun)).json(NODE);
		const text = JSON.stringify(body).replace(/"data:[^"]+"/g, '"(image data)"');
		expect(shown!.request).toMatchObject({ body: JSON.parse(text) });
		expect(request!.headers).toMatchObject({
			'content-type': 'application/json',
			'content-length': String(request!.body.length),
		});
	});

	test.each(['json', 'generations'] as const)(
		'a gateway with another version that takes edits as %s',
		async (imageApi) => {
			const own = await opened(
				startGateway({ root: '/api/v3', imageApi, taskSeconds: 0, imageSize: 32 }),
			);
			const secret = 'abcdef0123456789';
			const baseUrl = `${own.url}/api/v3?api-version=preview&key=${secret}`;
			const to = await hostAt(baseUrl, undefined, { imageApi });
			const [task] = (await edit(to, [one], { mode: 'wait' })).json(NODE);
			const taskType = imageApi === 'json' ? 'edit' : 'generation';
			expect(task).toMatchObject({ url: expect.stringMatching(/^http/), taskType });
			const sent = own.requests.filter(({ call }) => call !== 'download');
			for (const { path, query } of sent) {
				expect(path.startsWith(`/api/v3/images/${taskType}s`)).toBe(true);
				expect(query['api-version']).toBe('preview');
			}
			const wrong = await edit(await hostAt(baseUrl), [one]);
			expect(errorOf(wrong)).toMatchObject({
				message: expect.stringMatching(/doesn't take this edit \((404|415)\)/),
				// Where the address may be wrong, it is named.
				description: expect.stringMatching(
					imageApi === 'json'
						? /'Image API' under 'Gateway Settings'/
						: /led to http:\S+\/api\/v3\/images\/edits.* See 'Image API'/,
				),
			});
			expect(JSON.stringify(errorOf(wrong))).not.toContain(secret);
			expect(own.paid).toBe(1);
		},
	);
});

describe('what comes out', () => {
	test('the edited image, with its bytes', async () => {
		const result = await edit(host, [one, one], {
			mode: 'wait',
			prompt: '={{ "night " + $itemIndex }}',
			download: true,
			options: { binaryPropertyName: 'edited' },
		});
		expect(result.error).toBeUndefined();
		const items = result.output(NODE);
		expect(items).toHaveLength(2);
		for (const [index, item] of items.entries()) {
			const expected = { index: 0, model: MODEL, prompt: `night ${index}`, taskType: 'edit' };
			expect(item.json).toMatchObject(expected);
			expect(item.pairedItem).toEqual({ item: index });
			expect(item.binary!.edited).toMatchObject({ mimeType: 'image/png', fileExtension: 'png' });
			const drawn = await fetch(String(item.json.url));
			const bytes = Buffer.from(await drawn.arrayBuffer());
			expect((await host.binary(item, 'edited')).equals(bytes)).toBe(true);
		}
		expect(gateway.paid).toBe(2);
		// An edit is asked for at its own address (docs/protocol.md, "Endpoints").
		const polls = gateway.requests.filter(({ call }) => call === 'poll');
		expect(polls.every(({ path }) => path.startsWith('/v1/images/edits/'))).toBe(true);
		expect(polls.length).toBeGreaterThan(0);
	});

	test('an edited image can be edited again', async () => {
		const parameters = { ...basics, download: true, options: noLimits };
		const step = { type: 'imageEdit', parameters };
		const result = await runChain(host, [one], [step, step]);
		expect(result.error).toBeUndefined();
		const [first] = result.output(NODE);
		const [original, again] = received().map(({ files }) => files[0]!);
		expect(again!.sha256).not.toBe(original!.sha256);
		expect(again!.size).toBe((await host.binary(first!)).length);
	});
});

/** An image that the gateway has made, and that was paid for, before. */
const publishedImage = async () => String((await edit(host, [one])).json(NODE)[0]!.url);

describe('an image from an address', () => {
	const from = async (address: unknown, options: object = {}) =>
		await edit(host, [{}], { images: address, options });

	test('comes from another host, which is shown no key', async () => {
		const bytes = picture('far', 100_000);
		const other = await opened(
			serve((_, response) => {
				response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes);
			}),
		);
		const result = await from(`${other.url}/photos/fox.jpeg?size=full`);
		expect(result.error).toBeUndefined();
		expect(received()[0]!.files[0]).toMatchObject({
			size: bytes.length,
			mimeType: 'image/png',
			filename: 'fox.png',
		});
		expect(other.requests).toHaveLength(1);
		expect(other.requests[0]!.headers).not.toHaveProperty('authorization');
		expect(JSON.stringify(other.requests)).not.toContain(gateway.keys[0]);
	});

	test('several come in order, also one that is its own address', async () => {
		const other = await opened(
			serve((request, response) => {
				response.writeHead(200, { 'content-type': 'image/png' }).end(picture(request.url ?? ''));
			}),
		);
		const inline = `data:image/jpeg;base64,${JPEG.toString('base64')}`;
		const given = [`${other.url}/a.png`, inline, inline, `${other.url}/bbbbbb.png`];
		for (const images of [
			given,
			given.join(),
			given.join('\n'),
			`={{ ${JSON.stringify(given)} }}`,
		]) {
			await from(images);
			expect(
				received()
					.at(-1)!
					.files.map(({ size, mimeType }) => [size, mimeType]),
			).toEqual([
				[picture('/a.png').length, 'image/png'],
				[JPEG.length, 'image/jpeg'],
				[JPEG.length, 'image/jpeg'],
				[picture('/bbbbbb.png').length, 'image/png'],
			]);
		}
	});

	test('the mask comes from an address too, or from a field beside an address', async () => {
		const image = await publishedImage();
		const files = { area: { bytes: picture('area') } };
		for (const mask of [` ${image}`, 'area', '={{ $binary.area }}']) {
			const parameters = { images: image, options: { mask } };
			const result = await edit(host, [{ files }], parameters);
			expect(result.error).toBeUndefined();
			const sent = received().at(-1)!.files;
			expect(sent.map(({ field }) => field)).toEqual(['image', 'mask']);
		}
	});

	test('may be the image itself, and the mask too: Base64 in lines, in the alphabet of addresses', async () => {
		const base64 = picture('inline').toString('base64url');
		const address = `  ${base64.replace(/(.{76})/g, '$1\n')}\n`;
		const result = await from(address, { mask: address });
		expect(result.error).toBeUndefined();
		const sha256 = createHash('sha256').update(picture('inline')).digest('hex');
		expect(received()[0]!.files).toMatchObject(
			['image', 'mask'].map((field) => {
				return { field, sha256, filename: 'image.png', mimeType: 'image/png' };
			}),
		);
	});

	test.each([
		['is not an image', `data:image/svg+xml;utf8,<svg xmlns="http://www.w3.org/2000/svg"></svg>`],
		['must be the name of a binary field', '={{ [{}] }}'],
		['must be the name of a binary field, a web address', 'file:///etc/passwd'],
		['must be the name of a binary field, a web address', 'cdn.example.com/a.png'],
	])('what %s is refused', async (problem, address) => {
		const error = errorOf(await from(address));
		expect(error.message).toMatch(new RegExp(`'Images' ${problem}`));
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
				images: `=${other.url}/{{ $itemIndex % 3 === 1 ? "page" : "fox.png" }}`,
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

	test.each<[string, Parameters<typeof serve>[0], string, string]>([
		[
			'that is too large',
			(_, response) => response.writeHead(200, { 'content-length': 600e6 }).flushHeaders(),
			'larger than 500 MB',
			'Nothing was sent to the gateway. Check the address of the image: http',
		],
		[
			'that is not there',
			(_, response) => sendJson(response, { error: { message: 'gone' } }, 404),
			'404',
			'/x.png',
		],
	])('one %s is refused', async (_, answer, message, description) => {
		const other = await opened(serve(answer));
		const error = errorOf(await from(`${other.url}/x.png`));
		expect(error.message).toContain(message);
		expect(error.description).toContain(description);
		expect(gateway.count('any')).toBe(0);
	});
});

describe('before anything is sent', () => {
	const text = { bytes: Buffer.from('no picture'), fileName: 'a.txt', mimeType: 'text/plain' };
	const inThird = (value: unknown, otherwise: unknown = 'data') =>
		`={{ $itemIndex === 2 ? ${JSON.stringify(value)} : ${JSON.stringify(otherwise)} }}`;
	const extraFiles = (binaryProperty: string, field = 'hints') => ({
		options: { extraFiles: { file: [{ field, binaryProperty }] } },
	});
	const NO_PART = /'Additional Files' has no name in the request or no binary field: Fill in both/;
	const two = { one: { bytes: picture('1') }, two: { bytes: picture('2') } };
	const deleted = {
		id: 'filesystem-v2:workflows/1/executions/1/binary_data/00000000',
		...{ mimeType: 'image/png', fileName: 'fox.png' },
	};

	test.each<[string, Given, Record<string, unknown>, RegExp]>([
		[
			'a binary field that is not there',
			{ files: two },
			{},
			/no binary field 'data'.* Its binary fields: one, two\. Nothing was sent\. It was item 3 \("make it night"\). n8n counts from 0: \[item 2\]\.$/,
		],
		['no file', {}, {}, /no binary field 'data'.* It has no files: check the node before/],
		['an empty file', { files: { data: { bytes: Buffer.alloc(0) } } }, {}, /is an empty file/],
		['a text', { files: { data: text } }, {}, /"data" is not an image/],
		[
			'a file that n8n has deleted',
			{ binary: { data: deleted } },
			{},
			/can't be read: .*not found/i,
		],
		[
			'bytes of no type',
			{ binary: { data: { data: btoa('no picture') } } },
			{},
			/It is "a file" of the type application\/octet-stream/,
		],
		[
			'the ID of a file',
			one,
			{ images: inThird('file-123456') },
			/^"file-123456" is no binary .* no file IDs: .*If it is the ID of a file.*'OpenAI, Edits as JSON/,
		],
		['a file that is not there', one, extraFiles(inThird('no')), /no binary field 'no'/],
		['an empty switch', one, { options: { dryRun: inThird(' ', false) } }, /false: It is empty/],
		['an additional file that is none', one, extraFiles(inThird(null)), NO_PART],
		['an additional file without a name', one, extraFiles('data', inThird(' ')), NO_PART],
		[
			'an object as text',
			one,
			{ options: { n: inThird('[object Object]', 1) } },
			/It is an object/,
		],
		// The only image is no mask.
		['no mask', one, { options: { mask: inThird('mask') } }, /no binary field 'mask'/],
		['two masks', one, { options: { mask: inThird(['data', 'data']) } }, /'Mask' names 2 images/],
		[
			'a field that every object has',
			one,
			{ images: inThird('constructor, data') },
			/no binary field 'constructor'/,
		],
	])('%s in item 3 of 5: nothing is paid', async (_, third, more, message) => {
		const error = errorOf(await edit(host, [one, one, third, one, one], more));
		expect(`${error.message}: ${error.description}`).toMatch(message);
		expect(error.itemIndex).toBe(2);
		expect(gateway.count('any')).toBe(0);
	});

	test('an expression in place of additional files, which n8n drops, is refused', async () => {
		const files = '={{ { file: [{ field: "a", binaryProperty: "data" }] } }}';
		const error = errorOf(await edit(host, [one], { options: { extraFiles: files } }));
		expect(error.message).toBe("'Additional Files' has no file");
		expect(gateway.count('any')).toBe(0);
	});

	test('the only image is taken, whatever its field is called, and a hint says so', async () => {
		const files = { Your_photo: { bytes: picture('me'), mimeType: 'image/png' }, notes: text };
		const result = await edit(host, [{ files }], { images: 'Your photo' });
		expect(result.error).toBeUndefined();
		expect(received()[0]!.files[0]!.size).toBe(picture('me').length);
		expect(result.hints(NODE).map(({ message }) => message)).toContain(
			`There is no binary field "Your photo". The item's only image was used: "Your_photo".`,
		);
	});

	test('where the node goes on, the others are edited', async () => {
		const items = [one, { files: { data: text } }, one];
		const result = await edit(host, items, {}, { onError: 'continueRegularOutput' });
		const output = result.output(NODE);
		expect(output.map(({ pairedItem }) => pairedItem)).toEqual([0, 1, 2].map((item) => ({ item })));
		expect(output[1]!.json).toEqual({
			error: 'The binary field "data" is not an image',
			prompt: 'make it night',
			details: {
				model: MODEL,
				prompt: 'make it night',
				charged: 'no',
				description: expect.stringContaining('"a.txt" of the type text/plain'),
			},
		});
		expect(gateway.paid).toBe(2);
	});
});

describe('sending again', () => {
	const large = { files: { data: { bytes: picture('x', 20_000_000) } } };
	/** A server that responds by these statuses in turn before it reads a request. */
	async function openHasty(...statuses: number[]) {
		const connections: Array<string | undefined> = [];
		const server = createServer({ keepAliveTimeout: 60_000 }, ({ headers }, response) => {
			connections.push(headers.connection);
			response.setHeader('retry-after', '1');
			sendJson(response, { error: { message: 'not like this' } }, statuses.shift());
		});
		const open = new Set<net.Socket>();
		server.on('connection', (socket) => {
			open.add(socket);
			socket.once('close', () => open.delete(socket));
		});
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		const url = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
		const close = async () => {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		};
		return await opened(Promise.resolve({ url, open, connections, statuses, close }));
	}

	test.each(['form', 'json'])(
		'after a refusal that comes before the image is read, as each refusal is read (%s)',
		async (imageApi) => {
			const server = await openHasty(429, 413);
			const to = await hostAt(server.url, undefined, { imageApi });
			const error = errorOf(await edit(to, [large]));
			expect(error.message).toContain('(413): not like this');
			expect(server.statuses).toEqual([]);
			await filesAreClosed();
			await until(() => server.open.size === 0);
		},
	);

	test('a generation with an image as long JSON too; a short one closes its connection', async () => {
		const server = await openHasty(413, 413, 413);
		for (const length of [200_000, 9000, 7000]) {
			const extraFields = { image: 'A'.repeat(length) };
			const parameters = { ...basics, options: { ...noLimits, extraFields } };
			const steps = [{ type: 'imageGeneration', parameters }];
			const error = errorOf(await runChain(await hostAt(server.url), [{}], steps));
			expect(error.message).toContain('(413): not like this');
		}
		expect(server.connections).toEqual(['keep-alive', 'keep-alive', 'close']);
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
			const error = errorOf(await edit(await hostAt(url), [large]));
			expect(error.message).toMatch(/^The outcome is unknown: while creating the image/);
			expect(connections).toBe(1);
			await filesAreClosed();
		} finally {
			server.close();
		}
	});
});

describe('by Retry On Fail, where the source cannot be fetched again', () => {
	const RETRY: Settings = {
		onError: 'continueRegularOutput',
		retryOnFail: true,
		maxTries: 2,
		waitBetweenTries: 1,
	};

	test.each([
		[
			'an unknown outcome is still told',
			'sync',
			{ call: 'sync', kind: 'status', status: 504, charged: true },
			/The outcome is unknown/,
			{
				outcome: 'unknown',
				description: expect.stringContaining('may have been accepted and charged'),
			},
		],
		[
			'the task that was submitted is still named',
			'wait',
			{ call: 'poll', kind: 'status', status: 503 },
			/was still open after 2 s/,
			{ taskId: expect.any(String), taskType: 'edit' },
		],
	] as const)('%s', async (_, mode, fault, error, details) => {
		const address = await publishedImage();
		gateway.setFaults([{ call: 'download', kind: 'status', status: 404, after: 1 }, fault]);
		const options = { pollInterval: 1, maxWait: 2 };
		const parameters = { images: address, mode, options };
		const result = await edit(host, [{}], parameters, RETRY);
		expect(gateway.paid).toBe(2);
		expect(result.json(NODE)).toMatchObject([{ error: expect.stringMatching(error), details }]);
	});

	test('the task of another item still comes out where the rest exceeds the budget', async () => {
		const address = await publishedImage();
		gateway.setFaults([{ call: 'download', kind: 'status', status: 404, times: 1 }]);
		const parameters = {
			mode: 'submit',
			images: `=${address}?of={{ $itemIndex }}`,
			prompt: '={{ "edit " + $itemIndex }}',
			options: { budget: 0.05, n: '={{ 2 - $itemIndex }}' },
		};
		const result = await edit(host, [{}, {}], parameters, RETRY);
		expect(gateway.paid).toBe(2);
		expect(result.json(NODE)).toMatchObject([
			{ error: expect.stringContaining('budget') },
			{ prompt: 'edit 1', taskId: expect.any(String), taskType: 'edit', status: 'queued' },
		]);
	});
});

/** The binary store's files are closed a moment after the run, before chance would close them. */
async function filesAreClosed(): Promise<void> {
	if (process.platform !== 'linux') return;
	await until(() => !readdirSync('/proc/self/fd').some(isOfBinaryStore));
}

function isOfBinaryStore(descriptor: string): boolean {
	try {
		return readlinkSync(`/proc/self/fd/${descriptor}`).includes('binary_data');
	} catch {
		return false;
	}
}

describe('a failed edit keeps its file on the error output', () => {
	const onError = 'continueErrorOutput' as const;
	const error = expect.stringContaining('400');
	beforeEach(() => gateway.setFaults([{ call: 'any', kind: 'status', status: 400 }]));

	test('beside its item', async () => {
		const result = await edit(host, [{ ...one, json: { name: 'fox' } }], {}, { onError });
		expect(result.output(NODE, 0)).toEqual([]);
		expect(result.json(NODE, 1)).toMatchObject([{ name: 'fox', error }]);
		const [failed] = result.output(NODE, 1);
		expect(await host.binary(failed!)).toEqual(one.files.data.bytes);
	});

	test('in its item, where n8n keeps files in the JSON', async () => {
		const parameters = { ...basics, options: noLimits };
		const step = { type: 'imageEdit', parameters, settings: { onError } };
		const result = await runChain(host, [one], [step], { settings: COMBINED });
		expect(result.output(NODE, 0)).toEqual([]);
		const _files = { data: { fileName: 'fox.png' } };
		expect(result.json(NODE, 1)).toMatchObject([{ error, _files }]);
	});
});

const COMBINED = { binaryMode: 'combined' } as N8n.IWorkflowSettings;

test.each(['data', '_files.data', '={{ $json._files.data }}'])(
	'where n8n keeps files in the JSON, the file in %s is edited',
	async (images) => {
		const parameters = { ...basics, images, options: noLimits };
		const steps = [{ type: 'imageEdit', parameters }];
		const result = await runChain(host, [one], steps, { settings: COMBINED });
		expect(result.error).toBeUndefined();
		expect(result.output(NODE)).toHaveLength(1);
		expect(gateway.count('sync')).toBe(1);
	},
);

test('a file in the memory, of which an expression has all but its bytes, is edited', async () => {
	const inMemory = await hostAt(gateway.url, 'memory');
	const result = await edit(inMemory, [one], { images: '={{ $binary.data }}' });
	expect(result.error).toBeUndefined();
	expect(received()[0]!.files).toMatchObject([{ filename: 'fox.png' }]);
});
