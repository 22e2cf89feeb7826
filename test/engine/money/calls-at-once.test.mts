/** An agent that calls one tool several times at once: each call is paid once, and all share a budget. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { smallNode } from '../../../harness/engine/built-in-nodes.mjs';
import { sharedBench } from '../opened.mjs';
import { byName, MODEL } from '../workbench.mjs';

interface Tool {
	invoke(args: IDataObject): Promise<unknown>;
}

/** Calls its tool with all prompts at once, and once more with those that have failed, or with all. */
const agent = smallNode(
	'agent',
	async function () {
		const prompts = JSON.parse(this.getNodeParameter('prompts', 0) as string) as string[];
		const [tool] = (await this.getInputConnectionData('ai_tool', 0)) as [Tool];
		const ask = async (prompt: string): Promise<string> =>
			await tool
				.invoke(prompt === '' ? {} : { prompt })
				.then(String, ({ message, description }: Error & IDataObject) => {
					return `failed: ${message} ${String(description)}`;
				});
		const first = await Promise.all(prompts.map(ask));
		const askAgain = this.getNodeParameter('askAgain', 0) as boolean;
		const isOver = (answer: string): boolean => !askAgain && !answer.startsWith('failed');
		const answers = await Promise.all(
			first.map(async (answer, place) => (isOver(answer) ? answer : await ask(prompts[place]!))),
		);
		return [[{ json: { first, answers } }]];
	},
	{
		inputs: ['main', 'ai_tool'],
		properties: [
			{ name: 'prompts', type: 'json', default: '[]' },
			{ name: 'askAgain', type: 'boolean', default: false },
		],
	},
);

const bench = sharedBench({ host: { extraNodeTypes: { 'test.agent-at-once': agent } } });

const RETRY = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };

async function ask(
	prompts: string[],
	mode: string,
	settings: object,
	{
		askAgain = false,
		prompt = '={{ $fromAI("prompt", "", "string") }}',
		...options
	}: { askAgain?: boolean; prompt?: string; budget?: number } = {},
) {
	const parameters = {
		model: byName(MODEL),
		prompt,
		mode,
		options: { pollInterval: 1, maxWait: 3, ...options },
	};
	const result = await bench.host.run(
		{
			nodes: [
				{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
				{
					name: 'Agent',
					type: 'test.agent-at-once',
					parameters: { prompts: JSON.stringify(prompts), askAgain },
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
	return result.json('Agent')[0] as { first: string[]; answers: string[] };
}

const paid = (): number => bench.gateway.count('submit') + bench.gateway.count('sync');

const DIFFERENT = ['a fox', 'an owl', 'a hare'];
const EQUAL = ['a fox', 'a fox', 'a fox'];

test.each<[string, string[], object]>([
	['different prompts, Retry On Fail', DIFFERENT, RETRY],
	['equal prompts, an agent that asks again', EQUAL, {}],
])('requests with an unknown outcome are not sent again: %s', async (_, prompts, settings) => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'cutAfter' }]);
	const { answers } = await ask(prompts, 'sync', settings);
	expect(answers.every((answer) => answer.includes('outcome is unknown'))).toBe(true);
	expect(paid()).toBe(3);
});

test.each<[string, string[], object]>([
	['equal prompts, Retry On Fail', EQUAL, RETRY],
	['different prompts, an agent that asks again', DIFFERENT, {}],
])(
	'tasks not finished in time are waited for, not submitted again: %s',
	async (_, prompts, settings) => {
		bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 503 }]);
		const { answers } = await ask(prompts, 'wait', settings);
		expect(paid()).toBe(3);
		const named = answers.map((answer) => new Set(answer.match(/\btask_[0-9a-z]+/g)));
		expect(named.map(({ size }) => size)).toEqual([1, 1, 1]);
		expect(new Set(named.flatMap((tasks) => [...tasks])).size).toBe(3);
	},
);

test('calls without input are told apart by their requests', async () => {
	bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 503 }]);
	const prompt = '={{ ["a fox", "an owl"][$runIndex] }}';
	const { answers } = await ask(['', ''], 'wait', {}, { prompt });
	expect(answers).toEqual(Array(2).fill(expect.stringContaining('still open')));
	expect(bench.gateway.paidByPrompt).toEqual({ 'a fox': 1, 'an owl': 1 });
});

test('an answer has the cost of its call and the remaining budget in one line', async () => {
	const { answers } = await ask(['a fox'], 'sync', {}, { budget: 1 });
	expect(answers[0]).toContain(
		'"charge":"1 image; estimated cost 0.04. Remaining budget: 0.96 of 1."',
	);
	const unlimited = await ask(['an owl'], 'sync', {});
	expect(unlimited.answers[0]).toContain('"charge":"1 image; estimated cost 0.04."');
});

test('what one call is sending counts toward the budget of the others', async () => {
	const { answers } = await ask([...DIFFERENT, ...EQUAL], 'sync', {}, { budget: 0.08 });
	const refused = answers.filter((answer) => /exceeds the remaining budget/.test(answer));
	expect([refused.length, bench.gateway.paid]).toEqual([4, 2]);
});

test('who asks again after a success gets another image', async () => {
	const { first, answers } = await ask(['a fox'], 'sync', {}, { askAgain: true });
	expect(answers[0]).toMatch(/png/);
	expect(answers).not.toEqual(first);
	expect(bench.gateway.paid).toBe(2);
});
