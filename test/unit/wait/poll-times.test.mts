import { Durations } from '../../../gateway/wait/pollTimes.js';
import { Poller, type PollResult } from '../../../gateway/wait/poller.js';
import { readTaskState } from '../../../gateway/responses/task.js';
import { FakeClock } from '../fake-clock.mjs';

type Draw = (random: () => number, round: number) => number;

const normal = (random: () => number): number =>
	Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const logNormal =
	(medianMs: number, sigma: number): Draw =>
	(random) =>
		medianMs * Math.exp(sigma * normal(random));

const mean = (values: number[]): number =>
	values.reduce((sum, value) => sum + value, 0) / values.length;
const median = (values: number[]): number =>
	[...values].sort((one, other) => one - other)[values.length >> 1];

interface Plan {
	/** How long a task takes, in milliseconds. */
	draw: Draw;
	rounds: number;
	/** Tasks that are submitted together in each round. */
	size?: number;
	/** The first round that is counted. */
	from?: number;
	durations?: Durations;
	intervalMs?: number;
	seed?: number;
	/** The time between two rounds; by default, a random one. */
	gapMs?: number;
	/** The age at which the wait for a task begins, and what the poller is told of it. */
	age?: { trueMs: number; toldMs?: number };
}

/** Rounds of tasks on virtual time, with 20 ms of latency. */
async function run(plan: Plan) {
	const { draw, rounds, size = 1, from = 0, durations, intervalMs = 3000 } = plan;
	const { seed = 7, gapMs, age: { trueMs, toldMs = trueMs } = { trueMs: 0 } } = plan;
	const clock = new FakeClock(seed);
	const { random } = new FakeClock(seed + 1);
	const delays: number[] = [];
	const polls: number[] = [];
	/** The ages at which a task was polled for the first time, and the pauses after that. */
	const firsts: number[] = [];
	const pauses: number[] = [];
	for (let round = 0; round < rounds; round += 1) {
		const bornAt = clock.now();
		await clock.pass(trueMs);
		const tasks = Array.from({ length: size }, (_, index) => ({
			taskId: `${index}`,
			taskType: 'generation' as const,
			lastsMs: draw(random, round),
			polls: 0,
			respondedAt: bornAt,
		}));
		const poller = new Poller<(typeof tasks)[number]>({
			clock,
			intervalMs,
			announced: size,
			pollOnce: async (task): Promise<PollResult> => {
				task.polls += 1;
				if (round >= from) {
					(task.polls === 1 ? firsts : pauses).push(clock.now() - task.respondedAt);
				}
				await clock.sleep(10);
				const lateMs = clock.now() - bornAt - task.lastsMs;
				await clock.sleep(10);
				task.respondedAt = clock.now();
				if (lateMs >= 0 && round >= from) delays.push(lateMs);
				const json = { id: task.taskId, status: lateMs >= 0 ? 'completed' : 'queued' };
				return { kind: 'state', state: readTaskState(task, json) };
			},
		});
		const waits = tasks.map(async (task) => await poller.wait(task, 3_600_000, toldMs, durations));
		await clock.run(Promise.all(waits));
		if (round >= from) polls.push(...tasks.map((task) => task.polls));
		await clock.pass(gapMs ?? 1000 + 500 * random());
	}
	return { delays, polls, firsts, pauses };
}

const learned = async (plan: Plan) => await run({ durations: new Durations(), ...plan });

test('tasks of one length are found soon, one or forty', async () => {
	for (const [size, rounds, from] of [
		[1, 60, 20],
		[40, 7, 3],
	] as const) {
		const { delays, polls } = await learned({ draw: () => 3000, size, rounds, from });
		expect(mean(delays)).toBeLessThan(500);
		expect(mean(polls)).toBeLessThan(1.2);
	}
});

test('a task whose wait begins later is polled at the same age', async () => {
	const age = { trueMs: 4000 };
	const { firsts } = await learned({ draw: () => 9000, rounds: 40, from: 30, age });
	// Without its age it would be polled at once.
	expect(Math.min(...firsts)).toBeGreaterThan(6000);
});

