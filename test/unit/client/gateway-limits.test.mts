/** What the rate limiter makes of gateways that limit in different ways, on virtual time. */
import { planGeneration } from '../../../gateway/protocol/requestPlan.js';
import {
	mergeRateStates,
	RateLimiter,
	type RateState,
} from '../../../gateway/client/rateLimiter.js';
import { Client } from '../../../gateway/client/client.js';
import { FakeClock } from '../fake-clock.mjs';
import {
	response,
	atRandom,
	changing,
	fixedWindows,
	inFlight,
	slidingWindow,
	tokenBucket,
	VirtualGateway,
	type RateLimit,
} from '../virtual-gateway.mjs';

interface Report {
	seconds: number;
	sent: number;
	refused: number;
	failed: number;
}

interface Load {
	/** Requests of each run. */
	count: number;
	concurrency: number;
	limit: RateLimit;
	/** How long a response takes, in milliseconds. */
	latency: [number, number];
	seed: number;
	/** How many runs there are, and how many milliseconds apart they begin. */
	runs?: number;
	apartMs?: number;
	retryAfter?: string;
}

const QUICK: [number, number] = [20, 60];
const SLOW: [number, number] = [100, 400];
const SEEDS = [1, 2, 3, 4, 5];

/** Sends all at once, and again what is refused. */
async function submit(load: Load): Promise<Report> {
	const { count, concurrency, limit, latency, seed, runs = 1, apartMs = 0 } = load;
	const clock = new FakeClock(seed);
	const latencyMs = () => latency[0] + clock.random() * (latency[1] - latency[0]);
	const gateway = new VirtualGateway(clock, limit, latencyMs, load.retryAfter);
	const plan = planGeneration({ model: 'm', prompt: 'p' }, 'query');
	const ends = await clock.run(
		Promise.all(
			Array.from({ length: runs }, async (_, run) => {
				await clock.sleep(run * apartMs);
				const client = new Client({
					limiter: new RateLimiter({ concurrency, clock }),
					clock,
					wallClock: clock.now,
					sendOnce: async () =>
						await gateway.receive(() => response(200, { id: '1', status: 'queued' })),
				});
				const requests = Array.from({ length: count }, async () => await client.send(plan));
				return await Promise.allSettled(requests);
			}),
		),
	);
	return {
		seconds: clock.now() / 1000,
		sent: gateway.requests,
		refused: gateway.refused,
		failed: ends.flat().filter(({ status }) => status === 'rejected').length,
	};
}

/** The same with several seeds; a limit has a memory, so each gets its own. */
const reports = async (load: Omit<Load, 'limit' | 'seed'>, limit: (seed: number) => RateLimit) =>
	await Promise.all(SEEDS.map(async (seed) => await submit({ ...load, limit: limit(seed), seed })));

describe.each<[string, () => RateLimit]>([
	['whole seconds', () => fixedWindows(30)],
	['any second', () => slidingWindow(30)],
])('of 30 requests in %s', (_name, limit) => {
	test.each([10, 50, 100])('200 requests, %d at a time', async (concurrency) => {
		const all = await reports({ count: 200, concurrency, latency: QUICK }, limit);
		for (const { seconds, refused, failed } of all) {
			expect(failed).toBe(0);
			expect(refused).toBeLessThan(20);
			expect(seconds).toBeLessThanOrEqual((200 / 30) * 1.25);
		}
	});

	test('200 requests with slow responses', async () => {
		for (const { seconds, refused, failed } of await reports(
			{ count: 200, concurrency: 10, latency: SLOW },
			limit,
		)) {
			expect(failed).toBe(0);
			expect(refused).toBeLessThan(20);
			expect(seconds).toBeLessThanOrEqual((200 / 30 + 0.4) * 1.25);
		}
	});
});

test('which of them arrives first makes no difference to what is found out', async () => {
	const all = await reports({ count: 200, concurrency: 10, latency: QUICK }, () =>
		slidingWindow(30),
	);
	// A second of 30, and the other 170 at just below 30 a second.
	for (const { seconds } of all) expect(seconds).toBeLessThan(1.1 + 170 / (0.94 * 30));
});

test.each<[string, number, () => RateLimit, number]>([
	['one in a second', 20, () => fixedWindows(1), 40],
	['sixty in a minute', 200, () => fixedWindows(60, 60_000), 300],
	['sixty in any minute', 200, () => slidingWindow(60, 60_000), 300],
	['nothing at all for twenty seconds', 400, () => (now) => now < 1000 || now > 21_000, 60],
])('a limit of %s loses nothing', async (_name, count, limit, seconds) => {
	const report = await submit({
		count,
		concurrency: 10,
		limit: limit(),
		latency: SLOW,
		seed: 1,
	});
	expect(report.failed).toBe(0);
	expect(report.seconds).toBeLessThan(seconds);
});

