/**
 * The nodes against a server that was written elsewhere: aimock, which speaks the Messages API and
 * the images API as their vendors document them. The simulator could share a misreading with the nodes.
 */
import { LLMock } from '@copilotkit/aimock';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import '../fast-time.mjs';
import type { JsonObject } from '../../../util/json.js';
import type { Host, RunResult } from '../../../harness/engine/host.mjs';
import { ask, ChatBench, collect, toolNamed } from '../messages/chat-bench.mjs';
import { errorOf, filesNode, runChain } from '../one-node.mjs';
import { byName, hostFor, NODE, TINY_PNG } from '../workbench.mjs';

let mock: LLMock;
let host: Host;
let chat: ChatBench;

beforeAll(async () => {
	mock = await LLMock.create({ port: 0, logLevel: 'silent', chunkSize: 7 });
	// It has no listing, which the nodes can do without.
	host = await hostFor({ baseUrl: mock.url }, { extraNodeTypes: filesNode });
	chat = await ChatBench.at(mock.url);
});
beforeEach(() => mock.clearChaos().clearFixtures().clearRequests());
afterAll(async () => await mock.stop());

/** How many requests were made that cost money. */
const paid = (): number => mock.getRequests().filter(({ method }) => method === 'POST').length;
const lastBody = () => mock.getLastRequest()?.body as JsonObject | undefined;

describe('Message', () => {
	const message = async (parameters: object, items = 1): Promise<RunResult> =>
		await runChain(
			host,
			Array.from({ length: items }, () => ({})),
			[{ type: 'message', parameters: { model: 'reason-large', maxTokens: 500, ...parameters } }],
		);

	test('text, and what it used', async () => {
		mock.onMessage('Say hello', {
			content: 'Hello!',
			usage: { input_tokens: 7, output_tokens: 3 },
		});
		const result = await message({ prompt: 'Say hello' });
		expect(result.error).toBeUndefined();
		expect(result.json(NODE)).toEqual([
			expect.objectContaining({
				text: 'Hello!',
				thinking: '',
				stopReason: 'end_turn',
				usage: expect.objectContaining({ input_tokens: 7, output_tokens: 3 }),
			}),
		]);
	});

	test('thinking comes apart from the text, and is kept for the next turn', async () => {
		mock.onMessage('17 * 3', {
			content: '51',
			reasoning: 'Seventeen times three.',
			reasoningSignature: 'sig-17x3==',
			redactedThinking: ['opaque-data=='],
		});
		mock.onMessage('And plus one', { content: '52' });
		const first = await message({ prompt: 'What is 17 * 3?', thinking: 'adaptive' });
		const [json] = first.json(NODE);
		expect(json).toMatchObject({ text: '51', thinking: 'Seventeen times three.' });
		const { content } = (json?.messages as Array<{ content: JsonObject[] }>).at(-1)!;
		expect(content).toContainEqual({ type: 'redacted_thinking', data: 'opaque-data==' });
		expect(content).toContainEqual(
			expect.objectContaining({ type: 'thinking', signature: 'sig-17x3==' }),
		);

		const options = { history: json?.messages };
		const second = await message({ prompt: 'And plus one?', thinking: 'adaptive', options });
		expect(second.json(NODE)[0]).toMatchObject({ text: '52' });
	});

	test('a rate limit is retried, and one message is what comes', async () => {
		mock.onMessage('Hello', { content: 'Hi' });
		mock.nextRequestError(429, { message: 'Slow down', type: 'rate_limit_error' });
		const result = await message({ prompt: 'Hello' });
		expect(result.json(NODE)[0]).toMatchObject({ text: 'Hi' });
		expect(paid()).toBe(2);
	});

	test('an overload is retried, and one message is what comes', async () => {
		mock.onMessage('Hello', { content: 'Hi' });
		mock.nextRequestError(529, { message: 'Overloaded', type: 'overloaded_error' });
		const result = await message({ prompt: 'Hello' });
		expect(result.json(NODE)[0]).toMatchObject({ text: 'Hi' });
		expect(paid()).toBe(2);
	});

	test('a body that is no JSON is an unknown outcome: not sent again', async () => {
		mock.onMessage('Hello', { content: 'Hi' });
		mock.setChaos({ malformedRate: 1 });
		const { message: text } = errorOf(await message({ prompt: 'Hello' }));
		expect(text).toMatch(/outcome is unknown/i);
		expect(paid()).toBe(1);
	});

	test('a refused request names the reason, and is not sent again', async () => {
		mock.nextRequestError(400, {
			message: 'max_tokens is too large',
			type: 'invalid_request_error',
		});
		const { message: text } = errorOf(await message({ prompt: 'Hello' }));
		expect(text).toMatch(/max_tokens is too large/);
		expect(paid()).toBe(1);
	});
});

