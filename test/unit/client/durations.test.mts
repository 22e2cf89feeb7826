import { Durations } from '../../../gateway/client/durations.js';
import { Poller, type PollResult } from '../../../gateway/client/poller.js';
import { estimateDurations } from '../../../gateway/client/survival.js';
import { readTaskState, type TaskRef } from '../../../gateway/protocol/task.js';
import { FakeClock } from '../fake-clock.mjs';

type Draw = (random: () => number) => number;

const normal: Draw = (random) =>
	Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const logNormal =
	(medianMs: number, sigma: number): Draw =>
	(random) =>
		medianMs * Math.exp(sigma * normal(random));

/** From the end of each task to the response that told it, and how often each was polled. */
interface Result {
	delays: number[];
	polls: number[];
	/** From the submit, or the last response, to the next poll. */
	pauses: number[];
}

const at = (values: number[], share: number): number =>
	[...values].sort((one, other) => one - other)[Math.floor(share * values.length)];
const mean = (values: number[]): number =>
	values.reduce((sum, value) => sum + value, 0) / values.length;

interface World {
	draw: (round: number) => Draw;
	/** So many rounds of so many tasks; those before `from` are not counted. */
	rounds: number;
	size?: number;
	from?: number;
	learns: boolean;
	seed: number;
	intervalMs?: number;
	latencyMs?: number;
	status?: string;
	/** This share fails, at any moment before it would have been done. */
	failing?: number;
	/** What the item says of the task's age, where that is not true. */
	ageMs?: (trueMs: number) => number;
	durations?: Durations;
}

/** Rounds of tasks that are submitted together, with a little latency, on virtual time. */
async function live(world: World): Promise<Result> {
	const { draw, rounds, size = 1, from = 0, learns, seed, latencyMs = 20 } = world;
	const { intervalMs = 3000, failing = 0, status = 'completed', ageMs = (age) => age } = world;
	const clock = new FakeClock(seed);
	// Apart from the clock's, so that both pollers get the same tasks.
	const { random } = new FakeClock(seed + 1);
	const durations = learns ? (world.durations ?? new Durations()) : undefined;
	const result: Result = { delays: [], polls: [], pauses: [] };
	for (let round = 0; round < rounds; round += 1) {
		const born = clock.now();
		const tasks = Array.from({ length: size }, (_, index) => {
			const lastsMs = draw(round)(random);
			const fails = failing > 0 && random() < failing;
			return {
				taskId: `${index}`,
				taskType: 'generation' as const,
				lastsMs: fails ? lastsMs * random() : lastsMs,
				end: fails ? 'failed' : status,
				polls: 0,
				answeredAt: born,
			};
		});
		const poller = new Poller<TaskRef & (typeof tasks)[number]>({
			clock,
			intervalMs,
			expected: size,
			pollOnce: async (task): Promise<PollResult> => {
				task.polls += 1;
				if (round >= from) result.pauses.push(clock.now() - task.answeredAt);
				await clock.sleep(latencyMs / 2);
				const isDone = clock.now() - born >= task.lastsMs;
				await clock.sleep(latencyMs / 2);
				task.answeredAt = clock.now();
				if (isDone && round >= from) result.delays.push(clock.now() - born - task.lastsMs);
				const id = task.taskId;
				return {
					kind: 'state',
					state: readTaskState(task, { id, status: isDone ? task.end : 'queued' }),
				};
			},
		});
		await clock.run(
			Promise.all(
				tasks.map(async (task) => await poller.wait(task, 3_600_000, ageMs(0), durations)),
			),
		);
		if (round >= from) result.polls.push(...tasks.map(({ polls }) => polls));
		await clock.pass(1000 + 500 * random());
	}
	return result;
}

interface Trial extends Omit<World, 'learns' | 'seed'> {
	/** Of so many seeds: more where chance weighs more. */
	seeds?: number;
}

