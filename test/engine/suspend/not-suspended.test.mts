/** n8n's database is away: nothing is paid twice, and no task is lost. */
import '../fast-time.mjs';
import { createRequire } from 'node:module';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import { Container } from '../../../harness/engine/n8n.mjs';
import { errorOf } from '../one-node.mjs';
import { opened } from '../opened.mjs';
import { openBench, type Bench, type Settings } from '../workbench.mjs';
import { nextRound, survivingWorkflow, turnTimeOfDay } from './rounds.mjs';

turnTimeOfDay();

// The logger that nodes are given.
const require = createRequire(createRequire(import.meta.url).resolve('n8n-core'));
const { Logger } = require('@n8n/backend-common') as {
	Logger: abstract new () => { warn(message: string): void; info(message: string): void };
};

/** Of a sub-execution with this node, the database refuses so many. */
const broken = { node: '', times: 0, isSilent: false, onRefused: (): void => undefined };
/** So many reads of executions fail, and so many checks crash. */
const faults = { reads: 0, crashes: 0 };
/** The polls before each read of executions, and the executions that have ended in between. */
let events: Array<number | string> = [];

let bench: Bench;
beforeAll(async () => {
	bench = await opened(
		openBench({
			now: () => Date.now(),
			host: {
				onWake: (until) => void nextRound(until),
				onRead: () => {
					events.push(bench.gateway.count('poll'));
					if ((faults.reads -= 1) >= 0) throw new Error('No connection to the database');
				},
				onResume: ({ workflow: { name } }) =>
					name?.includes('checking') && (faults.crashes -= 1) >= 0 ? 'output' : undefined,
				onSubExecution: (child: RunResult) => {
					if (child.status !== 'waiting') events.push(child.workflow.name!);
					const isMeant = child.workflow.nodes.some(({ name }) => name === broken.node);
					if (!isMeant || child.status !== 'waiting' || (broken.times -= 1) < 0) return;
					broken.onRefused();
					if (!broken.isSilent) throw new Error('No connection to the database');
					// As n8n does it if it can't store that it waits.
					delete child.waitTill;
				},
			},
		}),
	);
});
beforeEach(() => {
	bench.gateway.reset();
	Object.assign(faults, { reads: 0, crashes: 0 });
	events = [];
	broken.times = 0;
	broken.isSilent = false;
	broken.onRefused = () => undefined;
});

const RETRY = { retryOnFail: true, maxTries: 3, waitBetweenTries: 1 };
const PROMPTS = ['a fox', 'an owl'];
const paid = () => bench.gateway.count('submit');

/** Image submits, Image Wait is given tasks: both are suspended. */
async function start(type: 'imageGeneration' | 'imageWait', settings: Settings) {
	const isWait = type === 'imageWait';
	const ids = isWait ? await bench.submit(...PROMPTS) : [];
	const input = PROMPTS.map((prompt, index) => ({ json: { prompt, taskId: ids[index] } }));
	const making = isWait ? {} : { prompt: '={{ $json.prompt }}', mode: 'wait' };
	const json = survivingWorkflow(type, { ...making, download: false }, settings);
	return await bench.host.run(json, { input, mode: 'trigger' });
}

const [SUPERVISOR, KEEPER, CHECKS] = [
	'Wait for Image Tasks',
	'Keep Image Results',
	'Check Image Tasks',
];

/** The tries of a minute, and those of a node with Retry On Fail. */
const MINUTE = 13;
const ALL = 3 * MINUTE;

describe.each([false, true])('a database that is away (silently: %s)', (isSilent) => {
	test.each([
		['imageGeneration', SUPERVISOR, undefined, {}],
		['imageGeneration', KEEPER, undefined, {}],
		['imageGeneration', CHECKS, 'continueRegularOutput', {}],
		['imageWait', SUPERVISOR, 'continueErrorOutput', {}],
		['imageWait', CHECKS, undefined, RETRY],
	] as const)(
		'for less than a minute: %s without "%s" waits for the same tasks (%s)',
		async (type, node, onError, retry) => {
			Object.assign(broken, { node, times: MINUTE - 1, isSilent });
			const waiting = await start(type, { ...retry, onError });
			expect([waiting.status, paid()]).toEqual(['waiting', 2]);
			const result = await bench.host.resume(waiting);
			expect(result.json('Done').map(({ prompt }) => prompt)).toEqual(PROMPTS);
			expect(paid()).toBe(2);
		},
	);
});

