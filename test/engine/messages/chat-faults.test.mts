/** What may go wrong with the chat model, and what it must not cost: through n8n's engine and adapter. */
import '../fast-time.mjs';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { ask, ChatBench, KEY, toolNamed, type Supply, type Use } from './chat-bench.mjs';
import { chatRoot, chatWorkflow } from './chat-root.mjs';
import { everythingIn, hostFor, NODE, sendJson } from '../workbench.mjs';

const hello = [new HumanMessage('What is 17 * 3?')];
const TRIES = { retryOnFail: true, maxTries: 3, waitBetweenTries: 1 };
const WAYS = ['invoke', 'stream'] as const;
type Way = (typeof WAYS)[number];
type Block = Record<string, unknown>;

const text = (words: string): Block => ({ type: 'text', text: words });
const toolUse = (id: unknown, query: unknown = 'x', name = 'look_up'): Block => ({
	type: 'tool_use',
	id,
	name,
	input: { query },
});
const event = (type: string, data: object) =>
	`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

/** The events of a response; `partial` is what is sent of each tool call's input. */
function events(content: Block[], stop: unknown, partial = (json: string) => json): string {
	const blocks = content.flatMap((block, index) => {
		const isCall = block.type === 'tool_use';
		const hollow = isCall ? { ...block, input: {} } : block;
		const partial_json = partial(JSON.stringify(block.input ?? null));
		const delta = { type: 'input_json_delta', partial_json };
		return [
			event('content_block_start', { index, content_block: hollow }),
			...(isCall ? [event('content_block_delta', { index, delta })] : []),
			event('content_block_stop', { index }),
		];
	});
	return [
		event('message_start', { message: { id: 'm', stop_reason: null } }),
		...blocks,
		event('message_delta', { delta: { stop_reason: stop } }),
		event('message_stop', {}),
	].join('');
}

type Reply = (response: ServerResponse, body: Block, count: number) => void;
const reply =
	(content: Block[], stop: unknown): Reply =>
	(response, body) =>
		body.stream === true
			? response.end(events(content, stop))
			: response.end(JSON.stringify({ id: 'm', content, stop_reason: stop }));

/** A gateway that replies what it is told, and the chat model on a root node. */
class Scene {
	bodies: Block[] = [];

	reply: Reply = reply([text('51')], 'end_turn');

	url = '';

	bench!: ChatBench;

	private readonly server = createServer(async (request, response) => {
		const body = (await json(request)) as Block;
		this.reply(response, body, this.bodies.push(body));
	});

	async open(): Promise<void> {
		await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
		const { port } = this.server.address() as AddressInfo;
		this.url = `http://127.0.0.1:${port}`;
		this.bench = await ChatBench.at(this.url);
	}

	async close(): Promise<void> {
		this.server.closeAllConnections();
		await new Promise((resolve) => this.server.close(resolve));
	}

	/** Runs the root node with three tries, each of which asks once. */
	async retry(way: Way, parameters = {}) {
		const run = await this.bench.run(
			parameters,
			async (supply) => await ask(await supply(), way, hello),
			TRIES,
		);
		return run.error as (Error & { description?: string; context?: object }) | undefined;
	}
}

const scene = new Scene();
beforeAll(async () => await scene.open());
afterAll(async () => await scene.close());
beforeEach(() => {
	scene.bodies = [];
	scene.reply = reply([text('51')], 'end_turn');
});

