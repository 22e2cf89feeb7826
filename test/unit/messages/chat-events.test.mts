import fc from 'fast-check';
import { MessageStream } from '../../../gateway/messages/messageStream.js';
import { readServerEvents, type ServerEvent } from '../../../gateway/messages/serverSentEvents.js';

const bytesOf = (text: string) => new TextEncoder().encode(text);

async function* inChunks(bytes: Uint8Array, cuts: number[]): AsyncGenerator<Uint8Array> {
	let start = 0;
	for (const cut of [...cuts].sort((one, other) => one - other)) {
		const end = Math.min(bytes.length, cut);
		yield bytes.slice(start, end);
		start = Math.max(start, end);
	}
	yield bytes.slice(start);
}

async function eventsIn(text: string, cuts: number[] = []): Promise<ServerEvent[]> {
	const events: ServerEvent[] = [];
	for await (const event of readServerEvents(inChunks(bytesOf(text), cuts))) events.push(event);
	return events;
}

describe('server-sent events', () => {
	test('with names, comments, several lines and no blank after the colon', async () => {
		expect(
			await eventsIn(': hello\n\nevent: one\ndata: a\ndata: b\n\ndata:c\nid: 7\n\nevent: two\n\n'),
		).toEqual([
			{ event: 'one', data: 'a\nb' },
			{ event: undefined, data: 'c' },
		]);
	});

	test('the last one needs no empty line behind it, nor a line break', async () => {
		const whole = [{ data: 'whole' }, { data: 'also whole' }];
		expect(await eventsIn('data: whole\n\ndata: also whole')).toEqual(whole);
		expect(await eventsIn('data: whole\n\ndata: also whole\n')).toEqual(whole);
		expect(await eventsIn('data: whole\n\n: a comment')).toEqual([{ data: 'whole' }]);
	});

	test('half a BOM, and one byte at a time', async () => {
		const bytes = Buffer.from('\ufeffdata: {"a":"🦊"}\r\ndata:b\r\n\r\n');
		const every = Array.from({ length: bytes.length }, (_, index) => index);
		expect(await eventsIn(bytes.toString(), every)).toEqual([{ data: '{"a":"🦊"}\nb' }]);
	});

	test.each(['\n', '\r\n', '\r'])('with lines that end in %j, cut anywhere', async (end) => {
		const text = ['event: déjà', 'data: 🦊 {"a": 1}', '', 'data: ☃', '', 'x: y', ''].join(end);
		const expected = [{ event: 'déjà', data: '🦊 {"a": 1}' }, { data: '☃' }];
		const size = bytesOf(text).length;
		await fc.assert(
			fc.asyncProperty(fc.array(fc.nat(size), { maxLength: 12 }), async (cuts) => {
				expect(await eventsIn(text, cuts)).toEqual(expected);
			}),
		);
	});
});

function assembled(...events: object[]) {
	const assembly = new MessageStream();
	const pieces = events
		.map((event) => assembly.add({ data: JSON.stringify(event) }))
		.filter((text) => text !== '');
	return { assembly, pieces };
}

const start = {
	type: 'message_start',
	message: {
		id: 'msg',
		content: [],
		stop_reason: null,
		usage: { input_tokens: 9, output_tokens: 1 },
	},
};
const open = (index: number, content_block: object) => ({
	type: 'content_block_start',
	index,
	content_block,
});
const grow = (index: number, type: string, delta: object) => ({
	type: 'content_block_delta',
	index,
	delta: { type, ...delta },
});
const close = (index: number) => ({ type: 'content_block_stop', index });
const end = (stop_reason: string) => ({
	type: 'message_delta',
	delta: { stop_reason, stop_sequence: null },
	usage: { output_tokens: 30, output_tokens_details: { thinking_tokens: 20 } },
});
const stop = { type: 'message_stop' };