async function overSeeds({ seeds = 2, ...world }: Trial, learns: boolean): Promise<Result> {
	const results: Result[] = [];
	for (let seed = 1; seed <= seeds; seed += 1) {
		results.push(await live({ ...world, learns, seed: seed * 7919 }));
	}
	return {
		delays: results.flatMap(({ delays }) => delays),
		polls: results.flatMap(({ polls }) => polls),
		pauses: results.flatMap(({ pauses }) => pauses),
	};
}

const both = async (trial: Trial) =>
	[await overSeeds(trial, true), await overSeeds(trial, false)] as const;

/**
 * The median delay of the best schedule with pauses of 2 to 5 s for a distribution that is known
 * exactly, found by dynamic programming over a fine grid with a small price per poll; written anew
 * here, so that a mistake of the plan cannot hide itself.
 */
function bestMedian(draw: Draw): number {
	const { random } = new FakeClock(99);
	const samples = Array.from({ length: 20_000 }, () => draw(random)).sort((a, b) => a - b);
	const step = 50;
	const size = Math.ceil(samples[samples.length - 1] / step) + 1;
	const count = new Float64Array(size + 1);
	const sum = new Float64Array(size + 1);
	for (const sample of samples) {
		count[Math.ceil(sample / step)] += 1;
		sum[Math.ceil(sample / step)] += sample;
	}
	for (let k = 1; k <= size; k += 1) {
		count[k] += count[k - 1];
		sum[k] += sum[k - 1];
	}
	const cost = new Float64Array(size + 1);
	const next: number[] = [];
	for (let k = size - 1; k >= 0; k -= 1) {
		cost[k] = Infinity;
		for (let to = k + 2000 / step; to <= k + 5000 / step; to += 1) {
			const until = Math.min(to, size);
			const delay = to * step * (count[until] - count[k]) - (sum[until] - sum[k]);
			const total = delay + cost[until] + 50 * (samples.length - count[k]);
			if (total < cost[k]) [cost[k], next[k]] = [total, to];
		}
	}
	const polls: number[] = [];
	for (let k = 0; k < size; polls.push(k * step)) k = next[k];
	return at(
		samples.map((sample) => (polls.find((poll) => poll >= sample) as number) - sample),
		0.5,
	);
}

describe('a known model', () => {
	test.each([3000, 7000, 20_000])(
		'that always takes %d ms is polled when it is done',
		async (ms) => {
			const [learned, today] = await both({ draw: () => () => ms, rounds: 100, from: 40 });
			expect(at(learned.delays, 0.5)).toBeLessThanOrEqual(ms === 3000 ? 300 : 400);
			expect(at(learned.delays, 0.95)).toBeLessThanOrEqual(at(today.delays, 0.95));
			expect(mean(learned.polls)).toBeLessThanOrEqual(mean(today.polls));
			if (ms === 3000) expect(at(learned.polls, 0.9)).toBe(1);
		},
	);

	test.each([
		['done before its first pause is over', 1500, 20],
		['long enough to forget where it was seen open', 12_300, 20],
		['whose polls are put at other times each time', 33_050, 20],
		['whose responses take a while', 4070, 120],
	])('%s is seldom found late, however often it was seen', async (_name, ms, latencyMs) => {
		const trial = { draw: () => () => ms, rounds: 160, from: 40, seeds: 4, latencyMs };
		const [learned, today] = await both(trial);
		expect(at(learned.delays, 0.95)).toBeLessThanOrEqual(at(today.delays, 0.95));
		expect(mean(learned.polls)).toBeLessThanOrEqual(mean(today.polls));
	});

	test.each([
		['wide', logNormal(20_000, 0.25)],
		['narrow', logNormal(20_000, 0.05)],
	])('of a %s log-normal comes near the best schedule', async (_name, draw) => {
		const [learned, today] = await both({ draw: () => draw, rounds: 160, from: 60, seeds: 5 });
		// Beside the plan there are the latency of a poll and the common start of polls.
		expect(at(learned.delays, 0.5)).toBeLessThanOrEqual(1.1 * bestMedian(draw) + 20 + 50);
		expect(at(learned.delays, 0.95)).toBeLessThanOrEqual(at(today.delays, 0.95));
		expect(mean(learned.polls)).toBeLessThanOrEqual(mean(today.polls));
	});

	test.each([
		['uniform from 3 to 12 s', (random: () => number) => 3000 + 9000 * random(), 1, 5],
		['of 3 s or 9 s', (random: () => number) => (random() < 0.5 ? 3000 : 9000)],
		['of 3 s, at times 30 s', (random: () => number) => (random() < 0.8 ? 3000 : 30_000)],
		['around 8 s', logNormal(8000, 0.02)],
		// Without memory: there is nothing to learn, and today's pauses are as good as any.
		['exponential', (random: () => number) => -10_000 * Math.log(1 - random()), 1.2],
		['around a minute, very wide', logNormal(60_000, 1), 1.1],
	] as Array<[string, Draw, number?, number?]>)(
		'%s: found no later than today, with no more polls',
		async (_name, draw, slack = 1, seeds = 2) => {
			const [learned, today] = await both({ draw: () => draw, rounds: 90, from: 30, seeds });
			expect(at(learned.delays, 0.5)).toBeLessThanOrEqual(slack * at(today.delays, 0.5));
			expect(at(learned.delays, 0.95)).toBeLessThanOrEqual(
				Math.max(1.1, slack) * at(today.delays, 0.95),
			);
			expect(mean(learned.polls)).toBeLessThanOrEqual(Math.max(1.05, slack) * mean(today.polls));
		},
	);

	test('of two kinds is not taken for one of their mean', async () => {
		const draw: Draw = (random) => (random() < 0.5 ? 3000 : 9000);
		const learned = await overSeeds({ draw: () => draw, rounds: 90, from: 30 }, true);
		expect(at(learned.delays, 0.5)).toBeLessThanOrEqual(500);
		expect(mean(learned.polls)).toBeLessThanOrEqual(2.6);
	});
});