describe('Retry On Fail', () => {
	const overloaded = { error: { message: 'Overloaded' } };
	const halfBody: Reply = (response) => {
		response.write('{"id":"msg_7"');
		setImmediate(() => response.destroy());
	};

	test.each<[string, Way, Reply, RegExp]>([
		['a 504', 'invoke', (response) => response.writeHead(504).end('late'), /outcome is unknown/],
		['a cut connection', 'stream', (response) => response.destroy(), /outcome is unknown/],
		['a cut body', 'invoke', halfBody, /outcome is unknown/],
		['a web page', 'stream', (response) => response.end('<html>'), /outcome is unknown/],
		['an error with 200', 'invoke', (response) => sendJson(response, overloaded), /Overloaded/],
		['an error event', 'stream', (response) => response.end(event('error', overloaded)), /Over/],
		['half a tool call', 'invoke', reply([toolUse('a')], 'max_tokens'), /Max Tokens/],
	])('%s, by %s, is sent once, and says the same with every try', async (_, way, fault, words) => {
		scene.reply = fault;
		const error = await scene.retry(way);
		expect(error?.message).toMatch(words);
		expect(error?.description).toContain("n't sent again");
		expect(scene.bodies).toHaveLength(1);
	});

	test('a root node that continues with an error item is tried again, too', async () => {
		scene.reply = (response) => response.writeHead(504).end();
		const settings = { ...TRIES, onError: 'continueRegularOutput' as const };
		const host = await hostFor({ baseUrl: scene.url }, { extraNodeTypes: chatRoot });
		const result = await host.run(chatWorkflow('invoke', {}, settings), { startNode: 'Start' });
		expect(result.json(NODE)).toEqual([{ error: expect.stringContaining('outcome is unknown') }]);
		expect(scene.bodies).toHaveLength(1);
	});

	test('what was refused is sent with every try: it was not charged', async () => {
		scene.reply = (response) => response.writeHead(400).end('{"error":{"message":"no"}}');
		expect((await scene.retry('stream'))?.message).toContain('no');
		expect(scene.bodies).toHaveLength(3);
	});

	test('an unknown outcome is one also in a later run, and none in another execution', async () => {
		scene.reply = (response) => response.writeHead(504).end();
		const failures: unknown[] = [];
		const asks = async (supply: Supply) => {
			await ask(await supply(), 'invoke', hello).catch((error: unknown) => failures.push(error));
			return failures.length < 3 ? 'again' : undefined;
		};
		await scene.bench.run({}, asks);
		expect([failures.length, scene.bodies.length]).toEqual([3, 1]);
		await scene.bench.run({}, asks);
		expect(scene.bodies).toHaveLength(2);
	});

	test.each(WAYS)('what was paid for is handed out if a later step failed, by %s', async (way) => {
		scene.reply = (response, body, count) =>
			reply([text(`answer ${count}`), toolUse('call_0')], 'tool_use')(response, body, count);
		const seen: string[][] = [];
		const paid: Use = async (supply) => {
			const model = await supply();
			// The same message twice in one try is meant.
			const answers = [await ask(model, way, hello), await ask(await supply(), way, hello)];
			seen.push(answers.map((answer) => `${answer.text} ${answer.tool_calls?.[0]?.id}`));
			if (seen.length < 3) throw new Error('A later step failed');
		};
		const result = await scene.bench.run({}, paid, TRIES);
		expect(result.status).toBe('success');
		expect(scene.bodies).toHaveLength(2);
		expect(seen[0]).toEqual([1, 2].map((n) => expect.stringMatching(`^answer ${n} call_`)));
		expect([seen[1], seen[2]]).toEqual([seen[0], seen[0]]);
		const hints = result.hints('Model').map(({ message }) => message);
		expect(hints).toContainEqual(expect.stringContaining('already paid'));
	});

	test('an answer that the node could not use is asked for again, and no other', async () => {
		scene.reply = (response, body, count) =>
			reply([text(`answer ${count}`)], 'end_turn')(response, body, count);
		const seen: string[] = [];
		await scene.bench.run(
			{},
			async (supply) => {
				const words = [hello, [new HumanMessage('As JSON?')]];
				for (const asked of words) seen.push((await ask(await supply(), 'invoke', asked)).text);
				throw new Error("Model output doesn't fit required format");
			},
			TRIES,
		);
		const again = [3, 4].flatMap((count) => ['answer 1', `answer ${count}`]);
		expect(seen).toEqual(['answer 1', 'answer 2', ...again]);
	});

	test('in a loop the same message is a new one', async () => {
		let runs = 0;
		const { data } = await scene.bench.run({}, async (supply) => {
			await ask(await supply(), 'stream', hello);
			runs += 1;
			return runs < 3 ? 'again' : undefined;
		});
		expect(scene.bodies).toHaveLength(3);
		// Where there is no other try, no response is stored a second time.
		expect(JSON.stringify(data.executionData?.contextData ?? {})).not.toContain('"text":"51"');
	});

	test('a node that fails while a message is under way does not send it again', async () => {
		let tries = 0;
		const failures: unknown[] = [];
		const underWay = new Promise<void>((resolve) => (scene.reply = () => resolve()));
		const fails: Use = async (supply) => {
			tries += 1;
			const asking = ask(await supply(), 'stream', hello);
			asking.catch((error: unknown) => failures.push(error));
			await underWay;
			if (tries > 1) await asking;
			throw new Error('Something else failed');
		};
		await scene.bench.run({}, fails, TRIES);
		expect([tries, scene.bodies.length]).toEqual([3, 1]);
		expect(String(failures.at(-1))).toContain('unknown');
	});
});

