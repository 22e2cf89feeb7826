/** Waiting that survives: crashes in a check, ended parents, failures as a whole, and what is shown. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Crash, HostOptions, RunResult, WorkflowJson } from '../../../harness/engine/host.mjs';
import { errorOf } from '../one-node.mjs';
import { nextRound, suspended, survivingWorkflow, turned, turnTimeOfDay } from './rounds.mjs';
import { sharedBench } from '../opened.mjs';
import { NODE, type Settings } from '../workbench.mjs';

turnTimeOfDay();

/** How the process dies in the next checks, by the name of the sub-workflow. */
let crashes: Array<Crash | undefined> = [];
let resumed: string[] = [];
let crashIn = 'checking';
let onCheck: (check: number) => void;
let children: RunResult[] = [];

beforeEach(() => {
	crashes = [];
	resumed = [];
	children = [];
	crashIn = 'checking';
	onCheck = () => undefined;
	bench.gateway.reset();
	bench.gateway.setFaults([]);
});

const hostOptions: HostOptions = {
	onSubExecution: (child) => void children.push(child),
	onWake: (until) => void nextRound(until),
	onResume: ({ workflow }) => {
		resumed.push(workflow.name ?? '');
		if (workflow.name?.includes('checking')) onCheck(checks());
		return workflow.name?.includes(crashIn) ? crashes.shift() : undefined;
	},
};

const bench = sharedBench({ now: () => Date.now(), host: hostOptions });

type Parameters = Record<string, unknown>;

const workflow = (
	type: 'imageGeneration' | 'imageWait',
	parameters: Parameters = {},
	settings: Settings = {},
): WorkflowJson => {
	const mode = type === 'imageGeneration' ? { mode: 'wait' } : {};
	return survivingWorkflow(type, { ...mode, ...parameters }, settings);
};

const runToEnd = async (json: WorkflowJson, items: IDataObject[]): Promise<RunResult> =>
	await bench.host.resume(await suspended(bench, json, items));

const asItems = (ids: string[]): IDataObject[] => ids.map((taskId) => ({ taskId }));
const checks = (): number => resumed.filter((name) => name.includes('checking')).length;

describe('killed in a check', () => {
	test.each(['output', 'startup'] as const)('it goes on by itself (%s)', async (crash) => {
		const ids = await bench.submit('a fox', 'an owl [slow 150]', 'a hare [fail]');
		crashes = [crash, undefined, crash];
		const json = workflow('imageWait', {}, { onError: 'continueErrorOutput' });
		const result = await runToEnd(json, asItems(ids));
		expect(result.status).toBe('success');
		expect(result.json('Done').map(({ taskId }) => taskId)).toEqual([ids[0], ids[1]]);
		for (const item of result.output('Done')) expect(item.binary).toHaveProperty('data');
		expect(result.json('Failed')).toMatchObject([{ taskId: ids[2], details: { taskId: ids[2] } }]);
		expect(bench.gateway.paid).toBe(3);
		// What was finished before the second crash was in the notes of the checks.
		expect(bench.gateway.count('download')).toBe(4);
	});

	test.each([
		['stopped by a person', 1, 'The execution that checked the image tasks was stopped'],
		['after ten restarts', 11, 'n8n crashed 10 times while checking the image tasks'],
	])('%s, it ends with an error that names every task', async (_, times, says) => {
		const ids = await bench.submit('a fox', 'an owl');
		crashes = Array.from({ length: 20 }, () => (times === 1 ? 'stop' : 'output'));
		const result = await runToEnd(workflow('imageWait', { download: false }), asItems(ids));
		expect(result.status).toBe('error');
		const { message, messages, details } = errorOf(result);
		expect(message).toBe(says);
		for (const id of ids) expect(messages.join()).toContain(id);
		// The same for an error workflow.
		expect(details.paid).toMatchObject(ids.map((taskId, item) => ({ item, taskId })));
		expect(checks()).toBe(times);
	});
});

/** The executions of a stored run, each of which n8n may end without a result. */
const EXECUTIONS = ['waiting for images', 'keeping images', 'checking images'] as const;

/** How n8n ends one that has its turn in the queue, or is taken up again. */
const ENDS = ['queued', 'output', 'error', 'startup', 'stop'] as const;