describe('learning', () => {
	test('one task is enough to find the second sooner', async () => {
		const world = { draw: () => () => 3000, rounds: 2, from: 1 };
		const [learned, today] = await both(world);
		expect(Math.max(...learned.delays)).toBeLessThanOrEqual(500);
		expect(Math.min(...today.delays)).toBeGreaterThan(1500);
	});

	test('the first of a batch teach the others', async () => {
		const draw = logNormal(20_000, 0.25);
		const [learned, today] = await both({ draw: () => draw, rounds: 1, size: 100, seeds: 5 });
		expect(at(learned.delays, 0.5)).toBeLessThanOrEqual(0.8 * at(today.delays, 0.5));
		expect(at(learned.delays, 0.95)).toBeLessThanOrEqual(at(today.delays, 0.95));
	});

	test('in a batch only a few explore', async () => {
		const world = { draw: () => () => 3000, rounds: 12, size: 100, from: 2 };
		const learned = await overSeeds(world, true);
		expect(at(learned.delays, 0.9)).toBeLessThanOrEqual(300);
	});

	test.each([
		[20_000, 8000],
		[8000, 20_000],
	])('a change from %d to %d ms is noticed', async (before, after) => {
		const draw = (round: number) => logNormal(round < 40 ? before : after, 0.05);
		const [learned, today] = await both({ draw, rounds: 80, from: 50 });
		expect(at(learned.delays, 0.5)).toBeLessThanOrEqual(at(today.delays, 0.5));
		expect(at(learned.delays, 0.95)).toBeLessThanOrEqual(1.05 * at(today.delays, 0.95));
		expect(mean(learned.polls)).toBeLessThanOrEqual(mean(today.polls));
	});

	test('the ages that are not known, or cannot be, teach and learn nothing', async () => {
		for (const wrong of [Infinity, NaN, -5000]) {
			const durations = new Durations();
			await live({
				draw: () => () => 3000,
				rounds: 5,
				learns: true,
				seed: 1,
				durations,
				ageMs: () => wrong,
			});
			const world = { draw: () => () => 3000, rounds: 1, seed: 2 };
			const learned = await live({ ...world, learns: true, durations });
			expect(learned).toEqual(await live({ ...world, learns: false }));
		}
	});

	test.each([0.4, 0.9])(
		'where %d of all fail, a failure is found about as soon as today',
		async (failing) => {
			const draw = logNormal(15_000, 0.1);
			const [learned, today] = await both({ draw: () => draw, rounds: 90, from: 30, failing });
			expect(at(learned.delays, 0.5)).toBeLessThanOrEqual(1.1 * at(today.delays, 0.5));
			expect(at(learned.delays, 0.95)).toBeLessThanOrEqual(1.1 * at(today.delays, 0.95));
			expect(mean(learned.polls)).toBeLessThanOrEqual(1.02 * mean(today.polls));
		},
	);

	test('a failed task tells nothing of the others', async () => {
		const durations = new Durations();
		const status = 'failed';
		await live({ draw: () => () => 3000, rounds: 5, learns: true, seed: 1, durations, status });
		const world = { draw: () => () => 20_000, rounds: 1, seed: 2 };
		const learned = await live({ ...world, learns: true, durations });
		expect(learned).toEqual(await live({ ...world, learns: false }));
	});
});

