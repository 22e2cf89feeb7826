/**
 * Text made to be read slowly, through everything that looks at what a gateway, a file or a user hands
 * over. A reader takes milliseconds of processor time for all of it, and one whose steps grow with the
 * square of a text takes seconds.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../../../gateway/protocol/gatewayError.js';
import { readCredential } from '../../../gateway/protocol/credential.js';
import { toConversation, type ChatPart, type ChatTurn } from '../../../gateway/messages/chat.js';
import { joinTurns } from '../../../gateway/messages/sentTurns.js';
import { checkRequest, withPublishedTypes } from '../../../gateway/models/modelLimits.js';
import { readDataUrl } from '../../../util/dataUrl.js';
import { MessageStream } from '../../../gateway/messages/messageStream.js';
import { readServerEvents } from '../../../util/serverSentEvents.js';
import { parseJson, type JsonObject } from '../../../util/json.js';
import { keepTurn, restoreTurns } from '../../../gateway/messages/thinkingHistory.js';
import { createKeyEraser } from '../../../util/keyEraser.js';
import { readModel, readModelList } from '../../../gateway/models/models.js';
import { readMessage, readTurns } from '../../../gateway/messages/message.js';
import { didYouMean } from '../../../util/closestMatch.js';
import type { HttpResponse } from '../../../gateway/protocol/outcome.js';
import { planDownload, planTaskQuery } from '../../../gateway/protocol/requestPlan.js';
import { readImages } from '../../../gateway/responses/responseFields.js';
import { faultFrom } from '../../../gateway/wire/faultFrom.js';
import { plainHeaders } from '../../../gateway/wire/sendOnce.js';

const SIZE = 64 * 1024;
/** Many times what a reader takes, and less than steps that grow with the square take. */
const LONGEST_MS = 1_500;
const KEY = 'sk-my/team-9f8e7d6c';

const filled = (unit: string) => unit.repeat(Math.ceil(SIZE / unit.length)).slice(0, SIZE);

/** What patterns and loops over text trip on. */
const UNITS = [
	'<!---->', '<!DOCTYPE a[]>', '<svg', ' ', '\r\n', '/', '../', '/v1/', '%2e%2e/', '%', '"', '\\"', '[',
	'{"a":', ': ', 'data:x\n\n', 'data:;base64,', '1', '[1234567890123456789,', 'a', 'sk-a ', 'bearer ',
	'.pdf?', '-thinking', 'quota ', '\ud800', '界', '\ufeff',
]; // prettier-ignore

/** With an end that makes a reader hope until the last character, and disappoints it. */
const TEXTS = UNITS.map((unit) => `${filled(unit)}!`);

const response = (httpCode: number, text: string, json?: unknown): HttpResponse => ({
	kind: 'response',
	httpCode,
	headers: { 'retry-after': text, location: text },
	text,
	json,
});
const poll = planTaskQuery('generation', 't1');
const home = 'https://gateway.example/v1/acct';
const typed = { baseUrl: `${home}/v1`, apiKey: KEY };
const settings = readCredential(typed);
const erase = createKeyEraser([KEY]);
const said = (part: ChatPart) => ({ role: 'user', content: [part] });
const bytesOf = (text: string) => Buffer.from(text, 'utf8');

/** Half of the letters of a number, so that each entry of a list is another one. */
const listOf = <T,>(make: (index: number) => T): T[] => {
	const entries: T[] = [];
	for (let size = 0; size < SIZE; size += JSON.stringify(entries.at(-1)).length + 1) {
		entries.push(make(entries.length));
	}
	return entries;
};

/** Parsing an address is slow, and linear: it gets a part of the text. */
const part = (text: string): string => text.slice(0, SIZE / 8);

/** What is refused is refused in words: anything else is a failure. */
function failureOf(act: () => unknown): unknown {
	try {
		return void act();
	} catch (error) {
		return error instanceof GatewayError ? undefined : error;
	}
}

const turnOf = (text: string): ChatTurn[] => [{ role: 'user', content: [{ type: 'text', text }] }];

type Reader = (...given: unknown[]) => unknown;
type Shape = (text: string) => unknown[];

const ROOT = join(__dirname, '../../..');
/** What takes nothing but what the package has made itself. */
const OF_OWN_THINGS =
	/^(plan|create|request[FI]|digestOf|jsonText|withDetails|withoutUndefined|inAll|firstOf|valuesAt|underS|rounded|openA|secretE|unusable|withIdempotencyKey|refusedLater|laterUnlessTaskLost|asStream|orderOf|showOrder|[A-Z])/;
/** The files of a folder, without its door, which exports the same functions. */
const readers = (folder: string): string[] =>
	readdirSync(join(ROOT, folder)).filter((file) => file !== 'index.ts');

