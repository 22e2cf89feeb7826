import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { CanceledInQueue } from '../../../gateway/pace/rateLimiter.js';
import { GatewayError } from '../../../gateway/protocol/gatewayError.js';
import { readTaskState, type Task } from '../../../gateway/responses/task.js';
import { Poller } from '../../../gateway/wait/poller.js';
import type { OpenResult } from '../../../gateway/wait/pollTask.js';
import { FakeClock } from '../fake-clock.mjs';

const task = (taskId: string): Task => ({ taskId, taskType: 'generation' });
const state = (status: string, taskId = 'a'): OpenResult => ({
	kind: 'state',
	state: readTaskState(task(taskId), { id: taskId, status }),
});
const error = new GatewayError({ message: 'cut', description: '' });
const transient = (pauseMs?: number): OpenResult => ({ kind: 'transient', error, pauseMs });
const refusal = (pauseMs?: number): OpenResult => ({
	kind: 'transient',
	error,
	pauseMs,
	rateLimited: true,
});

interface Poll {
	taskId: string;
	at: number;
	/** How many polls there were, this one included. */
	count: number;
	clock: FakeClock;
	timeLeftMs: () => number;
}

function pollerFor(ask: (poll: Poll) => Promise<OpenResult>, intervalMs = 3000) {
	const clock = new FakeClock();
	const polls: Array<{ taskId: string; at: number; timeoutMs: number }> = [];
	const poller = new Poller({
		clock,
		intervalMs,
		pollOnce: async ({ taskId }, timeLeftMs) => {
			const at = clock.now();
			polls.push({ taskId, at, timeoutMs: timeLeftMs() });
			return await ask({ taskId, at, count: polls.length, clock, timeLeftMs });
		},
	});
	const wait = async (maxWaitMs: number, ageMs?: number) =>
		await clock.run(poller.wait(task('a'), maxWaitMs, ageMs));
	const pausesMs = () => polls.slice(1).map(({ at }, index) => at - polls[index].at);
	return { clock, poller, polls, wait, pausesMs };
}

test('a few open tasks are polled as a few, once the others have ended and nothing is being paid for', async () => {
	const clock = new FakeClock();
	const polledAt: number[] = [];
	let paying = 300;
	const pollOnce = async ({ taskId }: Task): Promise<OpenResult> => {
		if (taskId !== 'open') return state('completed', taskId);
		polledAt.push(clock.now());
		if (polledAt.length === 4) paying = 0;
		return state('queued', taskId);
	};
	const coming = (begun: number) => 300 - begun + paying;
	const poller = new Poller({ clock, intervalMs: 3000, coming, pollOnce });
	for (let index = 0; index < 299; index += 1) {
		await clock.run(poller.wait(task(`t${index}`), 60_000));
	}
	await clock.run(poller.wait(task('open'), 60_000));
	const pauses = polledAt.slice(1).map((at, index) => at - polledAt[index]!);
	expect(Math.min(...pauses.slice(0, 3))).toBeGreaterThan(4000);
	expect(Math.max(...pauses.slice(3, -1))).toBeLessThan(2400);
});

test('a response leaves the memory with its wait, although its timer stays', async () => {
	let response: WeakRef<object> | undefined;
	const { clock, wait } = pollerFor(async () => {
		const found = state('completed') as Extract<OpenResult, { kind: 'state' }>;
		response = new WeakRef(found.state.response);
		return found;
	});
	const groupAtEnd = async () => (await wait(600_000)).state?.group;
	expect(await groupAtEnd()).toBe('success');
	expect(clock.sleeping).toBe(1);
	// Two turns of the event loop: the first still refers to what it has awaited.
	await clock.pass(1);
	setFlagsFromString('--expose-gc');
	(runInNewContext('gc') as () => void)();
	expect(response?.deref()).toBeUndefined();
});

describe('a task', () => {
	test('is waited for through every open state and fault', async () => {
		const ways = [
			...['queued', 'pending', 'processing', 'in_progress', 'running', 'mystery'].map((status) =>
				state(status),
			),
			...[transient(), transient(), state('success')],
		];
		const { wait, polls } = pollerFor(async () => ways.shift()!);
		expect(await wait(600_000)).toMatchObject({ state: { status: 'success' } });
		expect(polls).toHaveLength(9);
	});

	test.each([
		['at once if its age is not known', undefined, 50],
		['after its first pause', 0, 1100],
		['at once if its first pause is over', 1001, 50],
		['after its first pause if the clock of who submitted it is ahead', -60_000, 1100],
	])('is first polled %s', async (_name, ageMs, at) => {
		const { clock, wait, polls } = pollerFor(async () => state('completed'));
		await clock.pass(50);
		await wait(60_000, ageMs);
		expect(polls.map((poll) => poll.at)).toEqual([at]);
	});
});

test("a task that can't be polled ends its wait with the error at once", async () => {
	const { wait } = pollerFor(async () => await Promise.reject(error));
	await expect(wait(60_000)).rejects.toBe(error);
});

