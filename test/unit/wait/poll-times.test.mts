import { Poller } from '../../../gateway/wait/poller.js';
import type { OpenResult } from '../../../gateway/wait/pollTask.js';
import { readTaskState } from '../../../gateway/responses/task.js';
import { FakeClock } from '../fake-clock.mjs';

type Draw = (random: () => number) => number;

const normal = (random: () => number): number =>
	Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const logNormal =
	(medianMs: number, sigma: number): Draw =>
	(random) =>
		medianMs * Math.exp(sigma * normal(random));
const between =
	(leastMs: number, mostMs: number): Draw =>
	(random) =>
		leastMs + (mostMs - leastMs) * random();

const mean = (values: number[]): number =>
	values.reduce((sum, value) => sum + value, 0) / values.length;

interface Plan {
	/** How long a task takes, in milliseconds. */
	draw: Draw;
	rounds?: number;
	/** Tasks that are submitted together in each round. */
	size?: number;
	intervalMs?: number;
	/** The age at which the wait for a task begins, and what the poller is told of it. */
	age?: { trueMs: number; toldMs?: number };
	/** Without it, pauses aren't extended. */
	seed?: number;
	latencyMs?: number;
}

/** Rounds of tasks on virtual time. */
async function run(plan: Plan) {
	const { draw, rounds = 1, size = 1, intervalMs = 3000, seed, latencyMs = 20 } = plan;
	const { age: { trueMs, toldMs = trueMs } = { trueMs: 0 } } = plan;
	const clock = new FakeClock(seed);
	const { random } = new FakeClock(8);
	if (seed === undefined) clock.random = () => 0;
	const delays: number[] = [];
	const polls: number[] = [];
	/** The ages at which tasks were polled, and the pauses after their responses. */
	const ages: number[] = [];
	const pauses: number[] = [];
	for (let round = 0; round < rounds; round += 1) {
		const bornAt = clock.now();
		await clock.pass(trueMs);
		const tasks = Array.from({ length: size }, (_, index) => ({
			taskId: `${index}`,
			taskType: 'generation' as const,
			lastsMs: draw(random),
			polls: 0,
			respondedAt: bornAt,
		}));
		const poller = new Poller({
			clock,
			intervalMs,
			coming: (begun) => size - begun,
			pollOnce: async (polled): Promise<OpenResult> => {
				const task = polled as (typeof tasks)[number];
				task.polls += 1;
				ages.push(clock.now() - bornAt);
				pauses.push(clock.now() - task.respondedAt);
				await clock.sleep(latencyMs / 2);
				const lateMs = clock.now() - bornAt - task.lastsMs;
				await clock.sleep(latencyMs / 2);
				task.respondedAt = clock.now();
				if (lateMs >= 0) delays.push(lateMs);
				const json = { id: task.taskId, status: lateMs >= 0 ? 'completed' : 'queued' };
				return { kind: 'state', state: readTaskState(task, json) };
			},
		});
		const waits = tasks.map(async (task) => await poller.wait(task, 3_600_000, toldMs));
		await clock.run(Promise.all(waits));
		polls.push(...tasks.map((task) => task.polls));
		await clock.pass(1000 + 500 * random());
	}
	return { delays, polls, ages, pauses };
}

const ALONE = [1, 2, 3, 4, 5, 6.3, 7.9, 9.9, 11.9, 13.9];

describe('an open task is polled at these ages, in seconds:', () => {
	test.each<[string, Partial<Plan>, number[]]>([
		['alone', {}, ALONE],
		['one of 20', { size: 20 }, ALONE],
		['one of 30', { size: 30 }, [1.5, 3, 4.5, 6, 7.5, 9.4, 11.4, 13.4]],
		['one of 40', { size: 40 }, [2, 4, 6, 8, 10, 12]],
		['one of 100', { size: 100 }, [3, 5, 7, 9, 11, 13]],
		['one of 300', { size: 300 }, [4.5, 9, 13.5]],
		['at an interval of 1 s', { intervalMs: 1000 }, [1, 2, 3, 4]],
		[
			'at an interval of 12 s',
			{ intervalMs: 12_000 },
			[4, 8, 12, 16, 20, 25, 31.3, 39.2, 47.2, 55.2],
		],
		[
			'one of 30 at an interval of 12 s',
			{ intervalMs: 12_000, size: 30 },
			[6, 12, 18, 24, 30, 37.5, 45.5, 53.5],
		],
		['waited for when it is older', { age: { trueMs: 4500 } }, [4.5, 5.7, 7.2, 9, 11, 13]],
		['of unknown age', { age: { trueMs: 0, toldMs: Infinity } }, [0, 2, 4, 6, 8, 10, 12]],
		['from a computer whose clock is ahead', { age: { trueMs: 0, toldMs: -60_000 } }, ALONE],
		['with an age that is no number', { age: { trueMs: 0, toldMs: NaN } }, ALONE],
	])('%s', async (_name, plan, expected) => {
		const lastsMs = 4000 * ((plan.intervalMs ?? 3000) / 1000);
		const { ages } = await run({ draw: () => lastsMs, latencyMs: 0, ...plan });
		expect([...new Set(ages)].map((age) => age / 1000)).toEqual(expected);
	});
});

test.each<[string, Draw, number, number, number]>([
	['one of 3 s', () => 3000, 1, 0.5, 3],
	['one of 2 to 8 s', between(2000, 8000), 1, 0.8, 5],
	['one of 3 s or 9 s', (random) => (random() < 0.5 ? 3000 : 9000), 1, 0.5, 5],
	['one of no usual length', (random) => -10_000 * Math.log(1 - random()), 1, 1.1, 7],
	['one of about 20 s', logNormal(20_000, 0.25), 1, 1.2, 13],
	['one of about 60 s', logNormal(60_000, 0.25), 1, 1.2, 32],
	['twenty of 3 s', () => 3000, 20, 0.5, 3],
	['twenty of 2 to 8 s', between(2000, 8000), 20, 0.8, 5],
	['a hundred of 3 s', () => 3000, 100, 0.5, 1],
	['a hundred of 2 to 8 s', between(2000, 8000), 100, 1.2, 2.5],
	['a hundred of about 20 s', logNormal(20_000, 0.25), 100, 1.2, 10],
])('%s: found soon, by few polls', async (_name, draw, size, lateS, most) => {
	const rounds = size === 1 ? 80 : 5;
	const { delays, polls } = await run({ draw, size, rounds, seed: 7 });
	expect(mean(delays) / 1000).toBeLessThan(lateS);
	expect(mean(polls)).toBeLessThanOrEqual(most);
});

test.each([
	[3000, 1],
	[3000, 300],
	[10_000, 1],
	[10_000, 66],
])('pauses lie in the range of an interval of %d ms, for %d tasks', async (intervalMs, size) => {
	const draw = logNormal(60_000, 1);
	const { pauses } = await run({ draw, size, rounds: 300 / size, intervalMs, seed: 7 });
	expect(Math.min(...pauses)).toBeGreaterThanOrEqual(Math.max(1000, intervalMs / 3));
	expect(Math.max(...pauses)).toBeLessThanOrEqual((5 / 3) * intervalMs);
});

test('tasks of any number cause no more requests than they do when they are older', async () => {
	for (const size of [1, 10, 30, 60, 100, 150]) {
		const { ages } = await run({ draw: () => 60_000, size, intervalMs: 12_000, seed: 7 });
		// In the first minute, at most 150 in each interval.
		expect(ages.filter((age) => age < 60_000).length).toBeLessThanOrEqual((150 * 60) / 12);
	}
});
