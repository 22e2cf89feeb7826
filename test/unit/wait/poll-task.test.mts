/** What one poll makes of a response: the task's own state or end, or a fault that may pass. */
import { pollTask } from '../../../gateway/wait/pollTask.js';
import { TasksOfRun } from '../../../gateway/wait/taskQueries.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import { FakeClock } from '../fake-clock.mjs';
import { response } from '../virtual-gateway.mjs';

type Polled = Parameters<typeof pollTask>[1];

/** A run that polls tasks at a gateway with these responses. */
function openRun(responseAt: (path: string) => Outcome) {
	const clock = new FakeClock();
	const tasks = new TasksOfRun();
	const paths: string[] = [];
	const account = { baseUrl: 'https://gateway.example', key: 'sk-0123456789' };
	const context = { account, clock, hints: new Set<string>() };
	const poll = async (task: Polled) => {
		tasks.add({ taskId: task.taskId });
		return await pollTask(context, task, tasks, async ({ path }) => {
			paths.push(path);
			return await Promise.resolve(responseAt(path));
		});
	};
	return { tasks, paths, poll };
}

const OTHER = 'task_of_another_row';

/** Polls a task at a gateway that gives the same response everywhere. */
async function poll(json: object, httpCode = 200) {
	const run = openRun(() => response(httpCode, json));
	run.tasks.add({ taskId: OTHER });
	const task = { taskId: 'task_0123456789', taskType: 'edit' as const, submittedAtMs: -60_000 };
	const result = await run.poll(task);
	const reason = result.kind === 'state' ? result.state.reason : result.error.message;
	const group = result.kind === 'state' ? result.state.group : undefined;
	return { kind: result.kind, group, reason };
}

const NAMED = 'task_0123456789';
const AT = `https://gateway.example/v1/images/edits/${NAMED}`;

test.each<[string, object]>([
	['by a request ID', { status: 'ERROR', request_id: NAMED, error: 'no face found' }],
	['by its address', { status: 'error', url: AT, message: 'no face found' }],
	['deep inside', { status: 'failed', meta: { of: [{ job: NAMED }] }, error: 'no face found' }],
	['with a code inside', { status: 'error', code: 422, request_id: NAMED, error: 'no face found' }],
])('an error that names the task is its end: %s', async (_, json) => {
	expect(await poll(json)).toEqual({
		kind: 'state',
		group: 'unsuccessful',
		reason: 'no face found',
	});
});

test.each<[string, object, string]>([
	['that names no task', { status: 'ERROR', error: 'database away' }, 'transient'],
	['with a code that may pass', { status: 'error', code: 503, request_id: NAMED }, 'transient'],
	['with a code that cannot pass', { code: 422, message: 'no such size' }, 'final'],
	['about another task of the run', { id: OTHER, status: 'failed' }, 'transient'],
])('an error %s is not: %j', async (_, json, kind) => {
	expect((await poll(json)).kind).toBe(kind);
});

describe('a run in which one task was found', () => {
	const UNKNOWN = response(404, { error: { message: 'no such task' } });
	const DONE = response(200, { status: 'completed', data: [{ url: 'https://h.example/x' }] });
	const at = (folder: string) => (path: string) =>
		path.startsWith(`${folder}/`) && !path.endsWith('/later') ? DONE : UNKNOWN;

	test.each<[Polled['taskType'], string, number]>([
		['generation', '/v1/images/generations', 1],
		['generation', '/v1/images/tasks', 2],
		['edit', '/v1/images/edits', 1],
		['edit', '/v1/tasks', 3],
		[undefined, '/v1/images/tasks', 3],
	])('of kind %s below %s polls the next one there', async (taskType, folder, first) => {
		const run = openRun(at(folder));
		for (const taskId of ['t1', 't2', 't3']) {
			expect((await run.poll({ taskId, taskType })).kind).toBe('state');
		}
		expect(run.paths.slice(first - 1)).toEqual(['t1', 't2', 't3'].map((id) => `${folder}/${id}`));
	});

	test.each([
		['/v1/images/edits', ['/v1/images/edits/later']],
		['/v1/images/tasks', ['/v1/images/tasks/later', '/v1/images/edits/later']],
	])('below %s looks there for one that is not visible yet', async (folder, expected) => {
		const run = openRun(at(folder));
		await run.poll({ taskId: 't1', taskType: 'edit' });
		run.paths.length = 0;
		const later = { taskId: 'later', taskType: 'edit', submittedAtMs: 0 } as const;
		expect(await run.poll(later)).toMatchObject({ kind: 'transient', soon: true });
		expect(run.paths).toEqual(expected);
	});
});

test('a result that is refused leaves the response of its task', async () => {
	const body = { id: NAMED, status: 'completed', response_url: '/v1/results/7' };
	const run = openRun((path) =>
		path === body.response_url ? response(400, { error: 'no' }) : response(200, body),
	);
	const result = await run.poll({ taskId: NAMED, taskType: 'edit', submittedAtMs: -60_000 });
	expect(run.paths).toHaveLength(2);
	expect(JSON.stringify(result)).toContain('/v1/results/7');
});
