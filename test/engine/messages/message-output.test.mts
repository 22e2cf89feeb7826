/** What comes out of the Message node: JSON, the conversation that was sent, the hint about the run. */
import '../fast-time.mjs';
import type { Host, RunResult } from '../../../harness/engine/host.mjs';
import { errorOf } from '../one-node.mjs';
import { opened } from '../opened.mjs';
import { hostFor, NODE, sendJson, serve, workflowOf, type Settings } from '../workbench.mjs';

type Body = { messages: Array<{ role: string; content: unknown }> };
type Parameters = Record<string, unknown>;

/** A gateway that responds with what the test says, or with a failure where it is a number. */
let respond: (body: Body, count: number) => object | number;
let bodies: Body[];
let host: Host;

beforeAll(async () => {
	const { url } = await opened(
		serve((_request, response, _url, sent) => {
			const body = JSON.parse(sent.toString()) as Body;
			const answer = respond(body, bodies.push(body));
			if (typeof answer !== 'number') return sendJson(response, answer);
			sendJson(response, { error: { message: 'refused' } }, answer);
		}),
	);
	host = await hostFor({ baseUrl: url });
});
beforeEach(() => void (bodies = []));

const reply = (content: unknown, more: object = {}) => ({
	id: 'msg_1',
	type: 'message',
	role: 'assistant',
	model: 'm',
	content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
	stop_reason: 'end_turn',
	usage: { input_tokens: 10, output_tokens: 20 },
	...more,
});

const refusal = {
	stop_reason: 'refusal',
	stop_details: { type: 'refusal', category: 'cyber', explanation: 'It could enable harm.' },
};

const basics = { model: 'm', prompt: 'Say it', maxTokens: 500 };
const retry = { retryOnFail: true, maxTries: 3, waitBetweenTries: 1 };

async function ask(
	parameters: Parameters = {},
	settings: Settings = {},
	items: object[] = [{}],
): Promise<RunResult> {
	const workflow = workflowOf('message', { ...basics, ...parameters }, settings);
	return await host.run(workflow, { input: items.map((json) => ({ json: json as never })) });
}

