/**
 * What suspended executions rely on in n8n's engine (`n8nEngine.ts`), one thing each: if a new version
 * of n8n changes it, the test that fails says what. The server's part in it is in test/n8n/.
 */
import type {
	IExecuteFunctions,
	INode,
	INodeExecutionData,
	INodeTypeDescription,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { BuiltInNode } from '../../../harness/engine/built-in-nodes.mjs';
import { createHost, type Host, type RunResult } from '../../../harness/engine/host.mjs';
import { n8nWorkflow } from '../../../harness/engine/n8n.mjs';
import {
	canForwardAllOutputs,
	canWaitForSubExecution,
	isStop,
	notesOf,
	passOnResult,
	readExecution,
	START,
	startSubWorkflow,
	subNode,
	subWorkflow,
	suspendUntilNextRound,
	withoutLink,
} from '../../../nodes/shared/run/n8nEngine.js';
import { errorOf } from '../one-node.mjs';

type Output = INodeExecutionData[][];
type Act = (context: IExecuteFunctions) => Output | Promise<Output>;

const ITEMS = [{ json: { from: 'input 0' } }, { json: { from: 'input 1' } }];
const itemsOf = (...names: string[]): INodeExecutionData[] =>
	names.map((name, item) => ({ json: { name }, pairedItem: { item } }));

/** Names of the nodes that have run, in order. */
let ran: string[] = [];
let children: RunResult[] = [];
/** What the two nodes of the sub-workflow, and the node that waits for it, do. */
let acts: Record<'first' | 'last' | 'waits', Act>;
let host: Host;

const nodeThat = (name: keyof typeof acts): BuiltInNode => ({
	description: {
		name,
		displayName: name,
		description: name,
		group: ['transform'],
		version: 1,
		defaults: { name },
		inputs: ['main'],
		outputs: ['main', 'main'],
		properties: [],
	} as unknown as INodeTypeDescription,
	async execute() {
		ran.push(name);
		return await acts[name](this);
	},
});

beforeAll(async () => {
	host = await createHost({
		onSubExecution: (child) => void children.push(child),
		extraNodeTypes: {
			'test.first': nodeThat('first'),
			'test.last': nodeThat('last'),
			'test.waits': nodeThat('waits'),
		},
	});
});

const child = subWorkflow(
	'Child',
	[subNode('First', 'test.first'), subNode('Last', 'test.last')],
	{ First: [['Last']] },
	{},
);

beforeEach(() => {
	ran = [];
	children = [];
	acts = {
		first: async (context) => {
			await suspendUntilNextRound(context);
			return [itemsOf('open')];
		},
		last: () => [itemsOf('a', 'b'), itemsOf('c')],
		waits: async (context) => {
			const { outputs } = await startSubWorkflow(context, child, ITEMS, true);
			passOnResult(context, false);
			return outputs;
		},
	};
});

/** Start → Waits → Done, and the second output of Waits → Other. */
async function start(settings: Partial<INode> = {}): Promise<RunResult> {
	const to = (node: string) => [{ node, type: 'main' as const, index: 0 }];
	const workflow = {
		nodes: [
			{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
			{ name: 'Waits', type: 'test.waits', ...settings },
			{ name: 'Done', type: 'n8n-nodes-base.noOp' },
			{ name: 'Other', type: 'n8n-nodes-base.noOp' },
		],
		connections: { Start: { main: [to('Waits')] }, Waits: { main: [to('Done'), to('Other')] } },
	};
	return await host.run(workflow, { input: ITEMS, mode: 'trigger' });
}

const resume = async (waiting: RunResult): Promise<RunResult> => {
	expect([waiting.status, errorOf(waiting).message]).toEqual(['waiting', '']);
	return await host.resume(waiting);
};

const lookAt = async (executionId: string) => {
	let found: Awaited<ReturnType<typeof readExecution>>;
	acts.waits = async (context) => {
		found = await readExecution(context, executionId);
		return [[]];
	};
	expect((await start()).status).toBe('success');
	return found;
};

test('this n8n can wait for sub-executions, and forward all outputs', () => {
	expect([canWaitForSubExecution(), canForwardAllOutputs()]).toEqual([true, true]);
});

describe('a sub-workflow', () => {
	test('that ends at once returns the outputs of its last node, and nothing is suspended', async () => {
		acts.first = (context) => [context.getInputData()];
		let started: Awaited<ReturnType<typeof startSubWorkflow>> | undefined;
		acts.waits = async (context) => {
			started = await startSubWorkflow(context, child, ITEMS, true);
			return started.outputs;
		};
		const result = await start();
		expect(started).toEqual({
			executionId: children[0]?.executionId,
			isSuspended: false,
			outputs: [itemsOf('a', 'b'), itemsOf('c')],
		});
		expect([result.status, ran]).toEqual(['success', ['waits', 'first', 'last']]);
		expect(children[0]?.output(START)).toMatchObject(ITEMS);
	});

	test('that is suspended suspends the execution that started it, which knows its ID', async () => {
		const waiting = await start();
		expect([waiting.status, waiting.waitTill]).toEqual([
			'waiting',
			n8nWorkflow.WAIT_FOR_SUB_EXECUTION,
		]);
		expect(waiting.data.executionData?.nodeExecutionStack[0]?.metadata).toMatchObject({
			waitingChildExecutionIds: [children[0]?.executionId],
		});
		// What n8n shows meanwhile.
		expect(waiting.json('Waits')).toEqual([{ name: 'open' }]);
	});

	test('is itself suspended for less than the minute between two of n8n’s rounds', async () => {
		await start();
		const pauseMs = children[0]!.waitTill!.getTime() - Date.now();
		expect(pauseMs).toBeGreaterThan(0);
		expect(pauseMs).toBeLessThan(60_000);
	});
});

describe('on resume', () => {
	test('no suspended node runs again; the result takes the place of the input', async () => {
		const result = await resume(await start());
		expect(ran).toEqual(['waits', 'first', 'last']);
		// What was suspended in the sub-execution passes on its own input.
		expect(children.at(-1)?.json('First')).toEqual(ITEMS.map(({ json }) => json));
		expect(result.json('Done')).toEqual([{ name: 'a' }, { name: 'b' }]);
		expect(result.runData.Other).toBeUndefined();
	});

	test('every output is passed on where that is wanted', async () => {
		acts.waits = async (context) => {
			await startSubWorkflow(context, child, ITEMS, true);
			passOnResult(context, true);
			return [[], []];
		};
		const result = await resume(await start());
		expect([result.json('Done'), result.json('Other')]).toEqual([
			[{ name: 'a' }, { name: 'b' }],
			[{ name: 'c' }],
		]);
	});

	test('items are linked by position, but for those that are to have no link', async () => {
		const [a, b] = itemsOf('a', 'b') as [INodeExecutionData, INodeExecutionData];
		acts.last = () => [[{ ...a, pairedItem: { item: 1 } }, withoutLink(b, '(no link)')]];
		const result = await resume(await start());
		expect(result.output('Waits').map(({ pairedItem }) => pairedItem)).toMatchObject([
			{ item: 0 },
			{ item: 1, sourceOverwrite: { previousNode: '(no link)' } },
		]);
		expect(result.output('Waits')[0]?.pairedItem).not.toHaveProperty('sourceOverwrite');
	});

	test('an error of the sub-execution is an item of a node that continues on error', async () => {
		acts.last = () => {
			throw new Error('It failed');
		};
		const result = await resume(await start({ onError: 'continueRegularOutput' }));
		expect(result.json('Done')[0]?.error).toContain('It failed');
	});

	test('without a result, as by n8n’s Retry, nothing looks like one', async () => {
		const retried = await host.retry(await start());
		expect([retried.status, retried.json('Waits'), ran.filter((name) => name === 'waits')]).toEqual(
			['success', [], ['waits']],
		);
	});
});

describe('what is stored', () => {
	test('notes are kept for the node, and for the nodes behind it', async () => {
		acts.first = async (context) => {
			Object.assign(notesOf(context, 'node'), { of: 'node' });
			Object.assign(notesOf(context, 'flow'), { of: 'all' });
			await suspendUntilNextRound(context);
			return [[]];
		};
		acts.last = (context) => [
			[{ json: { node: notesOf(context, 'node'), flow: notesOf(context, 'flow') } }],
		];
		const waiting = await start();
		const [{ executionId }] = children as [RunResult];
		expect((await lookAt(executionId))?.notes('First')).toEqual({ of: 'node' });
		expect((await resume(waiting)).json('Done')).toEqual([{ node: {}, flow: { of: 'all' } }]);
	});

	test('a suspended execution can be read: its state, and the input of its node', async () => {
		await start();
		const [{ executionId, data }] = children as [RunResult];
		expect(await lookAt(executionId)).toMatchObject({
			isSuspended: true,
			error: undefined,
			nextInput: ITEMS,
		});
		data.resultData.error = { name: 'Error', message: 'It crashed' } as never;
		expect((await lookAt(executionId))?.error).toBe('Error It crashed');
		host.delete(executionId);
		expect(await lookAt(executionId)).toBeUndefined();
	});

	test('a Stop is told from other errors by its words', async () => {
		const stopped = new Promise<string>((resolve) => {
			acts.waits = async (context) => {
				const signal = context.getExecutionCancelSignal()!;
				await new Promise<void>((over) => {
					signal.addEventListener('abort', () => over());
					queueMicrotask(() => execution.stop());
				});
				return [[]];
			};
			const execution = host.start({
				nodes: [
					{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
					{ name: 'Waits', type: 'test.waits' },
				],
				connections: { Start: { main: [[{ node: 'Waits', type: 'main', index: 0 }]] } },
			});
			void execution.promise.then(({ error }) => resolve(`${error?.name} ${error?.message}`));
		});
		expect(isStop(await stopped)).toBe(true);
		expect(isStop('WorkflowCrashedError Workflow did not finish')).toBe(false);
	});
});