test('a gateway that refuses every tenth request by chance is not taken for a slow one', async () => {
	const chance = new FakeClock(7);
	const report = await submit({
		count: 400,
		concurrency: 10,
		limit: atRandom(0.1, chance.random),
		latency: SLOW,
		seed: 1,
	});
	expect(report.failed).toBe(0);
	expect(report.seconds).toBeLessThan(20);
});

test('at a gateway that refuses everything all fail, after not many more requests than there are', async () => {
	const report = await submit({
		count: 100,
		concurrency: 10,
		limit: () => false,
		latency: SLOW,
		seed: 1,
	});
	expect(report.failed).toBe(100);
	expect(report.refused).toBeLessThan(130);
});

/** Of each kind: what the slowest of five runs may take in seconds, and how many may be refused. */
test.each<[string, Omit<Load, 'limit' | 'seed'>, (seed: number) => RateLimit, number, number]>([
	['1 in any second', { count: 60, concurrency: 10, latency: QUICK }, () => slidingWindow(1), 100, 40], // prettier-ignore
	['5 in any second', { count: 200, concurrency: 10, latency: QUICK }, () => slidingWindow(5), 60, 40], // prettier-ignore
	['300 in any second', { count: 3000, concurrency: 100, latency: QUICK }, () => slidingWindow(300), 12, 40], // prettier-ignore
	['1000 in any second', { count: 10_000, concurrency: 100, latency: QUICK }, () => slidingWindow(1000), 15, 90], // prettier-ignore
	['10 a second, no burst', { count: 200, concurrency: 50, latency: QUICK }, () => tokenBucket(10, 1), 46, 30], // prettier-ignore
	['30 a second, a burst of 60', { count: 400, concurrency: 50, latency: QUICK }, () => tokenBucket(30, 60), 14, 30], // prettier-ignore
	['20 in flight', { count: 1000, concurrency: 100, latency: SLOW }, () => inFlight(20), 18, 40],
	['5 % refused by chance', { count: 400, concurrency: 10, latency: QUICK }, (seed) => atRandom(0.05, new FakeClock(seed + 77).random), 5, 50], // prettier-ignore
	['10 % refused by chance', { count: 400, concurrency: 10, latency: QUICK }, (seed) => atRandom(0.1, new FakeClock(seed + 77).random), 15, 80], // prettier-ignore
	['20 % refused by chance', { count: 400, concurrency: 10, latency: QUICK }, (seed) => atRandom(0.2, new FakeClock(seed + 77).random), 60, 140], // prettier-ignore
	['30, after 10 s 100, after 20 s 10', { count: 1500, concurrency: 50, latency: QUICK }, () => changing([[0, 30], [10_000, 100], [20_000, 10]]), 130, 80], // prettier-ignore
	['100, after 5 s 10', { count: 700, concurrency: 50, latency: QUICK }, () => changing([[0, 100], [5000, 10]]), 40, 100], // prettier-ignore
	['10, after 10 s 100', { count: 1500, concurrency: 50, latency: QUICK }, () => changing([[0, 10], [10_000, 100]]), 55, 40], // prettier-ignore
	['30, with Retry-After', { count: 400, concurrency: 10, latency: QUICK, retryAfter: '2' }, () => slidingWindow(30), 22, 20], // prettier-ignore
	['30 for 13 s, with a Retry-After of a second', { count: 400, concurrency: 10, latency: [2, 40], retryAfter: '1' }, () => slidingWindow(30), 15.5, 11], // prettier-ignore
	['30, for three runs at once', { count: 200, concurrency: 10, latency: QUICK, runs: 3 }, () => slidingWindow(30), 31, 120], // prettier-ignore
	['30, for three runs, one after another', { count: 200, concurrency: 10, latency: QUICK, runs: 3, apartMs: 3000 }, () => slidingWindow(30), 40, 120], // prettier-ignore
])('%s: all get through', async (_name, load, limit, seconds, refused) => {
	const all = await reports(load, limit);
	expect(Math.max(...all.map(({ failed }) => failed))).toBe(0);
	expect(Math.max(...all.map((report) => report.seconds))).toBeLessThan(seconds);
	expect(Math.max(...all.map((report) => report.refused))).toBeLessThan(refused);
});