describe.each(EXECUTIONS)('n8n ends the execution "%s"', (name) => {
	test.each(ENDS.flatMap((end) => [1, 2].map((rounds) => [end, rounds] as const)))(
		'as one that was %s, after %i rounds: images, failed items that lead to them, or an error',
		async (end, rounds) => {
			const prompts = ['a fox', `an owl [slow ${rounds * 60 - 30}]`];
			const ids = await bench.submit(...prompts);
			crashIn = name;
			crashes = name === 'checking images' && rounds === 2 ? [undefined, end] : [end];
			const json = workflow('imageWait', { download: false });
			const result = await runToEnd(json, asItems(ids));
			if (result.status === 'error') {
				expect(result.json('Done')).toEqual([]);
				expect(errorOf(result).message).not.toBe('');
			} else
				for (const [index, item] of result.json('Done').entries()) {
					const isImage = String(item.url).endsWith('.png');
					const details = (item.details ?? {}) as IDataObject;
					expect(isImage || typeof item.error === 'string').toBe(true);
					expect([item.taskId, details.taskId]).toContain(ids[index]);
				}
			if (result.status === 'success') expect(result.json('Done')).toHaveLength(2);
			// What n8n ends in the queue or in a check is restarted, but for the first of the three.
			const isImages = name !== 'waiting for images' && end !== 'stop';
			if (isImages)
				expect(result.json('Done').map(({ status }) => status)).toEqual(Array(2).fill('completed'));
		},
	);
});

describe('n8n ends the supervisor and hands out what it has', () => {
	test.each([
		['stopWorkflow', 'Done'],
		['continueRegularOutput', 'Done'],
		['continueErrorOutput', 'Failed'],
	] as const)(
		'each task is a failed item, which Image Wait takes (%s)',
		async (onError, output) => {
			const prompts = ['an owl [slow 90]', 'no such', 'a fox', 'a hare [slow 90]'];
			bench.gateway.setFaults([{ call: 'submit', kind: 'status', status: 400, match: 'no such' }]);
			const items = (
				onError === 'stopWorkflow' ? prompts.filter((prompt) => prompt !== 'no such') : prompts
			).map((prompt, row) => ({ prompt, row, taskId: `mine ${row}` }));
			crashIn = 'waiting for images';
			crashes = ['queued'];
			const making = { prompt: '={{ $json.prompt }}' };
			const result = await runToEnd(workflow('imageGeneration', making, { onError }), items);
			expect(result.status).toBe('success');
			const failed = result.json(output);
			expect(failed).toHaveLength(items.length);
			if (output === 'Failed') expect(result.json('Done')).toEqual([]);
			const meant = failed.filter(({ error }) => String(error).startsWith('n8n ended this wait'));
			expect(meant).toHaveLength(3);
			expect(meant.map(({ details }) => (details as IDataObject).prompt)).toEqual([
				'an owl [slow 90]',
				'a fox',
				'a hare [slow 90]',
			]);
			// The columns of its own row.
			if (output === 'Failed') expect(failed).toMatchObject(items.map(({ row }) => ({ row })));
			const paid = bench.gateway.paid;
			expect(paid).toBe(3);
			bench.gateway.setFaults([]);
			turned.ms += 120_000;
			const later = await bench.run('imageWait', {}, meant);
			expect(later.output(NODE).map(({ json }) => json.prompt)).toEqual([
				'an owl [slow 90]',
				'a fox',
				'a hare [slow 90]',
			]);
			for (const item of later.output(NODE)) expect(item.binary).toHaveProperty('data');
			expect(bench.gateway.paid).toBe(paid);
		},
	);

	test('so is an image that was there before: its file belongs to another execution', async () => {
		const made = await bench.run('imageGeneration', { prompt: 'a fox', download: false });
		const [{ url }] = made.json(NODE) as [IDataObject];
		const [taskId] = await bench.submit('an owl [slow 90]');
		crashIn = 'waiting for images';
		crashes = ['queued'];
		const goOn = { onError: 'continueRegularOutput' } as const;
		const result = await runToEnd(workflow('imageWait', {}, goOn), [{ url }, { taskId }]);
		const error = expect.stringMatching(/^n8n ended this wait/);
		expect(result.json('Done')).toMatchObject([
			{ error, details: { url, charged: 'yes' } },
			{ error, details: { taskId } },
		]);
	});

	test('while it waits, the node shows the tasks as before', async () => {
		const ids = await bench.submit('a fox', 'an owl');
		const waiting = await suspended(bench, workflow('imageWait'), asItems(ids));
		expect(waiting.json(NODE)).toMatchObject(ids.map((taskId) => ({ taskId })));
		expect(waiting.json(NODE)[0]).not.toHaveProperty('error');
	});
});

