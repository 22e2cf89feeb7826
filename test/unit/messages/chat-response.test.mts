/** How the chat model reads what comes back, whatever form and pieces it comes in. */
import { Readable } from 'node:stream';
import { readStreamedResponse } from '../../../gateway/messages/streamedResponse.js';

interface Given {
	type?: string;
	/** Bytes in each chunk; all in one unless told otherwise. */
	chunk?: number;
	status?: number;
}

async function read(body: string | Buffer, { type, chunk = Infinity, status = 200 }: Given = {}) {
	const bytes = Buffer.from(body);
	const size = Math.min(chunk, Math.max(1, bytes.length));
	const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
		bytes.subarray(index * size, (index + 1) * size),
	);
	const pieces: string[] = [];
	const chunks: Uint8Array[] = [];
	const bodyStream = Readable.from(parts, { objectMode: true });
	const response = {
		body: bodyStream,
		httpCode: status,
		headers: type === undefined ? {} : { 'Content-Type': type },
	};
	const onText = (text: string) => pieces.push(text);
	const options = { onText, chunks };
	const read = await readStreamedResponse(response as never, options).then(
		(whole) => whole,
		(error: unknown) => ({ error, json: undefined, text: '' }),
	);
	const said = pieces.join('');
	const arrived = Buffer.concat(chunks).toString();
	return { ...read, pieces, said, arrived, body: bodyStream };
}

const event = (type: string, data: object) =>
	`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const beginning = (text = 'Hello') =>
	[
		event('message_start', { message: { id: 'm', stop_reason: null } }),
		event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
		event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
	].join('');
const end =
	event('message_delta', { delta: { stop_reason: 'end_turn' } }) + event('message_stop', {});
const whole = beginning() + end;
const message = { id: 'm', content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn' };

const STREAMS: Record<string, string | Buffer> = {
	'as it should be': whole,
	'blank lines and blanks first': `\r\n \t\r\n\n${whole}`,
	'a BOM and a comment first': `\ufeff: hi\n${whole}`,
	'no event names': whole.replace(/^event:.*\n/gm, ''),
	'unknown events and fields': `event: news\ndata: {"x":1}\nfoo: bar\n\n${whole}`,
	'data over several lines': whole.replaceAll(',"', ',\ndata: "'),
	'a sentinel for an end': `${beginning()}data: [DONE]`,
};

const chunkings = [1, 3, Infinity];
const types = ['text/event-stream; charset=utf-8', 'application/json', undefined];

test.each(Object.entries(STREAMS))(
	'a stream with %s is read in pieces of any size',
	async (_, body) => {
		for (const [index, chunk] of chunkings.entries()) {
			const { json, said, ...rest } = await read(body, { type: types[index], chunk });
			expect(json).toMatchObject({ id: 'm', content: [{ type: 'text', text: 'Hello' }] });
			expect(said).toBe('Hello');
			expect(rest.body.destroyed).toBe(true);
		}
	},
);

test.each([
	['plain', JSON.stringify(message)],
	['behind a BOM', `\ufeff${JSON.stringify(message)}`],
	['behind comments', `: wait\n\n: wait\n\n${JSON.stringify(message, null, 2)}`],
])('JSON that is %s is read in one piece', async (_, body) => {
	for (const [index, chunk] of chunkings.entries()) {
		const { json, pieces } = await read(body, { type: types[index], chunk });
		expect([json, pieces]).toEqual([message, []]);
	}
});

test.each(types)('what is neither is given back as text, announced as %s', async (type) => {
	const page = await read('<html>Sign in</html>', { type, chunk: 1 });
	expect([page.json, page.text]).toEqual([undefined, '<html>Sign in</html>']);
	const error = await read('{"error":{"message":"no"}}', { type, chunk: 1 });
	expect(error.json).toEqual({ error: { message: 'no' } });
	expect((await read('{"error":1}', { type, status: 500 })).json).toEqual({ error: 1 });
});

test('half a stream is cut, though its connection ends as it should', async () => {
	const { error } = (await read(beginning(), { type: 'text/event-stream' })) as { error?: Error };
	expect(error?.message).toBe('premature close');
});

test('a stream that breaks behind its stop reason is whole', async () => {
	const body = Readable.from(
		(function* () {
			yield Buffer.from(beginning() + end.slice(0, end.indexOf('event: message_stop')));
			throw new Error('socket hang up');
		})(),
	);
	const { json } = await readStreamedResponse({ body, httpCode: 200, headers: {} } as never, {});
	expect(json).toMatchObject(message);
});

test.each([
	['bytes', (text: string) => new TextEncoder().encode(text)],
	['a text', (text: string) => text],
])('events that a transport returns as %s are a stream too', async (_, bodyOf) => {
	const pieces: string[] = [];
	const body = bodyOf(beginning() + end);
	const { json } = await readStreamedResponse(
		{ body, httpCode: 200, headers: {} },
		{
			onText: (text) => pieces.push(text),
		},
	);
	expect(json).toMatchObject(message);
	expect(pieces.length).toBeGreaterThan(0);
});

test('a stream without end is cut off', async () => {
	// Three times the limit at most. Letters of three bytes are decoded in half the time of those of one.
	const part = Buffer.alloc(3 * 256 * 1024, '界');
	let given = 0;
	const body = Readable.from(
		(function* () {
			yield Buffer.from('data: {}\n\n');
			while ((given += part.length) < 3 * 67_108_864) yield part;
		})(),
	);
	const reading = readStreamedResponse({ body, httpCode: 200 } as never, {});
	await expect(reading).rejects.toThrow('More than 67108864 bytes');
	// No more than what lies ready for the reader.
	expect(given).toBeLessThan(67_108_864 + 4 * part.length);
});

test('what arrived before a cut is known', async () => {
	const call = event('content_block_start', { index: 1, content_block: { type: 'tool_use' } });
	const { arrived } = await read(`${beginning()}${call}${'x'.repeat(5000)}`, { chunk: 10 });
	expect(arrived).toBe('m\nHello');
});
