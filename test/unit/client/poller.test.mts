import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { CanceledInQueue, RateLimiter } from '../../../gateway/client/rateLimiter.js';
import { errorFor } from '../../../gateway/errors/errorMessages.js';
import { isGood, type Outcome } from '../../../gateway/protocol/outcome.js';
import { planTaskQuery } from '../../../gateway/protocol/requestPlan.js';
import { GatewayError } from '../../../gateway/util/gatewayError.js';
import { Client } from '../../../gateway/client/client.js';
import { readTaskState, type TaskRef } from '../../../gateway/protocol/task.js';
import { Poller, type PollResult } from '../../../gateway/client/poller.js';
import { FakeClock } from '../fake-clock.mjs';
import {
	response,
	fault,
	fixedWindows,
	page,
	slidingWindow,
	VirtualGateway,
} from '../virtual-gateway.mjs';

const task = (taskId: string): TaskRef => ({ taskId, taskType: 'generation' });
const state = (taskId: string, status: string): PollResult => ({
	kind: 'state',
	state: readTaskState(task(taskId), { id: taskId, status }),
});
const error = new GatewayError({ message: 'cut', description: '' });
const transient = (pauseMs?: number): PollResult => ({ kind: 'transient', error, pauseMs });

type Ask = (task: TaskRef, timeLeftMs: () => number) => Promise<PollResult>;

function pollerFor(ask: Ask, intervalMs = 3000, expected?: number) {
	const clock = new FakeClock();
	const polls: Array<{ taskId: string; at: number; timeoutMs: number }> = [];
	const poller = new Poller<TaskRef>({
		clock,
		intervalMs,
		expected,
		pollOnce: async (asked, timeLeftMs) => {
			polls.push({ taskId: asked.taskId, at: clock.now(), timeoutMs: timeLeftMs() });
			return await ask(asked, timeLeftMs);
		},
	});
	const pausesMs = () => polls.slice(1).map(({ at }, index) => at - polls[index].at);
	return { clock, poller, polls, pausesMs };
}

test('a thousand tasks wait in a few sleeps, and Stop ends them all', async () => {
	const { clock, poller, polls } = pollerFor(async () => state('a', 'queued'));
	const waits = Array.from({ length: 1000 }, (_, id) => poller.wait(task(`${id}`), 600_000, 0));
	const ends = Promise.allSettled(waits);
	expect(clock.sleeping).toBeLessThan(100);
	await clock.pass(60_000);
	expect(new Set(polls.map(({ taskId }) => taskId)).size).toBe(1000);
	clock.close('stopped');
	expect(await ends).toEqual(waits.map(() => ({ status: 'rejected', reason: 'stopped' })));
	expect(clock.sleeping).toBe(0);
});

test('a response leaves the memory with its wait, although its timer stays', async () => {
	let response: WeakRef<object> | undefined;
	const { clock, poller } = pollerFor(async () => {
		const found = state('a', 'completed') as Extract<PollResult, { kind: 'state' }>;
		response = new WeakRef(found.state.response);
		return found;
	});
	const isFinished = async () => (await clock.run(poller.wait(task('a'), 600_000))).kind;
	expect(await isFinished()).toBe('finished');
	expect(clock.sleeping).toBe(1);
	// Two turns of the event loop: the first still refers to what it has awaited.
	await clock.pass(1);
	setFlagsFromString('--expose-gc');
	(runInNewContext('gc') as () => void)();
	expect(response?.deref()).toBeUndefined();
});

