/** The chat model as n8n's AI nodes get it: through the real SDK, its adapter and LangChain. */
import '../fast-time.mjs';
import {
	AIMessage,
	HumanMessage,
	SystemMessage,
	ToolMessage,
	type AIMessageChunk,
	type BaseMessage,
	type UsageMetadata,
} from '@langchain/core/messages';
import type { ServerResponse } from 'node:http';
import { startGateway, type Gateway, type ReceivedRequest } from '../../../simulator/gateway.mjs';
import { opened } from '../opened.mjs';
import { ask, ChatBench, collect, KEY, toolNamed } from './chat-bench.mjs';
import { sendJson, serve } from '../workbench.mjs';
import { until } from '../../until.mjs';

const THINKING = { model: 'reason-large', thinking: 'adaptive' };

let gateway: Gateway;
let bench: ChatBench;

beforeAll(async () => {
	gateway = await opened(startGateway());
	bench = await ChatBench.at(gateway.url);
});
beforeEach(() => gateway.reset());

const bodyOf = (request: ReceivedRequest | undefined) => request?.body as Record<string, unknown>;
const bodies = () => gateway.requests.map((request) => bodyOf(request));
const hello = [new HumanMessage('What is 17 * 3?')];

describe('one response', () => {
	test('brings text, thinking, usage and the stop reason', async () => {
		const answer = await bench.with(THINKING, async (supply) => (await supply()).invoke(hello));
		expect(answer.text).toContain('17 * 3 = 51');
		// As n8n's auto-fixing of an output needs it.
		expect(answer.content).toBe(answer.text);
		expect(answer.additional_kwargs.reasoning_content).toContain('The user writes');
		expect(answer.usage_metadata).toMatchObject({
			input_tokens: expect.any(Number),
			output_token_details: { reasoning: 160 },
		});
		expect(answer.response_metadata).toMatchObject({
			stop_reason: 'end_turn',
			model: 'reason-large',
			provider: 'media-gateway',
		});
		expect(gateway.count('message')).toBe(1);
	});

	const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is 17 * 3?' }] }];

	test('takes settings from the item of the agent or chain, and asks for nothing else', async () => {
		const parameters = {
			model: '={{ $json.model }}',
			maxTokens: '={{ $json.most }}',
			thinking: "={{ $json['thinking'] }}",
			options: { display: 'omitted' },
		};
		const input = [{ json: { model: 'reason-small', most: 77, thinking: 'disabled' } }];
		await bench.with(parameters, async (supply) => (await supply()).invoke(hello), input);
		expect(bodies()).toEqual([
			{ model: 'reason-small', max_tokens: 77, thinking: { type: 'disabled' }, messages },
		]);
	});

	test('asks for what is set', async () => {
		const options = {
			display: 'omitted',
			effort: 'low',
			temperature: 0,
			topP: 0.5,
			topK: 7,
			promptCaching: '1h',
			extraFields: '{ "metadata": { "user_id": "me" } }',
		};
		const parameters = { thinking: 'enabled', budgetTokens: 99, maxTokens: 300, options };
		await bench.with(parameters, async (supply) => {
			await (await supply()).invoke([new SystemMessage('Be brief.'), ...hello], { stop: ['END'] });
		});
		expect(bodies()).toEqual([
			{
				model: 'reason-large',
				max_tokens: 300,
				system: 'Be brief.',
				messages,
				thinking: { type: 'enabled', budget_tokens: 99, display: 'omitted' },
				output_config: { effort: 'low' },
				cache_control: { type: 'ephemeral', ttl: '1h' },
				stop_sequences: ['END'],
				metadata: { user_id: 'me' },
			},
		]);
	});

	test('says where it was cut off, and where a model name contradicts the switch', async () => {
		const parameters = { model: 'reason-large-nothinking', thinking: 'adaptive', maxTokens: 3 };
		const result = await bench.run(parameters, async (supply) => {
			const model = await supply();
			await model.invoke(hello);
			await model.invoke(hello);
		});
		const hints = result.hints('Model').map(({ message }) => message);
		expect(new Set(hints)).toEqual(
			new Set([
				expect.stringContaining('-nothinking'),
				expect.stringMatching(/cut off at "max_tokens"\. Increase it\. See 'Max Tokens'\.$/),
			]),
		);
	});
});