describe('the pauses', () => {
	test.each([
		['are two thirds of the interval, and jittered', 0, 2000, 2300],
		['are counted from the last response', 7000, 9000, 9300],
	])('%s', async (_name, latencyMs, least, most) => {
		const { wait, pausesMs } = pollerFor(async ({ clock }) => {
			await clock.sleep(latencyMs);
			return state('running');
		});
		await wait(600_000);
		// The last poll does not wait for its turn.
		const pauses = pausesMs().slice(0, -1);
		expect(Math.min(...pauses)).toBeGreaterThanOrEqual(least);
		expect(Math.max(...pauses)).toBeLessThanOrEqual(most);
		expect(new Set(pauses).size).toBeGreaterThan(1);
	});

	test('are never below a second', async () => {
		const { wait, pausesMs } = pollerFor(async () => state('running'), NaN);
		await wait(20_000);
		expect(Math.min(...pausesMs())).toBeGreaterThanOrEqual(1000);
	});

	test('are longer the more tasks wait, and shorter for the last few', async () => {
		const { clock, poller, polls } = pollerFor(async ({ taskId, at }) =>
			state(taskId === 'last' || at < 30_000 ? 'running' : 'completed', taskId),
		);
		const names = [...Array.from({ length: 299 }, (_, index) => `${index}`), 'last'];
		const waits = names.map(async (name) => await poller.wait(task(name), 60_000, 0));
		await clock.run(Promise.all(waits));
		const asked = polls.filter(({ taskId }) => taskId === 'last').map(({ at }) => at);
		const pauses = asked.map((at, index) => at - (asked[index - 1] ?? 0)).slice(0, -1);
		const late = asked.findIndex((at) => at > 36_000);
		expect(Math.max(...pauses)).toBeLessThanOrEqual(5000);
		expect(Math.min(...pauses.slice(0, 5))).toBeGreaterThanOrEqual(4400);
		expect(Math.max(...pauses.slice(late + 1))).toBeLessThanOrEqual(2300);
	});

	test.each<[string, OpenResult, number, number]>([
		['are as long as Retry-After asks', transient(30_000), 30_000, 30_000],
		['are short after a refusal for the rate', refusal(), 1000, 1200],
		['are as long as such a refusal asks', refusal(4000), 4000, 4000],
	])('%s', async (_name, result, least, most) => {
		const { wait, pausesMs } = pollerFor(async ({ count }) =>
			count === 1 ? result : state('completed'),
		);
		await wait(600_000);
		expect(pausesMs()[0]).toBeGreaterThanOrEqual(least);
		expect(pausesMs()[0]).toBeLessThanOrEqual(most);
	});
});

describe('the deadline', () => {
	const running = state('running');
	const completed = state('completed');
	const lateAfter = async ({ clock }: Poll, ms: number, result: OpenResult) => {
		await clock.sleep(ms);
		return result;
	};
	const canceled = async ({ clock }: Poll, ms: number) => {
		await clock.sleep(ms);
		throw new CanceledInQueue();
	};

	/** After 20 s; when the wait ends, and when the last of its polls are sent. */
	test.each<[string, (poll: Poll) => Promise<OpenResult>, string, [number, number], number[]]>([
		['comes after a last poll just before it', async () => running, 'open', [19_000, 19_000], [19_000]], // prettier-ignore
		['comes although Retry-After asks for more', async () => transient(86_400_000), 'open', [19_000, 19_000], [0, 19_000]], // prettier-ignore
		['comes half a minute later while the only poll hangs', (poll) => lateAfter(poll, 500_000, completed), 'open', [50_000, 50_000], [0]], // prettier-ignore
		['comes a moment later for a silent gateway', async (poll) => (poll.at > 15_000 ? lateAfter(poll, poll.timeLeftMs(), transient()) : running), 'open', [23_000, 23_000], []], // prettier-ignore
		['waits for a poll that had to wait for its turn', async (poll) => (poll.at > 15_000 ? lateAfter(poll, 10_000, completed) : running), 'finished', [23_001, 30_000], []], // prettier-ignore
		['waits for polls as far apart as refusals ask', async () => refusal(7000), 'open', [50_000, 50_000], [20_000, 27_000, 34_000, 41_000, 48_000]], // prettier-ignore
		['waits for another poll if one left the queue then', async (poll) => (poll.count > 1 ? completed : canceled(poll, 21_000)), 'finished', [21_000, 21_000], [0, 21_000]], // prettier-ignore
	])('%s', async (_name, ask, kind, [least, most], last) => {
		const { clock, wait, polls } = pollerFor(ask);
		const { state } = await wait(20_000);
		expect(state?.group === 'success' ? 'finished' : 'open').toBe(kind);
		expect(clock.now()).toBeGreaterThanOrEqual(least);
		expect(clock.now()).toBeLessThanOrEqual(most);
		await clock.pass(600_000);
		expect(polls.slice(polls.length - last.length).map(({ at }) => at)).toEqual(last);
	});

	test.each([
		[45_000, 5000],
		[49_500, 0],
	])('leaves a poll whose turn comes at %d ms a time of %d ms', async (turnAt, timeMs) => {
		const { wait } = pollerFor(async ({ clock, timeLeftMs }) => {
			await clock.sleep(turnAt);
			return timeLeftMs() === timeMs ? completed : running;
		});
		expect(await wait(20_000)).toMatchObject({ state: { group: 'success' } });
	});
});

test('a thousand tasks wait in a few sleeps; after a Stop they end at once, and are not polled any more', async () => {
	const { clock, poller, polls } = pollerFor(async () => state('queued'));
	const waits = Array.from({ length: 1000 }, (_, id) => poller.wait(task(`${id}`), 600_000, 0));
	const ends = Promise.allSettled(waits);
	expect(clock.sleeping).toBeLessThan(100);
	await clock.pass(20_000);
	expect(new Set(polls.map(({ taskId }) => taskId)).size).toBe(1000);
	const asked = polls.length;
	clock.close('stopped');
	expect(await ends).toEqual(waits.map(() => ({ status: 'rejected', reason: 'stopped' })));
	expect(clock.sleeping).toBe(0);
	await clock.pass(60_000);
	expect(polls).toHaveLength(asked);
});
