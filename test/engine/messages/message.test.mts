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
		[{ thinking: 'default' }, undefined],
		[{ thinking: 'default', options: { display: 'omitted' } }, undefined],
		[{ thinking: 'disabled' }, { type: 'disabled' }],
		[{ thinking: 'disabled', options: { display: 'omitted' } }, { type: 'disabled' }],
		[{ thinking: 'adaptive' }, { type: 'adaptive' }],
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
		['', undefined],
		['5m', { type: 'ephemeral', ttl: '5m' }],
		['1h', { type: 'ephemeral', ttl: '1h' }],
	])('prompt caching %j', async (promptCaching, expected) => {
		const body = await bodyOf({ options: { promptCaching } });
		expect(body.cache_control).toEqual(expected);
		expect('cache_control' in body).toBe(expected !== undefined);
	});

	test.each(['low', 'medium', 'high', 'xhigh', 'max'])('effort: %s', async (effort) => {
		const body = await bodyOf({ options: { effort } });
		expect(body.output_config).toEqual({ effort });
	});

	test('the smallest call that tells whether key and model work', async () => {
		const result = await ask({ maxTokens: 1, prompt: 'x' });
		expect(bodies()[0]).toEqual({ model: 'reason-large', max_tokens: 1, messages: [user('x')] });
		expect(result.json(NODE)[0]).toMatchObject({ stopReason: 'max_tokens' });
	});
});

