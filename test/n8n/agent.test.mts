/** n8n's own AI Agent on real servers, with the chat model and the image nodes as its tools. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Gateway } from '../../simulator/gateway.mjs';
import {
	itemsOf,
	readExample,
	type Credentials,
	type Workflow,
} from '../../harness/server/example-workflows.mjs';
import {
	rootWorkflow,
	type AiNode,
	type RootOptions,
} from '../../harness/server/root-workflow.mjs';
import { serverVersions } from '../../harness/server/packed-package.mjs';
import type { Execution, Json, N8nServer } from '../../harness/server/server.mjs';
import { until } from '../../harness/wait-until.mjs';
import { TINY_PNG } from '../../harness/tiny-png.mjs';
import { openRealServer, type RealServer } from './real-server.mjs';

const TRIGGER = 'When chat message received';
const MODEL = 'Media Gateway Chat Model';
const WISH = 'Draw a fox, then make it night.';
/** n8n takes no approval from what calls itself a program: previews of links would approve. */
const BROWSER =
	'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0';
const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/images\/[^\s")]+/;

let real: RealServer;
let gateway: Gateway;
let server: N8nServer;
let credentials: Credentials;

async function open(version: '1' | '2'): Promise<void> {
	real = await openRealServer(version, { taskSeconds: 0, imageSize: 64 });
	({ server, gateway, credentials } = real);
}

async function close(): Promise<void> {
	await real?.close();
}

const node = (workflow: Workflow, name: string): Json =>
	workflow.nodes.find((one) => one.name === name);

/** Writes a message in the editor's chat, and waits for what comes of it. */
async function chat(workflow: Workflow, chatInput: string): Promise<Execution> {
	return await server.settled(await startChat(workflow, chatInput));
}

/** Writes a message in the editor's chat; gives the execution's id. */
async function startChat(workflow: Workflow, chatInput: string, fields?: Json): Promise<string> {
	const { id } = await server.createWorkflow(workflow);
	const workflowData = await server.rest('GET', `/workflows/${id}`);
	const json = { sessionId: 'one', action: 'sendMessage', chatInput, ...fields };
	const data = {
		startTime: Date.now(),
		executionTime: 0,
		executionIndex: 0,
		executionStatus: 'success',
		source: [],
		data: { main: [[{ json }]] },
	};
	const { executionId } = await server.rest(
		'POST',
		`/workflows/${id}/run`,
		{ workflowData, triggerToStartFrom: { name: TRIGGER, data } },
		{ headers: { 'push-ref': server.browserId } },
	);
	return String(executionId);
}

const runsOf = (execution: Execution, name: string): Json[] =>
	execution.data.resultData.runData[name] ?? [];

const messageBodies = (): Json[] =>
	gateway.requests.filter(({ call }) => call === 'message').map(({ body }) => body);

const FILE_TYPES: Record<string, [mimeType: string, bytes: Buffer]> = {
	'photo.png': ['image/png', TINY_PNG],
	'manual.pdf': ['application/pdf', Buffer.from('%PDF-1.7\n%%EOF\n')],
};
const QUESTION = '={{ $("When chat message received").item.json.chatInput }}';

const agent = (typeVersion: number, options: Json = {}): AiNode => [
	'agent',
	typeVersion,
	{ promptType: 'define', text: QUESTION, options },
];

/** The Basic LLM Chain. */
const chain = (message?: Json): AiNode => {
	const messageValues = message && [{ type: 'HumanMessagePromptTemplate', ...message }];
	const parameters = {
		promptType: 'define',
		text: QUESTION,
		hasOutputParser: message === undefined,
	};
	return ['chainLlm', 1.9, { ...parameters, ...(message && { messages: { messageValues } }) }];
};

const parser = (parameters: Json): AiNode => [
	'outputParserStructured',
	1.3,
	{ jsonSchemaExample: '{ "city": "Rome" }', ...parameters },
];

/** Runs a root with a question and a file; what its first item says, and what it went out with. */
async function askRoot(
	options: Omit<RootOptions, 'credentials'>,
	chatInput: string,
	fileName = 'photo.png',
) {
	const [mimeType, bytes] = FILE_TYPES[fileName]!;
	const file = { file: bytes.toString('base64'), fileName, mimeType };
	const id = await startChat(rootWorkflow({ ...options, credentials }), chatInput, file);
	const execution = await server.settled(id);
	const { error } = execution.data.resultData;
	const [item] = itemsOf(execution, 'Root');
	return { error, json: item?.json as Json, said: JSON.stringify(item?.json) };
}

/** An MCP server with one tool. @param onCall gets the name of each call */
async function openMcpServer(name: string, onCall: (tool: string) => void) {
	const inputSchema = { type: 'object', properties: { prompt: { type: 'string' } } };
	const results: Record<string, (params: Json) => Json> = {
		initialize: ({ protocolVersion }) => ({
			protocolVersion,
			capabilities: { tools: {} },
			serverInfo: { name: 'pictures', version: '1' },
		}),
		'tools/list': () => ({ tools: [{ name, description: 'Generates an image', inputSchema }] }),
		'tools/call': (params) => {
			onCall(params.name);
			return { content: [{ type: 'text', text: `made of ${params.arguments.prompt}` }] };
		},
	};
	const mcp = createServer(async (request, response) => {
		if (request.method !== 'POST') return void response.writeHead(405).end();
		const { id, method, params } = (await json(request)) as Json;
		if (id === undefined) return void response.writeHead(202).end();
		const result = results[method]?.(params) ?? {};
		response.setHeader('content-type', 'application/json');
		response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
	});
	await new Promise<void>((resolve) => mcp.listen(0, '127.0.0.1', resolve));
	const { port } = mcp.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}`,
		close: async () => {
			mcp.closeAllConnections();
			await new Promise((resolve) => mcp.close(resolve));
		},
	};
}

const newest = serverVersions().includes('2') ? describe : describe.skip;
const oldest = serverVersions().includes('1') ? describe : describe.skip;

newest('an AI agent on n8n 2', () => {
	beforeAll(async () => await open('2'));
	beforeEach(() => gateway.reset());
	afterAll(close);

	/** What every run of the example comes to: one picture made, the same one edited, both paid. */
	async function expectFoxByNight(answer: string): Promise<void> {
		const [address] = ADDRESS.exec(answer) ?? [];
		expect(answer).toContain('Done after 2 tool call(s)');
		// Markdown, which the chat shows as an image.
		expect(answer).toContain(`![the image](${address})`);
		expect((await fetch(address!)).headers.get('content-type')).toMatch(/^image\//);
		const paid = gateway.requests.filter((request) => request.paid);
		expect(paid.map(({ path }) => path)).toEqual([
			'/v1/messages',
			'/v1/images/generations',
			'/v1/messages',
			'/v1/images/edits',
			'/v1/messages',
		]);
		expect(paid[1]?.body).toMatchObject({ prompt: 'a fox' });
		expect(paid[3]?.body).toMatchObject({
			fields: expect.arrayContaining([['prompt', 'make it night']]),
			files: [{ field: 'image' }],
		});
		expectThoughts();
	}

	/** The last message had two thoughts, signed by the gateway, and verified by it as they came back. */
	function expectThoughts(): void {
		const thoughts = (messageBodies().at(-1).messages as Json[])
			.flatMap(({ content }) => content)
			.filter(({ type }) => type === 'thinking');
		expect(new Set(thoughts.map(({ signature }) => signature)).size).toBe(2);
	}

	it('draws a fox, then makes it night', async () => {
		const execution = await chat(readExample('ai-agent', credentials), WISH);
		expect(execution.data.resultData.error).toBeUndefined();
		await expectFoxByNight(itemsOf(execution, 'AI Agent')[0].json.output);
		expect(runsOf(execution, MODEL)).toHaveLength(3);
		expect(runsOf(execution, MODEL)[0].data.ai_languageModel[0][0].json.tokenUsage).toEqual({
			promptTokens: expect.any(Number),
			completionTokens: expect.any(Number),
			totalTokens: expect.any(Number),
		});
	});

	it('streams its answer to a public chat', async () => {
		const workflow = readExample('ai-agent', credentials);
		const trigger = node(workflow, TRIGGER);
		trigger.parameters = { public: true, options: { responseMode: 'streaming' } };
		const { id } = await server.createWorkflow(workflow);
		await server.activate(id);
		const { raw, status } = await server.runWebhook(`${trigger.webhookId}/chat`, {
			sessionId: 'two',
			action: 'sendMessage',
			chatInput: WISH,
		});
		await server.deactivate(id);
		expect(status).toBe(200);
		const chunks: Json[] = raw
			.toString()
			.split('\n')
			.filter((line) => line !== '')
			.map((line) => JSON.parse(line));
		const pieces = chunks.filter(
			({ type, metadata }) => type === 'item' && metadata.nodeName === 'AI Agent',
		);
		expect(pieces.length).toBeGreaterThan(3);
		await expectFoxByNight(pieces.map(({ content }) => content).join(''));
		expect(messageBodies().map(({ stream }) => stream)).toEqual([true, true, true]);
	});

	it('calls both of two tools in one turn, with thinking that nobody may read', async () => {
		const workflow = readExample('ai-agent', credentials);
		node(workflow, MODEL).parameters.options = { display: 'omitted' };
		const execution = await chat(workflow, 'Draw both a fox and a hare.');
		expect(execution.data.resultData.error).toBeUndefined();
		expect(itemsOf(execution, 'AI Agent')[0].json.output).toContain('Done after 2 tool call(s)');
		const last = messageBodies().at(-1).messages as Json[];
		expect(last.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
		expect(last[1].content.map(({ type }: Json) => type)).toEqual([
			'thinking',
			'tool_use',
			'tool_use',
		]);
		expect(last[1].content[0].thinking).toBe('');
	});

	it('says in its own words what went wrong, once', async () => {
		gateway.setFaults([{ call: 'message', kind: 'status', status: 503 }]);
		const execution = await chat(readExample('ai-agent', credentials), WISH);
		expect(execution.status).toBe('error');
		expect(execution.data.resultData.error.message).toContain('The outcome is unknown');
		expect(gateway.count('message')).toBe(1);
	});

	it.each([2.2, 3.1])(
		'Agent %s: a fallback model answers at once where the first one would have to wait for a minute',
		async (version) => {
			const fault = { kind: 'status', status: 429, retryAfter: 60 } as const;
			gateway.setFaults([{ call: 'message', times: 1, ...fault }]);
			const workflow = readExample('ai-agent', credentials);
			workflow.nodes.push({ ...node(workflow, MODEL), id: 'second', name: 'Second Model' });
			const to = { node: 'AI Agent', type: 'ai_languageModel', index: 1 };
			workflow.connections['Second Model'] = { ai_languageModel: [[to]] };
			node(workflow, 'AI Agent').parameters.needsFallback = true;
			node(workflow, 'AI Agent').typeVersion = version;
			const execution = await chat(workflow, 'What is 17 * 3?');
			expect(itemsOf(execution, 'AI Agent')[0].json.output).toContain('17 * 3 = 51');
			expect(gateway.count('message')).toBe(2);
		},
	);

	it.each([2.2, 3.1])('Agent %s with Retry On Fail: one 529 doubles no tool', async (version) => {
		const fault = { kind: 'status', status: 529, type: 'overloaded_error' } as const;
		gateway.setFaults([{ call: 'message', after: 1, times: 1, ...fault }]);
		const workflow = readExample('ai-agent', credentials);
		const settings = { typeVersion: version, retryOnFail: true, waitBetweenTries: 100 };
		Object.assign(node(workflow, 'AI Agent'), settings);
		const execution = await chat(workflow, 'Draw a fox.');
		expect(itemsOf(execution, 'AI Agent')[0].json.output).toContain('Done after 1 tool call(s)');
		expect(gateway.requests.filter(({ call, paid }) => paid && call !== 'message')).toHaveLength(1);
	});

	it('Agent 2.2 reads why its tool failed, and whether it was charged', async () => {
		const fault = { kind: 'status', status: 400, message: 'Too much fox' } as const;
		gateway.setFaults([{ call: 'any', match: 'a fox', after: 1, times: 1, ...fault }]);
		const workflow = readExample('ai-agent', credentials);
		node(workflow, 'AI Agent').typeVersion = 2.2;
		await chat(workflow, 'Draw a fox.');
		const [result] = messageBodies().at(-1).messages.at(-1).content;
		expect(result).toMatchObject({ type: 'tool_result' });
		expect(JSON.stringify(result.content)).toMatch(/This call was not charged.*Too much fox/);
		expect(gateway.count('message')).toBe(2);
	});

	it('a tool of an MCP server is called by its own name, which the endpoint refuses', async () => {
		const name = 'image.create: München';
		const called: string[] = [];
		const server = await openMcpServer(name, (tool) => called.push(tool));
		const tool: AiNode = [
			'mcpClientTool',
			1.2,
			{ endpointUrl: server.url, serverTransport: 'httpStreamable', authentication: 'none' },
		];
		for (const version of [2.2, 3.1]) {
			const below = { ai_tool: tool };
			const { error, said } = await askRoot({ root: agent(version), below }, 'Draw a fox.');
			expect(error).toBeUndefined();
			expect(said).toContain('made of a fox');
		}
		await server.close();
		expect(called).toEqual([name, name]);
		const names = messageBodies().map(({ tools }) => tools[0].name as string);
		expect(names.every((one) => /^[\w-]{1,64}$/.test(one))).toBe(true);
	});

	it("answers in n8n's Chat Hub, and says there what went wrong", async () => {
		await server.rest('PUT', '/chat/enabled', { enabled: true });
		const workflow = readExample('ai-agent', credentials);
		const trigger = node(workflow, TRIGGER);
		trigger.typeVersion = 1.4;
		trigger.parameters = { availableInChat: true, options: { responseMode: 'streaming' } };
		const { id } = await server.createWorkflow(workflow);
		await server.activate(id);
		expect(await askHub(id, 'What is 17 * 3?')).toContain('17 * 3 = 51');
		gateway.setFaults([{ call: 'message', kind: 'status', status: 401, message: 'Wrong key' }]);
		expect(await askHub(id, 'And now?')).toMatch(
			/^The gateway rejected the API key \(401\): Wrong key/,
		);
		await server.deactivate(id);
	});

	/** Asks a workflow in the Chat Hub; what it shows. */
	async function askHub(workflowId: string, message: string): Promise<string> {
		const sessionId = randomUUID();
		await server.rest(
			'POST',
			'/chat/conversations/send',
			{
				messageId: randomUUID(),
				sessionId,
				message,
				model: { provider: 'n8n', workflowId },
				previousMessageId: null,
				credentials: {},
				attachments: [],
			},
			{ headers: { 'push-ref': server.browserId } },
		);
		const answer: Json = await until('an answer in the Chat Hub', 60, async () => {
			const { conversation } = await server.rest('GET', `/chat/conversations/${sessionId}`);
			const messages = Object.values<Json>(conversation.messages);
			return messages.find(({ type, status }) => type === 'ai' && status !== 'running');
		});
		return answer.content.map((part: Json) => part.content).join('');
	}

	/** Starts the example that asks first; gives its execution, which waits for a person. */
	async function startAsking(): Promise<string> {
		const id = await startChat(readExample('agent-asks-first', credentials), WISH);
		await server.until(id, (status) => status === 'waiting');
		return id;
	}

	/** What the person is asked for the nth time, and the addresses of the two buttons. */
	async function question(id: string, nth: number): Promise<Json> {
		const execution = await server.until(id, (status) => status === 'waiting');
		const { data } = runsOf(execution, 'Ask first')[nth];
		const [[{ sendMessage }]] = data.ai_tool ?? data.main;
		return sendMessage;
	}

	async function press(buttons: Json[], label: string): Promise<void> {
		const { link } = buttons.find(({ text }) => text.includes(label));
		const response = await fetch(String(link).replace(/^https?:\/\/[^/]+/, server.url), {
			headers: { 'user-agent': BROWSER },
		});
		expect([response.status, await response.text()]).toEqual([
			200,
			expect.stringContaining('<html'),
		]);
	}

	/** Waits until the execution waits at a node, as it does until the chat has shown its message. */
	async function waitsAt(id: string, name: string, runs: number): Promise<Execution> {
		return await until(`the execution waits at ${name}`, 60, async () => {
			const execution = await server.until(id, (status) => status === 'waiting');
			return runsOf(execution, name).length === runs && execution;
		});
	}

	it('agent-asks-first pays for nothing before a person approves it, and once afterwards', async () => {
		const id = await startAsking();
		const images = () => gateway.requests.filter(({ call, paid }) => paid && call !== 'message');
		const first = await question(id, 0);
		expect(first.text).toMatch(/May I use .*The price is 0\.04 per image\.\s+a fox$/is);
		expect(images()).toHaveLength(0);
		await press(first.buttons, 'Approve');
		await waitsAt(id, 'Ask first', 2);
		expect(images()).toHaveLength(1);
		const second = await question(id, 1);
		expect(second.text).toContain('The price is 0.06 per request.');
		await press(second.buttons, 'Approve');
		const execution = await waitsAt(id, 'Reply', 1);
		expect(images().map(({ path }) => path)).toEqual([
			'/v1/images/generations',
			'/v1/images/edits',
		]);
		const answer = itemsOf(execution, 'AI Agent')[0].json.output as string;
		expect((await fetch(ADDRESS.exec(answer)![0])).status).toBe(200);
		// The thinking before a call goes back after its person has decided.
		expectThoughts();
	});

	it('agent-asks-first pays for nothing that a person declines', async () => {
		const id = await startAsking();
		await press((await question(id, 0)).buttons, 'Decline');
		// This model asks for its next step all the same.
		await waitsAt(id, 'Ask first', 2);
		await press((await question(id, 1)).buttons, 'Decline');
		await waitsAt(id, 'Reply', 1);
		expect(gateway.requests.filter(({ call, paid }) => paid && call !== 'message')).toEqual([]);
	});

	it.each<[string, AiNode, string, string]>([
		['AI Agent 3.1, a photo', agent(3.1), 'photo.png', 'I see 1 picture(s): image/png of 1 × 1'],
		['AI Agent 2.2, a photo', agent(2.2), 'photo.png', 'I see 1 picture(s): image/png of 1 × 1'],
		['AI Agent 1.9, a photo', agent(1.9), 'photo.png', 'I see 1 picture(s): image/png of 1 × 1'],
		[
			'AI Agent 3.1, a PDF',
			agent(3.1, { passthroughBinaryPdfs: true }),
			'manual.pdf',
			'I see 1 document(s): application/pdf',
		],
		[
			'Basic LLM Chain, Image (Binary)',
			chain({ messageType: 'imageBinary', binaryImageDataKey: 'data', imageDetail: 'low' }),
			'photo.png',
			'I see 1 picture(s): image/png of 1 × 1',
		],
		[
			'Basic LLM Chain, Image (URL)',
			chain({ messageType: 'imageUrl', imageUrl: 'https://example.com/a.png' }),
			'photo.png',
			'I see 1 picture(s): one at https://example.com/a.png',
		],
	])('%s: the model sees it', async (_, root, fileName, seen) => {
		const { error, said } = await askRoot({ root }, 'What is it?', fileName);
		expect(error).toBeUndefined();
		expect(said).toContain(seen);
		expect(gateway.paid).toBe(1);
	});

	it('a tool with alternatives is called, with an empty text before the call', async () => {
		const one = (name: string) => ({
			type: 'object',
			properties: { [name]: { type: 'string' } },
			required: [name],
		});
		const tool: AiNode = [
			'toolCode',
			1.3,
			{
				description: 'Measures a shape',
				jsCode: 'return JSON.stringify(query)',
				specifyInputSchema: true,
				schemaType: 'manual',
				inputSchema: JSON.stringify({ anyOf: [one('query'), one('url')] }),
			},
		];
		const { error, said } = await askRoot(
			{ root: agent(3.1), below: { ai_tool: tool }, model: { thinking: 'adaptive' } },
			'[blank] Use ai tool',
		);
		expect(error).toBeUndefined();
		expect(said).toContain('Done after 1 tool call(s)');
		expect(gateway.paid).toBe(2);
	});

	const CITY = '{"output":{"city":"Paris"}}';

	it.each<[string, Omit<RootOptions, 'credentials'>, string, object]>([
		[
			'Information Extractor',
			{
				root: [
					'informationExtractor',
					1.2,
					{ text: QUESTION, schemaType: 'fromJson', jsonSchemaExample: '{ "city": "Rome" }' },
				],
			},
			'[answer {"city":"Paris"}]',
			{ output: { city: 'Paris' } },
		],
		[
			'Text Classifier',
			{
				root: [
					'textClassifier',
					1.1,
					{
						inputText: QUESTION,
						categories: { categories: [{ category: 'a' }, { category: 'b' }] },
					},
				],
			},
			'[answer {"a":true,"b":false}]',
			{},
		],
		[
			'Structured Output Parser',
			{ root: chain(), below: { ai_outputParser: parser({}) } },
			`[answer ${CITY}]`,
			{ output: { city: 'Paris' } },
		],
		[
			'Structured Output Parser that fixes the format',
			{
				root: chain(),
				below: {
					ai_outputParser: parser({
						autoFix: true,
						customizeRetryPrompt: true,
						prompt: `{error} [answer ${CITY.replaceAll('{', '{{').replaceAll('}', '}}')}]`,
					}),
				},
				withModel: true,
			},
			'[answer It is Paris]',
			{ output: { city: 'Paris' } },
		],
		[
			'AI Agent that requires a format',
			{
				root: ['agent', 3.1, { ...agent(3.1)[2], hasOutputParser: true }],
				below: { ai_outputParser: parser({}) },
			},
			'Use format final json response',
			{ output: { city: expect.any(String) } },
		],
	])('%s reads the response', async (_, options, chatInput, json) => {
		for (const thinking of ['default', 'adaptive']) {
			const result = await askRoot({ ...options, model: { thinking } }, chatInput);
			expect(result.error).toBeUndefined();
			expect(result.json).toMatchObject(json);
		}
	});
});

oldest('on n8n 1, which has no AI Node SDK', () => {
	beforeAll(async () => await open('1'));
	afterAll(close);

	it('the package loads, and the chat model says what it needs', async () => {
		const types = await server.types('nodes');
		const own = types
			.map(({ name }) => name)
			.filter((name) => /^n8n-nodes-media-gateway\./.test(name));
		expect(own).toEqual(
			expect.arrayContaining([
				'n8n-nodes-media-gateway.imageGeneration',
				'n8n-nodes-media-gateway.lmChatMediaGateway',
				'n8n-nodes-media-gateway.message',
			]),
		);
		const workflow = readExample('ai-agent', credentials);
		node(workflow, 'AI Agent').typeVersion = 2;
		const execution = await chat(workflow, WISH);
		expect(execution.status).toBe('error');
		const { message, description } = execution.data.resultData.error;
		expect(message).toContain('AI Node SDK');
		expect(description).toContain('version 2.20');
		expect(gateway.count('any')).toBe(0);
	});
});