describe('Output Content as JSON', () => {
	const options = { outputJson: true };

	test.each<[string, string, unknown]>([
		['an object', '{"a": [1, "x"]}', { a: [1, 'x'] }],
		['null', 'null', null],
		['a fence in a text', 'Here it is:\n\n```JSON\n{"a": 1}\n```\nAnything else?', { a: 1 }],
		['a fence behind braces', 'For {x}:\n```json\n{"a": 1}\n```', { a: 1 }],
		['the fence that has JSON', '```\nnpm i\n```\nand\n```json\n[{"a": 1}]\n```', [{ a: 1 }]],
		['a fence without an end', '```json\n{"a": 1}\n', { a: 1 }],
		['a fence in JSON', '```json\n{"a": "```js\\n1\\n```"}\n```', { a: '```js\n1\n```' }],
		['text around it', 'Sure! {"a": {"b": "}"}} Enjoy.', { a: { b: '}' } }],
		['a list of texts', 'The tags [1]: ["red", "blue"]', ['red', 'blue']],
		['text with a placeholder', 'With {name} filled in: {"name": "Bob"}', { name: 'Bob' }],
		['a list around objects', 'The tags: ["red", {"a": 1}]', ['red', { a: 1 }]],
		['thinking alone', '<think>{"a": 1}</think>', { a: 1 }],
		['text behind thinking', '<think>{"a": 1}?</think>\n{"a": 2}', { a: 2 }],
		['words with a bracket around it', 'For [x] (see {y}):\n{"a": 1}\nAs said {above}].', { a: 1 }],
		['a quote before it', 'The 5" one: {"a": "}"} and more', { a: '}' }],
		['the first of several', '{"a": 1}\nNo:\n{"a": 2}', { a: 1 }],
		['a draft in thinking', '<thinking>\n{"a": 1}\n</thinking>\nSo: {"a": 2}', { a: 2 }],
		['a footnote behind it', '{"a": [1]}\n\n[1] ["x"]', { a: [1] }],
		['a long number', '{"id": 1234567890123456789}', { id: '1234567890123456789' }],
	])('%s', async (_, text, json) => {
		respond = () => reply(text);
		const [item] = (await ask({ options })).json(NODE);
		expect(item).toMatchObject({ text, json });
		expect(Object.keys(item!).slice(0, 2)).toEqual(['text', 'json']);
	});

	test("stands beside the gateway's own fields with 'Simplify' off", async () => {
		respond = () => reply('{"a": 1}');
		const [item] = (await ask({ options, simplify: false })).json(NODE);
		expect(item).toEqual({ ...reply('{"a": 1}'), json: { a: 1 } });
	});

	const long = `I can't do that. ${'No. '.repeat(2000)}`;
	const half = '```json\n{"a": [1, 2';
	test.each<[string, object, string, RegExp]>([
		['text', reply(long), long, /^The response is not JSON\n.*Ask for nothing but JSON .*I can't/s],
		['an empty text', reply([]), '', /^The response is not JSON\n.*of the model is empty/s],
		['a refusal', reply([], refusal), '', /^The response is not JSON\n.*It could enable harm/s],
		[
			'JSON that was cut off',
			reply(half, { stop_reason: 'max_tokens' }),
			half,
			/^The response was cut off at "max_tokens", so its JSON is incomplete\nIncrease it\..* See 'Max Tokens', or 'Output Content as JSON' in the options\./,
		],
		[
			'JSON for which the conversation is too long',
			reply(half, { stop_reason: 'model_context_window_exceeded' }),
			half,
			/can read, so its JSON is incomplete\n.*Make it shorter(?!.*Increase)/s,
		],
		[
			'a paused turn',
			reply('Let me search', { stop_reason: 'pause_turn' }),
			'Let me search',
			/paused its turn, so its JSON is incomplete\n.*'History'(?!.*Ask for nothing)/s,
		],
	])(
		'%s is an error with the text, which no retry pays for again',
		async (_, body, text, words) => {
			respond = () => body;
			const stopped = await ask({ options }, retry);
			const { message, description, details } = errorOf(stopped);
			expect(`${message}\n${description}`).toMatch(words);
			expect(description).toMatch(/retry doesn't send (it|the message) again/);
			expect(bodies).toHaveLength(1);
			expect(details).toMatchObject({
				text,
				paid: [{ item: 0, note: expect.any(String) }],
			});

			const going = await ask({ options }, { ...retry, onError: 'continueRegularOutput' });
			expect(bodies).toHaveLength(2);
			expect(going.json(NODE)[0]).toEqual({
				error: message,
				details: expect.objectContaining({ charged: 'yes', text, model: 'm', prompt: 'Say it' }),
			});
			expect(going.hints(NODE).at(-1)!.message).toContain(`1 item failed: ${message}`);
		},
	);

	test('after a failure, a retry of the execution without the option returns the text', async () => {
		respond = () => reply('no JSON');
		const failed = await host.run(workflowOf('message', { ...basics, options }));
		expect(errorOf(failed).message).toBe('The response is not JSON');
		const again = await host.retry(failed, workflowOf('message', basics));
		expect(again.json(NODE)[0]!.text).toBe('no JSON');
		expect(bodies).toHaveLength(1);
	});
});

describe('a paused turn', () => {
	const search = {
		type: 'server_tool_use',
		id: 'srv_1',
		name: 'web_search',
		input: { query: 'x' },
	};

	test.each([[[search]], [[{ type: 'text', text: 'Let me see' }, search]]])(
		'goes on with an empty prompt: %j',
		async (content) => {
			respond = () => reply(content, { stop_reason: 'pause_turn' });
			const paused = await ask({});
			expect(paused.hints(NODE).map(({ message }) => message)).toContainEqual(
				expect.stringMatching(
					/paused.*"messages" and an empty prompt.* See 'History' in the options/,
				),
			);
			respond = () => reply('Done');
			const history = paused.json(NODE)[0]!.messages;
			const done = await ask({ prompt: '', options: { history } });
			expect(done.json(NODE)[0]).toMatchObject({ text: 'Done' });
			expect(bodies[1]!.messages).toEqual(history);
		},
	);

	test('an empty prompt without a history is still refused', async () => {
		expect(errorOf(await ask({ prompt: '' })).message).toBe("'Prompt' is empty");
		expect(bodies).toEqual([]);
	});

	test('a failed item names the prompt in its history', async () => {
		respond = () => 400;
		const history = [{ role: 'user', content: 'Hello' }];
		const failed = await ask(
			{ prompt: '', options: { history } },
			{ onError: 'continueRegularOutput' },
		);
		expect(failed.json(NODE)[0]!.details).toMatchObject({ charged: 'no', prompt: 'Hello' });
	});
});

test.each([0, '', [], {}, { code: 1 }, 'odd', null, false])(
	'a response with "error": %j is a success that is paid once',
	async (error) => {
		respond = () => reply('Fine', { error });
		const result = await ask({ simplify: false }, { ...retry, onError: 'continueErrorOutput' });
		expect(bodies).toHaveLength(1);
		const isNone = error === null || error === false;
		expect(result.json(NODE)[0]).toMatchObject({
			content: [{ type: 'text', text: 'Fine' }],
			...(isNone ? {} : { responseError: error }),
		});
		// n8n 1 runs the node again for any `error` that is there.
		expect(result.json(NODE)[0]).not.toHaveProperty('error');
	},
);

describe('what an earlier try paid for', () => {
	const input = [{ json: { name: 'one' } }, { json: { name: 'two' } }];
	const onError = 'continueRegularOutput';

	/** An execution whose second item was refused, and n8n's Retry of it with other parameters. */
	async function retried(parameters: Parameters, edited: Parameters, settings: Settings = {}) {
		let refusals = 0;
		respond = ({ messages }) => {
			const [name] = String(messages.at(-1)!.content).split(' ');
			return name === 'two' && (refusals += 1) === 1 ? 400 : reply(name);
		};
		const failed = await host.run(workflowOf('message', { ...basics, ...parameters }), { input });
		const workflow = workflowOf('message', { ...basics, ...parameters, ...edited }, settings);
		return await host.retry(failed, workflow);
	}

	test('the conversation that comes out is the one that was sent', async () => {
		const prompt = '={{ $json.name + " " + Math.random() }}';
		const history = '={{ [{ role: "user", content: "Before " + Math.random() }] }}';
		const result = await retried({ prompt, options: { history } }, {});
		expect(result.error).toBeUndefined();
		expect(bodies).toHaveLength(3);
		const [first, , second] = bodies;
		const turn = (text: string) => ({ role: 'assistant', content: reply(text).content });
		expect(result.json(NODE).map(({ messages }) => messages)).toEqual([
			[...first!.messages, turn('one')],
			[...second!.messages, turn('two')],
		]);
		expect(first!.messages[0]!.content).toMatch(/^Before/);
	});

	test('comes out with its conversation although the item is unreadable now', async () => {
		const edited = { options: { outputJson: 'perhaps' } };
		const result = await retried({ prompt: '={{ $json.name }}' }, edited, { onError });
		expect(result.json(NODE)).toEqual([
			expect.objectContaining({
				text: 'one',
				messages: [{ role: 'user', content: 'one' }, expect.anything()],
			}),
			{
				error: "'Output Content as JSON' must be true or false",
				details: expect.objectContaining({ charged: 'no', model: 'm', prompt: 'two' }),
			},
		]);
		const hint = result.hints(NODE).at(-1)!.message;
		expect(hint).toMatch(/^0 messages; 1 item failed: .*; 1 item paid for by an earlier try\.$/);
		expect(bodies).toHaveLength(2);
	});

	test('a failed item names the prompt that may have been charged last', async () => {
		respond = () => 500;
		const prompts = { prompt: '={{ "Say " + Math.random() }}' };
		const result = await ask(prompts, { ...retry, onError });
		const prompt = bodies.at(-1)!.messages[0]!.content;
		expect(result.json(NODE)[0]!.details).toMatchObject({ charged: 'maybe', model: 'm', prompt });
	});
});

describe('the hint about the run', () => {
	const hintOf = (result: RunResult) => result.hints(NODE).at(-1);

	test.each<[string, object | undefined, string]>([
		['nothing that is not known', undefined, '1 message.'],
		// A bill may be a text: gateways write amounts so that no digit is lost.
		[
			'the cost that the gateway tells',
			{ input_tokens: 1, output_tokens: 2, cost: '0.1' },
			'1 message; cost 0.1.',
		],
	])('tells %s', async (_, usage, message) => {
		respond = () => reply('x', { usage });
		expect(hintOf(await ask())).toMatchObject({ message, type: 'info' });
	});

	test('sums up the items, and tells what has failed', async () => {
		const usage = { input_tokens: 1, output_tokens: 2, cost: 0.1 };
		respond = ({ messages }) => (messages[0]!.content === '3' ? 400 : reply('x', { usage }));
		const items = ['0', '1', '2', '3'].map((name) => ({ name }));
		const result = await ask(
			{ prompt: '={{ $json.name }}' },
			{ onError: 'continueRegularOutput' },
			items,
		);
		expect(hintOf(result)!.message).toMatch(/^3 messages; cost 0.3; 1 item failed: .*refused/);
	});

	test('counts what an earlier try has paid for apart', async () => {
		respond = (_, count) => (count === 1 ? reply('x') : count === 2 ? 400 : reply('y'));
		const options = { requestsPerSecond: 0, concurrency: 1 };
		const result = await ask({ prompt: '={{ $json.name }}', options }, retry, [
			{ name: 'a' },
			{ name: 'b' },
		]);
		expect(hintOf(result)!.message).toBe('1 message; 1 item paid for by an earlier try.');
	});
});

describe('a response without text', () => {
	const warnings = (result: RunResult) =>
		result.hints(NODE).flatMap(({ type, message }) => (type === 'warning' ? message : []));
	const thinking = { type: 'thinking', thinking: '', signature: 'sig+/==' };
	const cut = reply('Hel', { stop_reason: 'max_tokens' });

	test.each<[string, object, RegExp]>([
		['a refusal', reply([], refusal), /^The model refused to respond: It could enable harm\./],
		['the end of Max Tokens', cut, /cut off at .*max_tokens.*\. Increase it\. See 'Max Tokens'/],
	])('%s is a hint', async (_, body, words) => {
		respond = () => body;
		const result = await ask({}, {}, [{}, {}]);
		expect(warnings(result)).toEqual([expect.stringMatching(words)]);
		const answer = await host.runAsTool('n8n-nodes-media-gateway.message', basics);
		expect(answer).toMatch(new RegExp(words.source.replace('^', '')));
	});

	const user = (content: unknown) => ({ role: 'user', content });
	const text = (words: string) => ({ type: 'text', text: words });
	const assistant = (...content: unknown[]) => ({ role: 'assistant', content });

	test('History leaves it out, and thinking stays byte for byte', async () => {
		respond = () => reply('x');
		const history = [user('A'), assistant(), user('B'), assistant(thinking, text(''), text(' C '))];
		const [json] = (await ask({ options: { history: JSON.stringify(history) } })).json(NODE);
		const sent = [user([text('A'), text('B')]), assistant(thinking, text(' C ')), user('Say it')];
		expect(JSON.stringify(bodies[0]!.messages)).toBe(JSON.stringify(sent));
		expect(json!.messages).toEqual([...sent, assistant(text('x'))]);
	});

	test('images are added to the turn that is left', async () => {
		respond = () => reply('x');
		const history = `={{ ${JSON.stringify([user('A'), assistant()])} }}`;
		const images = 'https://a.example/b.png';
		await ask({ input: 'image', images, prompt: '', options: { history } });
		const image = { type: 'image', source: { type: 'url', url: images } };
		expect(bodies[0]!.messages).toEqual([user([text('A'), image])]);
	});
});