/** All other functions that these folders export. */
const READERS = [
	...['protocol', 'responses', 'messages', 'errors', 'models'].map((folder) => `gateway/${folder}`),
	'util',
].flatMap((folder) =>
	readers(folder).flatMap((file) =>
		Object.entries(jest.requireActual<object>(join(ROOT, folder, file)))
			.filter(([name, one]) => typeof one === 'function' && !OF_OWN_THINGS.test(name))
			.map(([name, one]) => [file, name, one as Reader] as const),
	),
);

/** A response, its body, a model, a message and a credential in one, with the text in all of them. */
function everything(text: string) {
	const part = { id: text, url: text, message: text, type: text, text, name: text, b64_json: text };
	const body = {
		...{ ...part, data: [part, text], items: [part], images: [part], error: part, urls: part },
		...{ task_id: text, status: text, created: text, model: text, poll_url: text, code: text },
		...{ content: [{ ...part, type: 'text' }, part], role: 'user', stop_reason: text },
	};
	return {
		...{ ...body, kind: 'response', httpCode: 429, headers: { location: text, age: text } },
		...{ json: body, usage: { text }, taskId: text, taskType: 'edit', call: 'poll', path: text },
		...{ query: {}, baseUrl: text, detail: text, fault: text, field: text, description: text },
		...{ modes: [text], parameters: { size: [text] }, billing: { unit: text, mode: 'price' } },
		...{ group: 'unknown', mentioned: [text], response: text, problem: part, version: '/v1' },
		...{ resource: part, source: part, thinking: { type: 'adaptive' }, mediaType: text, raw: {} },
	};
}

/** What a reader may take: each is given what it can take of these. */
const SHAPES: Shape[] = [
	(text) => [text, text, text],
	(text) => [everything(part(text)), everything(part(text)), text],
	(text) => [[everything(part(text)), part(text)], part(text)],
	(text) => [part(text), everything(part(text))],
	(text) => [everything(part(text)), part(text)],
];

const BYTES: Shape[] = [(text) => [bytesOf(text), text]];

/** What takes other things, or reads a text where it lies inside of another. */
const OTHERS: Record<string, Shape[]> = {
	checkModel: [
		(text) => [
			{ parameters: { size: [text] }, billing: {} },
			{ model: text, prompt: text, modelParameters: { size: text, n: text, [part(text)]: 1 } },
			{ taskType: 'generation', asynchronous: false },
		],
	],
	continueTurns: [(text) => [turnOf(text), turnOf(text)]],
	countImages: [
		(text) => [
			{ n: text, [part(text)]: text },
			{ n: [text], [text]: [] },
		],
	],
	credentialHeaders: [(text) => [`${home}/v1/images/${part(text)}`, settings]],
	credentialProblem: [
		(text) => [readCredential({ apiKey: text })],
		(text) => [readCredential({ apiKey: `sk-${text}` })],
		(text) => [readCredential({ ...typed, headers: { values: [{ name: text, value: 'x' }] } })],
		(text) => [readCredential({ ...typed, headers: { values: [{ name: 'x', value: text }] } })],
	],
	detectImageType: BYTES,
	detectPdf: BYTES,
	didYouMean: [(text) => [text, [text, `a${text}`, text.slice(9)]]],
	eraseIn: [(text) => [{ url: text, [text]: text }, erase]],
	errorFor: [
		(text) => [poll, response(500, text, parseJson(text))],
		(text) => [{ ...poll, call: 'sync', paid: true }, response(200, text)],
		(text) => [poll, response(302, text)],
		(text) => [poll, response(429, text, { error: text })],
	],
	faultTexts: [(text) => [{ fault: 'other', detail: text }, { name: text }]],
	gatewayMessage: ['', '<svg', '"', '{"a":'].map((at) => (text) => [response(400, at + text)]),
	hasBytes: [(text) => [{ data: text, mimeType: text, resource: { blob: text } }]],
	hintsOf: [(text) => [{ model: text, messages: turnOf(text), thinking: { type: text } }]],
	imageFileName: [(text) => [text, 'image/png'], (text) => [`http://h/${text}`, text]],
	imageTypeOf: [...BYTES, (text) => [bytesOf(`<svg${text}`)]],
	imagesAnywhere: [
		(text) => [
			{ data: [text, { [part(text)]: text }], [part(text)]: `http://h/${text}` },
			() => false,
		],
	],
	imageUrl: [(text) => [text, 'named']],
	isText: BYTES,
	keepTurn: [
		(text) => [[], { model: text, turns: [], blocks: [{ type: { toString: 1 } }], ids: [] }],
		(text) => [[], { model: text, turns: turnOf(text), blocks: [], ids: [text] }],
	],
	mapValues: [(text) => [{ [text]: text }, String]],
	readApiAddress: ['', 'https://', 'https://h/'].map((start) => (text) => [start + part(text)]),
	parseJson: [(text) => [text], (text) => [JSON.stringify({ text, list: [text] })]],
	pathBelow: [(text) => [`${home}/${part(text)}`, home]],
	readDataUrl: [(text) => [text], (text) => [`data:${text}`]],
	readRequestId: [(text) => [{ 'x-request-id': text, [part(text)]: text }]],
	readUsage: [(text) => [[{ usage: { text } }]], (text) => [{ input_tokens: text }]],
	readStreamedResponse: [(text) => [{ httpCode: 429, headers: {}, body: text }, {}]],
	redirectTarget: [
		(text) => [poll, response(302, part(text)), `${home}/a`, home],
		(text) => [planDownload('http://h/'), response(302, text), 'http://h/', home],
	],
	refusalAdvice: [
		(text) => [{ model: text, messages: [{ content: [{ type: 'thinking' }] }] }, text],
	],
	restoreTurns: [(text) => [[], turnOf(text), text]],
	toConversation: [
		(text) => [[said({ type: 'file', data: text })]],
		(text) => [[said({ type: 'file', providerMetadata: { url: `http://h/${text}` } })]],
	],
	toolChoiceField: [(text) => [{ type: 'tool', name: text }], (text) => [text]],
	trimBy: [(text) => [text, /\s/]],
	unchecked: [(text) => [{ model: text, prompt: text, modelParameters: { n: text, [text]: 1 } }]],
	usualPlan: (['generation', 'edit'] as const).map((kind): Shape => {
		return (text) => [kind, { model: text, prompt: text, extraFields: { [part(text)]: text } }];
	}),
	wireName: [(text) => [text, 'tool'], (text) => [text, 'property']],
	withFullAddresses: [(text) => [[{ url: text }], home]],
	withoutBlanks: [(text) => [turnOf(text)]],
	withoutFields: [(text) => [{ [text]: text }, ['model', 'prompt']]],
	withoutInlineImages: [(text) => [{ data: [{ b64_json: text, url: text }], text }]],
	withPublishedTypes: [(text) => [{ parameters: { size: [text] } }, { size: text }]],
};