describe('Chat Model', () => {
	test('a stream comes in pieces', async () => {
		mock.onMessage('Hello', { content: 'A longer response in several pieces.' });
		const { chunks, whole } = await chat.with({}, async (supply) => {
			return await collect(await (await supply()).stream([new HumanMessage('Hello')]));
		});
		expect(chunks.length).toBeGreaterThan(3);
		expect(whole.text).toBe('A longer response in several pieces.');
	});

	test.each(['invoke', 'stream'] as const)(
		'a tool call, its result, and the thinking before it, by %s',
		async (way) => {
			mock.onMessage(
				'Weather',
				{
					toolCalls: [{ name: 'weather', arguments: '{"query":"Oslo"}', id: 'toolu_1' }],
					reasoning: 'I need the weather.',
					reasoningSignature: 'sig-weather==',
				},
				{ chunkSize: 5 } as never,
			);
			mock.prependFixture({
				match: { hasToolResult: true },
				response: { content: 'It rains in Oslo.' },
			});
			const parameters = { thinking: 'adaptive' };
			const text = await chat.with(parameters, async (supply) => {
				const messages = [new HumanMessage('Weather in Oslo?')];
				const first = await ask((await supply()).bindTools([toolNamed('weather')]), way, messages);
				expect(first.tool_calls).toEqual([
					expect.objectContaining({ name: 'weather', args: { query: 'Oslo' } }),
				]);
				const [call] = first.tool_calls ?? [];
				const next = [
					...messages,
					new AIMessage({ content: '', tool_calls: first.tool_calls }),
					new ToolMessage({ tool_call_id: call?.id ?? '', content: 'rain' }),
				];
				return (await ask((await supply()).bindTools([toolNamed('weather')]), way, next)).text;
			});
			expect(text).toBe('It rains in Oslo.');
			expect(paid()).toBe(2);
		},
	);

	test('a connection that is cut is an unknown outcome: not sent again', async () => {
		mock.onMessage('Hello', { content: 'Hi' });
		mock.setChaos({ disconnectRate: 1 });
		const { error } = await chat.run({}, async (supply) => {
			await ask(await supply(), 'stream', [new HumanMessage('Hello')]);
		});
		expect(error?.message).toMatch(/outcome is unknown/i);
		expect(paid()).toBe(1);
	});
});

describe('images', () => {
	const image = TINY_PNG.toString('base64');
	const inline = { options: { responseFormat: 'b64_json' } };
	const files = { data: { bytes: TINY_PNG, fileName: 'one.png', mimeType: 'image/png' } };
	const make = async (type: string, parameters: object = {}): Promise<RunResult> => {
		const basics = { model: byName('gpt-image-1'), prompt: 'a fox' };
		return await runChain(host, [{ files }], [{ type, parameters: { ...basics, ...parameters } }]);
	};

	test.each(['imageGeneration', 'imageEdit'])('%s: one inside the response', async (type) => {
		mock.onImage('a fox', { image: { b64Json: image, revisedPrompt: 'a red fox' } });
		const result = await make(type, inline);
		expect(result.error).toBeUndefined();
		const [item] = result.output(NODE);
		expect(item?.binary?.data).toMatchObject({ mimeType: 'image/png' });
		expect(await host.binary(item!)).toEqual(TINY_PNG);
		expect(lastBody()).toMatchObject({ model: 'gpt-image-1' });
		expect(paid()).toBe(1);
	});

	test('a rate limit is retried', async () => {
		mock.on(
			{ endpoint: 'image', sequenceIndex: 0 },
			{ error: { message: 'Rate limit reached', type: 'rate_limit_error' }, status: 429 },
		);
		mock.onImage('a fox', { image: { b64Json: image } });
		const result = await make('imageGeneration', inline);
		expect(result.error).toBeUndefined();
		expect(paid()).toBe(2);
	});

	test.each([
		['imageGeneration', 'a body that is no JSON', { malformedRate: 1 }],
		['imageEdit', 'a connection that is cut', { disconnectRate: 1 }],
	])('%s: %s is an unknown outcome: not sent again', async (type, _, chaos) => {
		mock.onImage('a fox', { image: { b64Json: image } });
		mock.setChaos(chaos);
		const { message } = errorOf(await make(type));
		expect(message).toMatch(/outcome is unknown/i);
		expect(paid()).toBe(1);
	});

	test("a refusal tells the server's words", async () => {
		mock.on(
			{ endpoint: 'image' },
			{ error: { message: 'The prompt was rejected', code: 'moderation_blocked' }, status: 400 },
		);
		const { message } = errorOf(await make('imageGeneration'));
		expect(message).toMatch(/The prompt was rejected/);
		expect(paid()).toBe(1);
	});
});
