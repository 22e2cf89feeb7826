/** Downloads over transports that n8n's isn't: the port allows complete bodies. */
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { openGateway } from '../../gateway/index.js';
import type { WireResponse } from '../../gateway/wire/transport.js';
import { MB } from '../../util/megabyte.js';

const PNG = Buffer.concat([
	Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
	Buffer.alloc(2_000_000),
]);

const PARTS = [0, 1e6].map((start) => PNG.subarray(start, start + 1e6));

/** What a download stores, and how often it was requested. */
async function download(
	response: (signal: AbortSignal) => Partial<WireResponse> | Promise<never>,
	{ maxMb = 10, isInput = false, timeoutMs = 60_000 } = {},
) {
	let sent = 0;
	const gateway = openGateway(
		{ baseUrl: 'https://gateway.example', apiKey: 'sk-0123456789' },
		{
			transport: async (_request, signal) => {
				sent += 1;
				return { httpCode: 200, headers: {}, body: '', ...(await response(signal)) };
			},
			sleep: async () => await Promise.resolve(),
			limits: { maxResponseBytes: maxMb * MB, timeoutMs },
		},
	);
	const image = { url: 'https://files.example/1.png', isInput };
	const stored = gateway.download(image, async (content, fileName, mimeType) => {
		const bytes = Buffer.isBuffer(content) ? content : await buffer(content as Readable);
		return { content: bytes, fileName, mimeType };
	});
	const end = await stored.catch((error: Error) => error.message);
	gateway.end();
	return { end, sent };
}

test('a stream that is closed before its first byte, without an error, ends the download', async () => {
	const { end } = await download(() => {
		const body = new PassThrough();
		setImmediate(() => body.destroy());
		return { body };
	});
	expect(end).toMatch(/couldn't be downloaded/);
});

test('a complete body is an image like any other', async () => {
	expect(await download(() => ({ body: PNG }))).toEqual({
		end: { content: PNG, fileName: '1.png', mimeType: 'image/png' },
		sent: 1,
	});
});

test.each<[string, () => Partial<WireResponse>, RegExp]>([
	['larger than allowed', () => ({ body: PNG }), /larger than 1 MB/],
	['said to be larger', () => ({ headers: { 'content-length': '2e6' } }), /larger than 1 MB/],
	['larger than said', () => ({ body: Readable.from(PARTS) }), /larger than 1 MB/],
	['no image', () => ({ body: Buffer.from('PK\x03\x04') }), /returned a file that isn't an image/],
	['an error', () => ({ httpCode: 403, body: Buffer.from('no') }), /responded with 403/],
])('one that is %s is told', async (_, response, message) => {
	expect(await download(response, { maxMb: 1 })).toEqual({
		end: expect.stringMatching(message),
		sent: 1,
	});
});

test('a stream that has ended before it is read is a lost connection', async () => {
	const closed = () => ({ body: new PassThrough().destroy() });
	const { end, sent } = await download(closed);
	expect(end).toMatch(/connection/);
	expect(sent).toBe(6);
});

test('a response that is larger than any image may have been charged', async () => {
	const gateway = openGateway(
		{ baseUrl: 'https://gateway.example', apiKey: 'sk-0123456789' },
		{
			transport: async () =>
				await Promise.resolve({ httpCode: 200, headers: {}, body: Readable.from(PARTS) }),
			sleep: async () => await Promise.resolve(),
			limits: { maxResponseBytes: MB },
		},
	);
	const generated = gateway.generate({ model: 'm', prompt: 'p' }, {});
	await expect(generated).rejects.toThrow(/^The outcome is unknown: .*the response is too large/);
	gateway.end();
});

test.each([
	['a source image', true, 'its server took longer than 0.02 s', 1],
	['a finished image', false, 'the request timed out', 6],
])('%s that does not come in time', async (_, isInput, message, tries) => {
	const never = async (signal: AbortSignal) =>
		await new Promise<never>((_resolve, reject) => {
			signal.addEventListener('abort', () => reject(signal.reason as Error));
		});
	const { end, sent } = await download(never, { isInput, timeoutMs: 20 });
	expect(end).toContain(message);
	expect(sent).toBe(tries);
});