test('one task is enough to find the second sooner, and one batch the next one', async () => {
	const { delays, polls } = await learned({ draw: () => 3000, rounds: 2, from: 1 });
	expect(delays[0]).toBeLessThan(400);
	expect(polls).toEqual([1]);
	const draw: Draw = (random) => (random() < 0.5 ? 3000 : 9000);
	const batch = await learned({ draw, size: 40, rounds: 2, from: 1 });
	expect(median(batch.delays)).toBeLessThan(600);
});

test.each<[string, Draw, number, number]>([
	['spread around 20 s', logNormal(20_000, 0.25), 1300, 6],
	['of 3 s or 9 s', (random) => (random() < 0.5 ? 3000 : 9000), 500, 2.3],
	['of no usual length', (random) => -10_000 * Math.log(1 - random()), 1550, 5],
])('tasks %s are found early, by few polls', async (_name, draw, lateMs, most) => {
	for (const [size, rounds, from] of [
		[1, 80, 40],
		[40, 9, 4],
	] as const) {
		const { delays, polls } = await learned({ draw, size, rounds, from });
		expect(mean(delays)).toBeLessThan(lateMs);
		expect(mean(polls)).toBeLessThan(most);
	}
});

test.each([
	[3, 4.3, [1110, 90, 1690, 1990, 90, 890, 1490, 1790, 2190, 190], [2, 1, 2, 2, 1, 2, 2, 2, 2, 1]],
	[4.3, 3, [1910, 1890, 890, 390, 1190, 1090, 790, 2090, 390, 190], [3, 2, 1, 1, 2, 1, 1, 2, 1, 1]],
	[
		30,
		45,
		[210, 990, 1990, 1890, 790, 2290, 1190, 590, 290, 390],
		[14, 10, 10, 9, 8, 15, 12, 11, 13, 14],
	],
	[
		45,
		30,
		[310, 1290, 390, 1890, 1290, 690, 1290, 2090, 1890, 790],
		[21, 15, 14, 14, 13, 7, 7, 10, 9, 8],
	],
])(
	'five tasks of %d s, then five of %d s: each is found as soon as ever, by no more polls',
	async (before, after, late, most) => {
		const draw: Draw = (_, round) => 1000 * (round < 5 ? before : after);
		const { delays, polls } = await learned({ draw, rounds: 10, gapMs: 1000 });
		expect(delays.map((delay, task) => Math.max(delay, late[task]))).toEqual(late);
		expect(polls.map((count, task) => Math.max(count, most[task]))).toEqual(most);
	},
);

test('a single long task does not put off the next one', async () => {
	const draw: Draw = (_, round) => (round === 0 ? 120_000 : 3000);
	const { delays } = await learned({ draw, rounds: 2, from: 1 });
	expect(Math.max(...delays)).toBeLessThan(1500);
});

test.each<[string, Plan['age']]>([
	['an hour old', { trueMs: 3_600_000 }],
	['of no age', { trueMs: 0, toldMs: NaN }],
])('a task that is %s teaches no duration', async (_name, age) => {
	const durations = new Durations();
	await run({ draw: () => 3000, rounds: 5, durations, age });
	const { firsts } = await run({ draw: () => 20_000, rounds: 1, durations });
	expect(firsts).toEqual([2000]);
});

test.each<[number, Draw]>([
	[3000, logNormal(60_000, 1)],
	[10_000, logNormal(20_000, 0.25)],
])(
	'after the first poll, pauses lie in the range of an interval of %d ms',
	async (intervalMs, draw) => {
		const { firsts, pauses } = await learned({ draw, rounds: 20, intervalMs });
		const shortest = Math.max(1000, (2 / 3) * intervalMs - 1);
		expect(Math.min(...firsts, ...pauses)).toBeGreaterThanOrEqual(shortest);
		expect(Math.max(0, ...pauses)).toBeLessThanOrEqual((5 / 3) * intervalMs);
	},
);
