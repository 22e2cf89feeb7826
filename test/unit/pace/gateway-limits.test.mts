/** What the rate limiter makes of gateways that limit in different ways, on virtual time. */
import { planImages, planTaskQuery } from '../../../gateway/protocol/requestPlan.js';
import { RateLimiter } from '../../../gateway/pace/rateLimiter.js';
import { SharedRate } from '../../../gateway/pace/sharedRate.js';
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
	/** The share of refused requests. */
	share: number;
	/** How much longer the slowest run took than the fastest. */
	unfairness: number;
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
	/** How many processes they are in; runs of one process share their rate. One for each by default. */
	processes?: number;
	/** How long each task takes, in milliseconds: then its status is requested once. */
	taskMs?: number;
	retryAfter?: string;
}

/** How late timers are, in milliseconds: with those on time, runs took turns which they didn't in n8n. */
const LATE_MS = 1;

const plan = planImages('generation', { model: 'm', prompt: 'p' }, 'query');
const poll = planTaskQuery('generation', '1');

/** Sends all at once, and again what is refused. */
async function submit(load: Load, seed: number): Promise<Report> {
	const { count, concurrency, limit, latency = [20, 60], runs = 1, taskMs } = load;
	const clock = new FakeClock(seed, LATE_MS);
	const latencyMs = () => latency[0] + clock.random() * (latency[1] - latency[0]);
	const gateway = new VirtualGateway(clock, limit(seed), latencyMs, load.retryAfter);
	const rates = Array.from({ length: load.processes ?? runs }, () => new SharedRate());
	const times: number[] = [];
	const run = async (index: number) => {
		const rateOf = () => rates[index % rates.length]!;
		const client = new Client({
			limiter: new RateLimiter({ concurrency, clock, rateOf }),
			clock,
			sendOnce: async () =>
				await gateway.receive(() => response(200, { id: '1', status: 'queued' })),
		});
		const item = async () => {
			await sendBy(client, plan);
			if (taskMs === undefined) return;
			await clock.sleep(taskMs);
			await sendBy(client, poll);
		};
		const ends = await Promise.allSettled(Array.from({ length: count }, item));
		times.push(clock.now());
		return ends.filter(({ status }) => status === 'rejected').length;
	};
	const failed = await clock.run(Promise.all(Array.from({ length: runs }, (_, n) => run(n))));
	return {
		seconds: clock.now() / 1000,
		refused: gateway.refused,
		failed: failed.reduce((sum, ofRun) => sum + ofRun, 0),
		share: gateway.refused / gateway.requests,
		unfairness: Math.max(...times) / Math.min(...times),
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
	['10 a second, no burst', 200, 50, () => tokenBucket(10, 1), 30, 35],
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

/** 300 tasks of 3 s with their status checks, at gateways that allow 20 requests a second. */
describe.each<[string, () => RateLimit]>([
	['in any second', () => slidingWindow(20)],
	['in each whole second', () => fixedWindows(20)],
	['on average', () => tokenBucket(20, 20)],
])('several runs where 20 requests are allowed %s', (_name, limit) => {
	const load = { concurrency: 10, limit, taskMs: 3000 };
	/** The mean of a figure for three seeds. */
	const means = async (more: Pick<Load, 'count' | 'runs' | 'processes'>) => {
		const all = await Promise.all([1, 2, 3].map((seed) => submit({ ...load, ...more }, seed)));
		const mean = (of: (report: Report) => number) =>
			all.map(of).reduce((sum, one) => sum + one, 0) / all.length;
		expect(mean(({ failed }) => failed)).toBe(0);
		return {
			seconds: mean(({ seconds }) => seconds),
			share: mean(({ share }) => share),
			unfairness: mean(({ unfairness }) => unfairness),
		};
	};

	let one: Awaited<ReturnType<typeof means>>;
	beforeAll(async () => void (one = await means({ count: 300 })));

	test('are as fast in one process as one run, and end together', async () => {
		const six = await means({ count: 50, runs: 6, processes: 1 });
		expect(six.seconds).toBeLessThan(1.1 * one.seconds);
		expect(six.unfairness).toBeLessThan(1.2);
		expect(six.share).toBeLessThan(0.05);
	});

	test('take little longer in three processes', async () => {
		const six = await means({ count: 50, runs: 6, processes: 3 });
		expect(six.seconds).toBeLessThan(1.4 * one.seconds);
		expect(six.share).toBeLessThan(0.25);
	});
});

/** What one run sends, ten at a time. @returns when it has ended */
async function sendAll(
	gateway: VirtualGateway,
	clock: FakeClock,
	rate: SharedRate,
	count: number,
): Promise<number> {
	const client = new Client({
		limiter: new RateLimiter({ concurrency: 10, clock, rateOf: () => rate }),
		clock,
		sendOnce: async () => await gateway.receive(() => response(200, { id: '1' })),
	});
	await Promise.all(Array.from({ length: count }, async () => await sendBy(client, plan)));
	return clock.now();
}

test('a short run takes its turns beside a long one, which is hardly slower', async () => {
	const clock = new FakeClock(1);
	const gateway = new VirtualGateway(clock, slidingWindow(20), () => 20);
	const rate = new SharedRate();
	const long = sendAll(gateway, clock, rate, 400);
	await clock.pass(5000);
	const short = await clock.run(sendAll(gateway, clock, rate, 20));
	// Every second request is its own.
	expect(short - 5000).toBeLessThan(4000);
	expect(await clock.run(long)).toBeLessThan(26_000);
});

describe('what one run has found out', () => {
	/** Meets a limit of 30 in any second. */
	async function meetTheLimit() {
		const clock = new FakeClock(1);
		const gateway = new VirtualGateway(clock, slidingWindow(30), () => 4);
		const rate = new SharedRate();
		const send = async (count: number) => await clock.run(sendAll(gateway, clock, rate, count));
		await send(100);
		return { clock, gateway, rate, send };
	}

	test('spares the next one the refusals', async () => {
		const { gateway, send } = await meetTheLimit();
		const refused = gateway.refused;
		expect(refused).toBeGreaterThan(0);
		await send(60);
		expect(gateway.refused).toBe(refused);
	});

	test('is outdated after a minute without requests', async () => {
		const { clock, rate } = await meetTheLimit();
		expect(rate.isOutdated(clock.now() + 59_000)).toBe(false);
		expect(rate.isOutdated(clock.now() + 61_000)).toBe(true);
	});
});