describe('a check has crashed, and the database is away when the next one is to start', () => {
	test.each([
		['read', '', MINUTE - 1],
		['store the keeper', KEEPER, 0],
		['store the checks', CHECKS, 0],
	])('it can’t %s for less than a minute: the images come', async (_, node, reads) => {
		const waiting = await start('imageWait', { onError: 'continueRegularOutput' });
		Object.assign(faults, { reads, crashes: 1 });
		Object.assign(broken, { node, times: MINUTE - 1 });
		const result = await bench.host.resume(waiting);
		expect(result.json('Done')).toMatchObject(PROMPTS.map((prompt) => ({ prompt, index: 0 })));
	});
});

test('what has something to store ends once the database answers', async () => {
	const waiting = await start('imageWait', {});
	events = [];
	await bench.host.resume(waiting);
	const [checks, keeper, supervisor] = ['checking', 'keeping', 'waiting for'].map((what) =>
		expect.stringContaining(`(${what} images)`),
	);
	// n8n itself passes on what the keeper has.
	expect(events).toEqual([0, 2, checks, keeper, 2, supervisor]);
});

// A worker without the package drops them in the database.
test.each(['imageGeneration', 'imageWait'] as const)(
	'the tasks of a stored run are in n8n’s log: %s',
	async (type) => {
		const told = jest.spyOn(Container.get(Logger), 'info').mockImplementation();
		const { status } = await start(type, {});
		const line = told.mock.calls.map(([text]) => String(text)).find((text) => /stored/.test(text));
		told.mockRestore();
		expect([status, new Set(line?.match(/task_\w+/g)).size]).toEqual(['waiting', 2]);
	},
);

test('for longer: Retry On Fail waits for the same tasks', async () => {
	Object.assign(broken, { node: CHECKS, times: MINUTE + 1 });
	const waiting = await start('imageGeneration', RETRY);
	expect([waiting.status, paid()]).toEqual(['waiting', 2]);
});

test.each([
	['imageGeneration', CHECKS],
	['imageGeneration', SUPERVISOR],
	['imageWait', CHECKS],
] as const)(
	'%s without "%s" ends with an error that names all tasks, and n8n’s Retry waits for them',
	async (type, node) => {
		Object.assign(broken, { node, times: ALL });
		const warned = jest.spyOn(Container.get(Logger), 'warn').mockImplementation();
		const failed = await start(type, RETRY);
		const { message, messages } = errorOf(failed);
		expect(message).toBe('No connection to the database');
		const ids = messages.join().match(/task_\w+/g);
		expect(ids).toHaveLength(2);
		// n8n itself may have nowhere to store the error.
		const logged = warned.mock.calls.map(([line]) => String(line));
		warned.mockRestore();
		for (const id of ids ?? []) expect(logged.join()).toContain(id);
		expect(logged[0]).toContain('n8n could not store the run.');
		const waiting = await bench.host.retry(failed);
		expect([waiting.status, paid()]).toEqual(['waiting', 2]);
	},
);

test.each([
	['imageGeneration', 'continueRegularOutput', 'Done', false],
	['imageWait', 'continueErrorOutput', 'Failed', true],
] as const)('%s ends with an item for each task (%s)', async (type, onError, output, isSilent) => {
	Object.assign(broken, { node: CHECKS, times: ALL, isSilent });
	const failed = await start(type, { ...RETRY, onError });
	const ids = failed.json(output).map(({ details }) => (details as IDataObject).taskId);
	expect(ids).toEqual(PROMPTS.map(() => expect.stringMatching(/^task_/)));
	expect(new Set(ids).size).toBe(2);
	expect([failed.status, paid()]).toEqual(['success', 2]);
});

test('a Stop ends the tries', async () => {
	Object.assign(broken, { node: SUPERVISOR, times: Infinity, onRefused: () => running.stop() });
	const warned = jest.spyOn(Container.get(Logger), 'warn').mockImplementation();
	const input = PROMPTS.map((prompt) => ({ json: { prompt } }));
	const json = survivingWorkflow('imageGeneration', {
		prompt: '={{ $json.prompt }}',
		mode: 'wait',
	});
	const running = bench.host.start(json, { input, mode: 'trigger' });
	const result = await running.promise;
	expect([result.status, result.error?.message]).toEqual([
		'canceled',
		'The execution was canceled',
	]);
	// It has the tasks, and tells no failure of n8n.
	const logged = warned.mock.calls.map(([line]) => String(line)).join();
	warned.mockRestore();
	expect(new Set(logged.match(/task_\w+/g)).size).toBe(2);
	expect(logged).not.toContain('could not store');
});
