import '../fast-time.mjs';
import type { Gateway } from '../../../simulator/gateway.mjs';
import { startGateway } from '../../../simulator/gateway.mjs';
import type { Host, RunResult } from '../../../harness/engine/host.mjs';
import { opened } from '../opened.mjs';
import { errorOf, filesNode, openTap, runChain } from '../one-node.mjs';
import { hostFor, NODE, sendJson, serve, type Settings } from '../workbench.mjs';

let gateway: Gateway;
let host: Host;

const hostAt = async (baseUrl: string, credential: Record<string, unknown> = {}) =>
	await hostFor({ baseUrl, ...credential }, { extraNodeTypes: filesNode });

beforeAll(async () => {
	gateway = await startGateway();
	host = await hostAt(gateway.url);
});
beforeEach(() => gateway.reset());
afterAll(() => gateway.close());

type Parameters = Record<string, unknown>;
const basics = { model: 'reason-large', prompt: 'What is 17 * 3?', maxTokens: 500 };

const ask = async (parameters: Parameters = {}, settings: Settings = {}, count = 1, to = host) =>
	await runChain(
		to,
		Array.from({ length: count }, () => ({})),
		[{ type: 'message', parameters: { ...basics, ...parameters }, settings }],
	);

const bodies = () => gateway.requests.map(({ body }) => body as Record<string, unknown>);

/** What one message sends; it has to be answered. */
async function bodyOf(parameters: Parameters): Promise<Record<string, unknown>> {
	const result = await ask(parameters);
	expect(result.error).toBeUndefined();
	return bodies()[0]!;
}

const user = (content: unknown) => ({ role: 'user', content });

describe('what is sent', () => {
	test('nothing but what was set', async () => {
		expect(await bodyOf({})).toEqual({
			model: 'reason-large',
			max_tokens: 500,
			messages: [user('What is 17 * 3?')],
		});
		expect(gateway.requests[0]).toMatchObject({
			method: 'POST',
			path: '/v1/messages',
			query: {},
			headers: { accept: 'application/json', 'content-type': 'application/json' },
		});
	});

	test('a list of messages', async () => {
		const message = [
			user('Hello'),
			{ role: 'assistant', content: 'Good day' },
			user('Tell me “more” ☃'),
		];
		const body = await bodyOf({ input: 'messages', messages: { message } });
		expect(body.messages).toEqual(message);
	});

	test.each([
		['text', JSON.stringify([user([{ type: 'text', text: 'Hello' }])])],
		['value', '={{ [{ role: "user", content: [{ type: "text", text: "Hello" }] }] }}'],
	])('messages as JSON, a %s', async (_, messagesJson) => {
		const body = await bodyOf({ input: 'json', messagesJson });
		expect(body.messages).toEqual([user([{ type: 'text', text: 'Hello' }])]);
	});

	test('every option', async () => {
		const body = await bodyOf({
			thinking: 'adaptive',
			options: {
				display: 'omitted',
				effort: 'xhigh',
				history: [user('Before'), { role: 'assistant', content: 'Indeed' }],
				system: 'You write for a toy shop',
				temperature: 0,
				topP: 0.5,
				topK: 7,
				extraFields: '{ "metadata": { "user_id": "u" } }',
			},
		});
		expect(body).toEqual({
			model: 'reason-large',
			max_tokens: 500,
			system: 'You write for a toy shop',
			messages: [user('Before'), { role: 'assistant', content: 'Indeed' }, user('What is 17 * 3?')],
			thinking: { type: 'adaptive', display: 'omitted' },
			output_config: { effort: 'xhigh' },
			temperature: 0,
			top_p: 0.5,
			top_k: 7,
			metadata: { user_id: 'u' },
		});
	});

	test.each([
		[{ thinking: 'default', options: { display: 'omitted' } }, undefined],
		[{ thinking: 'disabled', options: { display: 'omitted' } }, { type: 'disabled' }],
		[
			{ thinking: 'adaptive', budgetTokens: 99, options: { display: 'summarized' } },
			{ type: 'adaptive', display: 'summarized' },
		],
		[
			{ thinking: 'enabled', budgetTokens: 99, options: { display: 'omitted' } },
			{ type: 'enabled', budget_tokens: 99, display: 'omitted' },
		],
	])('thinking: %j', async (parameters, thinking) => {
		const body = await bodyOf(parameters);
		expect(body.thinking).toEqual(thinking);
		expect('thinking' in body).toBe(thinking !== undefined);
	});

	test.each([
		['disabled', undefined],
		['1h', { type: 'ephemeral', ttl: '1h' }],
	])('prompt caching %j', async (promptCaching, expected) => {
		const body = await bodyOf({ options: { promptCaching } });
		expect(body.cache_control).toEqual(expected);
		expect('cache_control' in body).toBe(expected !== undefined);
	});
});