describe('a stream', () => {
	test('brings the same as one response, in pieces', async () => {
		const [whole, streamed] = await bench.with(THINKING, async (supply) => {
			const model = await supply();
			return [await model.invoke(hello), await collect(await model.stream(hello))] as const;
		});
		expect(streamed.whole.content).toBe(whole.content);
		expect(streamed.chunks.length).toBeGreaterThan(5);
		expect(streamed.whole.usage_metadata).toMatchObject({
			input_tokens: whole.usage_metadata?.input_tokens,
			output_tokens: whole.usage_metadata?.output_tokens,
		});
		expect(streamed.whole.response_metadata).toMatchObject({ finish_reason: 'stop' });
		expect(bodies().map(({ stream }) => stream)).toEqual([undefined, true]);
	});

	test('is one response where the gateway does not stream, tool calls included', async () => {
		const plain = await opened(startGateway({ streaming: false }));
		const own = await ChatBench.at(plain.url);
		const { whole, chunks } = await own.with(THINKING, async (supply) => {
			const model = (await supply()).bindTools([toolNamed('look_up')]);
			return await collect(await model.stream([new HumanMessage('Use look_up, please')]));
		});
		expect(whole.tool_calls).toMatchObject([
			{ name: 'look_up', args: { query: 'Use look_up, please' } },
		]);
		expect(chunks.at(-1)?.response_metadata).toMatchObject({ finish_reason: 'tool-calls' });
		expect(bodyOf(plain.requests[0])).toMatchObject({ stream: true });
	});
});

test.each<'invoke' | 'stream'>(['invoke', 'stream'])(
	'the log shows the model and the tokens of a call, by %s, without the key',
	async (way) => {
		const usage: unknown[] = [];
		const { runData } = await bench.run(THINKING, async (supply) => {
			const model = (await supply()).bindTools([toolNamed('look_up')]);
			for (const one of [await supply(), model]) {
				usage.push((await ask(one, way, hello)).usage_metadata);
			}
		});
		const logged = runData.Model!.map(({ data, inputOverride }) => ({
			...inputOverride?.ai_languageModel?.[0]?.[0]?.json,
			...data?.ai_languageModel?.[0]?.[0]?.json,
		}));
		expect(logged).toEqual(
			(usage as UsageMetadata[]).map(({ input_tokens: input, output_tokens: output }) =>
				expect.objectContaining({
					options: { model: 'reason-large' },
					tokenUsage: {
						promptTokens: input,
						completionTokens: output,
						totalTokens: input + output,
					},
				}),
			),
		);
		expect(logged).toHaveLength(2);
		expect(JSON.stringify(runData)).not.toContain(KEY);
	},
);