describe('a task', () => {
	test.each(['completed', 'Succeeded', ' SUCCESS ', 'failed', 'cancelled'])(
		'that is %j is settled by one poll',
		async (status) => {
			const { clock, poller, polls } = pollerFor(async () => state('a', status));
			const settled = await clock.run(poller.wait(task('a'), 60_000));
			expect(settled).toMatchObject({ kind: 'finished', state: { taskId: 'a' } });
			expect(polls).toHaveLength(1);
			expect(clock.now()).toBe(0);
		},
	);

	test('is waited for through every open state', async () => {
		const ways = [
			'queued',
			'pending',
			'processing',
			'in_progress',
			'running',
			'mystery',
			'success',
		];
		const { clock, poller, polls } = pollerFor(async () => state('a', ways.shift()!));
		const settled = await clock.run(poller.wait(task('a'), 600_000));
		expect(settled).toMatchObject({ kind: 'finished', state: { status: 'success' } });
		expect(polls).toHaveLength(7);
	});

	test.each([
		['at once if its age is not known', undefined, 0],
		['after its first pause', 0, 2000],
		['at the end of its first pause', 1500, 500],
		['at once if its first pause is over', 2001, 0],
		['after its first pause if the clock of who submitted it is ahead', -60_000, 2000],
		['after its first pause if its age is no number', NaN, 2000],
	])('is first polled %s', async (_name, ageMs, at) => {
		const { clock, poller, polls } = pollerFor(async () => state('a', 'completed'));
		await clock.run(poller.wait(task('a'), 60_000, ageMs));
		expect(polls.map((poll) => poll.at)).toEqual([at]);
	});

	test("that can't be polled ends its wait with the error at once", async () => {
		const { clock, poller } = pollerFor(async () => ({ kind: 'final', error }));
		const settled = await clock.run(poller.wait(task('a'), 60_000));
		expect(settled).toEqual({ kind: 'error', error });
	});

	test('of unknown age is polled at once, at any moment', async () => {
		const { clock, poller, polls } = pollerFor(async () => state('a', 'completed'));
		await clock.pass(50);
		await clock.run(poller.wait(task('a'), 60_000));
		expect(polls.map(({ at }) => at)).toEqual([50]);
	});

	test('is polled again after transient errors', async () => {
		const responses = [transient(), transient(), transient(), state('a', 'completed')];
		const { clock, poller } = pollerFor(async () => responses.shift()!);
		expect(await clock.run(poller.wait(task('a'), 60_000))).toMatchObject({ kind: 'finished' });
	});
});

describe('the pauses', () => {
	test('are two thirds of the interval, and jittered', async () => {
		const { clock, poller, pausesMs } = pollerFor(async () => state('a', 'running'));
		await clock.run(poller.wait(task('a'), 600_000));
		// The last poll does not wait for its turn.
		const pauses = pausesMs().slice(0, -1);
		expect(pauses.length).toBeGreaterThan(200);
		expect(Math.min(...pauses)).toBeGreaterThanOrEqual(2000);
		expect(Math.max(...pauses)).toBeLessThanOrEqual(2300);
		expect(new Set(pauses).size).toBeGreaterThan(1);
	});

	test('are longer the more tasks wait, or are expected, and shorter for the last few', async () => {
		const { clock, poller, polls } = pollerFor(
			async ({ taskId }) =>
				state(taskId, taskId === 'last' || clock.now() < 60_000 ? 'running' : 'completed'),
			3000,
			1000,
		);
		const others = Array.from(
			{ length: 999 },
			async (_, i) => await poller.wait(task(`${i}`), 600_000, 0),
		);
		await clock.run(Promise.all([poller.wait(task('last'), 120_000, 0), ...others]));
		const asked = polls.filter(({ taskId }) => taskId === 'last').map(({ at }) => at);
		const pauses = asked.map((at, index) => at - (asked[index - 1] ?? 0)).slice(0, -1);
		const late = asked.findIndex((at) => at > 66_000);
		expect(Math.max(...pauses)).toBeLessThanOrEqual(5000);
		expect(Math.min(...pauses.slice(0, 10))).toBeGreaterThanOrEqual(4400);
		expect(Math.max(...pauses.slice(late + 1))).toBeLessThanOrEqual(2300);
	});

	test('are longer the more tasks wait, though nobody has announced them', async () => {
		const { clock, poller, polls } = pollerFor(async ({ taskId }) =>
			state(taskId, taskId === 'short' ? 'completed' : 'running'),
		);
		const waits = Array.from({ length: 300 }, async (_, index) => [
			await poller.wait(task('short'), 20_000),
			await poller.wait(task(`${index}`), 60_000),
		]);
		await clock.run(Promise.all(waits));
		const asked = polls.filter(({ taskId }) => taskId === '7').map(({ at }) => at);
		const pauses = asked.slice(1, -1).map((at, index) => at - asked[index]);
		// At 20 s the deadlines of the finished tasks pass, which changes nothing for the others.
		expect(Math.min(...pauses)).toBeGreaterThanOrEqual(4400);
		expect(pauses.length).toBeGreaterThan(8);
	});

	test.each([
		[30, 2000],
		[100, 3000],
		[150, 4500],
		[100_000, 4500],
	])('begin for %d tasks with %d ms', async (expected, pauseMs) => {
		const { clock, poller } = pollerFor(async () => state('a', 'completed'), 3000, expected);
		await clock.run(poller.wait(task('a'), 60_000, 0));
		expect(clock.now()).toBe(pauseMs);
	});

	test('are counted from the last response', async () => {
		const { clock, poller, pausesMs } = pollerFor(async () => {
			await clock.sleep(7000);
			return state('a', 'running');
		});
		await clock.run(poller.wait(task('a'), 120_000));
		expect(Math.min(...pausesMs().slice(0, -1))).toBeGreaterThanOrEqual(9000);
	});

	test.each([0, 1, -5, NaN, 900])('are never below a second: %d', async (intervalMs) => {
		const { clock, poller, pausesMs } = pollerFor(async () => state('a', 'running'), intervalMs);
		await clock.run(poller.wait(task('a'), 20_000));
		expect(Math.min(...pausesMs())).toBeGreaterThanOrEqual(1000);
	});

	test('honour Retry-After', async () => {
		const responses = [transient(30_000), transient(500), state('a', 'completed')];
		const { clock, poller, pausesMs } = pollerFor(async () => responses.shift()!);
		await clock.run(poller.wait(task('a'), 600_000));
		expect(pausesMs()[0]).toBe(30_000);
		expect(pausesMs()[1]).toBeGreaterThanOrEqual(2000);
		expect(pausesMs()[1]).toBeLessThanOrEqual(2300);
	});
});

