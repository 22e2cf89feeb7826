/** One check of a stored wait: it ends with the first result about the task, and not with a refusal. */
import { TasksOfRun } from '../../../gateway/wait/taskQueries.js';
import { TaskWaiter } from '../../../gateway/wait/taskWaiter.js';
import { FakeClock } from '../fake-clock.mjs';
import { response } from '../virtual-gateway.mjs';

/** Checks a task at a gateway that always responds so. @returns the number of requests, and the time */
async function check(httpCode: number, json: object) {
	const clock = new FakeClock();
	let polls = 0;
	const attempt = async () => {
		polls += 1;
		await clock.sleep(20);
		return response(httpCode, json);
	};
	const context = {
		account: { baseUrl: 'https://gateway.example', key: 'sk-0123456789' },
		clock,
		client: { attempt, pausesInARow: 0 },
		limits: { timeoutMs: 60_000 },
		onProgress: () => undefined,
		hints: new Set<string>(),
	};
	const waiter = new TaskWaiter(context, { intervalMs: 3000 }, new TasksOfRun());
	const task = { taskId: 'task_0123456789', taskType: 'generation' as const };
	const wait = { task, maxWaitMs: 600_000, deadlineAt: Date.now() + 600_000 };
	const end = await clock.run(waiter.wait(wait, { once: true }));
	return { kind: end.kind, polls, seconds: Math.round(clock.now() / 1000) };
}

test.each<[string, number, object, object]>([
	['the task is open', 200, { status: 'running' }, { polls: 1, seconds: 0 }],
	['the gateway is away', 503, {}, { polls: 1, seconds: 0 }],
	['the rate is limited', 429, {}, { seconds: 35 }],
])('%s', async (_, httpCode, json, expected) => {
	expect(await check(httpCode, json)).toMatchObject({ kind: 'open', ...expected });
});
