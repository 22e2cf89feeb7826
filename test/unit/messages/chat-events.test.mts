import fc from 'fast-check';
import { MessageStream } from '../../../gateway/messages/messageStream.js';
import { readServerEvents, type ServerEvent } from '../../../util/serverSentEvents.js';

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

test.each(['\n', '\r\n', '\r'])(
	'server-sent events with lines that end in %j, cut anywhere, with or without an end',
	async (end) => {
		const lines = [': hello', '', 'event: déjà', 'data: 🦊 {"a": 1}', 'data:☃', '', 'x: y', ''];
		const text = [...lines, 'event: two', '', 'data: last'].join(end);
		const expected = [{ event: 'déjà', data: '🦊 {"a": 1}\n☃' }, { data: 'last' }];
		const size = bytesOf(text).length;
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.nat(size), { maxLength: 12 }),
				fc.constantFrom('', end, end + end, `${end}${end}: a comment`),
				async (cuts, rest) => {
					expect(await eventsIn(text + rest, cuts)).toEqual(expected);
				},
			),
			{ numRuns: 40 },
		);
	},
);

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
const says = (index: number, text: string) => grow(index, 'text_delta', { text });
const close = (index: number) => ({ type: 'content_block_stop', index });
const end = (stop_reason: string) => ({
	type: 'message_delta',
	delta: { stop_reason, stop_sequence: null },
	usage: { output_tokens: 30, output_tokens_details: { thinking_tokens: 20 } },
});
const stop = { type: 'message_stop' };
const draw = { type: 'tool_use', id: 'a', name: 'draw' };