test('a task whose poll was refused for its rate is polled again without its pause', async () => {
	const rateLimited: PollResult = { kind: 'transient', error, rateLimited: true };
	const responses = [rateLimited, { ...rateLimited, pauseMs: 4000 }, state('a', 'completed')];
	const { clock, poller, pausesMs } = pollerFor(async () => responses.shift()!);
	await clock.run(poller.wait(task('a'), 60_000));
	expect(pausesMs()[0]).toBeGreaterThanOrEqual(1000);
	expect(pausesMs()[0]).toBeLessThanOrEqual(1200);
	expect(pausesMs()[1]).toBe(4000);
});

describe('the deadline', () => {
	test('comes after a last poll just before it', async () => {
		const { clock, poller, polls } = pollerFor(async () => state('a', 'running'));
		const settled = await clock.run(poller.wait(task('a'), 60_000));
		expect(settled).toMatchObject({
			kind: 'deadline',
			state: { status: 'running' },
		});
		expect(polls.at(-1)!.at).toBe(59_000);
		expect(clock.now()).toBe(59_000);
	});

	test('is not reached by a task that is finished at the last poll', async () => {
		const { clock, poller } = pollerFor(async () =>
			state('a', clock.now() >= 58_900 ? 'completed' : 'running'),
		);
		expect(await clock.run(poller.wait(task('a'), 60_000))).toMatchObject({ kind: 'finished' });
	});

	test('names a status that nobody knows', async () => {
		const { clock, poller } = pollerFor(async () => state('a', 'Dreaming'));
		expect(await clock.run(poller.wait(task('a'), 30_000))).toMatchObject({
			kind: 'deadline',
			state: { status: 'Dreaming', group: 'unknown' },
			error: undefined,
		});
	});

	test('keeps the last state and the fault that came after it', async () => {
		const { clock, poller } = pollerFor(async () =>
			clock.now() < 10_000 ? state('a', 'queued') : transient(),
		);
		expect(await clock.run(poller.wait(task('a'), 30_000))).toMatchObject({
			kind: 'deadline',
			state: { status: 'queued' },
			error,
		});
	});

	test('is kept while a poll hangs', async () => {
		const { clock, poller, polls } = pollerFor(async () => {
			await clock.sleep(500_000);
			return state('a', 'completed');
		});
		const settled = await clock.run(poller.wait(task('a'), 20_000));
		expect(settled).toMatchObject({ kind: 'deadline' });
		// Half a minute more for the only poll about it.
		expect(clock.now()).toBe(50_000);
		await clock.pass(600_000);
		expect(polls).toHaveLength(1);
	});

	test('a task whose polls were all refused for their rate is polled once more', async () => {
		const { clock, poller } = pollerFor(async () =>
			clock.now() < 21_000 ? { ...transient(), rateLimited: true } : state('a', 'completed'),
		);
		const settled = await clock.run(poller.wait(task('a'), 20_000));
		expect(settled.kind).toBe('finished');
		expect(clock.now()).toBeLessThan(25_000);
	});

	test('a gateway that was silent at the deadline is not waited for longer than a moment', async () => {
		const { clock, poller } = pollerFor(async (_, timeLeftMs) => {
			if (clock.now() <= 15_000) return state('a', 'running');
			await clock.sleep(timeLeftMs());
			return transient();
		});
		expect(await clock.run(poller.wait(task('a'), 20_000))).toMatchObject({ kind: 'deadline' });
		expect(clock.now()).toBe(23_000);
	});

	test('the response to a poll that had to wait for its turn is used', async () => {
		const { clock, poller } = pollerFor(async () => {
			if (clock.now() <= 15_000) return state('a', 'running');
			// Other requests were before it, and the time-out does not run while it waits.
			await clock.sleep(10_000);
			return state('a', 'completed');
		});
		expect(await clock.run(poller.wait(task('a'), 20_000))).toMatchObject({ kind: 'finished' });
		expect(clock.now()).toBeGreaterThan(23_000);
	});

	test('a poll whose turn comes after the end of its wait is not sent', async () => {
		const clock = new FakeClock();
		const sent: string[] = [];
		const limiter = new RateLimiter({ concurrency: 1, clock });
		const client = new Client({
			limiter,
			clock,
			wallClock: clock.now,
			sendOnce: async ({ path }, timeoutMs = NaN) => {
				sent.push(`${path.split('/').pop()} at ${clock.now()} for ${timeoutMs}`);
				return response(200, { status: 'running' });
			},
		});
		const poller = new Poller<TaskRef>({
			clock,
			intervalMs: 3000,
			pollOnce: async ({ taskId }, timeLeftMs) => {
				await client.attempt(planTaskQuery('generation', taskId), timeLeftMs);
				return state(taskId, 'running');
			},
		});
		// One request, like an image that does not come, has the only turn.
		const held = limiter.run(async () => await clock.sleep(45_000));
		const waits = ['early', 'late'].map(
			async (taskId, index) => await poller.wait(task(taskId), 10_000 + 20_000 * index),
		);
		const settled = await clock.run(Promise.all(waits));
		expect(settled.map(({ kind }) => kind)).toEqual(['deadline', 'deadline']);
		await clock.run(held);
		// At 40 s the first one was given up; the second one may take until 60 s.
		expect(sent).toEqual(['late at 45000 for 15000']);
	});

	test('a poll that is put too late by a process that was blocked is sent all the same', async () => {
		const clock = new FakeClock();
		const late = {
			now: clock.now,
			random: clock.random,
			sleep: async (ms: number) => await clock.sleep(ms + 7000),
		};
		const limiter = new RateLimiter({ concurrency: 1, clock });
		const sendOnce = async () => response(200, { status: 'completed' });
		const client = new Client({ limiter, clock, wallClock: clock.now, sendOnce });
		const poller = new Poller<TaskRef>({
			clock: late,
			intervalMs: 3000,
			pollOnce: async ({ taskId }, timeLeftMs) => {
				await client.attempt(planTaskQuery('generation', taskId), timeLeftMs);
				return state(taskId, 'completed');
			},
		});
		expect(await clock.run(poller.wait(task('a'), 1000))).toMatchObject({ kind: 'finished' });
	});

	test('a poll that left the queue as the deadline passed is sent once more', async () => {
		const { clock, poller, polls } = pollerFor(async () => {
			if (polls.length > 1) return state('a', 'completed');
			await clock.sleep(21_000);
			throw new CanceledInQueue();
		});
		expect(await clock.run(poller.wait(task('a'), 20_000))).toMatchObject({ kind: 'finished' });
		expect(polls.map(({ at }) => at)).toEqual([0, 21_000]);
	});

	test('a poll that leaves the queue after the end of its wait is not', async () => {
		const { clock, poller, polls } = pollerFor(async () => {
			await clock.sleep(100_000);
			throw new CanceledInQueue();
		});
		expect(await clock.run(poller.wait(task('a'), 20_000))).toMatchObject({ kind: 'deadline' });
		await clock.pass(100_000);
		expect(polls).toHaveLength(1);
	});

	test('a poll whose turn comes in the last second for a response has no time left', async () => {
		const { clock, poller } = pollerFor(async (_, timeLeftMs) => {
			await clock.sleep(49_500);
			return state('a', timeLeftMs() === 0 ? 'completed' : 'running');
		});
		expect(await clock.run(poller.wait(task('a'), 20_000))).toMatchObject({ kind: 'finished' });
	});

	test('comes without another poll after a slow response just before it', async () => {
		const { clock, poller, polls } = pollerFor(async () => {
			if (clock.now() > 15_000) await clock.sleep(19_500 - clock.now());
			return state('a', 'running');
		});
		expect(await clock.run(poller.wait(task('a'), 20_000))).toMatchObject({ kind: 'deadline' });
		expect(clock.now()).toBe(20_000);
		expect(polls.at(-1)!.at).toBeLessThan(19_000);
	});

	test('is followed by polls as far apart as Retry-After asks, while all are refused', async () => {
		const refusal: PollResult = { ...transient(7000), rateLimited: true } as PollResult;
		const { clock, poller, polls } = pollerFor(async () => refusal);
		await clock.run(poller.wait(task('a'), 20_000));
		const late = polls.map(({ at }) => at).filter((at) => at >= 20_000);
		expect(late).toEqual([20_000, 27_000, 34_000, 41_000, 48_000]);
	});

	test('no turn is waited for longer than half a minute', async () => {
		const { clock, poller } = pollerFor(async () => {
			if (clock.now() > 15_000) await clock.sleep(500_000);
			return state('a', 'running');
		});
		expect(await clock.run(poller.wait(task('a'), 20_000))).toMatchObject({ kind: 'deadline' });
		expect(clock.now()).toBe(50_000);
	});

	test('is kept although Retry-After asks for more', async () => {
		const { clock, poller, polls } = pollerFor(async () => transient(86_400_000));
		await clock.run(poller.wait(task('a'), 20_000));
		expect(polls.map(({ at }) => at)).toEqual([0, 19_000]);
	});

	test('bounds the time that a poll may take', async () => {
		const { clock, poller, polls } = pollerFor(async () => state('a', 'running'));
		await clock.run(poller.wait(task('a'), 60_000));
		expect(polls[0].timeoutMs).toBe(30_000);
		// A response may come a moment late.
		expect(polls.at(-1)!.timeoutMs).toBe(4000);
		expect(polls.every(({ at, timeoutMs }) => at + timeoutMs <= 63_000)).toBe(true);
	});

	test.each([0, -1, 1, 999, NaN])('of %d ms leaves room for one poll', async (maxWaitMs) => {
		const { clock, poller, polls } = pollerFor(async () => state('a', 'running'));
		const settled = await clock.run(poller.wait(task('a'), maxWaitMs));
		expect(settled).toMatchObject({ kind: 'deadline' });
		expect(polls).toHaveLength(1);
		expect(clock.now()).toBeLessThanOrEqual(1000);
	});

	test('that is shorter than the first pause leaves room for one poll too', async () => {
		const { clock, poller, polls } = pollerFor(async () => state('a', 'running'));
		await clock.run(poller.wait(task('a'), 2500, 0));
		expect(polls.map(({ at }) => at)).toEqual([1500]);
		expect(clock.now()).toBe(1500);
	});
});

