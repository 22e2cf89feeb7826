/** An agent that makes several calls of one tool at once: each is paid for once, however often it is tried. */
import '../fast-time.mjs';
import type {
	IDataObject,
	IExecuteFunctions,
	INodeTypeDescription,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { sharedBench } from '../opened.mjs';
import { byName, MODEL } from '../workbench.mjs';

interface Tool {
	invoke(args: IDataObject): Promise<unknown>;
}

/** Calls its tool with all prompts at once, and with those that have failed once more. */
const agent = {
	description: {
		name: 'agent',
		displayName: 'agent',
		description: 'agent',
		group: ['transform'],
		version: [1],
		defaults: { name: 'agent' },
		inputs: ['main', 'ai_tool'],
		outputs: ['main'],
		properties: [{ name: 'prompts', displayName: 'prompts', type: 'json', default: '[]' }],
	} as unknown as INodeTypeDescription,
	async execute(this: IExecuteFunctions) {
		const prompts = JSON.parse(this.getNodeParameter('prompts', 0) as string) as string[];
		const [tool] = (await this.getInputConnectionData('ai_tool', 0)) as [Tool];
		const ask = async (prompt: string): Promise<string> =>
			await tool
				.invoke({ prompt })
				.then(String, ({ message, description }: Error & IDataObject) => {
					return `failed: ${message} ${String(description)}`;
				});
		const first = await Promise.all(prompts.map(ask));
		const isOver = (answer: string): boolean => !answer.startsWith('failed');
		const answers = await Promise.all(
			first.map(async (answer, place) => (isOver(answer) ? answer : await ask(prompts[place]!))),
		);
		return [[{ json: { answers } }]];
	},
};

const bench = sharedBench({ host: { extraNodeTypes: { 'test.agent-at-once': agent } } });

const RETRY = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };

async function answersTo(prompts: string[], mode: string, settings: object): Promise<string[]> {
	const parameters = {
		model: byName(MODEL),
		prompt: '={{ $fromAI("prompt", "", "string") }}',
		mode,
		options: { pollInterval: 1, maxWait: 5 },
	};
	const result = await bench.host.run(
		{
			nodes: [
				{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
				{
					name: 'Agent',
					type: 'test.agent-at-once',
					parameters: { prompts: JSON.stringify(prompts) },
				},
				{
					name: 'Tool',
					type: 'n8n-nodes-media-gateway.imageGenerationTool',
					parameters: parameters as never,
					...settings,
				},
			],
			connections: {
				Start: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] },
				Tool: { ai_tool: [[{ node: 'Agent', type: 'ai_tool', index: 0 }]] },
			},
		},
		{ startNode: 'Start' },
	);
	expect(result.error).toBeUndefined();
	return result.json('Agent')[0]?.answers as string[];
}

const paid = (): number => bench.gateway.count('submit') + bench.gateway.count('sync');

describe.each([
	['different prompts', ['a fox', 'an owl', 'a hare']],
	['equal prompts', ['a fox', 'a fox', 'a fox']],
])('%s', (_, prompts) => {
	describe.each([
		['Retry On Fail', RETRY],
		['an agent that asks again', {}],
	])('%s', (__, settings) => {
		test('requests with an unknown outcome are not sent again', async () => {
			bench.gateway.setFaults([{ call: 'sync', kind: 'cutAfter' }]);
			const answers = await answersTo(prompts, 'sync', settings);
			expect(answers.every((answer) => answer.includes('outcome is unknown'))).toBe(true);
			expect(paid()).toBe(3);
		});

		test('tasks that were not finished in time are waited for, not submitted again', async () => {
			bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 503 }]);
			const answers = await answersTo(prompts, 'wait', settings);
			expect(paid()).toBe(3);
			const named = answers.map((answer) => answer.match(/\btask_[0-9a-z]+/g) ?? []);
			expect(named).not.toContainEqual([]);
			// A try of an equal call may take the task that another has just let go of, and name its own too.
			expect(new Set(named.flat()).size).toBe(3);
		});
	});
});
