import '../fast-time.mjs';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { HostOptions } from '../../../harness/engine/host.mjs';
import { opened, sharedBench } from '../opened.mjs';
import {
	hostFor,
	NODE,
	openBench,
	sendJson,
	serve,
	TINY_PNG,
	workflowOf,
	type OwnServer,
} from '../workbench.mjs';

const bench = sharedBench();

const messageOf = (result: { error?: Error }): string => result.error?.message ?? '';

describe('the image as binary data', () => {
	test.each(['filesystem', 'memory'] as const)(
		'is what the gateway serves; one that is too big is given by its address: %s',
		async (binaryMode) => {
			const own = await opened(openBench({ imageBytes: 3 * 1024 * 1024, host: { binaryMode } }));
			const [item] = (await own.run('imageGeneration', { prompt: 'a fox' })).output(NODE);
			const served = Buffer.from(await (await fetch(String(item!.json.url))).arrayBuffer());
			expect((await own.host.binary(item!)).equals(served)).toBe(true);
			expect(item!.binary!.data).toMatchObject({
				mimeType: 'image/png',
				fileExtension: 'png',
				fileType: 'image',
				fileName: expect.stringMatching(/^a-fox-[0-9a-f]{8}\.png$/),
				bytes: served.length,
			});
			expect(item!.binary!.data!.id === undefined).toBe(binaryMode === 'memory');
		},
	);

	test('no download: the address alone, and nothing is fetched', async () => {
		const [taskId] = await bench.submit('a fox');
		const all = [
			await bench.run('imageGeneration', { prompt: 'a fox', download: false }),
			await bench.run('imageTask', { taskId, download: false }),
			await bench.run('imageWait', { taskId, download: false }),
		];
		expect(all.flatMap((result) => result.output(NODE)).map(({ binary }) => binary)).toEqual([
			undefined,
			undefined,
			undefined,
		]);
		expect(bench.gateway.count('download')).toBe(0);
	});

	/** A gateway whose one response names these addresses, and that serves `file` for all others. */
	async function gatewayWith(
		urls: (url: string) => string[],
		file: (request: IncomingMessage, response: ServerResponse) => void,
	): Promise<OwnServer> {
		return await opened(
			serve((request, response, url) => {
				if (request.method === 'POST') {
					return sendJson(response, { created: 1, data: urls(url).map((one) => ({ url: one })) });
				}
				file(request, response);
			}),
		);
	}

	const generate = async (baseUrl: string, options: HostOptions = {}) =>
		await (
			await hostFor({ baseUrl }, options)
		).run(workflowOf('imageGeneration', { prompt: 'a fox', options: { checkLimits: false } }));

	test('the type is that of the bytes, not what the server or the address says', async () => {
		const files: Record<string, [Buffer, says: string, is: string]> = {
			jpeg: [Buffer.from('ffd8ffe000104a464946', 'hex'), 'image/png', 'image/jpeg'],
			webp: [Buffer.from('RIFF....WEBPVP8 '), '', 'image/webp'],
			odd: [Buffer.from('NEW\0\x01\x02'), 'image/x-new; a=b', 'image/x-new'],
		};
		const own = await gatewayWith(
			(url) => Object.keys(files).map((name) => `${url}/${name}.html`),
			(request, response) => {
				const [bytes, says] = files[request.url!.slice(1, -5)]!;
				if (says !== '') response.setHeader('content-type', says);
				response.end(bytes);
			},
		);
		const made = (await generate(own.url)).output(NODE).map(({ binary }) => binary!.data!);
		expect(made.map(({ mimeType }) => mimeType)).toEqual(
			Object.values(files).map(([, , is]) => is),
		);
		expect(made.map(({ fileName }) => fileName).join()).not.toContain('html');
	});

	test.each<[string, string, string, RegExp, attempts?: number]>([
		['a web page', 'text/html', '<b>no image</b>', /a web page/],
		['JSON', 'image/png', '{"error":{"message":"expired"}}', /JSON/],
		['a document', 'image/png', '%PDF-1.7\n%\x80\x81\n\0', /a file that isn't an image/, 1],
	])('%s in place of an image, as %s', async (_, type, text, found, attempts = 6) => {
		const own = await gatewayWith(
			(url) => [`${url}/one.png`],
			(_request, response) => {
				response.setHeader('content-type', type);
				response.end(Buffer.from(text, 'latin1'));
			},
		);
		const result = await generate(own.url);
		expect(messageOf(result)).toMatch(found);
		expect(result.error?.description).toContain(`${own.url}/one.png`);
		expect(own.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
		expect(own.requests.filter(({ url }) => url === '/one.png')).toHaveLength(attempts);
	});

	test.each(['file:///etc/passwd', 'http://'])('the address %s is not fetched', async (address) => {
		const own = await gatewayWith(
			() => [address],
			(_, response) => void response.end(TINY_PNG),
		);
		expect(messageOf(await generate(own.url))).toBe(
			'The gateway returned an invalid image address',
		);
	});

	test.each([
		[true, 'filesystem'],
		[false, 'memory'],
	] as const)(
		'a download that breaks off is tried again (length known: %s, %s)',
		async (known, binaryMode) => {
			const file = Buffer.concat([TINY_PNG, Buffer.alloc(200_000, 7)]);
			let times = 0;
			const own = await gatewayWith(
				(url) => [`${url}/one.png`],
				(_, response) => {
					times += 1;
					if (known) response.setHeader('content-length', file.length);
					if (times > 2) return void response.end(file);
					response.write(file.subarray(0, 100_000), () => response.destroy());
				},
			);
			const result = await generate(own.url, { binaryMode });
			const [item] = result.output(NODE);
			expect(times).toBe(3);
			expect((await bench.host.binary(item!)).equals(file)).toBe(true);
			expect(item!.binary!.data!.bytes).toBe(file.length);
			expect(own.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
		},
	);

	test('of three images one cannot be had: the others come out where the node goes on', async () => {
		const own = await gatewayWith(
			(url) => ['a', 'gone', 'c'].map((name) => `${url}/${name}.png`),
			({ url }, response) => response.writeHead(url === '/gone.png' ? 410 : 200).end(TINY_PNG),
		);
		const host = await hostFor({ baseUrl: own.url });
		const goOn = { onError: 'continueErrorOutput' as const };
		const result = await host.run(workflowOf('imageGeneration', { prompt: 'a fox' }, goOn));
		const there = ['a', 'c'].map((name) => `${own.url}/${name}.png`);
		expect(result.json(NODE, 0).map(({ url }) => url)).toEqual(there);
		expect(result.json(NODE, 1)).toMatchObject([
			{
				error: "The image couldn't be downloaded: its server responded with 410",
				details: { url: `${own.url}/gone.png` },
			},
		]);
	});

	test('Image Task: one that cannot be had does not hide the others', async () => {
		const parameters = { prompt: 'a fox', mode: 'submit', options: { n: 3 } };
		const tasks = (await bench.run('imageGeneration', parameters)).json(NODE);
		bench.gateway.setFaults([{ call: 'download', kind: 'status', status: 404, times: 1 }]);
		const onError = 'continueErrorOutput';
		const result = await bench.run('imageTask', {}, tasks, { onError });
		const [item, ...others] = result.output(NODE, 0);
		expect([others, Object.keys(item!.binary!)]).toEqual([[], ['data_1', 'data_2']]);
		const images = item!.json.images as IDataObject[];
		expect(images.map(({ error }) => error)).toEqual([
			expect.stringMatching(/^The image couldn't be downloaded/),
			undefined,
			undefined,
		]);
		expect(images.map(({ url }) => url)).toEqual(item!.json.urls);
		expect(item!.json).toMatchObject({ succeeded: true, estimatedCost: 0.12 });
		expect(result.json(NODE, 1)).toEqual([]);
	});

	test('Image Task: where none can be had, the item has failed, with the addresses of all', async () => {
		const parameters = { prompt: 'a fox', mode: 'submit', options: { n: 2 } };
		const tasks = (await bench.run('imageGeneration', parameters)).json(NODE);
		bench.gateway.setFaults([{ call: 'download', kind: 'status', status: 404 }]);
		const goOn = { onError: 'continueErrorOutput' } as const;
		const result = await bench.run('imageTask', {}, tasks, goOn);
		expect(result.json(NODE, 0)).toEqual([]);
		const { taskId } = tasks[0]!;
		const urls = [expect.any(String), expect.any(String)];
		expect(result.json(NODE, 1)).toMatchObject([
			{ details: { charged: 'yes', taskId, urls, estimatedCost: 0.08 } },
		]);
		const stopped = await bench.run('imageTask', {}, tasks);
		expect(stopped.error).toMatchObject({ context: { details: { taskId } } });
	});

	test('a web page in place of an image is kept, but not as a web page: it was paid for', async () => {
		const page = '<html><script>alert(1)</script></html>';
		const own = await opened(
			serve((_, response) =>
				sendJson(response, { data: [{ url: `data:text/html,${encodeURIComponent(page)}` }] }),
			),
		);
		const [item] = (await generate(own.url)).output(NODE);
		expect((await bench.host.binary(item!)).toString()).toBe(page);
		expect(item!.binary!.data).toMatchObject({
			mimeType: 'application/octet-stream',
			fileName: expect.stringMatching(/\.bin$/),
		});
	});

	test.each([
		['an image of 600 MB', 200],
		['an error', 403],
	])('the connection ends when the body of %s is refused unread', async (_, status) => {
		const closed: Array<Promise<unknown>> = [];
		const own = await gatewayWith(
			(url) => [`${url}/one.png`],
			(_request, response) => {
				closed.push(once(response, 'close'));
				response.writeHead(status, { 'content-length': 600e6 }).write(TINY_PNG);
			},
		);
		expect(messageOf(await generate(own.url))).toMatch(/larger than 500 MB|responded with 403/);
		expect(closed).toHaveLength(1);
		await Promise.all(closed);
	});

	test('a response may be longer than 64 MB', async () => {
		const data = [{ b64_json: TINY_PNG.toString('base64') }];
		const padded = Buffer.alloc(65 * 1024 * 1024, ' ');
		padded.write(JSON.stringify({ data }));
		const own = await opened(serve((_, response) => void response.end(padded)));
		const [item] = (await generate(own.url)).output(NODE);
		expect((await bench.host.binary(item!)).equals(TINY_PNG)).toBe(true);
	}, 60_000);
});

test('an image that comes as Base64 although Download is off is a file, and a hint says so', async () => {
	const body = { data: [{ b64_json: TINY_PNG.toString('base64') }] };
	const own = await opened(serve((_, response) => void response.end(JSON.stringify(body))));
	const host = await hostFor({ baseUrl: own.url });
	const parameters = { prompt: 'a fox', download: false };
	const result = await host.run(workflowOf('imageGeneration', parameters));
	expect(result.error).toBeUndefined();
	expect(result.output(NODE)[0]).toMatchObject({ binary: { data: { mimeType: 'image/png' } } });
	// Image Wait gets such images as well, and has no such option.
	const waited = await host.run(workflowOf('imageWait', { taskId: 't', download: false }));
	for (const { hints } of [result, waited]) {
		const told = hints(NODE).map(({ message }) => message);
		const says = /^'Download' is off, but .*'Response Format' to 'URL' in the node that requests/;
		expect(told).toContainEqual(expect.stringMatching(says));
	}
});

test('an item’s own address that is none of the web is no fault of the gateway', async () => {
	const url = 'ftp://example.com/a.png';
	const result = await bench.run('imageWait', {}, [{ url }]);
	expect(result.error?.message).toBe("'url' must be a web address");
	expect(bench.gateway.count('any')).toBe(0);
});