describe('when the run is stopped', () => {
	test('all waits end at once, and no task is polled any more', async () => {
		const { clock, poller, polls } = pollerFor(async () => state('a', 'running'));
		const waits = Array.from(
			{ length: 50 },
			async (_, i) => await poller.wait(task(`${i}`), 60_000),
		);
		await clock.pass(10_500);
		const asked = polls.length;
		clock.close('stopped');
		const ends = await Promise.allSettled(waits);
		expect(new Set(ends.map((end) => end.status === 'rejected' && end.reason))).toEqual(
			new Set(['stopped']),
		);
		expect(clock.sleeping).toBe(0);
		await clock.pass(60_000);
		expect(polls).toHaveLength(asked);
	});

	test('a wait whose poll hangs ends too', async () => {
		const { clock, poller } = pollerFor(async () => await new Promise<never>(() => undefined));
		const wait = poller.wait(task('a'), 60_000);
		await clock.pass(7000);
		clock.close('stopped');
		await expect(wait).rejects.toBe('stopped');
	});

	test('a wait that begins afterwards ends too', async () => {
		const { clock, poller } = pollerFor(async () => state('a', 'running'));
		const first = poller.wait(task('a'), 60_000);
		await clock.pass(1000);
		clock.close('stopped');
		await expect(first).rejects.toBe('stopped');
		await expect(clock.run(poller.wait(task('b'), 60_000, 0))).rejects.toBe('stopped');
	});

	test('as the poll finds out, the wait ends, and is not open any more', async () => {
		const { clock, poller } = pollerFor(async () => await Promise.reject(new Error('stopped')));
		await expect(clock.run(poller.wait(task('a'), 60_000))).rejects.toThrow('stopped');
	});
});

