/** What the rate limiter makes of gateways that limit in different ways, on virtual time. */
import { planGeneration } from '../../../gateway/protocol/requestPlan.js';
import { mergeRateStates, RateLimiter, type RateState } from '../../../gateway/pace/rateLimiter.js';
import { Client } from '../../../gateway/pace/client.js';
import { sendBy } from '../senders.mjs';
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
	refused: number;
	failed: number;
}

interface Load {
	/** Requests of each run. */
	count: number;
	concurrency: number;
	/** A limit has a memory, so each seed gets its own. */
	limit: (seed: number) => RateLimit;
	/** How long a response takes, in milliseconds. */
	latency?: [number, number];
	/** How many runs there are at once. */
	runs?: number;
	retryAfter?: string;
}

/** Sends all at once, and again what is refused. */
async function submit(load: Load, seed: number): Promise<Report> {
	const { count, concurrency, limit, latency = [20, 60], runs = 1 } = load;
	const clock = new FakeClock(seed);
	const latencyMs = () => latency[0] + clock.random() * (latency[1] - latency[0]);
	const gateway = new VirtualGateway(clock, limit(seed), latencyMs, load.retryAfter);
	const plan = planGeneration({ model: 'm', prompt: 'p' }, 'query');
	const ends = await clock.run(
		Promise.all(
			Array.from({ length: runs }, async () => {
				const client = new Client({
					limiter: new RateLimiter({ concurrency, clock }),
					clock,
					wallClock: clock.now,
					sendOnce: async () =>
						await gateway.receive(() => response(200, { id: '1', status: 'queued' })),
				});
				const requests = Array.from({ length: count }, async () => await sendBy(client, plan));
				return await Promise.allSettled(requests);
			}),
		),
	);
	return {
		seconds: clock.now() / 1000,
		refused: gateway.refused,
		failed: ends.flat().filter(({ status }) => status === 'rejected').length,
	};
}

const SLOW: [number, number] = [100, 400];
const byChance = (share: number) => (seed: number) =>
	atRandom(share, new FakeClock(seed + 77).random);
const falling = [[0, 100], [5000, 10]] as Array<[number, number]>; // prettier-ignore

/** What the slowest of two runs may take in seconds, and how many may be refused. */
test.each<[string, number, number, Load['limit'], number, number, Partial<Load>?]>([
	// A second of 30, and the other 170 at just below 30 a second.
	['30 in any second, for ten at a time', 200, 10, () => slidingWindow(30), 7.12, 20],
	['30 in any second, with slow responses', 200, 10, () => slidingWindow(30), 8.8, 20, { latency: SLOW }], // prettier-ignore
	['30 in each whole second, as most gateways count', 200, 10, () => fixedWindows(30), 8.34, 20],
	['10 a second, no burst', 200, 50, () => tokenBucket(10, 1), 46, 30],
	['60 in any minute', 200, 10, () => slidingWindow(60, 60_000), 300, 60],
	['300 in any second', 1500, 100, () => slidingWindow(300), 6, 40],
	['20 in flight', 1000, 100, () => inFlight(20), 18, 40, { latency: SLOW }],
	['10 % refused by chance', 400, 10, byChance(0.1), 15, 80],
	['20 % refused by chance', 400, 10, byChance(0.2), 60, 140],
	['100, after 5 s 10', 700, 50, () => changing(falling), 40, 100],
	['nothing for twenty seconds', 400, 10, () => (now) => now < 1000 || now > 21_000, 60, 40],
	['30 for 13 s, with a Retry-After of a second', 400, 10, () => slidingWindow(30), 15.5, 11, { latency: [2, 40], retryAfter: '1' }], // prettier-ignore
	['30, for three runs at once', 200, 10, () => slidingWindow(30), 31, 120, { runs: 3 }],
])(
	'a limit of %s: all get through',
	async (_name, count, concurrency, limit, seconds, refused, more = {}) => {
		for (const seed of [1, 2]) {
			const report = await submit({ count, concurrency, limit, ...more }, seed);
			expect(report.failed).toBe(0);
			expect(report.seconds).toBeLessThan(seconds);
			expect(report.refused).toBeLessThan(refused);
		}
	},
);

test('at a gateway that refuses everything all fail, after not many more requests than there are', async () => {
	const report = await submit({ count: 100, concurrency: 10, limit: () => () => false }, 1);
	expect(report.failed).toBe(100);
	expect(report.refused).toBeLessThan(130);
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
				Promise.all(Array.from({ length: count }, async () => await sendBy(client, plan))),
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

	const limit = { perSecond: 28.5, holdsUntil: 0 };
	const state = (at: number, retryAfterEndsAt = 0, isMet = true): RateState => ({
		limit: isMet ? limit : undefined,
		retryAfterEndsAt,
		at,
	});

	test.each<[string, RateState | undefined, RateState, RateState]>([
		['is kept beside one that knows less', state(0, 9000), state(1000, 0, false), state(0, 9000)],
		['gives way to one that knows more', state(0, 0, false), state(0), state(0)],
		['gives way to a newer one, but for its pause', state(0, 9000), state(1000), state(1000, 9000)],
		['is dropped after a minute', state(0, 9000), state(60_001), state(60_001)],
	])('%s', (_name, known, found, merged) => {
		expect(mergeRateStates(known, found)).toEqual(merged);
	});
});
