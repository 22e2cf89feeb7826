/**
 * Text made to be read slowly, through everything that looks at what a gateway, a file or a user hands
 * over. A reader takes milliseconds for all of it, and one whose steps grow with the square of a text
 * takes minutes: then its test doesn't end in time.
 */
import { normalizeUrl, pathBelow } from '../../../gateway/protocol/url.js';
import { credentialHeaders } from '../../../gateway/protocol/auth.js';
import { credentialProblem, readCredential } from '../../../gateway/protocol/credential.js';
import {
	jsonObjectIn,
	toConversation,
	type ChatPart,
	type ChatTurn,
} from '../../../gateway/messages/chat.js';
import { readChatResponse } from '../../../gateway/messages/chatResponse.js';
import { joinTurns } from '../../../gateway/messages/sentTurns.js';
import { checkRequest, withPublishedTypes } from '../../../gateway/validation/modelLimits.js';
import { readDataUrl } from '../../../gateway/util/dataUrl.js';
import { errorFor, gatewayMessage } from '../../../gateway/errors/errorMessages.js';
import { safeFileStem } from '../../../gateway/util/fileName.js';
import { firstText, quote } from '../../../gateway/util/text.js';
import { MessageStream } from '../../../gateway/messages/messageStream.js';
import { readServerEvents } from '../../../gateway/messages/serverSentEvents.js';
import {
	detectImageType,
	extensionFor,
	imageFileName,
	safeMimeType,
} from '../../../gateway/protocol/imageType.js';
import { parseJson, type JsonObject } from '../../../gateway/util/json.js';
import {
	keepTurn,
	restoreTurns,
	type StoredTurn,
} from '../../../gateway/messages/thinkingHistory.js';
import { createFieldEraser } from '../../../gateway/protocol/fieldEraser.js';
import { createKeyEraser } from '../../../gateway/util/keyEraser.js';
import { readModel, readModelList } from '../../../gateway/protocol/models.js';
import { describePrice } from '../../../gateway/validation/pricing.js';
import { messageHints, refusalAdvice } from '../../../gateway/errors/messageAdvice.js';
import { readMessage, readTurns } from '../../../gateway/messages/message.js';
import { didYouMean } from '../../../gateway/util/closestMatch.js';
import { faultOf } from '../../../gateway/protocol/networkFault.js';
import { retryAfterMs } from '../../../gateway/protocol/retryAfter.js';
import type { HttpResponse } from '../../../gateway/protocol/outcome.js';
import {
	planDownload,
	planGeneration,
	planTaskQuery,
} from '../../../gateway/protocol/requestPlan.js';
import { probeProblem } from '../../../gateway/client/credentialProbe.js';
import { redirectTarget } from '../../../gateway/protocol/redirect.js';
import { isQuotaRefusal } from '../../../gateway/protocol/quota.js';
import { decideRetry } from '../../../gateway/client/retryPolicy.js';
import { statusGroup } from '../../../gateway/protocol/status.js';
import { readImages, readTaskId } from '../../../gateway/protocol/responseFields.js';
import { readTaskState } from '../../../gateway/protocol/task.js';
import { taskError } from '../../../gateway/errors/taskErrors.js';
import { faultFrom, plainHeaders } from '../../../nodes/shared/transport/http.js';
import { FIRST_ATTEMPT } from '../virtual-gateway.mjs';

const SIZE = 512 * 1024;
/** Many times what a reader takes, and less than steps that grow with the square take. */
const LONGEST_MS = 10_000;
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

/** What reads them from their first character on goes in by one of these. */
const FRAMED = [
	...TEXTS,
	...['<', ' ', '/', '"', '\\"', '[', '\ud800']
		.map(filled)
		.flatMap((text) => [...[text, `<svg${text}`, `"${text}"`, `sk-${text} `]]),
];

/** What is refused is refused in words; a stack that has run out is none. */
function read(act: () => unknown): void {
	try {
		act();
	} catch (error) {
		if (error instanceof RangeError) throw error;
	}
}