describe('without a limit', () => {
	test.each([
		[200, 10, [2, 6], 0.2],
		[2000, 100, QUICK, 2.5],
	] as Array<[number, number, [number, number], number]>)(
		'%d requests, %d at a time, are soon sent',
		async (count, concurrency, latency, seconds) => {
			const load = { count, concurrency, latency, limit: () => true, seed: 1 };
			expect((await submit(load)).seconds).toBeLessThan(seconds);
		},
	);
});

describe('what one run has found out', () => {
	/** Meets a limit of 30 in any second; returns what the next run is handed. */
	async function meetTheLimit() {
		const clock = new FakeClock(1);
		const gateway = new VirtualGateway(clock, slidingWindow(30), () => 4);
		const send = async (count: number, rateState?: RateState) => {
			const limiter = new RateLimiter({ concurrency: 10, clock, rateState });
			const client = new Client({
				limiter,
				clock,
				wallClock: clock.now,
				sendOnce: async () => await gateway.receive(() => response(200, { id: '1' })),
			});
			const plan = planGeneration({ model: 'm', prompt: 'p' }, 'query');
			await clock.run(
				Promise.all(Array.from({ length: count }, async () => await client.send(plan))),
			);
			return limiter.rateState();
		};
		return { clock, gateway, send, found: await send(100) };
	}

	test('spares the next one the refusals', async () => {
		const { gateway, send, found } = await meetTheLimit();
		const refused = gateway.refused;
		expect(refused).toBeGreaterThan(0);
		await send(60, JSON.parse(JSON.stringify(found)));
		expect(gateway.refused).toBe(refused);
	});

	test('is forgotten after a minute', async () => {
		const { clock, gateway, send, found } = await meetTheLimit();
		await clock.pass(61_000);
		const begun = clock.now();
		await send(25, found);
		expect(clock.now() - begun).toBeLessThan(100);
		expect(gateway.acceptedAt).toHaveLength(125);
	});

	test('holds in a process that has run for days, and a state of another clock does not', async () => {
		const { clock, found } = await meetTheLimit();
		const firstStart = async (at: number) => {
			const rateState = { ...found!, at, retryAfterEndsAt: clock.now() + 20_000 };
			const limiter = new RateLimiter({ concurrency: 10, clock, rateState });
			const begun = clock.now();
			await clock.run(limiter.run(async () => undefined));
			return clock.now() - begun;
		};
		await clock.pass(200_000_000);
		expect(await firstStart(clock.now())).toBe(20_000);
		expect(await firstStart(clock.now() + 1000)).toBe(0);
		const now = clock.now();
		const state = { limit: found!.limit, retryAfterEndsAt: now + 9000, at: now };
		const later = { limit: undefined, retryAfterEndsAt: 0, at: now + 1000 };
		expect(mergeRateStates(state, later)).toEqual(state);
		expect(mergeRateStates({ ...state, at: now + 1001 }, later)).toEqual(later);
		expect(mergeRateStates({ ...later, at: now }, later)).toEqual(later);
		expect(mergeRateStates(undefined, later)).toEqual(later);
	});

	test('is not lost to one that ends later and knows less, and holds no longer for that', async () => {
		const { clock, found } = await meetTheLimit();
		const less = new RateLimiter({ concurrency: 10, clock }).rateState()!;
		const pause = { ...found!, retryAfterEndsAt: clock.now() + 30_000 };
		const merged = mergeRateStates(pause, less);
		expect(merged).toEqual(pause);
		// Who knows more, or something newer, replaces it, but for the pause.
		expect(mergeRateStates(less, found!)).toEqual(found);
		const newer = { ...found!, at: found!.at + 1000, retryAfterEndsAt: found!.at };
		expect(mergeRateStates(pause, newer)).toEqual({
			...newer,
			retryAfterEndsAt: pause.retryAfterEndsAt,
		});
		const late = { ...less, at: less.at + 61_000 };
		expect(mergeRateStates(merged, late)).toEqual(late);
	});

	test('is not handed on where the user has set the limit, nor used', async () => {
		const { clock, found } = await meetTheLimit();
		const limiter = new RateLimiter({
			concurrency: 10,
			requestsPerSecond: 200,
			clock,
			rateState: found,
		});
		expect(limiter.rateState()).toBeUndefined();
		const starts: number[] = [];
		await clock.run(
			Promise.all(
				Array.from({ length: 100 }, async () => {
					await limiter.run(async () => starts.push(clock.now()));
				}),
			),
		);
		expect(starts.at(-1)! - starts[0]!).toBeLessThan(520);
	});
});
