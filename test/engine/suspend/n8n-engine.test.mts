/**
 * What suspended executions rely on in n8n's engine (`n8nEngine.ts`): if a new version of n8n changes
 * it, the test that fails says what. The server's part in it is in test/n8n/.
 */
import type {
	IExecuteFunctions,
	INodeExecutionData,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { smallNode } from '../../../harness/engine/built-in-nodes.mjs';
import { createHost, type Host, type RunResult } from '../../../harness/engine/host.mjs';
import { n8nWorkflow } from '../../../harness/engine/n8n.mjs';
import {
	canForwardAllOutputs,
	canWaitForSubExecution,
	isStop,
	notesOf,
	passOnResult,
	readExecution,
	startSubWorkflow,
	subNode,
	subWorkflow,
	suspendUntilNextRound,
	withoutLink,
} from '../../../nodes/shared/run/n8nEngine.js';
import { errorOf } from '../one-node.mjs';

type Act = (context: IExecuteFunctions) => Promise<INodeExecutionData[][]>;

const ITEMS = [{ json: { from: 'input 0' } }, { json: { from: 'input 1' } }];
const [A, B, C] = ['a', 'b', 'c'].map((name, item) => ({ json: { name }, pairedItem: { item } }));

let children: RunResult[] = [];
/** What the two nodes of the sub-workflow, and the node that waits for it, do. */
let acts: Record<'first' | 'last' | 'waits', Act>;
let host: Host;

const nodeThat = (name: keyof typeof acts) =>
	smallNode(
		name,
		async function () {
			return await acts[name](this);
		},
		{ outputs: ['main', 'main'] },
	);

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

const nodes = [subNode('First', 'test.first'), subNode('Last', 'test.last')];
const child = subWorkflow('Child', nodes, { First: [['Last']] }, {});

beforeEach(() => {
	children = [];
	acts = {
		first: async (context) => {
			Object.assign(notesOf(context, 'node'), { of: 'node' });
			Object.assign(notesOf(context, 'flow'), { of: 'all' });
			await suspendUntilNextRound(context);
			return [[{ json: { name: 'open' } }]];
		},
		last: async () => [[A!, withoutLink(B!, '(no link)')], [C!]],
		waits: async (context) => {
			const { outputs } = await startSubWorkflow(context, child, ITEMS, { resumesThis: true });
			passOnResult(context, true);
			return outputs;
		},
	};
});

/** Start → Waits → Done, and the second output of Waits → Other. */
function start() {
	const to = (node: string) => [{ node, type: 'main' as const, index: 0 }];
	const workflow = {
		nodes: [
			{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
			{ name: 'Waits', type: 'test.waits' },
			{ name: 'Done', type: 'n8n-nodes-base.noOp' },
			{ name: 'Other', type: 'n8n-nodes-base.noOp' },
		],
		connections: { Start: { main: [to('Waits')] }, Waits: { main: [to('Done'), to('Other')] } },
	};
	return host.start(workflow, { input: ITEMS, mode: 'trigger' });
}

test('this n8n can wait for sub-executions, and forward all outputs', () => {
	expect([canWaitForSubExecution(), canForwardAllOutputs()]).toEqual([true, true]);
});

test('a suspended sub-workflow suspends the execution that started it, for less than a minute', async () => {
	const waiting = await start().promise;
	expect([waiting.status, errorOf(waiting).message]).toEqual(['waiting', '']);
	expect(waiting.waitTill).toEqual(n8nWorkflow.WAIT_FOR_SUB_EXECUTION);
	// What n8n shows meanwhile.
	expect(waiting.json('Waits')).toEqual([{ name: 'open' }]);
	const pauseMs = children[0]!.waitTill!.getTime() - Date.now();
	expect([pauseMs > 0, pauseMs < 60_000]).toEqual([true, true]);
});

test('on resume, no suspended node runs again, and each output of the result is passed on', async () => {
	const result = await host.resume(await start().promise);
	// What was suspended in the sub-execution passes on its own input.
	expect(children.at(-1)?.json('First')).toEqual(ITEMS.map(({ json }) => json));
	expect(result.json('Done')).toEqual([{ name: 'a' }, { name: 'b' }]);
	expect(result.json('Other')).toEqual([{ name: 'c' }]);
	// Items are linked by position, but for those that are to have no link.
	expect(result.output('Waits').map(({ pairedItem }) => pairedItem)).toMatchObject([
		{ item: 0 },
		{ item: 1, sourceOverwrite: { previousNode: '(no link)' } },
	]);
	expect(result.output('Waits')[0]?.pairedItem).not.toHaveProperty('sourceOverwrite');
});

test('without a result, as by n8n’s Retry, nothing looks like one', async () => {
	const retried = await host.retry(await start().promise);
	expect([retried.status, retried.json('Waits')]).toEqual(['success', []]);
});

test('a suspended execution can be read: its state, the input of its node, and its notes', async () => {
	await start().promise;
	const [{ executionId, data }] = children as [RunResult];
	const lookAt = async () => {
		let found: Awaited<ReturnType<typeof readExecution>>;
		acts.waits = async (context) => {
			found = await readExecution(context, executionId);
			return [[]];
		};
		expect((await start().promise).status).toBe('success');
		return found;
	};
	const found = await lookAt();
	expect(found).toMatchObject({ isSuspended: true, error: undefined, nextInput: ITEMS });
	expect(found?.notes('First')).toEqual({ of: 'node' });
	data.resultData.error = { name: 'Error', message: 'It crashed' } as never;
	expect((await lookAt())?.error).toBe('Error It crashed');
	host.delete(executionId);
	expect(await lookAt()).toBeUndefined();
});

test('a Stop is told from other errors by its words', async () => {
	let stop: () => void;
	acts.waits = async (context) => {
		const signal = context.getExecutionCancelSignal()!;
		await new Promise<void>((over) => {
			signal.addEventListener('abort', () => over());
			queueMicrotask(stop);
		});
		return [[]];
	};
	const execution = start();
	stop = execution.stop;
	const { error } = await execution.promise;
	expect(isStop(`${error?.name} ${error?.message}`)).toBe(true);
	expect(isStop('WorkflowCrashedError Workflow did not finish')).toBe(false);
});
