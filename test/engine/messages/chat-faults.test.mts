/** What may go wrong with the chat model, and what it must not cost: through n8n's engine and adapter. */
import { secondsOfNodes, timeouts } from '../fast-time.mjs';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { DynamicStructuredTool } from '@langchain/core/tools';
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { ask, ChatBench, KEY, toolNamed, type Use } from './chat-bench.mjs';
import { opened } from '../opened.mjs';
import { everythingIn, sendJson, serve } from '../workbench.mjs';

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

	async open(): Promise<void> {
		const { url } = await opened(
			serve((_request, response, _url, sent) => {
				const body = JSON.parse(sent.toString()) as Block;
				this.reply(response, body, this.bodies.push(body));
			}),
		);
		this.url = url;
		this.bench = await ChatBench.at(url);
	}

	/** The error of a root node that asks once. */
	async failure(way: Way = 'invoke', parameters = {}) {
		const use: Use = async (supply) => await ask(await supply(), way, hello);
		const { error } = await this.bench.run(parameters, use);
		return error as Error & { description?: string };
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
beforeEach(() => {
	scene.bodies = [];
	scene.reply = reply([text('51')], 'end_turn');
});

const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
const busy: Reply = (response) => sendJson(response, overloaded, 529);
/** The first requests get a fault, and all others the answer. */
const after =
	(faults: number, fault: Reply): Reply =>
	(response, body, count) =>
		(count <= faults ? fault : reply([text('51')], 'end_turn'))(response, body, count);

describe('a message that the gateway certainly did not take', () => {
	const untyped = { error: { message: 'Overloaded' } };
	const start = event('message_start', { message: { id: 'm', usage: { input_tokens: 5 } } });

	test.each<[string, Way, Reply]>([
		['529', 'invoke', busy],
		['529 without a type', 'stream', (response) => sendJson(response, untyped, 529)],
		['503 with the type', 'invoke', (response) => sendJson(response, overloaded, 503)],
		['the first event', 'stream', (response) => response.end(event('error', overloaded))],
		['an event before any content', 'stream', (response) => response.end(start + event('error', overloaded))], // prettier-ignore
		['an error in place of the message', 'invoke', (response) => sendJson(response, overloaded)],
		['429', 'stream', (response) => sendJson(response, untyped, 429)],
	])('%s, by %s, is sent again by the model itself', async (_, way, fault) => {
		scene.reply = after(2, fault);
		const answer = await scene.bench.with({}, async (supply) => ask(await supply(), way, hello));
		expect(answer.text).toBe('51');
		expect(scene.bodies).toHaveLength(3);
	});

	test('an overload after half an answer is an unknown outcome', async () => {
		const [half] = events([text('Half')], 'end_turn').split('event: message_delta');
		scene.reply = (response) => response.end(half + event('error', overloaded));
		const { error } = await scene.bench.run({}, async (supply) => {
			await ask(await supply(), 'stream', hello);
		});
		expect(error?.message).toContain('Overloaded');
		expect((error as { description?: string }).description).toContain('charged');
		expect(scene.bodies).toHaveLength(1);
	});

	test('a rate limit that stays is told within ten seconds, with what the model has', async () => {
		scene.reply = (response) => sendJson(response, untyped, 429);
		const began = performance.now();
		const error = await scene.failure();
		expect((performance.now() - began) / 1000).toBeLessThan(15);
		expect(scene.bodies.length).toBeGreaterThan(3);
		expect(error.message).toContain('Rate limit exceeded');
		expect(error.description).toMatch(/^Rate limit exceeded \(429\).*fallback model/);
		expect(error.description).not.toMatch(/Concurrency|Requests per Second/);
	});

	test('a longer Retry-After ends the call at once, and holds no other message up', async () => {
		scene.reply = (response, body, count) => {
			if (count > 1) return reply([text('51')], 'end_turn')(response, body, count);
			response.writeHead(429, { 'retry-after': '11' }).end('{}');
		};
		expect((await scene.failure()).message).toContain('Rate limit exceeded');
		expect(scene.bodies).toHaveLength(1);
		const answer = await scene.bench.with({}, async (supply) =>
			ask(await supply(), 'invoke', hello),
		);
		expect(answer.text).toBe('51');
	});
});

test.each([
	['a part', event('message_start', { message: { id: 'm' } }), true],
	['only a ping', event('ping', {}), false],
])('the Timeout of a stream begins anew with each part: %s', async (_, first, isInTime) => {
	scene.reply = (response) => {
		response.write(first);
		void secondsOfNodes(30).then(() => response.end(events([text('51')], 'end_turn')));
	};
	const reset = timeouts('fast');
	const error = await scene.failure('stream', { options: { timeout: 20 } }).finally(reset);
	expect(error === undefined).toBe(isInTime);
	expect(scene.bodies).toHaveLength(1);
});

describe('Retry On Fail', () => {
	const untyped = { error: { message: 'Overloaded' } };
	const halfBody: Reply = (response) => {
		response.write('{"id":"msg_7"');
		setImmediate(() => response.destroy());
	};

	test.each<[string, Way, Reply]>([
		['a 504', 'invoke', (response) => response.writeHead(504).end('late')],
		['a cut connection', 'stream', (response) => response.destroy()],
		['a cut body', 'invoke', halfBody],
		['a web page', 'stream', (response) => response.end('<html>')],
		['an error with 200', 'invoke', (response) => sendJson(response, untyped)],
		['an error event', 'stream', (response) => response.end(event('error', untyped))],
		['half a tool call', 'invoke', reply([toolUse('a')], 'max_tokens')],
	])('gets over %s, by %s, which the model itself sends once', async (_, way, fault) => {
		scene.reply = fault;
		const error = await scene.failure(way);
		expect(error.description?.startsWith(error.message)).toBe(true);
		expect(scene.bodies).toHaveLength(1);
		scene.bodies = [];
		scene.reply = after(1, fault);
		expect(await scene.retry(way)).toBeUndefined();
		expect(scene.bodies).toHaveLength(2);
	});

	test('one of several equal messages that fails leaves the others alone, in a loop too', async () => {
		scene.reply = after(1, (response) => response.writeHead(502).end());
		let rounds = 0;
		const answers: string[] = [];
		await scene.bench.run({}, async (supply) => {
			const models = [await supply(), await supply()];
			const asked = models.map(async (model) => await ask(model, 'invoke', hello));
			for (const one of await Promise.allSettled(asked)) {
				answers.push(one.status === 'fulfilled' ? one.value.text : 'failed');
			}
			rounds += 1;
			return rounds < 3 ? 'again' : undefined;
		});
		expect(answers.filter((answer) => answer === '51')).toHaveLength(5);
		expect(scene.bodies).toHaveLength(6);
	});

	test('what was refused is sent with every try: it was not charged', async () => {
		scene.reply = (response) => response.writeHead(400).end('{"error":{"message":"no"}}');
		expect((await scene.retry('stream'))?.message).toContain('no');
		expect(scene.bodies).toHaveLength(3);
	});

	test('asks again for an answer that the node could not use', async () => {
		scene.reply = (response, body, count) =>
			reply([text(`answer ${count}`)], 'end_turn')(response, body, count);
		const seen: string[] = [];
		const { data } = await scene.bench.run(
			{},
			async (supply) => {
				seen.push((await ask(await supply(), 'invoke', hello)).text);
				throw new Error("Model output doesn't fit required format");
			},
			TRIES,
		);
		expect(seen).toEqual(['answer 1', 'answer 2', 'answer 3']);
		// No response is stored with the execution.
		expect(JSON.stringify(data.executionData?.contextData ?? {})).not.toContain('answer');
	});
});

describe('only a Stop', () => {
	test.each(WAYS)('of the execution says "canceled", by %s', async (way) => {
		const underWay = new Promise<void>((resolve) => (scene.reply = () => resolve()));
		let own: unknown;
		const result = await scene.bench.run({}, async (supply) => {
			const caller = new AbortController();
			const { signal } = caller;
			const asking = askInner(await supply(), way, signal);
			await underWay;
			caller.abort();
			own = await asking.catch((error: unknown) => error);
		});
		expect((own as Error).message).toContain('the call was ended');
		expect(everythingIn(own)).not.toContain('canceled');
		expect(result.status).toBe('success');
		expect(scene.bodies).toHaveLength(1);
	});

	test.each(WAYS)('says so also where it ends the call of the agent, by %s', async (way) => {
		const underWay = new Promise<void>((resolve) => (scene.reply = () => resolve()));
		const running = scene.bench.start({}, async (supply, context) => {
			const signal = context.getExecutionCancelSignal();
			await askInner(await supply(), way, signal!);
		});
		await underWay;
		running.stop();
		const { status, error } = await running.promise;
		expect([status, error?.message]).toEqual(['canceled', 'The execution was canceled']);
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

/** Asks the package's own model: LangChain has a word of its own for an end. */
async function askInner(model: object, way: Way, signal: AbortSignal): Promise<unknown> {
	const { chatModel } = model as { chatModel: Inner };
	const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }];
	return await (way === 'invoke'
		? chatModel.generate(messages, { signal })
		: chatModel.stream(messages, { signal }).next());
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

test.each(WAYS)('names that the endpoint refuses are called by their own, by %s', async (way) => {
	const name = 'Wetter.Dienst: heute und morgen in München';
	const schema = z.object({ 'Größe (cm)': z.string() });
	const tool = new DynamicStructuredTool({ name, description: 'x', schema, func: async () => 'x' });
	const called: string[] = [];
	scene.reply = (response, body, count) => {
		const [{ name: sent, input_schema }] = body.tools as [any];
		called.push(String(sent));
		const [property] = Object.keys(input_schema.properties as object);
		const use = { type: 'tool_use', id: 'a', name: sent, input: { [property!]: '3' } };
		reply([use], 'tool_use')(response, body, count);
	};
	const answer = await scene.bench.with({}, async (supply) =>
		ask((await supply()).bindTools([tool]), way, hello),
	);
	expect(answer.tool_calls).toMatchObject([{ name, args: { 'Größe (cm)': '3' } }]);
	expect(called).toEqual([expect.stringMatching(/^Wetter_Dienst_[\w-]{1,50}$/)]);
});

describe('what arrives', () => {
	test('whole never shows the key, nor a part of it', async () => {
		const content = [text(`It is ${KEY.slice(0, 8)}`), text(`${KEY.slice(8)}.`)];
		scene.reply = reply(content, 'end_turn');
		const answer = await scene.bench.with({}, async (supply) =>
			ask(await supply(), 'invoke', hello),
		);
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

	test.each([
		['n', 1],
		['n', '1'],
		['stream', false],
	])('may set %s to %j, which asks for what comes anyway', async (name, value) => {
		const options = { extraFields: JSON.stringify({ [name]: value }) };
		await scene.retry('invoke', { options });
		expect(scene.bodies).toMatchObject([{ [name]: value }]);
	});
});