describe('while it is suspended', () => {
	test.each([
		['stopped', (id: RunResult) => (id.data.resultData.error = { message: 'stopped' } as never)],
		['deleted', ({ executionId }: RunResult) => bench.host.delete(executionId)],
		['resumed by something else', ({ data }: RunResult) => delete data.waitTill],
	])('nobody is asked any more once the execution was %s', async (_, end) => {
		const ids = await bench.submit('a fox [slow 300]');
		const waiting = await suspended(bench, workflow('imageWait'), asItems(ids));
		onCheck = (check) => void (check === 3 && end(waiting));
		const result = await bench.host.resume(waiting);
		expect(result.output('Done')).toEqual([]);
		expect(bench.gateway.count('poll')).toBe(2);
	});

	test.each([
		[1, 'success'],
		[1000, 'error'],
	])('a task that was there before gets a 404 %i times: %s', async (times, end) => {
		const [taskId] = await bench.submit('a fox [slow 200]');
		bench.gateway.setFaults([{ call: 'poll', kind: 'status', status: 404, after: 1, times }]);
		const submittedAt = new Date(Date.now() - 60_000).toISOString();
		const parameters = { download: false, maxWait: 3600 };
		const result = await runToEnd(workflow('imageWait', parameters), [
			{ taskId, taskType: 'generation', submittedAt },
		]);
		expect(result.status).toBe(end);
		if (end === 'success') return expect(result.json('Done')).toMatchObject([{ taskId }]);
		expect(errorOf(result).message).toBe(`The gateway has no generation task ${taskId} (404)`);
		// Not until its deadline: after a few in a row, each also as the other kind.
		expect(bench.gateway.count('poll')).toBeLessThan(15);
	});
});

test.each(['supervise', 'keep', 'check', 'progress', 'result'])(
	'a sub-execution without what it was given returns nothing: %s',
	async (step) => {
		const result = await bench.run('imageWait', { step }, [{ taskId: 'task_1' }]);
		expect([result.error, result.json(NODE)]).toEqual([undefined, []]);
	},
);

test('n8n retries what was stopped while it was stored: nothing looks like images', async () => {
	const ids = await bench.submit('a fox [slow 300]');
	const retried = await bench.host.retry(
		await suspended(bench, workflow('imageWait'), asItems(ids)),
	);
	expect([retried.status, retried.json('Done'), retried.json(NODE)]).toEqual(['success', [], []]);
});

test.each([
	[1, 'to its own input item'],
	[2, 'to none: an expression fails rather than give the values of another item'],
])('%i images for each task are linked %s', async (n) => {
	const parameters = { prompt: '={{ $json.prompt }}', download: false, options: { n } };
	const json = workflow('imageGeneration', parameters);
	const jsonOutput = "={{ { linked: $('Start').item.json.prompt } }}";
	json.nodes.push({
		name: 'Linked',
		type: 'n8n-nodes-base.set',
		parameters: { mode: 'raw', jsonOutput, includeOtherFields: true },
	});
	json.connections.Done = { main: [[{ node: 'Linked', type: 'main', index: 0 }]] };
	const prompts = ['a fox [slow 90]', 'an owl'].map((prompt) => ({ prompt }));
	const result = await runToEnd(json, prompts);
	expect(result.json('Done')).toHaveLength(2 * n);
	if (n === 1) {
		const linked = prompts.map(({ prompt }) => ({ prompt, linked: prompt }));
		return expect(result.json('Linked')).toMatchObject(linked);
	}
	expect(result.status).toBe('error');
	expect(errorOf(result).description).toContain('n8n keeps no link of this item');
});

test('the checks use the limits of the node', async () => {
	const limits = { concurrency: 3, requestsPerSecond: 7, timeout: 20 };
	await suspended(bench, workflow('imageGeneration', { prompt: 'a fox', options: limits }), [{}]);
	const [checks] = children.filter(({ workflow: { name } }) => name?.includes('checking'));
	const { parameters } = checks!.workflow.nodes.find(
		({ parameters }) => parameters?.step === 'check',
	)!;
	expect(parameters?.options).toMatchObject(limits);
});