test.each<['invoke' | 'stream', object]>([
	['invoke', { cost: 0.004, costCurrency: 'USD' }],
	['stream', { cost: 0.004, costCurrency: 'USD' }],
	['invoke', {}],
	['stream', {}],
])('the log shows what a call has cost, by %s: %j', async (way, bill) => {
	const isBilled = 'cost' in bill;
	const usage = { input_tokens: 1, output_tokens: 2, ...(isBilled && { cost_usd: '0.004' }) };
	const message = { id: 'm', role: 'assistant', content: [{ type: 'text', text: 'Hi' }] };
	const parts = [
		{ type: 'message_start', message: { id: 'm' } },
		{ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
		{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
		{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
		{ type: 'message_stop' },
	];
	const server = await opened(
		serve((_, response) => {
			if (way === 'invoke') return sendJson(response, { ...message, usage });
			response.writeHead(200, { 'content-type': 'text/event-stream' });
			response.end(parts.map((part) => `data: ${JSON.stringify(part)}\n\n`).join(''));
		}),
	);
	const own = await ChatBench.at(server.url);
	const { runData } = await own.run({}, async (supply) => {
		await ask((await supply()).bindTools([toolNamed('look_up')]), way, hello);
	});
	const [call] = runData.Model!.flatMap(({ data }) => data?.ai_languageModel?.[0] ?? []);
	expect(call?.json.tokenUsage).toEqual({
		...{ promptTokens: 1, completionTokens: 2, totalTokens: 3 },
		...bill,
	});
});

describe('tools', () => {
	test('are described, called, two in one turn, and answered', async () => {
		const question = new HumanMessage('Use both look_up and calculate');
		const last = await bench.with(THINKING, async (supply) => {
			const tools = [toolNamed('look_up'), toolNamed('calculate')];
			const model = (await supply()).bindTools(tools);
			const called = await ask(model, 'invoke', [question]);
			expect(called.tool_calls).toMatchObject([
				{ name: 'look_up', args: { query: 'Use both look_up and calculate' } },
				{ name: 'calculate', args: { query: 'Use both look_up and calculate' } },
			]);
			const results = called.tool_calls!.map(
				({ id }, index) =>
					new ToolMessage({
						content: `result ${index}`,
						tool_call_id: id!,
						status: index === 0 ? 'error' : 'success',
					}),
			);
			return await ask(model, 'invoke', [question, called, ...results]);
		});
		expect(last.text).toContain('The tool could not do it: result 0');
		expect(bodies()[0]?.tools).toMatchObject([
			{ name: 'look_up', description: 'Is look_up', input_schema: { required: ['query'] } },
			{ name: 'calculate' },
		]);
		expect(bodies()[1]?.messages).toMatchObject([
			{ role: 'user' },
			{ role: 'assistant', content: [{ type: 'thinking' }, {}, {}] },
			{ role: 'user', content: [{ is_error: true, content: 'result 0' }, { content: 'result 1' }] },
		]);
	});

	test.each<['invoke' | 'stream', string]>([
		['invoke', 'summarized'],
		['stream', 'omitted'],
	])(
		'no thinking block changes in four rounds, by %s, %s, with a new model each round',
		async (way, display) => {
			const names = Array.from({ length: 4 }, (_, index) => `tool_${'abcd'[index]}`);
			const question = new HumanMessage(`Use ${names.join(', then ')}`);
			const parameters = { ...THINKING, options: { display } };
			const last = await bench.with(parameters, async (supply) => {
				// What n8n's agent hands back: a bare message for each call, its input changed.
				const steps: BaseMessage[] = [];
				for (const name of names) {
					const model = (await supply()).bindTools(names.map(toolNamed));
					const { tool_calls: calls } = await ask(model, way, [question, ...steps]);
					expect(calls).toMatchObject([{ name }]);
					const { id, args } = calls![0]!;
					const call = { id, name, args: { ...args, id }, type: 'tool_call' as const };
					steps.push(
						new AIMessage({ content: [], tool_calls: [call] }),
						new ToolMessage({ content: `${name} is done`, tool_call_id: id! }),
					);
				}
				return await ask(await supply(), way, [question, ...steps]);
			});
			expect(last.text).toContain('Done after 4 tool call(s)');
			// The gateway verifies each signature, and that none is missing where thinking is due.
			expect(gateway.requests.map(({ status }) => status)).toEqual(Array(5).fill(200));
			const messages = bodies().at(-1)?.messages as Array<{ role: string; content: object[] }>;
			const thoughts = messages.flatMap(({ content }) =>
				content.filter((block) => 'signature' in block),
			) as Array<{ thinking: string; signature: string }>;
			expect(new Set(thoughts.map(({ signature }) => signature)).size).toBe(4);
			expect(thoughts.some(({ thinking }) => thinking === '')).toBe(display === 'omitted');
		},
	);
});

describe('what goes wrong', () => {
	async function failure(way: 'invoke' | 'stream', parameters: object) {
		const { error } = await bench.run({ ...parameters }, async (supply) => {
			await ask(await supply(), way, hello);
		});
		return `${error?.message}\n${error?.description}`;
	}

	test('no response in time: never sent again by itself', async () => {
		gateway.setFaults([{ call: 'message', kind: 'silence' }]);
		const said = await failure('stream', { options: { timeout: 1 } });
		expect(said).toMatch(/The outcome is unknown.*n't sent again/s);
		expect(gateway.count('message')).toBe(1);
	});

	test('a refusal says what to change', async () => {
		const parameters = { model: 'reason-next', options: { temperature: 1 } };
		expect(await failure('invoke', parameters)).toMatch(
			/reason-next.*\n.*Remove temperature .*See 'Temperature' in the options/s,
		);
		expect(await failure('stream', { model: 'unknown' })).toContain('Incorrect model ID');
	});

	test('a caller who gives up ends it, also between two attempts', async () => {
		// Long on the fast clock: a busy machine gets to the end of the test before.
		const quota = { retryAfter: 9, type: 'insufficient_quota', message: 'no balance' };
		gateway.setFaults([{ call: 'message', kind: 'status', status: 429, ...quota }]);
		await bench.with({}, async (supply) => {
			const model = await supply();
			const caller = new AbortController();
			const { signal } = caller;
			const asking = model.stream(hello, { signal }).then(collect);
			const outcome = expect(asking).rejects.toThrow();
			await until(() => gateway.requests[0]?.status !== undefined);
			// The refusal has left the gateway; it needs a few turns to arrive.
			for (let turn = 0; turn < 500; turn += 1) await new Promise(setImmediate);
			caller.abort();
			await outcome;
			// Its own second attempt would have been due before that of this one.
			await expect(model.invoke(hello)).rejects.toThrow('quota');
		});
		expect(gateway.count('message')).toBe(3);
	});
});

describe('a stream that fails on its way', () => {
	const event = (type: string, data: object) =>
		`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
	const beginning = [
		event('message_start', { message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } }),
		event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
		event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello' } }),
	].join('');

	/** Listens to a response that begins and goes on as told. */
	async function listen(
		goOn: (response: ServerResponse) => unknown,
		listener: (stream: AsyncIterable<AIMessageChunk>) => Promise<void>,
	) {
		const server = await opened(
			serve((_, response) => {
				response.writeHead(200, { 'content-type': 'text/event-stream' });
				response.write(beginning);
				goOn(response);
			}),
		);
		const own = await ChatBench.at(server.url);
		const result = await own.run({}, async (supply) => {
			await listener(await (await supply()).stream(hello));
		});
		return { server, result };
	}

	async function heard(goOn: (response: ServerResponse) => unknown) {
		const texts: string[] = [];
		const { server, result } = await listen(goOn, async (stream) => {
			for await (const chunk of stream) texts.push(chunk.text);
		});
		expect(texts.join('')).toBe('Hello');
		expect(server.requests).toHaveLength(1);
		return result;
	}

	test.each<[string, (response: ServerResponse) => unknown]>([
		['a cut connection', (response) => setImmediate(() => response.socket?.destroy())],
		['an end within an event', (response) => response.end('event: message_delta\ndata: {"ty')],
	])('%s is an unknown outcome after what was heard', async (_, goOn) => {
		expect((await heard(goOn)).error?.message).toContain('The outcome is unknown');
	});

	test('a response is whole with its last event, though the connection stays open', async () => {
		const delta = { stop_reason: 'end_turn' };
		const last = event('message_delta', { delta, usage: {} }) + event('message_stop', {});
		expect((await heard((response) => response.write(last))).status).toBe('success');
	});

	test('a listener who leaves closes the connection', async () => {
		const closed = jest.fn();
		const chatter = (response: ServerResponse) => {
			response.once('close', closed);
			// LangChain reads one piece ahead, and is only then told to leave.
			const goOn = () => {
				if (response.closed) return;
				const delta = { type: 'text_delta', text: ' and so on' };
				response.write(event('content_block_delta', { index: 0, delta }));
				setImmediate(goOn);
			};
			goOn();
		};
		const { result } = await listen(chatter, async (stream) => {
			for await (const _ of stream) break;
			await until(() => closed.mock.calls.length > 0);
		});
		expect(result.status).toBe('success');
		expect(closed).toHaveBeenCalledTimes(1);
	});
});