describe('the pauses', () => {
	test.each([1000, 3000, 10_000])(
		'lie in the range of an interval of %d ms',
		async (intervalMs) => {
			for (const draw of [logNormal(20_000, 0.25), logNormal(60_000, 1), () => 3000] as Draw[]) {
				const { pauses } = await overSeeds({ draw: () => draw, rounds: 8, intervalMs }, true);
				expect(Math.min(...pauses)).toBeGreaterThanOrEqual(
					Math.max(1000, (2 / 3) * intervalMs - 1),
				);
				expect(Math.max(...pauses)).toBeLessThanOrEqual((5 / 3) * intervalMs);
			}
		},
	);
});

describe('the estimator', () => {
	const seen = (...intervals: Array<[number, number]>) =>
		intervals.map(([after, by]) => ({ after, by, count: 1 }));

	test('puts the probability where the intervals overlap', () => {
		expect(estimateDurations(seen([0, 4], [2, 6], [3, 8]))).toEqual([
			{ after: 3, by: 4, weight: expect.closeTo(1) },
		]);
		expect(estimateDurations(seen([0, 3], [3, 6]))).toEqual([
			{ after: 0, by: 3, weight: expect.closeTo(0.5) },
			{ after: 3, by: 6, weight: expect.closeTo(0.5) },
		]);
	});

	test('is that of Kaplan and Meier where durations are known or open', () => {
		// Survival 4/5, then 4/5 × 2/3 (one left after 2), then 0.
		const found = estimateDurations(seen([0.9, 1], [2, Infinity], [2.9, 3], [3.9, 4], [4.9, 5]));
		expect(found.map(({ weight }) => weight)).toEqual(
			[0.2, 0.8 / 3, 0.8 / 3, 0.8 / 3].map((weight) => expect.closeTo(weight, 2)),
		);
	});
});

test('runs side by side that pause differently do not make each other plan anew', () => {
	const durations = new Durations();
	let looks = 0;
	const pausesOf = (shortest: number) => ({
		shortest,
		longest: 2 * shortest,
		usual: () => {
			looks += 1;
			return shortest;
		},
	});
	const [quick, slow] = [pausesOf(2000), pausesOf(4000)];
	for (let seen = 0; seen < 30; seen += 1) {
		const task = durations.track(0, quick);
		task.pollSent(30_000);
		task.statusSeen('working', 30_000);
		task.pollSent(33_000 + seen);
		task.statusSeen('success', 33_000 + seen);
		task.end();
	}
	const tasks = [quick, slow].map((pauses) => durations.track(40_000, pauses));
	const pauses = (): unknown => tasks.map((task) => task.pauseFrom(40_000));
	const planned = pauses();
	const before = looks;
	for (let poll = 0; poll < 20; poll += 1) expect(pauses()).toEqual(planned);
	// Each asks once for what it pauses by; a plan asks for every step of its time.
	expect(looks - before).toBe(40);
});
