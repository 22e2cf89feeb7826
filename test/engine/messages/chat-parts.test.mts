/**
 * What agents and chains put into messages, through the classes of LangChain that they use: it
 * reaches the gateway, or it is refused before anything is paid.
 */
import '../fast-time.mjs';
import { createToolCallingAgent } from '@langchain/classic/agents';
import {
	AIMessage,
	HumanMessage,
	ToolMessage,
	trimMessages,
	type BaseMessage,
} from '@langchain/core/messages';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { DynamicStructuredTool } from '@langchain/core/tools';
import { z } from 'zod';
import { startGateway, type Gateway } from '../../../simulator/gateway.mjs';
import { opened } from '../opened.mjs';
import { sendJson, serve, TINY_PNG } from '../workbench.mjs';
import { ask, ChatBench, KEY, toolNamed, type Model } from './chat-bench.mjs';

const PNG = TINY_PNG.toString('base64');
const PDF = Buffer.from('%PDF-1.7\n%%EOF\n').toString('base64');
const ADDRESS = 'https://example.com/a.png';

/** As the AI Agent of n8n passes on binary files, and as the Basic LLM Chain gives images. */
const photo = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } };
const manual = {
	type: 'file',
	source_type: 'base64',
	mime_type: 'application/pdf',
	data: PDF,
	metadata: { filename: 'manual.pdf' },
};
const linked = { type: 'image_url', image_url: { url: ADDRESS, detail: undefined } };
const attached = [
	{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
	{
		type: 'document',
		source: { type: 'base64', media_type: 'application/pdf', data: PDF },
	},
	{ type: 'image', source: { type: 'url', url: ADDRESS } },
];

let gateway: Gateway;
let bench: ChatBench;

beforeAll(async () => {
	gateway = await opened(startGateway());
	bench = await ChatBench.at(gateway.url);
});
beforeEach(() => gateway.reset());

const bodies = () => gateway.requests.map(({ body }) => body as Record<string, unknown>);
const lastContent = () =>
	(bodies().at(-1)?.messages as Array<{ content: unknown[] }>).at(-1)?.content;

const question = [
	new HumanMessage('What is it?'),
	new HumanMessage({ content: [photo, manual, linked] as never }),
];

/** The ways in which a root node can call its model. */
const WAYS: Array<[string, (model: Model) => Promise<unknown>]> = [
	[
		'with tools twice',
		async (model) =>
			await ask(model.bindTools([toolNamed('a')]).bindTools([toolNamed('b')]), 'invoke', question),
	],
	[
		'in a chain with a fallback',
		async (model) => await (model as any).withFallbacks([model]).batch([question]),
	],
	[
		'by its events',
		async (model) => {
			const events = (model as any).streamEvents(question, { version: 'v2' });
			for await (const _ of events);
		},
	],
];

test.each(WAYS)('images and documents reach the gateway: %s', async (_, use) => {
	await bench.with({}, async (supply) => await use(await supply()));
	expect(lastContent()).toEqual(
		expect.arrayContaining([{ type: 'text', text: 'What is it?' }, ...attached]),
	);
	expect(question[1]?.content).toEqual([photo, manual, linked]);
});

test('a part that can not be sent is refused before anything is paid', async () => {
	const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
	const { error } = await bench.run({}, async (supply) => {
		await ask(await supply(), 'stream', [new HumanMessage({ content: [sound] as never })]);
	});
	expect(error).toMatchObject({
		message: expect.stringContaining('a file of the type "input_audio", which can\'t be sent'),
		description: expect.stringContaining('Nothing was sent'),
	});
	expect(gateway.count('any')).toBe(0);
});

describe("LangChain's own agent with tools", () => {
	const prompt = ChatPromptTemplate.fromMessages([
		['system', 'Be brief.'],
		['placeholder', '{chat_history}'],
		['human', '{input}'],
		new HumanMessage({ content: [photo] as never }),
		['placeholder', '{agent_scratchpad}'],
	]);
	const shape = new DynamicStructuredTool({
		name: 'measure',
		description: 'Measures a shape',
		schema: {
			oneOf: [
				{ type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
				{ type: 'object', properties: { url: { type: 'string' } }, required: ['url'] },
			],
		} as never,
		func: async () => 'never called here',
	});
	const both = new DynamicStructuredTool({
		name: 'paint',
		description: 'Paints a shape',
		schema: z.object({ query: z.string() }).and(z.object({ color: z.string() })) as never,
		func: async () => 'never called here',
	});
	const agentOf = (llm: unknown, tools: unknown[]): any =>
		createToolCallingAgent({ llm, tools, prompt, streamRunnable: false } as never);

	test('gets a photo through, tools with a union, and a blank text back', async () => {
		const tools = [shape, both];
		const output = await bench.with({ thinking: 'adaptive' }, async (supply) => {
			const input = '[blank] Use measure, then paint';
			const steps: Array<{ action: any; observation: string }> = [];
			for (let round = 0; round < 3; round += 1) {
				const taken: any = await agentOf(await supply(), tools).invoke({ input, steps });
				if (!Array.isArray(taken)) return taken.returnValues.output;
				steps.push(...taken.map((action) => ({ action, observation: `done ${round}` })));
			}
			throw new Error('The agent does not end');
		});
		expect(JSON.stringify(output)).toContain('Done after 2 tool call(s)');
		expect(gateway.requests.map(({ status }) => status)).toEqual([200, 200, 200]);
		const sent = bodies()[0]?.tools as Array<{ name: string; input_schema: object }>;
		expect(sent.map(({ input_schema: schema }) => schema)).toMatchObject([
			{ type: 'object', properties: { query: {}, url: {} }, required: [] },
			{ type: 'object', properties: { query: {}, color: {} }, required: ['query', 'color'] },
		]);
		const blocks = (bodies().at(-1)?.messages as Array<{ content: any[] }>).flatMap(
			({ content }) => content,
		);
		expect(blocks).toContainEqual(attached[0]);
		expect(blocks.filter(({ type }) => type === 'thinking')).toHaveLength(2);
	});

	test('may choose a tool by its name, by the call, or none', async () => {
		const tools = [toolNamed('a')];
		await bench.with({}, async (supply) => {
			const model = (await supply()) as any;
			// As an agent does it: twice, and the second time without the choice.
			await model.bindTools(tools, { tool_choice: 'a' }).bindTools(tools).invoke('Hello');
			await model.bindTools(tools).withConfig({ tool_choice: 'required' }).invoke('Hello');
			await model.bindTools(tools).invoke('Hello');
		});
		const choices = bodies().map((body) => body.tool_choice);
		expect(choices).toEqual([{ type: 'tool', name: 'a' }, { type: 'any' }, undefined]);
	});

	test('a forced tool call beside thinking is refused with what to change', async () => {
		const { error } = await bench.run({ thinking: 'adaptive' }, async (supply) => {
			const model = (await supply()) as any;
			await model.bindTools([toolNamed('a')], { tool_choice: 'any' }).invoke('Hello');
		});
		expect(error).toMatchObject({
			description: expect.stringContaining('Force Tool Call on First Iteration'),
		});
		expect(gateway.paid).toBe(0);
	});
});

test('a memory is trimmed without the internet', async () => {
	const loading = jest.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('No internet'));
	const word = { type: 'text', text: 'four' };
	const memory = [
		new HumanMessage('a'.repeat(400)),
		new AIMessage('猫'.repeat(4)),
		new HumanMessage({ content: [photo, word, word] as never }),
	];
	const kept = await bench.with({}, async (supply) => {
		const tokenCounter = (await supply()).bindTools([]) as any;
		// As the AI Agent does it with "Max Tokens To Read From Memory".
		return await trimMessages(memory, { strategy: 'last', maxTokens: 5, tokenCounter });
	});
	expect(kept).toEqual(memory.slice(1));
	expect(loading).not.toHaveBeenCalled();
	loading.mockRestore();
});

describe('structured output', () => {
	const asked = new HumanMessage('Use answer, please');
	const properties = { query: { type: 'string' } };
	const SCHEMAS: Array<[string, any]> = [
		['Zod', z.object({ query: z.string() }).describe('A person')],
		['JSON', { title: 'Person', description: 'A person', type: 'object', properties }],
	];

	test.each(SCHEMAS)('fills in the fields of a schema of %s beside thinking', async (_, schema) => {
		await bench.with({ thinking: 'adaptive' }, async (supply) => {
			const output = (await supply()).withStructuredOutput(schema, { name: 'answer' });
			const fields = { query: 'Use answer, please' };
			await expect(output.invoke([asked])).resolves.toEqual(fields);
			const streamed = [];
			for await (const piece of await output.stream([asked])) streamed.push(piece);
			expect(streamed).toEqual([fields]);
		});
		const tool = { name: 'answer', description: 'A person', input_schema: { properties } };
		expect(bodies()[0]).toMatchObject({ tools: [tool] });
		expect(bodies()[0]).not.toHaveProperty('tool_choice');
	});

	test.each([[{ thinking: 'disabled' }], [{ model: 'reason-large-nothinking' }]])(
		'forces the tool where thinking is off: %j',
		async (parameters) => {
			await bench.with(parameters, async (supply) => {
				await (await supply()).withStructuredOutput(SCHEMAS[1]![1]).invoke('Say hello');
			});
			expect(bodies()[0]).toMatchObject({ tool_choice: { type: 'tool', name: 'extract' } });
		},
	);

	test('says what the tool is for where the schema does not', async () => {
		await bench.with({}, async (supply) => {
			const schema = { type: 'object', properties };
			await (await supply()).withStructuredOutput(schema).invoke('Use extract, please');
		});
		const description = expect.stringContaining('Call it to answer') as string;
		expect(bodies()).toMatchObject([{ tools: [{ name: 'extract', description }] }]);
	});

	test('comes with the response, also where that has no fields', async () => {
		const name = 'answer';
		await bench.with({}, async (supply) => {
			const model = await supply();
			const both = model.withStructuredOutput(SCHEMAS[0]![1], { name, includeRaw: true });
			const { raw, parsed } = await both.invoke([asked]);
			expect(raw).toMatchObject({ tool_calls: [{ name, args: parsed }] });
			const other = await both.invoke('Hello');
			expect(other).toEqual({
				raw: expect.objectContaining({ text: expect.any(String) }),
				parsed: null,
			});
		});
	});

	// n8n's Evaluation asks for JSON in the text, and models obey.
	test.each(['{"score": 5}', '```json\n{"score": 5}\n```'])(
		'takes the fields from a text: %s',
		async (said) => {
			const server = await opened(
				serve((_, response) => sendJson(response, { content: [{ type: 'text', text: said }] })),
			);
			await (
				await ChatBench.at(server.url)
			).with({}, async (supply) => {
				const output = (await supply()).withStructuredOutput(SCHEMAS[1]![1]);
				await expect(output.invoke('A score?')).resolves.toEqual({ score: 5 });
			});
		},
	);

	test('fails with what came in place of the fields', async () => {
		const { error } = await bench.run({}, async (supply) => {
			await (await supply()).withStructuredOutput(SCHEMAS[1]![1]).invoke('Say hello');
		});
		expect(error?.message).toMatch(/structured output.*finish reason: stop.*Its text: "/);
		expect(bodies()).toMatchObject([{ tools: [{ name: 'extract' }] }]);
	});
});

test.each<[string, (content: unknown) => unknown]>([
	['as they are', (content) => content],
	['as the JSON of an MCP tool', (content) => JSON.stringify(content)],
	['as the JSON of an item', (content) => JSON.stringify([{ response: content }])],
])('the images that a tool returns are seen: %s', async (_, written) => {
	const call = { id: 'c', name: 'a', args: {}, type: 'tool_call' as const };
	const content = [
		{ type: 'text', text: 'made' },
		{ type: 'image', data: PNG, mimeType: 'image/png' },
	];
	await bench.with({}, async (supply) => {
		const messages: BaseMessage[] = [
			new HumanMessage('Make one'),
			new AIMessage({ content: '', tool_calls: [call] }),
			new ToolMessage({ content: written(content) as never, tool_call_id: 'c' }),
		];
		await ask((await supply()).bindTools([toolNamed('a')]), 'invoke', messages);
	});
	expect(lastContent()).toMatchObject([
		{ type: 'tool_result', content: [{ type: 'text', text: 'made' }, attached[0]] },
	]);
});

test('a response without text has a hint on the chat model, without the key', async () => {
	const stop_details = { type: 'refusal', explanation: `This is about ${KEY}.` };
	const message = { id: 'm', content: [], stop_reason: 'refusal', stop_details };
	const upstream = await opened(serve((_, response) => sendJson(response, message)));
	const own = await ChatBench.at(upstream.url);
	const result = await own.run({}, async (supply) => {
		const model = await supply();
		const answer = await ask(model, 'stream', question);
		expect(answer.text).toBe('');
		await ask(model, 'invoke', [...question, answer, new HumanMessage('Please')]);
	});
	expect(result.error).toBeUndefined();
	const hints = new Set(result.hints('Model').map(({ message: hint }) => hint));
	expect([...hints]).toEqual([
		expect.stringContaining('The model refused to respond: This is about'),
	]);
	expect([...hints].join()).not.toContain(KEY);
});