describe('before anything is sent', () => {
	test.each([
		[{ prompt: '  ' }, /'Prompt' is empty/],
		[{ maxTokens: 0 }, /'Max Tokens' must be a whole number/],
		[{ options: { promptCaching: '1d' } }, /'Prompt Caching' must be one of disabled, 5m, 1h/],
		[
			{ thinking: 'enabled', budgetTokens: 1024, maxTokens: 1024 },
			/^'Budget \(Tokens\)' is 1024 and must be less than 'Max Tokens', which is 1024$/,
		],
		[
			{ thinking: 'enabled', budgetTokens: 99, options: { extraFields: '{"max_tokens":50}' } },
			/'Budget \(Tokens\)' is 99 and must be less than 'Max Tokens', which is 50/,
		],
		[{ input: 'json', messagesJson: '[{' }, /'Messages \(JSON\)' is invalid: it must be a list/],
		[{ input: 'json', messagesJson: '[{"content":"x"}]' }, /Message 1 has no "role"/],
		[
			{
				input: 'messages',
				messages: {
					message: [
						{ role: 'user', content: 'x' },
						{ role: 'user', content: ' ' },
					],
				},
			},
			/'Messages' is invalid: Message 2 is empty/,
		],
		[{ input: 'json', messagesJson: '[{"role":"user","content":[]}]' }, /Message 1 is empty/],
		[{ options: { history: '{"role":"user"}' } }, /'History' is invalid/],
		[{ options: { extraFields: '[1]' } }, /'Extra Fields' must be a JSON object/],
	])('%j is refused', async (parameters, message) => {
		expect(errorOf(await ask(parameters)).message).toMatch(message);
		expect(gateway.count('any')).toBe(0);
	});

	test('the legacy form works with its own defaults', async () => {
		expect((await ask({ thinking: 'enabled', maxTokens: undefined })).error).toBeUndefined();
		expect(gateway.paid).toBe(1);
	});

	test.each([
		['begun by the assistant and left for the model to go on', 'assistant', ''],
		['an image without a word', 'user', [{ type: 'image' }]],
	])('%s is no empty message', async (_, role, content) => {
		const turns = [
			{ role: 'user', content: 'x' },
			{ role, content },
		];
		await ask({ input: 'json', messagesJson: JSON.stringify(turns), maxTokens: 1 });
		expect(bodies()[0]).toMatchObject({ messages: turns });
	});

	test('a mistake in item 3 of 5 costs nothing', async () => {
		const result = await ask({ prompt: '={{ $itemIndex === 2 ? "" : "x" }}' }, {}, 5);
		expect(errorOf(result)).toMatchObject({ message: "'Prompt' is empty", itemIndex: 2 });
		expect(gateway.paid).toBe(0);
	});
});