describe('a streamed response', () => {
	const events = [
		start,
		{ type: 'ping' },
		open(0, { type: 'thinking', thinking: '', signature: '' }),
		grow(0, 'thinking_delta', { thinking: 'Hm' }),
		grow(0, 'thinking_delta', { thinking: '.' }),
		grow(0, 'signature_delta', { signature: 'abc' }),
		close(0),
		open(1, { type: 'text', text: '' }),
		grow(1, 'text_delta', { text: 'Let me' }),
		grow(1, 'citations_delta', { citation: { url: 'x' } }),
		grow(1, 'text_delta', { text: ' see.' }),
		close(1),
		open(2, { type: 'tool_use', id: 'a', name: 'draw', input: {} }),
		grow(2, 'input_json_delta', { partial_json: '{"prompt":' }),
		grow(2, 'input_json_delta', { partial_json: '"a fox"}' }),
		close(2),
		open(3, { type: 'tool_use', id: 'b', name: 'now', input: {} }),
		close(3),
		end('tool_use'),
		stop,
	];

	test('is put together to what would have come in one piece', () => {
		const { assembly } = assembled(...events);
		expect(assembly.whole).toBe(true);
		expect(assembly.body).toEqual({
			id: 'msg',
			content: [
				{ type: 'thinking', thinking: 'Hm.', signature: 'abc' },
				{ type: 'text', text: 'Let me see.', citations: [{ url: 'x' }] },
				{ type: 'tool_use', id: 'a', name: 'draw', input: { prompt: 'a fox' } },
				{ type: 'tool_use', id: 'b', name: 'now', input: {} },
			],
			stop_reason: 'tool_use',
			stop_sequence: null,
			usage: {
				input_tokens: 9,
				output_tokens: 30,
				output_tokens_details: { thinking_tokens: 20 },
			},
		});
	});

	test('is handed on piece by piece, but for tool calls and thinking', () => {
		expect(assembled(...events).pieces).toEqual(['Let me', ' see.']);
	});

	test('may begin a block with its beginning, or bring it whole', () => {
		const { assembly, pieces } = assembled(
			start,
			open(0, { type: 'text', text: 'One' }),
			grow(0, 'text_delta', { text: ' two' }),
			open(1, { type: 'tool_use', id: 'a', name: 'draw', input: { prompt: 'x' } }),
			close(1),
			open(2, { type: 'redacted_thinking', data: 'zzz' }),
			close(2),
			stop,
		);
		expect(assembly.body.content).toEqual([
			{ type: 'text', text: 'One two' },
			{ type: 'tool_use', id: 'a', name: 'draw', input: { prompt: 'x' } },
			{ type: 'redacted_thinking', data: 'zzz' },
		]);
		expect(pieces).toEqual(['One', ' two']);
	});

	test('is whole with its stop reason, and cut without it', () => {
		expect(assembled(...events.slice(0, -2)).assembly.whole).toBe(false);
		expect(assembled(...events.slice(0, -1)).assembly).toMatchObject({ whole: true, done: false });
		expect(assembled(...events).assembly).toMatchObject({ whole: true, done: true });
	});

	test('that breaks off with an error is that error', () => {
		const error = { type: 'overloaded_error', message: 'Overloaded' };
		const { assembly } = assembled(...events.slice(0, 8), { type: 'error', error });
		expect(assembly).toMatchObject({ whole: true, done: true, body: { type: 'error', error } });
	});

	test('may name its events beside the data, and bring some that mean nothing here', () => {
		const assembly = new MessageStream();
		assembly.add({
			event: 'content_block_start',
			data: '{"index":0,"content_block":{"type":"text"}}',
		});
		assembly.add({
			event: 'content_block_delta',
			data: '{"index":0,"delta":{"type":"text_delta","text":"Hi"}}',
		});
		expect(assembly.add({ data: '[DONE]' })).toBe('');
		expect(assembly.add({ event: 'news', data: '{"index":0}' })).toBe('');
		expect(assembly.add({ event: 'content_block_delta', data: '{"index":5,"delta":{}}' })).toBe('');
		expect(assembly.body.content).toEqual([{ type: 'text', text: 'Hi' }]);
	});

	test('ends with the sentinel of other protocols, if it has begun', () => {
		const { assembly } = assembled(start, open(0, { type: 'text', text: 'Hi' }));
		assembly.add({ data: ' [DONE] ' });
		expect(assembly).toMatchObject({ whole: true, done: true });
		expect(assembly.body.content).toEqual([{ type: 'text', text: 'Hi' }]);
		const empty = new MessageStream();
		empty.add({ data: '[DONE]' });
		expect(empty.body).not.toHaveProperty('content');
	});

	test.each<[string, object, unknown]>([
		['is cut', grow(0, 'input_json_delta', { partial_json: '{"prompt":"a f' }), '{"prompt":"a f'],
		['is no object', grow(0, 'input_json_delta', { partial_json: '["a fox"]' }), '["a fox"]'],
	])('a tool call whose input %s has no object for an input', (_, event, input) => {
		const call = open(0, { type: 'tool_use', id: 'a', name: 'draw', input: {} });
		expect(assembled(start, call, event, end('tool_use')).assembly.body.content).toEqual([
			{ type: 'tool_use', id: 'a', name: 'draw', input },
		]);
	});

	test('behind its stop reason it is whole, whatever follows', () => {
		const { assembly } = assembled(
			...events.slice(0, -1),
			{ type: 'message_delta', delta: { stop_reason: null } },
			{ type: 'error', error: 'Overloaded' },
		);
		expect(assembly).toMatchObject({ done: true, body: { stop_reason: 'tool_use' } });
	});

	test('an error that nobody names is one', () => {
		const { assembly } = assembled(start, { error: { message: 'Overloaded' } });
		expect(assembly).toMatchObject({ done: true, body: { error: { message: 'Overloaded' } } });
	});
});