describe('a streamed response', () => {
	const events = [
		start,
		{ type: 'ping' },
		open(0, { type: 'thinking', thinking: '', signature: '' }),
		grow(0, 'thinking_delta', { thinking: 'Hm' }),
		grow(0, 'thinking_delta', { thinking: '.' }),
		grow(0, 'signature_delta', { signature: 'abc' }),
		close(0),
		open(1, { type: 'text', text: 'Let' }),
		says(1, ' me'),
		grow(1, 'citations_delta', { citation: { url: 'x' } }),
		says(1, ' see.'),
		close(1),
		open(2, { ...draw, input: {} }),
		grow(2, 'input_json_delta', { partial_json: '{"prompt":' }),
		grow(2, 'input_json_delta', { partial_json: '"a fox"}' }),
		close(2),
		open(3, { ...draw, id: 'b', input: { prompt: 'x' } }),
		close(3),
		open(4, { type: 'redacted_thinking', data: 'zzz' }),
		close(4),
		end('tool_use'),
		stop,
	];

	test('is put together to what would have come in one piece', () => {
		const { assembly, pieces } = assembled(...events);
		expect(assembly.body).toEqual({
			id: 'msg',
			content: [
				{ type: 'thinking', thinking: 'Hm.', signature: 'abc' },
				{ type: 'text', text: 'Let me see.', citations: [{ url: 'x' }] },
				{ ...draw, input: { prompt: 'a fox' } },
				{ ...draw, id: 'b', input: { prompt: 'x' } },
				{ type: 'redacted_thinking', data: 'zzz' },
			],
			stop_reason: 'tool_use',
			stop_sequence: null,
			usage: {
				input_tokens: 9,
				output_tokens: 30,
				output_tokens_details: { thinking_tokens: 20 },
			},
		});
		// But for tool calls and thinking it is handed on piece by piece.
		expect(pieces).toEqual(['Let', ' me', ' see.']);
	});

	const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
	const noReason = { type: 'message_delta', delta: { stop_reason: null } };

	test.each<[string, object[], object]>([
		['cut without its stop reason', events.slice(0, -2), { whole: false }],
		['whole with its stop reason', events.slice(0, -1), { whole: true, done: false }],
		['the error with which it breaks off', [...events.slice(0, 8), overloaded], { whole: true, done: true, body: overloaded }], // prettier-ignore
		['whole behind its stop reason, whatever follows', [...events.slice(0, -1), noReason, overloaded], { done: true, body: { stop_reason: 'tool_use' } }], // prettier-ignore
	])('is %s', (_, some, expected) => {
		expect(assembled(...some).assembly).toMatchObject(expected);
	});

	test.each<[string, ServerEvent, unknown]>([
		['without a type', { data: '{"error":"Overloaded"}' }, 'Overloaded'],
		['as a message', { data: '{"type":"error","message":"Overloaded"}' }, 'Overloaded'],
		['as a text', { event: 'error', data: 'Overloaded' }, 'Overloaded'],
	])('may break off with an error %s', (_, event, error) => {
		const { assembly } = assembled(...events.slice(0, 8));
		assembly.add(event);
		expect(assembly).toMatchObject({ whole: true, done: true, body: { type: 'error', error } });
	});

	test('may name its events beside the data, and bring some that mean nothing here', () => {
		const assembly = new MessageStream();
		const add = (event: string, data: string) => assembly.add({ event, data });
		add('content_block_start', '{"index":0,"content_block":{"type":"text"}}');
		add('content_block_delta', '{"index":0,"delta":{"type":"text_delta","text":"Hi"}}');
		expect(add('news', '{"index":0}')).toBe('');
		expect(assembly.body.content).toEqual([{ type: 'text', text: 'Hi' }]);
	});

	test.each([
		['none at its start', 'cache_read_input_tokens', {}, 0],
		['those written', 'cache_creation_input_tokens', {}, 0],
		['the same at its start', 'cache_read_input_tokens', { cache_read_input_tokens: 9 }, 9],
	])('counts tokens of a cache once: %s', (_, name, cached, input_tokens) => {
		const first = structuredClone(start);
		Object.assign(first.message.usage, cached);
		const usage = { input_tokens: 0, output_tokens: 30, [name]: 9 };
		const { assembly } = assembled(first, { type: 'message_delta', delta: {}, usage });
		expect(assembly.body.usage).toEqual({ ...usage, input_tokens });
	});

	test.each([null, 0])('has the count of its start where the end has %j', (input_tokens) => {
		const usage = { input_tokens, output_tokens: 30, cache_read_input_tokens: 0 };
		const { assembly } = assembled(start, { type: 'message_delta', delta: {}, usage });
		expect(assembly.body.usage).toEqual({ ...usage, input_tokens: 9 });
	});
});

describe('a hostile stream', () => {
	test.each([1e9, '__proto__', {}])('may number its blocks by %j', (index) => {
		const { assembly, pieces } = assembled(
			start,
			{ ...open(0, { type: 'text', text: 'One' }), index },
			{ ...says(0, ' two'), index },
			{ ...close(0), index },
			end('end_turn'),
		);
		// Objects are never the same: a block of its own, and nothing is lost.
		const blocks = assembly.body.content as Array<{ text: string }>;
		expect(blocks.map(({ text }) => text).join('')).toBe('One two');
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
		expect(assembly).toMatchObject({ whole: true, body: { content: [] } });
	});

	test.each([
		['numbered otherwise', 1],
		['not numbered', undefined],
	])('mixes text and thinking, whose parts are %s', (_, index) => {
		const { assembly, pieces } = assembled(
			start,
			...[
				grow(0, 'thinking_delta', { thinking: 'Hm.' }),
				{ ...says(0, 'Hello'), index },
				grow(0, 'signature_delta', { signature: 's' }),
				{ ...says(0, ' you'), index },
			].map((event) => (index === undefined ? { ...event, index } : event)),
			end('end_turn'),
		);
		expect(assembly.body.content).toEqual([
			{ type: 'thinking', thinking: 'Hm.', signature: 's' },
			{ type: 'text', text: 'Hello you' },
		]);
		expect(pieces.join('')).toBe('Hello you');
	});
});