describe('only a Stop', () => {
	test.each(WAYS)('of the execution says "canceled", by %s', async (way) => {
		const underWay = new Promise<void>((resolve) => (scene.reply = () => resolve()));
		let own: unknown;
		const result = await scene.bench.run({}, async (supply) => {
			const caller = new AbortController();
			const { signal } = caller;
			const model = await supply();
			// Straight to the package's model: LangChain has a word of its own for it.
			const { chatModel } = model as unknown as { chatModel: Inner };
			const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }];
			const asking =
				way === 'invoke'
					? chatModel.generate(messages, { signal })
					: chatModel.stream(messages, { signal }).next();
			await underWay;
			caller.abort();
			own = await asking.catch((error: unknown) => error);
			await ask(model, way, [new HumanMessage('Hello')]);
		});
		expect((own as Error).message).toContain('the agent ended the call');
		expect(everythingIn(own)).not.toContain('canceled');
		// The same message may have been charged: it stays unknown.
		expect(result.status).toBe('error');
		expect(result.error?.message).toContain('the agent ended the call');
		expect(scene.bodies).toHaveLength(1);
	});

	test('is booked as one: not a gateway that says so', async () => {
		scene.reply = (response) => sendJson(response, { error: { message: 'Order canceled' } }, 400);
		const result = await scene.bench.run({}, async (supply) => {
			await (await supply()).invoke(hello);
		});
		expect(result.error?.message).not.toContain('canceled');
		expect(result.status).toBe('error');
	});
});

interface Inner {
	generate(messages: unknown, config: object): Promise<unknown>;
	stream(messages: unknown, config: object): AsyncGenerator;
}

describe('half a tool call', () => {
	const cut = (json: string) => json.slice(0, -4);
	const question = toolUse('a', 'a red fox in the snow');

	test.each<[string, string]>([
		['cut, for end_turn', events([text('Gladly.'), question], 'end_turn', cut)],
		[
			'in a cut stream',
			`${events([question], 'tool_use', cut).split('event: content_block_stop')[0]}`,
		],
	])('never reaches the agent: %s', async (_, body) => {
		scene.reply = (response) => response.end(body);
		const calls: unknown[] = [];
		const result = await scene.bench.run({}, async (supply) => {
			const model = (await supply()).bindTools([toolNamed('look_up')]);
			for await (const chunk of await model.stream(hello)) {
				calls.push(...(chunk.tool_call_chunks ?? []), ...(chunk.tool_calls ?? []));
			}
		});
		expect(calls).toEqual([]);
		const { description } = result.error as { description?: string };
		expect(description).toContain("The tool wasn't called");
		expect(description).toContain('charged');
		expect(scene.bodies).toHaveLength(1);
	});
});

test('a conversation with the call of another model keeps it, though both count their calls from 0', async () => {
	scene.reply = reply([toolUse('call_0', 'an owl')], 'tool_use');
	await scene.bench.with({}, async (supply) => {
		const model = (await supply()).bindTools([toolNamed('look_up')]);
		await ask(model, 'invoke', [new HumanMessage('An owl?')]);
		// Another item of the agent, at the same time: its fallback model has called the tool.
		const call = { id: 'call_0', name: 'look_up', args: { query: 'a fox' } };
		await ask(model, 'invoke', [
			new HumanMessage('A fox?'),
			new AIMessage({ content: [], tool_calls: [{ ...call, type: 'tool_call' }] }),
			new ToolMessage({ content: 'It is red.', tool_call_id: 'call_0' }),
		]);
	});
	const sent = JSON.stringify(scene.bodies[1]?.messages);
	expect(sent).toContain('a fox');
	expect(sent).not.toContain('an owl');
});

describe('what arrives', () => {
	test.each(WAYS)('never shows the key, nor a part of it, by %s', async (way) => {
		const content = [text(`It is ${KEY.slice(0, 8)}`), text(`${KEY.slice(8)}.`)];
		scene.reply = reply(content, 'end_turn');
		const answer = await scene.bench.with({}, async (supply) => ask(await supply(), way, hello));
		expect(answer.text).toBe('It is ***.');
		expect(everythingIn(answer)).not.toContain('sk-');
	});

	test('what arrived before a cut is told, without the key', async () => {
		scene.reply = (response) => {
			response.write(`{"id":"msg_7","quote":"${KEY}",`);
			setImmediate(() => response.destroy());
		};
		const error = await scene.retry('invoke');
		const { details } = error?.context as { details: { response: string } };
		expect(details.response).toContain('"id":"msg_7"');
		expect(everythingIn(error)).not.toContain(KEY);
	});
});

describe('Extra Fields', () => {
	test.each<[string, unknown]>([
		['stream', 'true'],
		['tools', [{ type: 'web_search' }]],
		['n', 2],
	])('must not set %s to %j', async (name, value) => {
		const options = { extraFields: JSON.stringify({ [name]: value }) };
		const error = await scene.retry('invoke', { options });
		expect(error?.message).toBe(`'Extra Fields' must not set '${name}'`);
		expect(error?.description).toContain('Nothing was sent.');
		expect(scene.bodies).toEqual([]);
	});
});