describe('a hostile stream', () => {
	const textIn = ({ body }: MessageStream) =>
		(body.content as Array<{ text?: string }>).map(({ text }) => text).join('|');

	test.each<[string, unknown]>([
		['a huge number', 1e9],
		['no whole number', 0.5],
		['a negative number', -1],
		['a text', '0'],
		['the name of a prototype', '__proto__'],
		['nothing', undefined],
		['null', null],
		['an object', {}],
	])('may number its blocks by %s', (_, index) => {
		const numbered = (event: object) => ({ ...event, index });
		const { assembly, pieces } = assembled(
			start,
			numbered(open(0, { type: 'text', text: 'One' })),
			numbered(grow(0, 'text_delta', { text: ' two' })),
			numbered(close(0)),
			end('end_turn'),
		);
		// Objects are never the same: a block of its own, and nothing is lost.
		expect(textIn(assembly).replace('|', '')).toBe('One two');
		expect(pieces.join('')).toBe('One two');
	});

	test('may bring what makes no sense', () => {
		const { assembly } = assembled(
			start,
			...[null, 'x', [], 7].map((content_block) => ({ ...open(0, {}), content_block })),
			...[null, 'x', [], 7, { type: '__proto__' }, { type: 'constructor' }].map((delta) => ({
				...grow(0, '', {}),
				delta,
			})),
			close(5),
			grow(9, 'signature_delta', { signature: 'x' }),
			{ type: 'message_delta', delta: null, usage: 'many' },
			{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: '7' } },
		);
		assembly.add({ data: 'null' });
		assembly.add({ event: 'constructor', data: '"x"' });
		expect(assembly.whole).toBe(true);
		expect(assembly.body.content).toEqual([]);
	});

	test('what is said in a block that never began is not lost', () => {
		const { assembly, pieces } = assembled(start, grow(3, 'text_delta', { text: 'Hi' }), stop);
		expect(textIn(assembly)).toBe('Hi');
		expect(pieces).toEqual(['Hi']);
	});

	test('text after thinking belongs to the text, and a signature to the thinking', () => {
		const { assembly, pieces } = assembled(
			start,
			open(0, { type: 'thinking', thinking: '', signature: '' }),
			grow(0, 'thinking_delta', { thinking: 'Hm.' }),
			grow(1, 'text_delta', { text: 'Hello' }),
			grow(0, 'signature_delta', { signature: 's' }),
			grow(1, 'text_delta', { text: ' you' }),
			end('end_turn'),
		);
		expect(assembly.body.content).toEqual([
			{ type: 'thinking', thinking: 'Hm.', signature: 's' },
			{ type: 'text', text: 'Hello you' },
		]);
		expect(pieces.join('')).toBe('Hello you');
	});

	test('also where nothing is numbered, and nothing begins', () => {
		const { assembly } = assembled(
			start,
			...[
				grow(0, 'thinking_delta', { thinking: 'Hm.' }),
				grow(0, 'text_delta', { text: 'Hello' }),
				grow(0, 'signature_delta', { signature: 's' }),
				grow(0, 'text_delta', { text: ' you' }),
			].map((event) => ({ ...event, index: undefined })),
			end('end_turn'),
		);
		expect(assembly.body.content).toEqual([
			{ type: 'thinking', thinking: 'Hm.', signature: 's' },
			{ type: 'text', text: 'Hello you' },
		]);
	});

	test.each([null, 0])('a count of %j at the end is none; a new one counts', (input_tokens) => {
		const usage = { input_tokens, output_tokens: 30, cache_read_input_tokens: 0 };
		const { assembly } = assembled(start, { type: 'message_delta', delta: {}, usage });
		expect(assembly.body.usage).toEqual({
			input_tokens: 9,
			output_tokens: 30,
			cache_read_input_tokens: 0,
		});
	});

	test('a refusal is told with its details', () => {
		const stop_details = { type: 'refusal', explanation: 'No.' };
		const delta = { stop_reason: 'refusal', stop_details };
		const { assembly } = assembled(start, { type: 'message_delta', delta }, stop);
		expect(assembly.body).toMatchObject({ content: [], stop_reason: 'refusal', stop_details });
	});

	test('may begin twice, and open a block twice', () => {
		const { assembly } = assembled(
			start,
			open(0, { type: 'text', text: 'One' }),
			{ type: 'message_start', message: { id: 'other', content: [], stop_reason: 'end_turn' } },
			open(0, { type: 'text', text: 'Two' }),
			grow(0, 'text_delta', { text: ' and a half' }),
		);
		expect(assembly.whole).toBe(false);
		expect(assembly.body.id).toBe('msg');
		expect(textIn(assembly)).toBe('One|Two and a half');
	});
});
