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
		expect(await bodyOf({ options: { display: 'omitted', promptCaching: 'disabled' } })).toEqual({
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

	const blocks = [user([{ type: 'text', text: 'Hello' }])];
	const rows = [
		user('Hello'),
		{ role: 'assistant', content: 'Good day' },
		user('Tell me “more” ☃'),
	];
	const assistant = (content: string) => ({ role: 'assistant', content });
	const goesOn = [user('x'), assistant('{')];
	const image = [user('x'), user([{ type: 'image' }])];
	/** A history that is sent without a prompt. */
	const alone = (history: unknown) => ({ prompt: ' ', options: { history } });

	test.each<[string, Parameters, unknown[]]>([
		['a list', { input: 'messages', messages: { message: rows } }, rows],
		['a history as text', alone(JSON.stringify(blocks)), blocks],
		['a history', alone(`={{ ${JSON.stringify(blocks)} }}`), blocks],
		['one that the model is to go on with', alone(goesOn), goesOn],
		['one whose last turn is empty', alone([...goesOn.slice(0, 1), assistant(' ')]), [user('x')]],
		['an image without a word', alone(image), image],
		['before rows', { input: 'messages', messages: { message: [user('y')] }, options: { history: goesOn } }, [...goesOn, user('y')]], // prettier-ignore
	])('messages: %s', async (_, parameters, messages) => {
		await ask(parameters);
		expect(bodies()[0]).toMatchObject({ messages });
	});

	test('every option', async () => {
		const body = await bodyOf({
			thinking: 'adaptive',
			budgetTokens: 99,
			options: {
				display: 'omitted',
				effort: 'xhigh',
				history: [user('Before'), { role: 'assistant', content: 'Indeed' }],
				promptCaching: '1h',
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
			cache_control: { type: 'ephemeral', ttl: '1h' },
			metadata: { user_id: 'u' },
		});
	});
});

test.each<[Parameters, RegExp]>([
	[{ prompt: '  ' }, /'Prompt' is empty/],
	[{ thinking: 'enabled', budgetTokens: 500 }, /^"budget_tokens" is 500 and must be less than/],
	[{ options: { history: '[{' } }, /'History' is invalid: it must be a list/],
	[{ options: { history: '[{"content":"x"}]' } }, /Message 1 has no "role"/],
	[{ options: { history: '[{"role":"user","content":7}]' } }, /Message 1 has no "content" that/],
	[{ prompt: '', options: { history: '[]' } }, /'Prompt' is empty/],
	[{ prompt: '', options: { history: '[{"role":"user","content":[]}]' } }, /'Prompt' is empty/],
	[
		{ input: 'messages', messages: { message: [user('x'), user(' ')] } },
		/'Messages' is invalid: Message 2 is empty/,
	],
	[{ input: 'messages', messages: {} }, /'Messages' is invalid: it is empty/],
	[{ options: { history: '{"role":"user"}' } }, /'History' is invalid/],
])('%j is refused before anything is sent', async (parameters, message) => {
	expect(errorOf(await ask(parameters)).message).toMatch(message);
	expect(gateway.count('any')).toBe(0);
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
});

test.each([
	['reason-next', {}, true],
	['reason-next', { display: 'omitted' }, false],
	['reason-next', { display: 'summarized' }, false],
	['reason-large', {}, false],
])(
	'%s with the options %j: whether a hint says that the thinking came back empty',
	async (model, options, isTold) => {
		const result = await ask({ model, thinking: 'adaptive', options });
		expect(result.error).toBeUndefined();
		const told = result.hints(NODE).map(({ message }) => message);
		expect(told.some((hint) => /thinking came back empty.*'Summarized'/.test(hint))).toBe(isTold);
	},
);

describe('switching thinking', () => {
	const warnings = (result: RunResult) =>
		result.hints(NODE).flatMap(({ type, message }) => (type === 'warning' ? message : []));

	test('the legacy form works with its own defaults, and is pointed out', async () => {
		const result = await ask({ thinking: 'enabled', maxTokens: undefined });
		expect(warnings(result)).toEqual([expect.stringContaining('newer models reject')]);
		expect(gateway.paid).toBe(1);
	});

	test('a model that takes neither the legacy form nor sampling: the error says what to change', async () => {
		const thinking = { thinking: 'enabled', budgetTokens: 99 };
		const legacy = errorOf(await ask({ model: 'reason-next', ...thinking }));
		expect(legacy.message).toContain('thinking.type enabled is not supported by reason-next');
		expect(legacy.description).toMatch(
			/Use adaptive thinking.* See 'Thinking', or 'Effort' in the options\.$/,
		);
		const sampled = errorOf(await ask({ model: 'reason-next', options: { topP: 0.5, topK: 4 } }));
		expect(sampled.description).toMatch(
			/Remove top_p, top_k .* See 'Top P' and 'Top K' in the options\./,
		);
		expect([gateway.count('message'), gateway.paid]).toEqual([2, 0]);
	});

	const contradiction = [expect.stringContaining('The model name ends in')];
	test.each([
		['reason-large-nothinking', 'default', []],
		['reason-large-thinking', 'adaptive', []],
		['reason-large-thinking', 'disabled', contradiction],
		['reason-large-nothinking', 'adaptive', contradiction],
	])('%s with %s', async (model, thinking, hints) => {
		expect(warnings(await ask({ model, thinking }))).toEqual(hints);
		expect(bodies()[0]!.model).toBe(model);
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

	test('is what an agent gets that calls it', async () => {
		const tool = 'n8n-nodes-media-gateway.message';
		const prompt = "={{ $fromAI('question', 'What to ask', 'string') }}";
		const args = { question: 'What is 6 * 7?' };
		const answer = await host.runAsTool(tool, { ...basics, prompt }, { args });
		expect(answer).toContain('6 * 7 = 42.');
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

	test('Retry On Fail sends a message of unknown outcome again, and no other', async () => {
		gateway.setFaults([{ call: 'message', kind: 'cutAfter', match: 'item 7.', times: 1 }]);
		const result = await ask(numbered, retry, 10);
		expect(result.error).toBeUndefined();
		expect(result.json(NODE)).toHaveLength(10);
		const counts = Object.entries(gateway.paidByPrompt).map(([prompt, count]) => [
			/item \d+/.exec(prompt)?.[0],
			count,
		]);
		expect(Object.fromEntries(counts)).toMatchObject({ 'item 6': 1, 'item 7': 2, 'item 8': 1 });
		expect(gateway.paid).toBe(11);
		expect(result.hints(NODE).map(({ message }) => message)).toContainEqual(
			expect.stringMatching(/^1 message of an earlier try may have been charged too/),
		);
	});

	test('the last of three tries tells of a message that the second one has sent again', async () => {
		gateway.setFaults([
			{ call: 'message', kind: 'cutAfter', match: 'item 0.', times: 1 },
			{ call: 'message', kind: 'status', status: 400, match: 'item 1.', times: 2 },
		]);
		const result = await ask({ ...numbered, options: { concurrency: 1 } }, retry, 2);
		expect([result.error, gateway.paid]).toEqual([undefined, 3]);
		expect(result.hints(NODE).map(({ message }) => message)).toContainEqual(
			expect.stringMatching(/^1 message of an earlier try may have been charged too/),
		);
	});

	test('a message whose last try was refused may have been charged by an earlier one', async () => {
		gateway.setFaults([
			{ call: 'message', kind: 'cutAfter', match: 'item 1.', times: 1 },
			{ call: 'message', kind: 'status', status: 400, match: 'item 1.', times: 9 },
		]);
		const goesOn = { ...retry, onError: 'continueRegularOutput' as const };
		const result = await ask({ prompt: 'item 1.' }, goesOn, 1);
		expect(result.json(NODE)[0]).toMatchObject({ details: { charged: 'maybe', httpCode: 400 } });
		expect(gateway.count('message')).toBeGreaterThan(1);
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
				errorType: 'server_error',
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