describe('a conversation over three turns', () => {
	const prompts = ['My name is “Zoë”. 🦊', 'Why is the "sky" blue?', 'And \\ so?'];
	const chain = (model: string, display: string) =>
		prompts.map((prompt, turn) => ({
			type: 'message',
			parameters: {
				model,
				prompt,
				maxTokens: 800,
				thinking: 'adaptive',
				options: { display, ...(turn === 0 ? {} : { history: '={{ $json.messages }}' }) },
			},
		}));

	test.each(['summarized', 'omitted'])(
		'thinking and signatures go back byte for byte (display %s)',
		async (display) => {
			const tap = await opened(openTap(gateway.url));
			const steps = chain('reason-next', display);
			const result = await runChain(await hostAt(tap.url), [{}], steps);
			expect(result.error).toBeUndefined();
			expect(tap.posts).toHaveLength(3);
			// The blocks as they stood in the text of the response, not as someone has parsed them.
			const contents = tap.posts.map(({ answer }) => {
				const content = /"content":(\[.*\]),"stop_reason"/s.exec(answer)![1]!;
				expect(content).toMatch(/^\[\{"type":"thinking","thinking":".*","signature":"[^"]+"\}/);
				expect(content.includes('"thinking":""')).toBe(display === 'omitted');
				return content;
			});
			for (const [turn, { body }] of tap.posts.entries()) {
				const sent = body.toString('utf8');
				const expected = contents
					.slice(0, turn)
					.map(
						(content, index) =>
							`{"role":"user","content":${JSON.stringify(prompts[index])}},{"role":"assistant","content":${content}},`,
					);
				expect(sent).toContain(
					`"messages":[${expected.join('')}{"role":"user","content":${JSON.stringify(prompts[turn])}}]`,
				);
			}
			const [last] = result.json(`${NODE} 2`);
			expect(last!.text).toContain('This is turn 3 of our conversation.');
			expect(last!.messages).toHaveLength(6);
			expect(last!.thinking === '').toBe(display === 'omitted');
		},
	);

	test('a changed byte in a signature is found, and the error says what to do', async () => {
		const steps = chain('reason-large', 'summarized').slice(0, 2);
		const first = await runChain(host, [{}], steps.slice(0, 1));
		const messages = first.json(NODE)[0]!.messages as Array<{
			content: Array<Record<string, string>>;
		}>;
		const block = messages[1]!.content[0]!;
		const text = block.signature!;
		block.signature = text.slice(0, 9) + (text[9] === 'x' ? 'y' : 'x') + text.slice(10);
		const second = await runChain(host, [{ json: { messages } as never }], steps.slice(1));
		const error = errorOf(second);
		expect(error.message).toContain('(400)');
		expect(error.message).toContain('messages.1.content.0');
		expect(error.description).toContain('Thinking blocks must be sent back unchanged');
		expect(gateway.paid).toBe(1);
	});
});

describe('switching thinking', () => {
	const warnings = (result: RunResult) =>
		result.hints(NODE).flatMap(({ type, message }) => (type === 'warning' ? message : []));

	test('the legacy form is pointed out where it works', async () => {
		const result = await ask({ thinking: 'enabled', budgetTokens: 99 });
		expect(warnings(result)).toEqual([expect.stringContaining('newer models reject')]);
	});

	test('and in the error where it does not', async () => {
		const result = await ask({ model: 'reason-next', thinking: 'enabled', budgetTokens: 99 });
		const error = errorOf(result);
		expect(error.message).toContain('thinking.type enabled is not supported by reason-next');
		expect(error.description).toContain("Use 'Adaptive' with 'Effort' instead.");
		expect(gateway.paid).toBe(0);
	});

	test.each([
		['reason-large-nothinking', 'default', false, 0],
		['reason-large-thinking', 'adaptive', true, 0],
		['reason-large-thinking', 'disabled', true, 1],
		['reason-large-nothinking', 'adaptive', false, 1],
	])('%s with %s', async (model, thinking, thinks, hints) => {
		const result = await ask({ model, thinking });
		expect(bodies()[0]!.model).toBe(model);
		expect(result.json(NODE)[0]!.thinking !== '').toBe(thinks);
		const remarks = warnings(result);
		expect(remarks).toHaveLength(hints);
		if (hints > 0) expect(remarks[0]).toContain(`The model name ends in`);
	});
});

describe('the output', () => {
	test('is simplified, with thinking', async () => {
		const result = await ask({ thinking: 'adaptive' }, {}, 2);
		const [item, second] = result.output(NODE);
		expect([item!.pairedItem, second!.pairedItem]).toEqual([{ item: 0 }, { item: 1 }]);
		expect(Object.keys(item!.json).sort()).toEqual(
			'messages model stopReason text thinking thinkingTokens usage'.split(' '),
		);
		expect(item!.json).toMatchObject({
			text: expect.stringContaining('17 * 3 = 51.'),
			thinking: expect.stringContaining('What is 17 * 3?'),
			model: 'reason-large',
			stopReason: 'end_turn',
			thinkingTokens: 160,
			usage: { output_tokens_details: { thinking_tokens: 160 } },
			messages: [
				user('What is 17 * 3?'),
				{
					role: 'assistant',
					content: [
						{ type: 'thinking', thinking: item!.json.thinking, signature: expect.any(String) },
						{ type: 'text', text: item!.json.text },
					],
				},
			],
		});
	});

	test("is the unchanged response with 'Simplify' off", async () => {
		const tap = await opened(openTap(gateway.url));
		const to = await hostAt(tap.url);
		const [json] = (await ask({ thinking: 'adaptive', simplify: false }, {}, 1, to)).json(NODE);
		expect(json).toEqual(JSON.parse(tap.posts[0]!.answer));
	});

	test('is what an agent gets that calls it', async () => {
		const tool = 'n8n-nodes-media-gateway.message';
		const prompt = "={{ $fromAI('question', 'What to ask', 'string') }}";
		const args = { question: 'What is 6 * 7?' };
		const answer = await host.runAsTool(tool, { ...basics, prompt }, { args });
		expect(answer).toContain('6 * 7 = 42.');
	});
});

describe('a refusal', () => {
	test.each([
		[{ temperature: 0.5 }, 'Remove temperature from'],
		[{ topP: 0.5, topK: 4 }, 'Remove top_p, top_k from'],
	])('for sampling parameters names them: %j', async (options, advice) => {
		const error = errorOf(await ask({ model: 'reason-next', options }));
		expect(error.message).toContain('is not supported by reason-next');
		expect(error.description).toContain(advice);
		expect([gateway.count('message'), gateway.paid]).toEqual([1, 0]);
	});

	const shapes = [
		['{"error":{"message":"No token provided","type":"x"}}', 'application/json'],
		['No token provided', 'text/plain'],
	];
	test.each(shapes)('is understood in any shape: %s', async (text, type) => {
		const server = await opened(
			serve((_, response) => {
				response.writeHead(401, { 'content-type': type }).end(text);
			}),
		);
		const error = errorOf(await ask({}, {}, 1, await hostAt(server.url)));
		expect(error.message).toBe('The message endpoint received no API key (401): No token provided');
		expect(error.description).toContain("Change 'Message Authentication'");
		expect(server.requests).toHaveLength(1);
	});
});

describe('money', () => {
	test('a response without content counts as unknown too', async () => {
		const server = await opened(serve((_, response) => sendJson(response, { id: 'msg_1' })));
		const error = errorOf(await ask({}, {}, 1, await hostAt(server.url)));
		expect(error.message).toContain('The response contains no message');
		expect(server.requests).toHaveLength(1);
	});

	const retry: Settings = { retryOnFail: true, maxTries: 5, waitBetweenTries: 1 };
	const numbered = { prompt: '={{ "item " + $itemIndex + "." }}' };

	test('Retry On Fail pays for each message once', async () => {
		gateway.setFaults([
			{ call: 'message', kind: 'status', status: 400, match: 'item 7.', times: 4 },
		]);
		const result = await ask(numbered, retry, 10);
		expect(result.error).toBeUndefined();
		const texts = result.json(NODE).map(({ text }) => String(text));
		expect(texts.map((text) => /item \d+\./.exec(text)?.[0])).toEqual(
			texts.map((_, index) => `item ${index}.`),
		);
		expect(texts).toHaveLength(10);
		expect(gateway.paid).toBe(10);
		expect(Object.values(gateway.paidByPrompt)).toEqual(Array(10).fill(1));
	});

	test("Retry On Fail doesn't send a message of unknown outcome again", async () => {
		gateway.setFaults([{ call: 'message', kind: 'cutAfter', match: 'item 7.' }]);
		const result = await ask(numbered, retry, 10);
		expect(errorOf(result).message).toContain('The outcome is unknown');
		expect(
			gateway.requests.filter(({ body }) => JSON.stringify(body).includes('item 7.')),
		).toHaveLength(1);
		expect(gateway.paid).toBe(gateway.count('message'));
		expect(gateway.paid).toBeLessThanOrEqual(10);
	});

	test('where the node goes on, the failed item holds the error and nothing else', async () => {
		gateway.setFaults([{ call: 'message', kind: 'status', status: 500, match: 'item 1.' }]);
		const result = await ask(numbered, { onError: 'continueRegularOutput' }, 3);
		const [first, failed, third] = result.output(NODE);
		expect(first!.json).toHaveProperty('text');
		expect(third!.json).toHaveProperty('text');
		expect(failed!.json).toEqual({
			error: expect.stringMatching(/^The outcome is unknown/),
			details: {
				model: 'reason-large',
				prompt: 'item 1.',
				charged: 'maybe',
				httpCode: 500,
				outcome: 'unknown',
				description: expect.any(String),
				response: expect.stringContaining('error'),
			},
		});
		expect(failed!.pairedItem).toEqual({ item: 1 });
		expect(gateway.count('message')).toBe(3);
	});
});