describe('before anything is sent', () => {
	test.each([
		[{ prompt: '  ' }, /'Prompt' is empty/],
		[{ model: '={{ " " }}' }, /'Model' is empty/],
		[{ maxTokens: 0 }, /'Max Tokens' must be a whole number/],
		[{ options: { promptCaching: '1d' } }, /'Prompt Caching' must be one of disabled, 5m, 1h/],
		[{ thinking: 'enabled', budgetTokens: 1.5 }, /'Budget \(Tokens\)' must be a whole number/],
		[
			{ thinking: 'enabled', budgetTokens: 1024, maxTokens: 1024 },
			/^'Budget \(Tokens\)' is 1024 and must be less than 'Max Tokens', which is 1024$/,
		],
		[
			{ thinking: 'enabled', budgetTokens: 99, options: { extraFields: '{"max_tokens":50}' } },
			/'Budget \(Tokens\)' is 99 and must be less than 'Max Tokens', which is 50/,
		],
		[{ input: 'json', messagesJson: '[{' }, /'Messages \(JSON\)' is invalid: it must be a list/],
		[{ input: 'json', messagesJson: '[]' }, /it is empty/],
		[{ input: 'json', messagesJson: '[{"content":"x"}]' }, /Message 1 has no "role"/],
		[{ input: 'json', messagesJson: '[{"role":"user"}]' }, /Message 1 has no "content"/],
		[{ input: 'messages', messages: {} }, /'Messages' is invalid: it is empty/],
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
		[{ input: 'json' }, /'Messages \(JSON\)' is invalid: Message 1 is empty/],
		[{ input: 'json', messagesJson: '[{"role":"user","content":[]}]' }, /Message 1 is empty/],
		[
			{ input: 'json', messagesJson: '[{"role":"user","content":[{"type":"text","text":""}]}]' },
			/Message 1 is empty/,
		],
		[{ options: { history: '{"role":"user"}' } }, /'History' is invalid/],
		[{ options: { temperature: '={{ "warm" }}' } }, /'Temperature' must be a number/],
		[{ options: { extraFields: '[1]' } }, /'Extra Fields' must be a JSON object/],
	])('%j is refused', async (parameters, message) => {
		expect(errorOf(await ask(parameters)).message).toMatch(message);
		expect(gateway.count('any')).toBe(0);
	});

	test('the legacy form works with its own defaults, and its error says what to change', async () => {
		expect((await ask({ thinking: 'enabled', maxTokens: undefined })).error).toBeUndefined();
		const { max_tokens: most, thinking } = bodies()[0] as {
			max_tokens: number;
			thinking: { budget_tokens: number };
		};
		expect(thinking.budget_tokens).toBeLessThan(most);
		const { description } = errorOf(await ask({ thinking: 'enabled', maxTokens: 1000 }));
		expect(description).toMatch(
			/Increase 'Max Tokens' to more than 1024, or lower 'Budget \(Tokens\)'/,
		);
		expect(gateway.count('any')).toBe(1);
	});

	test.each([
		['begun by the assistant and left for the model to go on', 'assistant', ''],
		['an image without a word', 'user', [{ type: 'image' }]],
		['a block of a kind that is not known', 'user', [{ type: 'text', text: '' }, { type: 'odd' }]],
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

describe('a conversation over five turns', () => {
	const prompts = [
		'My name is “Zoë”. 🦊',
		'Why is the sky blue?',
		'17 * 3?',
		'And \\ "so"?',
		'Bye',
	];
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
			expect(tap.posts).toHaveLength(5);
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
			const [last] = result.json(`${NODE} 4`);
			expect(last!.text).toContain('This is turn 5 of our conversation.');
			expect(last!.messages).toHaveLength(10);
			expect(last!.thinking === '').toBe(display === 'omitted');
		},
	);

	test.each([
		['the signature', 'signature'],
		['the thinking', 'thinking'],
	])('a changed byte in %s is found, and the error says what to do', async (_, field) => {
		const steps = chain('reason-large', 'summarized').slice(0, 2);
		const first = await runChain(host, [{}], steps.slice(0, 1));
		const messages = first.json(NODE)[0]!.messages as Array<{
			content: Array<Record<string, string>>;
		}>;
		const block = messages[1]!.content[0]!;
		const text = block[field]!;
		block[field] = text.slice(0, 9) + (text[9] === 'x' ? 'y' : 'x') + text.slice(10);
		const second = await runChain(host, [{ json: { messages } as never }], steps.slice(1));
		const error = errorOf(second);
		expect(error.message).toContain('(400)');
		expect(error.message).toContain('messages.1.content.0');
		expect(error.description).toContain('Thinking blocks must be sent back unchanged');
		expect(gateway.paid).toBe(1);
	});

	test('the history may be given as text as well', async () => {
		const steps = chain('reason-large', 'summarized').slice(0, 2);
		steps[1]!.parameters.options.history = '={{ JSON.stringify($json.messages) }}';
		const result = await runChain(host, [{}], steps);
		expect(result.error).toBeUndefined();
		expect(bodies()[1]!.messages).toHaveLength(3);
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
		['reason-large-thinking', 'default', true, 0],
		['reason-large-nothinking', 'default', false, 0],
		['reason-large-thinking', 'adaptive', true, 0],
		['reason-large-nothinking', 'disabled', false, 0],
		['reason-large-thinking', 'disabled', true, 1],
		['reason-large-nothinking', 'adaptive', false, 1],
		['reason-large', 'adaptive', true, 0],
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

	test('thinking tokens are left out where nobody reports them', async () => {
		const [json] = (await ask({ thinking: 'disabled' })).json(NODE);
		expect(json).not.toHaveProperty('thinkingTokens');
		expect(json!.thinking).toBe('');
	});

	test("is the unchanged response with 'Simplify' off", async () => {
		const tap = await opened(openTap(gateway.url));
		const to = await hostAt(tap.url);
		const [json] = (await ask({ thinking: 'adaptive', simplify: false }, {}, 1, to)).json(NODE);
		expect(json).toEqual(JSON.parse(tap.posts[0]!.answer));
	});

	test.each(['subNode', 'engine'] as const)('an agent that calls it as a %s', async (through) => {
		const tool = 'n8n-nodes-media-gateway.message';
		const prompt = "={{ $fromAI('question', 'What to ask', 'string') }}";
		const args = { question: 'What is 6 * 7?' };
		const answer = await host.runAsTool(tool, { ...basics, prompt }, { args, through });
		expect(answer).toContain('6 * 7 = 42.');
	});
});

describe('a refusal', () => {
	const refused = async (parameters: Parameters, credential: Record<string, unknown> = {}) => {
		const result = await ask(parameters, {}, 1, await hostAt(gateway.url, credential));
		expect(gateway.count('message')).toBeLessThanOrEqual(1);
		expect(gateway.paid).toBe(0);
		return errorOf(result);
	};

	test('for a key that nobody knows', async () => {
		const error = await refused({}, { apiKey: 'sk-nobody-knows-this' });
		expect(error.message).toBe("The gateway doesn't recognize the API key (401): invalid key");
		expect(error.description).toContain('Copy the key again');
	});

	test('for a key that is not enabled', async () => {
		const error = await refused({}, { apiKey: gateway.disabledKey });
		expect(error.message).toContain('disabled, expired or out of quota (401)');
		expect(error.description).toContain('Enable, renew or top up');
	});

	test('for a model that is not offered', async () => {
		const error = await refused({ model: 'reason-enormous' });
		expect(error.message).toContain("The model isn't available to this API key (400)");
		expect(error.description).toContain("Check the spelling of 'Model'");
	});

	test.each([
		[{ temperature: 0.5 }, 'Remove temperature from'],
		[{ topP: 0.5, topK: 4 }, 'Remove top_p, top_k from'],
	])('for sampling parameters names them: %j', async (options, advice) => {
		const error = await refused({ model: 'reason-next', options });
		expect(error.message).toContain('is not supported by reason-next');
		expect(error.description).toContain(advice);
	});

	const shapes = [
		['{"error":{"message":"No token provided","type":"x"}}', 'application/json'],
		['{"type":"error","error":{"type":"x","message":"No token provided"}}', 'application/json'],
		['{"error":"No token provided"}', 'application/json'],
		['{"message":"No token provided"}', 'application/json'],
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
		const result = await ask(numbered, retry, 20);
		expect(result.error).toBeUndefined();
		const texts = result.json(NODE).map(({ text }) => String(text));
		expect(texts.map((text) => /item \d+\./.exec(text)?.[0])).toEqual(
			texts.map((_, index) => `item ${index}.`),
		);
		expect(texts).toHaveLength(20);
		expect(gateway.paid).toBe(20);
		expect(Object.values(gateway.paidByPrompt)).toEqual(Array(20).fill(1));
	});

	test("Retry On Fail doesn't send a message of unknown outcome again", async () => {
		gateway.setFaults([{ call: 'message', kind: 'cutAfter', match: 'item 7.' }]);
		const result = await ask(numbered, retry, 20);
		expect(errorOf(result).message).toContain('The outcome is unknown');
		expect(
			gateway.requests.filter(({ body }) => JSON.stringify(body).includes('item 7.')),
		).toHaveLength(1);
		expect(gateway.paid).toBe(gateway.count('message'));
		expect(gateway.paid).toBeLessThanOrEqual(20);
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