describe('many tasks', () => {
	test('each get their own response', async () => {
		const { clock, poller } = pollerFor(async ({ taskId }) =>
			state(taskId, clock.now() > Number(taskId) * 700 ? 'completed' : 'running'),
		);
		const waits = Array.from({ length: 100 }, async (_, i) => {
			const settled = await poller.wait(task(`${i}`), 600_000);
			return settled.kind === 'finished' ? settled.state.taskId : settled.kind;
		});
		const order = await clock.run(Promise.all(waits));
		expect(order).toEqual(Array.from({ length: 100 }, (_, i) => `${i}`));
	});

	test('may come while others are waited for, and have their own deadline', async () => {
		const { clock, poller } = pollerFor(async ({ taskId }) => state(taskId, 'running'));
		const late = poller.wait(task('late'), 100_000);
		await clock.pass(20_000);
		const early = poller.wait(task('early'), 10_000);
		await expect(clock.run(early)).resolves.toMatchObject({ kind: 'deadline' });
		expect(clock.now()).toBeLessThanOrEqual(30_000);
		await expect(clock.run(late)).resolves.toMatchObject({ kind: 'deadline' });
		expect(clock.now()).toBeGreaterThan(98_000);
	});

	/** A thousand tasks through limiter and client, on virtual time. */
	async function waitForThousand(
		lifeMs: [number, number],
		gatewayFor: (clock: FakeClock) => VirtualGateway,
		answerTo: (clock: FakeClock, finished: boolean) => Outcome,
	) {
		const clock = new FakeClock(3);
		const gateway = gatewayFor(clock);
		const finishedAt = Array.from(
			{ length: 1000 },
			() => lifeMs[0] + clock.random() * (lifeMs[1] - lifeMs[0]),
		);
		const client = new Client({
			limiter: new RateLimiter({ concurrency: 10, clock }),
			clock,
			wallClock: clock.now,
			sendOnce: async (plan) => {
				const index = Number(plan.path.split('/').pop());
				return await gateway.receive(() => answerTo(clock, clock.now() >= finishedAt[index]));
			},
		});
		const poller = new Poller<TaskRef>({
			clock,
			intervalMs: 3000,
			pollOnce: async (asked, timeLeftMs) => {
				const plan = planTaskQuery('generation', asked.taskId);
				const outcome = await client.attempt(plan, timeLeftMs);
				return isGood(outcome)
					? { kind: 'state', state: readTaskState(asked, outcome.json) }
					: { kind: 'transient', error: errorFor(plan, outcome) };
			},
		});
		const settled = await clock.run(
			Promise.all(finishedAt.map(async (_, i) => await poller.wait(task(`${i}`), 600_000))),
		);
		const kinds = settled.filter(({ kind }) => kind === 'finished').length;
		return { finished: kinds, lastMs: clock.now(), idealMs: Math.max(...finishedAt), gateway };
	}

	const status = (finished: boolean) =>
		response(200, { status: finished ? 'completed' : 'running' });

	test.each([
		['whole seconds', () => fixedWindows(50)],
		['any second', () => slidingWindow(50)],
	])(
		'come back soon after the last one is finished, at 50 requests in %s',
		async (_name, limit) => {
			const { finished, lastMs, idealMs, gateway } = await waitForThousand(
				[5000, 60_000],
				(clock) => new VirtualGateway(clock, limit(), () => 20 + 40 * clock.random()),
				(_clock, isFinished) => status(isFinished),
			);
			expect(finished).toBe(1000);
			expect(lastMs).toBeLessThan(idealMs * 1.1);
			expect(gateway.refused).toBeLessThan(gateway.requests * 0.1);
		},
	);

	test('all finish although a third of the polls fail', async () => {
		const faults: Outcome[] = [
			response(429),
			response(429, {}, { 'retry-after': '1' }),
			response(500),
			page(502, '<html>Bad Gateway'),
			response(503, {}, { 'retry-after': 'soon' }),
			response(504),
			response(408),
			page(200, ''),
			page(200, '{"status": "comp'),
			page(200, '<html>'),
			fault('reset'),
			fault('timeout'),
			fault('refused'),
			fault('notFound'),
			fault('other'),
		];
		const { finished, lastMs } = await waitForThousand(
			[5000, 60_000],
			(clock) =>
				new VirtualGateway(
					clock,
					() => true,
					() => 20 + 40 * clock.random(),
				),
			(clock, isFinished) =>
				clock.random() < 1 / 3
					? faults[Math.floor(clock.random() * faults.length)]
					: status(isFinished),
		);
		expect(finished).toBe(1000);
		expect(lastMs).toBeLessThan(300_000);
	});
});
