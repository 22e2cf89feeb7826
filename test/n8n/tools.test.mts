/** Every node that an agent may call, called by n8n's own AI Agent: what the agent is told. */
import type { Gateway } from '../../simulator/gateway.mjs';
import {
	itemsOf,
	readExample,
	type Credentials,
	type Workflow,
} from '../../harness/server/example-workflows.mjs';
import { serverVersions, type PackedPackage } from '../../harness/server/packed-package.mjs';
import type { Execution, Json, N8nServer } from '../../harness/server/server.mjs';
import { openRealServer, type RealServer } from './real-server.mjs';

const TRIGGER = 'When chat message received';
const AGENT = 'AI Agent';
const PROMPT = "={{ $fromAI('prompt', 'What is wanted', 'string') }}";
const TASK_ID = "={{ $fromAI('taskId', 'ID of the task', 'string') }}";
const IMAGE_URL = "={{ $fromAI('imageUrl', 'Address of the picture', 'string') }}";

const byName = (value: string) => ({ __rl: true, mode: 'name', value });
// The older versions have no chat model of this package.
const described = serverVersions().includes('2') ? describe : describe.skip;

described('the nodes as tools of an agent on n8n 2', () => {
	let packed: PackedPackage;
	let gateway: Gateway;
	let real: RealServer;
	let server: N8nServer;
	let credentials: Credentials;
	const called = new Set<string>();

	beforeAll(async () => {
		real = await openRealServer('2', { taskSeconds: 1, imageSize: 64 });
		({ packed, server, gateway, credentials } = real);
	});

	beforeEach(() => gateway.reset());

	afterAll(async () => await real?.close());

	/** The example agent with this one tool instead of its own. */
	function agentWith(className: string, name: string, parameters: Json): Workflow {
		const workflow = readExample('ai-agent', credentials);
		const { type } = packed.nodes.find((node) => node.className === className)!;
		called.add(className);
		workflow.nodes = workflow.nodes.filter((node) => !/Tool$/.test(node.type));
		for (const source of ['Generate image', 'Edit image']) delete workflow.connections[source];
		workflow.nodes.push({
			id: 'tool',
			name,
			type: `${type}Tool`,
			typeVersion: 1,
			position: [320, 240],
			parameters: {
				descriptionType: 'manual',
				toolDescription: `The tool ${name}`,
				...parameters,
			},
			credentials,
		});
		workflow.connections[name] = { ai_tool: [[{ node: AGENT, type: 'ai_tool', index: 0 }]] };
		return workflow;
	}

	/** Says it to the agent, and gives what the one call of the tool came to, as the agent got it. */
	async function toolAnswer(workflow: Workflow, tool: string, chatInput: string): Promise<Json> {
		const execution = await chat(workflow, chatInput);
		expect(execution.data.resultData.error).toBeUndefined();
		expect(execution.status).toBe('success');
		expect(itemsOf(execution, AGENT)[0].json.output).toContain('Done after 1 tool call(s)');
		const runs = execution.data.resultData.runData[tool] as Json[];
		expect(runs).toHaveLength(1);
		expect(runs[0].executionStatus).toBe('success');
		const [item] = runs[0].data.ai_tool[0];
		expect(item.binary).toBeUndefined();
		const last = gateway.requests.filter(({ call }) => call === 'message').at(-1)!.body as Json;
		const [result] = last.messages.at(-1).content;
		expect(result).toMatchObject({ type: 'tool_result' });
		const text =
			typeof result.content === 'string' ? result.content : (result.content[0].text as string);
		// Short: an agent pays for every word.
		expect(text.length).toBeLessThan(4_000);
		return JSON.parse(text);
	}

	async function chat(workflow: Workflow, chatInput: string): Promise<Execution> {
		const { id } = await server.createWorkflow(workflow);
		const workflowData = await server.rest('GET', `/workflows/${id}`);
		const data = {
			startTime: Date.now(),
			executionTime: 0,
			executionIndex: 0,
			executionStatus: 'success',
			source: [],
			data: { main: [[{ json: { sessionId: 'one', action: 'sendMessage', chatInput } }]] },
		};
		const { executionId } = await server.rest(
			'POST',
			`/workflows/${id}/run`,
			{ workflowData, triggerToStartFrom: { name: TRIGGER, data } },
			{ headers: { 'push-ref': server.browserId } },
		);
		return await server.settled(String(executionId));
	}

	/** A request to the gateway as from elsewhere. */
	async function ask(address: string, body: Json): Promise<Json> {
		const response = await fetch(gateway.url + address, {
			method: 'POST',
			headers: {
				authorization: `Bearer ${gateway.keys[0]}`,
				'content-type': 'application/json',
			},
			body: JSON.stringify(body),
		});
		expect(response.ok).toBe(true);
		return await response.json();
	}

	async function submitted(prompt: string): Promise<string> {
		const body = { model: 'aurora-image-1', prompt };
		const answer = await ask('/v1/images/generations?async=true', body);
		return answer.id;
	}

	async function picture(): Promise<string> {
		const body = { model: 'aurora-image-1', prompt: 'a fox' };
		return (await ask('/v1/images/generations', body)).data[0].url;
	}

	const url = () => expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/images\/\w+\.png$/);
	const paidFor = (path: string) =>
		gateway.requests.filter((request) => request.paid && request.path === path).length;

	it.each([['sync'], ['wait']])('Image (%s)', async (mode) => {
		const workflow = agentWith('ImageGeneration', 'Generate', {
			model: byName('aurora-image-1'),
			prompt: PROMPT,
			mode,
		});
		const answer = await toolAnswer(workflow, 'Generate', 'Draw a fox.');
		expect(answer).toEqual([expect.objectContaining({ url: url(), prompt: 'a fox' })]);
		expect(paidFor('/v1/images/generations')).toBe(1);
	});

	it('Image Edit', async () => {
		const workflow = agentWith('ImageEdit', 'Change', {
			model: byName('aurora-edit-1'),
			prompt: PROMPT,
			images: IMAGE_URL,
		});
		const wish = `Change ${await picture()} to a night scene`;
		const answer = await toolAnswer(workflow, 'Change', wish);
		expect(answer).toEqual([expect.objectContaining({ url: url(), prompt: wish })]);
		expect(paidFor('/v1/images/edits')).toBe(1);
	});

	// The embedded model calls the tool that is named, and gives it the whole text: the ID is both.
	it('Image Task', async () => {
		const workflow = agentWith('ImageTask', 'Task', { taskId: TASK_ID });
		const taskId = await submitted('a fox [slow 60]');
		const answer = await toolAnswer(workflow, 'Task', taskId);
		expect(answer).toEqual([expect.objectContaining({ taskId, finished: false, images: [] })]);
	});

	it('Image Wait', async () => {
		const workflow = agentWith('ImageWait', 'Task', { taskId: TASK_ID });
		const taskId = await submitted('a fox');
		const answer = await toolAnswer(workflow, 'Task', taskId);
		expect(answer).toEqual([expect.objectContaining({ taskId, url: url(), status: 'completed' })]);
	});

	it('Models', async () => {
		const workflow = agentWith('MediaModels', 'Models', {});
		const answer = await toolAnswer(workflow, 'Models', 'Which models are there?');
		expect(answer.map(({ model }: Json) => model)).toContain('aurora-image-1');
	});

	it('Message', async () => {
		const workflow = agentWith('Message', 'Ask', { model: 'reason-large', prompt: PROMPT });
		const answer = await toolAnswer(workflow, 'Ask', 'Ask: what is 17 * 3?');
		expect(answer).toEqual([
			expect.objectContaining({ text: expect.stringContaining('17 * 3 = 51') }),
		]);
	});

	it('leaves none out', () => {
		const callable = packed.nodes.filter(({ usableAsTool }) => usableAsTool);
		expect([...called].sort()).toEqual(callable.map(({ className }) => className).sort());
	});
});
