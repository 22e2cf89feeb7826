/** What a person is told while a node waits, and what a Stop leaves of what was paid for. */
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

/** Starts Image. */
const start = (
	parameters: Record<string, unknown>,
	items: number,
	{ settings = {}, ...options }: RunOptions & { settings?: Settings } = {},
) =>
	bench.host.start(workflowOf('imageGeneration', parameters, settings), {
		input: Array.from({ length: items }, () => ({ json: {} })),
		...options,
	});

/** The IDs of what an execution has submitted, in the order of its items. */
const idsIn = (text: string) =>
	text.match(/(?<=^item \d+ \("a fox \[slow 99\]"\): generation task )\S+$/gm) ?? [];

test('while it waits, the browser is told why status checks fail', async () => {
	bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 503 }]);
	const said: unknown[] = [];
	const execution = start(GENERATION, 2, { onConsole: (message) => said.push(message) });
	await until(() => said.length >= 2);
	// Once in ten seconds, not for each check.
	expect(bench.gateway.count('poll')).toBeGreaterThan(2 * said.length);
	bench.gateway.setFaults([]);
	const { length } = said;
	const polls = bench.gateway.count('poll');
	await until(() => bench.gateway.count('poll') > polls + 10);
	// A check that was on its way may still tell.
	expect(said.length).toBeLessThanOrEqual(length + 1);
	execution.stop();
	await execution.promise;
	expect(said[0]).toMatch(/^2 tasks still open; the last status check failed: .*\(503\)/);
});

test('a Stop leaves the IDs in the log, once although n8n tries again', async () => {
	const settings = { retryOnFail: true, maxTries: 3, waitBetweenTries: 1 };
	const execution = start(GENERATION, 3, { settings });
	await until(() => bench.gateway.count('poll') >= 3);
	execution.stop();
	await execution.promise;
	expect(logged).toHaveLength(1);
	const begin = `Media Gateway, "Node", execution ${execution.executionId}: The execution was stopped.`;
	expect(logged[0]!.slice(0, begin.length)).toBe(begin);
	expect(idsIn(logged[0]!)).toHaveLength(3);
	expect(logged[0]).not.toContain(bench.gateway.keys[0]);
});

test('a Stop leaves the tasks as the output of an execution, which Image Task takes', async () => {
	const input = Array.from({ length: 12 }, (_, row) => ({ json: { name: `product ${row}` } }));
	const prompt = '={{ $json.name }} [slow 99]';
	const execution = start({ ...GENERATION, prompt }, 0, { input });
	// Each of them has been asked for, so the node knows its ID.
	const polled = () => bench.gateway.requests.filter(({ call }) => call === 'poll');
	await until(() => new Set(polled().map(({ path }) => path)).size === 12);
	execution.stop();
	expect((await execution.promise).status).toBe('canceled');
	await until(() => subExecutions.length === 1);
	const { status, output, workflow } = subExecutions[0]!;
	const left = output('Image Tasks of the Stopped Run').map(({ json }) => json);
	expect([status, left.map(({ item }) => item)]).toEqual(['success', [...Array(12).keys()]]);
	const list = workflow.nodes.find(({ name }) => name === 'Image Tasks of the Stopped Run');
	// The canvas shows fewer than 30 characters.
	const notes = 'Copy this output: icon {}';
	expect(list).toMatchObject({ notes, notesInFlow: true });
	const sticky = workflow.nodes.find(({ type }) => type.endsWith('.stickyNote'));
	expect(sticky?.parameters?.content).toMatch(
		/paid for\n\nOpen the node, .* \*JSON\* .*`{}`.*\*Collect these tasks\*/,
	);
	// Which image is which product?
	const facts = (row: number) => ({ name: `product ${row}`, prompt: `product ${row} [slow 99]` });
	expect(left).toMatchObject(input.map((_, row) => ({ ...facts(row), model: MODEL })));
	const tasks = (await bench.run('imageTask', {}, left)).json(NODE);
	expect(new Set(tasks.map(({ taskId }) => taskId)).size).toBe(12);
	expect(bench.gateway.paid).toBe(12);
});

test('in production the log has messages only after a Stop', async () => {
	const execution = start(GENERATION, 2, { mode: 'trigger' });
	await until(() => bench.gateway.count('poll') >= 3);
	expect(logged).toEqual([]);
	execution.stop();
	await execution.promise;
	expect(idsIn(logged.join())).toHaveLength(2);
});

test('a Stop before anything was paid for logs nothing', async () => {
	const onSubExecution = (result: RunResult) => void subExecutions.push(result);
	const own = await opened(openBench({ host: { onSubExecution } }));
	own.gateway.setFaults([{ call: 'listing', kind: 'silence' }]);
	const execution = own.host.start(workflowOf('imageGeneration', { prompt: 'a fox' }), {
		input: [{ json: {} }],
	});
	await until(() => own.gateway.count('listing') >= 1);
	execution.stop();
	await execution.promise;
	expect([...logged, ...subExecutions]).toEqual([]);
});

test('a Stop of a node called by an agent leaves the IDs in the log', async () => {
	const stop = new AbortController();
	const call = bench.host.runAsTool(
		'n8n-nodes-media-gateway.imageGeneration',
		{ ...GENERATION, model: byName(MODEL) },
		{ signal: stop.signal },
	);
	await until(() => bench.gateway.count('poll') >= 3);
	stop.abort();
	await call.catch(() => undefined);
	expect(idsIn(logged.join())).toHaveLength(1);
});