/** What other modules export, and what is made to read. */
const MADE: Array<readonly [file: string, name: string, reader: (text: string) => unknown]> = [
	['keyEraser.ts', 'erase', (text) => [erase(text), erase(text + KEY + text)]],
	['keyEraser.ts', 'any text', (text) => createKeyEraser([text.slice(0, 9000)])(text)],
	['keyEraser.ts', 'a long key', (text) => createKeyEraser([text.slice(0, 200)])(`${text}\\%`)],
	['http.ts', 'faultFrom', (text) => faultFrom(Object.assign(new Error(text), { code: text }))],
	['http.ts', 'plainHeaders', (text) => plainHeaders({ [text]: text })],
	['messageStream.ts', 'add', (text) => new MessageStream().add({ event: text, data: text })],
];

let begun: NodeJS.CpuUsage;
beforeEach(() => {
	begun = process.cpuUsage();
});
afterEach(() => {
	// Whatever else the machine does meanwhile.
	const { user, system } = process.cpuUsage(begun);
	expect((user + system) / 1_000).toBeLessThan(LONGEST_MS);
});

test.each([...READERS, ...MADE])('64 kB of text: %s, %s', (_file, name, reader) => {
	const act = (shape: Shape, text: string) =>
		(reader as Reader)(...shape(text).slice(0, Math.max(1, reader.length)));
	const isFit = (shape: Shape) => !failureOf(() => act(shape, 'data:image/png;base64,a'));
	const fit = (OTHERS[name] ?? SHAPES).filter(isFit);
	expect(fit).not.toEqual([]);
	// `expect` for each of them would take more time than the readers.
	const failures = TEXTS.flatMap((text) => fit.map((shape) => failureOf(() => act(shape, text))));
	expect(failures.filter((failure) => failure !== undefined)).toEqual([]);
});

/** How many events a stream of bytes has, in chunks of this size. */
async function countEvents(text: string, size: number): Promise<number> {
	const bytes = bytesOf(text).subarray(0, SIZE);
	async function* chunks() {
		await Promise.resolve();
		for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
	}
	let count = 0;
	for await (const _ of readServerEvents(chunks())) count += 1;
	return count;
}