const response = (httpCode: number, text: string, json?: unknown): HttpResponse => ({
	kind: 'response',
	httpCode,
	headers: { 'retry-after': text, location: text },
	text,
	json,
});
const poll = planTaskQuery('generation', 't1');
const paid = planGeneration({ model: 'm', prompt: 'p' }, 'query');
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

type Reader = (text: string) => unknown;

/** Parsing an address is slow, and linear: it gets a part of the text. */
const part = (text: string): string => text.slice(0, SIZE / 8);

/** What looks at the beginning of a text first. */
const FROM_THE_START: Record<string, Reader> = {
	'the first bytes of a file': (text) => detectImageType(bytesOf(text)),
	'an address alone as the name of a file': (text) => imageFileName(text, 'image/png', text),
	'a MIME type': (text) => [safeMimeType(text), extensionFor(text)],
	'a data: URL': (text) => [readDataUrl(text), readDataUrl(`data:${text}`)],
	'an error in words': (text) => gatewayMessage(response(400, text)),
	'a quotation': (text) => [quote(text), firstText([text])],
	JSON: (text) => [parseJson(text), jsonObjectIn(text), jsonObjectIn(`{"a":${text}}`)],
	'a key': (text) =>
		['', 'sk-'].map((start) => credentialProblem(readCredential({ apiKey: start + text }))),
	'a Retry-After': (text) => retryAfterMs(text, 0),
};

const ANYWHERE: Record<string, Reader> = {
	'the name of a file': safeFileStem,
	'an address as the name of a file': (text) => imageFileName(`http://h/${text}`, text, text),
	'an error as JSON': (text) => gatewayMessage(response(400, '', { error: { message: text } })),
	'an error of a response': (text) => errorFor(poll, response(500, text, parseJson(text))),
	'an error of a paid response': (text) => errorFor(paid, response(200, text)),
	'a refusal': (text) => errorFor(poll, response(429, text, { error: text })),
	'a redirect that is not followed': (text) => errorFor(poll, response(302, text)),
	'JSON in JSON': (text) => parseJson(JSON.stringify({ text, list: [text] })),
	'an address': normalizeUrl,
	'a path of an address': (text) => normalizeUrl(`https://h/${part(text)}`),
	'a host of an address': (text) => normalizeUrl(`https://${text}`),
	'what is below an address': (text) => pathBelow(`${home}/${part(text)}`, home),
	'an additional header': (text) =>
		[
			{ name: text, value: 'x' },
			{ name: 'x-tenant', value: text },
		].map((row) => credentialProblem(readCredential({ ...typed, headers: { values: [row] } }))),
	'the headers for an address': (text) =>
		credentialHeaders(`${home}/v1/images/${part(text)}`, settings),
	'a text that may quote the key': erase,
	'a key of any text': (text) => createKeyEraser([text.slice(0, 9000)])(text),
	'a field that quotes the key': (text) =>
		createFieldEraser(home, erase, erase)(`/${part(text)}${KEY}?${part(text)}`, 'url'),
	'a text that quotes the key': (text) => erase(text + KEY + text),
	'a long key that is erased': (text) => createKeyEraser([text.slice(0, 200)])(`${text}\\%`),
	'the name of a model': (text) => didYouMean(text, [text, `a${text}`, text.slice(9)]),
	'a status': statusGroup,
	'an ID': (text) => [readTaskId({ id: text }), planTaskQuery('edit', text).path],
	'the state of a task': (text) => {
		const body = { status: text, error: { message: text }, data: [{ url: text }] };
		return taskError(readTaskState({ taskId: text, taskType: 'edit' }, body));
	},
	'a decision to try again': (text) =>
		decideRetry({ ...FIRST_ATTEMPT, plan: poll, outcome: response(429, text) }),
	'a refusal for quota': (text) => isQuotaRefusal(response(429, text, { message: text })),
	'the words of a fault': (text) => [faultOf(undefined, text), faultOf('ECONNREFUSED', text)],
	'a fault': (text) => faultFrom(Object.assign(new Error(text), { code: text })),
	'a redirect': (text) => redirectTarget(poll, response(302, part(text)), `${home}/a`, home),
	'a redirect of a download': (text) =>
		redirectTarget(planDownload('http://h/'), response(302, text), 'http://h/', home),
	headers: (text) => plainHeaders({ [text]: text }, erase),
	'the response to the test of a key': (text) => probeProblem(response(404, text, parseJson(text))),
	'a model of the listing': (text) => readModel({ model: text, note: text, modes: [text] }),
	'a price': (text) => describePrice({ unit: text, mode: 'price', value: 1 }),
	'a model of a message': (text) => messageHints({ model: text, thinking: { type: 'adaptive' } }),
	'a refused message': (text) =>
		refusalAdvice({ model: text, messages: [{ content: [{ type: 'thinking' }] }] }, text),
	'a file in a chat': (text) => toConversation([said({ type: 'file', data: text })]),
	'an address in a chat': (text) =>
		toConversation([said({ type: 'file', providerMetadata: { url: `http://h/${text}` } })]),
	'a response to a chat': (text) => readChatResponse({ content: [{ type: text, text }] }),
	'an event of a stream': (text) => new MessageStream().add({ event: text, data: text }),
};

