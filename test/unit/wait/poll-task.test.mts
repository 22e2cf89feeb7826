/** What one poll makes of a response: the task's own state or end, or a fault that may pass. */
import { pollTask } from '../../../gateway/wait/pollTask.js';
import { TasksOfRun } from '../../../gateway/wait/taskQueries.js';
import { FakeClock } from '../fake-clock.mjs';
import { response } from '../virtual-gateway.mjs';

const OTHER = 'task_of_another_row';

/** Polls a task at a gateway that gives the same response everywhere. */
async function poll(json: object, httpCode = 200) {
	const clock = new FakeClock();
	const hints = new Set<string>();
	const tasks = new TasksOfRun(clock);
	tasks.add({ taskId: OTHER });
	const task = { taskId: 'task_0123456789', taskType: 'edit' as const, submittedAtMs: -60_000 };
	const account = { baseUrl: 'https://gateway.example' };
	const result = await pollTask(
		{ account, clock, hints },
		task,
		tasks,
		async () => await Promise.resolve(response(httpCode, json)),
	);
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