describe('64 kB of a stream', () => {
	test.each([
		['a', 7, 0],
		['\r\n', 4096, 0],
		['data:x\n\n', 1, Math.floor(SIZE / 8)],
		['data: \n', SIZE, 1],
		['\ufeff', 4096, 0],
	])('of %j in chunks of %i bytes', async (unit, size, events) => {
		expect(await countEvents(filled(unit), size)).toBe(events);
	});

	const assembled = (events: object[]): unknown => {
		const assembly = new MessageStream();
		for (const event of events) assembly.add({ data: JSON.stringify(event) });
		return assembly.body;
	};
	const delta = (index: number, delta: object) => ({ type: 'content_block_delta', index, delta });
	const begin = (index: unknown, type = 'text') => ({
		type: 'content_block_start',
		index,
		content_block: { type },
	});

	test.each([4_294_967_294, 2 ** 53, 1e308, -1, 0.5, null, '7', {}])(
		'of a block with the number %j',
		(index) => {
			expect(assembled([begin(0), begin(index)])).toHaveProperty('content');
		},
	);

	test('of blocks, fields, citations and pieces', () => {
		assembled(listOf((index) => begin(index * 1000)));
		assembled(listOf((index) => ({ type: 'message_delta', delta: { [`f${index}`]: 1 } })));
		assembled(listOf((index) => ({ type: 'message_delta', usage: { [`f${index}`]: 1 } })));
		const cite = { type: 'citations_delta', citation: {} };
		assembled([begin(0), ...listOf(() => delta(0, cite))]);
		assembled([begin(0), ...listOf(() => delta(0, { type: 'text_delta', text: 'a' }))]);
		const json = { type: 'input_json_delta', partial_json: '[' };
		const stop = { type: 'content_block_stop', index: 0 };
		assembled([begin(0, 'tool_use'), ...listOf(() => delta(0, json)), stop]);
	});

	test('of fields that would change what an object is', () => {
		const text =
			'{"type":"message_delta","delta":{"__proto__":{"error":1}},"usage":{"__proto__":{"a":1}}}';
		const assembly = new MessageStream();
		assembly.add({ data: text });
		expect(assembly.done).toBe(false);
		expect((assembly.body.usage as JsonObject).a).toBeUndefined();
	});
});

const ENTRIES: Record<string, () => unknown> = {
	images: () => readImages({ data: listOf((index) => ({ url: `http://h/${index}` })) }),
	models: () => readModelList({ data: { items: listOf((model) => ({ model: `m${model}` })) } }),
	'names of models': () => didYouMean('aurora-1', named),
	'names of a letter': () => didYouMean('a'.repeat(SIZE), alike),
	blocks: () => readMessage({ content: listOf(() => ({ type: 'text', text: 'a' })) }),
	turns: () => readTurns(listOf(() => ({ role: 'user', content: 'a' }))),
	'turns of one role': () =>
		joinTurns(listOf((): ChatTurn => ({ role: 'user', content: [{ type: 'text' }] }))),
	'values of a parameter': () => {
		const record = readModel({ model: 'm', parameters: { size: listOf(String) } })!;
		const parameters = { size: 'x' };
		const request = { taskType: 'generation' as const, asynchronous: true, parameters };
		return [checkRequest(record, request), withPublishedTypes(record, parameters)];
	},
	parameters: () => {
		const parameters = Object.fromEntries(listOf((index) => [`p${index}`, ['1']] as const));
		return withPublishedTypes(readModel({ model: 'm', parameters })!, parameters);
	},
	'tool calls': () => {
		const blocks = listOf((index): JsonObject => ({ type: 'tool_use', id: `c${index}` }));
		const ids = blocks.map(({ id }) => String(id));
		const results = ids.map((id): JsonObject => ({ type: 'tool_result', tool_use_id: id }));
		const kept: Parameters<typeof keepTurn>[0] = [];
		keepTurn(kept, { model: '', turns: [], blocks, ids });
		const called = { role: 'assistant', content: blocks };
		return restoreTurns(kept, [called, { role: 'user', content: results }], '');
	},
};
const named = listOf((index) => `aurora-${index}`);
const alike = listOf(() => 'aaaa');

test.each(Object.entries(ENTRIES))('64 kB of entries: %s', (_, act) => {
	expect(act).not.toThrow();
});

test.each([
	['[', ']'],
	['{"a":', '}'],
	['[{"a":', '}]'],
])('100,000 levels of %j fill no stack', (opening, closing) => {
	const text = opening.repeat(100_000) + '1' + closing.repeat(100_000);
	expect(JSON.parse(text)).toBeDefined();
	parseJson(text);
	const assembly = new MessageStream();
	assembly.add({ data: '{"type":"message_start","message":{}}' });
	assembly.add({ data: `{"type":"message_delta","delta":{"a":${text}}}` });
	expect(JSON.stringify(assembly.body)).toBe('{"content":[]}');
});

test('an image of 40 MB in base64 fills no stack', () => {
	const url = `data:image/png;base64,${'iVBORw0KGgoA'.repeat(3_500_000)}`;
	expect(readDataUrl(url)?.base64).toHaveLength(42_000_000);
	const [turn] = toConversation([said({ type: 'file', data: url })]).messages;
	expect(turn!.content[0]).toMatchObject({ type: 'image' });
});
