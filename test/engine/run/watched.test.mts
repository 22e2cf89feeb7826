/** What a person who runs a node in the editor is told while it waits, and after a Stop. */
import '../fast-time.mjs';
import { createRequire } from 'node:module';
import type { RunOptions, RunResult } from '../../../harness/engine/host.mjs';
import { Container } from '../../../harness/engine/n8n.mjs';
import { opened } from '../opened.mjs';
import {
	byName,
	MODEL,
	NODE,
	openBench,
	workflowOf,
	type Bench,
	type NodeName,
	type Settings,
} from '../workbench.mjs';
import { until } from '../../until.mjs';

// The logger that nodes are given.
const require = createRequire(createRequire(import.meta.url).resolve('n8n-core'));
const { Logger } = require('@n8n/backend-common') as {
	Logger: abstract new () => { warn(message: string): void };
};

let bench: Bench;
let logged: string[];
let subExecutions: RunResult[];

beforeAll(async () => {
	bench = await opened(
		openBench({ host: { onSubExecution: (result) => void subExecutions.push(result) } }),
	);
});
beforeEach(() => {
	bench.gateway.reset();
	logged = [];
	subExecutions = [];
	jest
		.spyOn(Container.get(Logger), 'warn')
		.mockImplementation((message) => void logged.push(message));
});
afterEach(() => jest.restoreAllMocks());

const SLOW = 'a fox [slow 99]';
const GENERATION = { prompt: SLOW, mode: 'wait', options: { pollInterval: 2, maxWait: 100_000 } };

/** Starts a node, and keeps what it writes to the browser's console. */
function watch(
	node: NodeName,
	parameters: Record<string, unknown>,
	input: Array<Record<string, string>>,
	{ settings = {}, ...options }: RunOptions & { settings?: Settings } = {},
) {
	const said: string[] = [];
	const execution = bench.host.start(workflowOf(node, parameters, settings), {
		input: input.map((json) => ({ json })),
		onConsole: (message) => said.push(String(message)),
		...options,
	});
	return { said, execution };
}

/** The IDs of what an execution has submitted, in the order of its items. */
const idsIn = (text: string) => text.match(/(?<=^item \d+: generation task )\S+$/gm) ?? [];

test('while it waits, the console shows how many tasks are open, and why there is no status', async () => {
	const [one, other] = await bench.submit(SLOW, SLOW);
	bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 503 }]);
	const ids = [{ taskId: one! }, { taskId: other! }];
	const parameters = { pollInterval: 2, maxWait: 100_000 };
	const { said, execution } = watch('imageWait', parameters, ids);
	await until(() => said.at(-1)?.includes('no status') === true);
	const silent = said.at(-1);
	bench.gateway.setFaults([]);
	await until(() => !said.at(-1)!.includes('no status'));
	const { length } = said;
	const polls = bench.gateway.count('poll');
	// Many polls later nothing is new, so nothing is said.
	await until(() => bench.gateway.count('poll') > polls + 30);
	expect(said).toHaveLength(length);
	execution.stop();
	await execution.promise;
	expect(silent).toMatch(
		/^2 of 2 tasks still open; no status from the gateway for \d+ s: .*\(503\)/,
	);
	expect(said[length - 1]).toBe('2 of 2 tasks still open');
});

test.each<[string, Settings]>([
	['', {}],
	[', with Retry On Fail', { retryOnFail: true, maxTries: 3, waitBetweenTries: 1 }],
	[', On Error set to continue', { onError: 'continueRegularOutput' }],
])('a Stop leaves the IDs in the console and in the log%s', async (_, settings) => {
	const { said, execution } = watch('imageGeneration', GENERATION, [{}, {}, {}], { settings });
	await until(() => bench.gateway.count('poll') >= 3);
	execution.stop();
	await execution.promise;
	const lists = said.filter((message) => message.startsWith('The execution was stopped.'));
	expect(lists).toHaveLength(1);
	expect(idsIn(lists[0]!)).toHaveLength(3);
	expect(logged).toHaveLength(1);
	expect(logged[0]).toBe(`Media Gateway, "Node", execution ${execution.executionId}: ${lists[0]}`);
	expect([...said, ...logged].join()).not.toContain(bench.gateway.keys[0]);
});

test('a Stop leaves the tasks as the output of an execution, which Image Task takes', async () => {
	const input = Array.from({ length: 60 }, () => ({}));
	const { execution } = watch('imageGeneration', GENERATION, input);
	// Each of them has been asked for, so the node knows its ID.
	const polled = () => bench.gateway.requests.filter(({ call }) => call === 'poll');
	await until(() => new Set(polled().map(({ path }) => path)).size === 60);
	execution.stop();
	expect((await execution.promise).status).toBe('canceled');
	await until(() => subExecutions.length === 1);
	const { status, output } = subExecutions[0]!;
	const left = output('Image Tasks of the Stopped Run').map(({ json }) => json);
	expect([status, left.map(({ item }) => item)]).toEqual(['success', [...input.keys()]]);
	const tasks = (await bench.run('imageTask', {}, left)).json(NODE);
	expect(new Set(tasks.map(({ taskId }) => taskId)).size).toBe(60);
	expect(bench.gateway.paid).toBe(60);
});

test('a Stop while requests are sent lists those that may have been charged', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'silence' }]);
	const { said, execution } = watch('imageGeneration', { prompt: SLOW }, [{}, {}]);
	await until(() => bench.gateway.count('sync') === 2);
	execution.stop();
	await execution.promise;
	expect(said).toHaveLength(1);
	expect(said[0]).toMatch(/^The execution was stopped\. Requests that may have been charged\./);
	expect(logged).toHaveLength(1);
});

test('in production only the log has messages, and only after a Stop', async () => {
	const { said, execution } = watch('imageGeneration', GENERATION, [{}, {}], { mode: 'trigger' });
	await until(() => bench.gateway.count('poll') >= 30);
	expect(logged).toEqual([]);
	execution.stop();
	await execution.promise;
	expect(said).toEqual([]);
	expect(idsIn(logged.join())).toHaveLength(2);
});

test('a Stop before anything was paid for logs nothing', async () => {
	const onSubExecution = (result: RunResult) => void subExecutions.push(result);
	const own = await opened(openBench({ host: { onSubExecution } }));
	own.gateway.setFaults([{ call: 'listing', kind: 'silence' }]);
	const said: unknown[] = [];
	const execution = own.host.start(workflowOf('imageGeneration', { prompt: 'a fox' }), {
		input: [{ json: {} }],
		onConsole: (message) => said.push(message),
	});
	await until(() => own.gateway.count('listing') >= 1);
	execution.stop();
	await execution.promise;
	expect([...said, ...logged, ...subExecutions]).toEqual([]);
});

test('a node called by an agent logs nothing in the console', async () => {
	const stop = new AbortController();
	const said: unknown[] = [];
	const call = bench.host.runAsTool(
		'n8n-nodes-media-gateway.imageGeneration',
		{ ...GENERATION, model: byName(MODEL) },
		{ signal: stop.signal, onConsole: (message) => said.push(message) },
	);
	await until(() => bench.gateway.count('poll') >= 30);
	stop.abort();
	await call.catch(() => undefined);
	expect(said).toEqual([]);
	expect(idsIn(logged.join())).toHaveLength(1);
});