test.each([
	...Object.entries(FROM_THE_START).map(([name, reader]) => [name, reader, FRAMED] as const),
	...Object.entries(ANYWHERE).map(([name, reader]) => [name, reader, TEXTS] as const),
])(
	'512 kB of text: %s',
	(_, reader, texts) => {
		for (const text of texts) read(() => reader(text));
	},
	LONGEST_MS,
);

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

describe('512 kB of a stream', () => {
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
	const delta = (index: number, more: object) => ({
		type: 'content_block_delta',
		index,
		delta: more,
	});
	const begin = (index: unknown, type = 'text') => ({
		type: 'content_block_start',
		index,
		content_block: { type },
	});

	test.each([4_294_967_294, 2 ** 53, 1e308, -1, 0.5, null, '7', {}])(
		'of a block with the number %j',
		(index) => {
			const body = assembled([begin(0), begin(index)]);
			expect(body).toMatchObject({ content: expect.anything() });
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
		const kept: StoredTurn[] = [];
		keepTurn(kept, { model: '', turns: [], blocks, ids });
		const turns = [
			{ role: 'assistant', content: blocks },
			{ role: 'user', content: results },
		];
		return restoreTurns(kept, turns, '');
	},
	'kinds of blocks that are no text': () =>
		keepTurn([], { model: '', turns: [], blocks: [{ type: { toString: 1 } }], ids: [] }),
};
const named = listOf((index) => `aurora-${index}`);
const alike = listOf(() => 'aaaa');

test.each(Object.entries(ENTRIES))('512 kB of entries: %s', (_, act) => {
	expect(act).not.toThrow();
});

test.each(['[', '{"a":', '[{"a":'])('100,000 levels of %j fill no stack', (opening) => {
	const closing = Array.from(opening, (one) => ({ '[': ']', '{': '}' })[one] ?? '')
		.reverse()
		.join('');
	const text = opening.repeat(100_000) + '1' + closing.repeat(100_000);
	expect(JSON.parse(text)).toBeDefined();
	const data = JSON.stringify({ type: 'message_start', message: {} });
	parseJson(text);
	const assembly = new MessageStream();
	assembly.add({ data });
	assembly.add({ data: `{"type":"message_delta","delta":{"a":${text}}}` });
	expect(JSON.stringify(assembly.body)).toBe('{"content":[]}');
});

test('an image of 40 MB in base64 fills no stack', () => {
	const url = `data:image/png;base64,${'iVBORw0KGgoA'.repeat(3_500_000)}`;
	expect(readDataUrl(url)?.base64).toHaveLength(42_000_000);
	const [turn] = toConversation([
		{ role: 'user', content: [{ type: 'file', data: url }] },
	]).messages;
	expect(turn!.content[0]).toMatchObject({ type: 'image' });
});
