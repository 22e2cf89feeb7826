import { CanceledInQueue, RateLimiter, type Lane } from '../../../gateway/pace/rateLimiter.js';
import { SharedRate } from '../../../gateway/pace/sharedRate.js';
import { planImages } from '../../../gateway/protocol/requestPlan.js';
import { FakeClock } from '../fake-clock.mjs';

/** Sends so many requests at once, each of which takes `takesMs`; tells when each was started. */
async function startTimes(
	clock: FakeClock,
	lane: Lane,
	count: number,
	takesMs: number,
): Promise<number[]> {
	const starts: number[] = [];
	const requests = Array.from({ length: count }, async () => {
		await lane.send(async () => {
			starts.push(clock.now());
			await clock.sleep(takesMs);
			lane.rate.accepted(clock.now());
		});
	});
	await clock.run(Promise.all(requests));
	return starts;
}

/** The most starts within any span of that length. */
const mostWithin = (starts: number[], spanMs: number): number =>
	Math.max(
		...starts.map((start) => starts.filter((at) => at >= start && at < start + spanMs).length),
	);

const IMAGE = planImages('generation', { model: 'm', prompt: 'p' });

function newLimiter(options: Partial<ConstructorParameters<typeof RateLimiter>[0]> = {}) {
	const clock = new FakeClock();
	const limiter = new RateLimiter({ concurrency: 10, clock, ...options });
	return { clock, limiter, lane: limiter.laneOf(IMAGE) };
}

describe('the requests in flight', () => {
	test('reach the concurrency in order, but never exceed it', async () => {
		const most = 10;
		const { clock, lane } = newLimiter({ concurrency: most });
		const order: number[] = [];
		let now = 0;
		let highest = 0;
		const requests = Array.from({ length: 100 }, async (_, index) => {
			await lane.send(async () => {
				order.push(index);
				highest = Math.max(highest, ++now);
				await clock.sleep(5000);
				now -= 1;
			});
		});
		await clock.run(Promise.all(requests));
		expect([highest, now]).toEqual([most, 0]);
		expect(order).toEqual(Array.from({ length: 100 }, (_, index) => index));
	});

	test('start only after the failure of one before could end the run', async () => {
		const { clock, limiter, lane } = newLimiter({ concurrency: 1 });
		const sent: number[] = [];
		// As many steps as lie between a response and the end of a run, and more.
		const item = async (index: number): Promise<void> => {
			await lane.send(async (request) => {
				sent.push(index);
				await clock.sleep(10);
				request.mayEndRun = index === 1;
			});
			for (let step = 0; step < 200; step += 1) await undefined;
			if (index === 1) throw new Error('refused');
		};
		const items = [0, 1, 2, 3].map(async (index) => {
			await item(index).catch(() => limiter.close('over'));
		});
		await clock.run(Promise.all(items));
		expect(sent).toEqual([0, 1]);
	});
});

describe('requests per second', () => {
	test.each([0.5, 7])('are at most %d, and that is used', async (requestsPerSecond) => {
		const { clock, lane } = newLimiter({ concurrency: 1000, requestsPerSecond });
		// They are not saved up while there is nothing to do.
		await clock.pass(60_000);
		const starts = await startTimes(clock, lane, Math.ceil(requestsPerSecond * 10), 5);
		// What a timer may have been late is made up for.
		const most = Math.ceil(requestsPerSecond);
		const span = (1000 * most) / requestsPerSecond - 10;
		expect(mostWithin(starts, span)).toBeLessThanOrEqual(most);
		expect(starts.at(-1)).toBeLessThanOrEqual(60_000 + 10_000 * 1.06);
	});

	test.each([3.3, 20])('are %d also with timers that fire late', async (requestsPerSecond) => {
		const clock = new FakeClock();
		const late = (ms: number) => clock.sleep(ms + (ms > 0 ? 12 * clock.random() : 0));
		const { lane } = newLimiter({
			concurrency: 100,
			requestsPerSecond,
			clock: { now: clock.now, random: clock.random, sleep: late },
		});
		const arrivals: number[] = [];
		const requests = Array.from({ length: 10 * requestsPerSecond }, async () => {
			await lane.send(async () => {
				await clock.sleep(40 * clock.random());
				arrivals.push(clock.now());
			});
		});
		await clock.run(Promise.all(requests));
		const most = Math.ceil(requestsPerSecond);
		expect(mostWithin(arrivals, (1000 * most) / requestsPerSecond)).toBeLessThanOrEqual(most);
		expect(clock.now()).toBeLessThan(10_700);
	});

	test('without a limit begin with a handful at once and speed up', async () => {
		const { clock, lane } = newLimiter({ concurrency: 1000 });
		const starts = await startTimes(clock, lane, 500, 200);
		expect(starts.filter((at) => at === 0)).toHaveLength(10);
		expect(starts.filter((at) => at < 1000).length).toBeLessThan(200);
		expect(starts.filter((at) => at >= 1000 && at < 2000).length).toBeGreaterThan(250);
	});
});

describe('a 429', () => {
	/** Sends a request that is refused, with a `Retry-After` of so many milliseconds. */
	async function refuseOne(clock: FakeClock, lane: Lane, pauseMs = 0): Promise<void> {
		await clock.run(lane.send(async (request) => lane.rate.refused(request, pauseMs, clock)));
	}

	test.each([
		['for a moment', undefined, 150, 1100],
		['for as long as Retry-After asks', 42_000, 42_000, 43_000],
	])('pauses the whole run %s', async (_name, pauseMs, least, most) => {
		const { clock, lane } = newLimiter();
		await refuseOne(clock, lane, pauseMs);
		const [first] = await startTimes(clock, lane, 5, 1);
		expect(first).toBeGreaterThanOrEqual(least);
		expect(first).toBeLessThanOrEqual(most);
	});

	test.each([
		['nothing: that request alone is refused', 0],
		['the run where it asks for a pause, and the next run', 7000],
	])('that is sporadic pauses %s', async (_name, pauseMs) => {
		const rate = new SharedRate();
		const { clock, lane } = newLimiter({ rateOf: () => rate });
		await startTimes(clock, lane, 20, 5);
		const refusedAt = clock.now();
		await refuseOne(clock, lane, pauseMs);
		const next = new RateLimiter({ concurrency: 10, clock, rateOf: () => rate });
		const [own, others] = await Promise.all([
			startTimes(clock, lane, 5, 1),
			startTimes(clock, next.laneOf(IMAGE), 5, 1),
		]);
		expect(Math.min(...own, ...others)).toBe(refusedAt + pauseMs);
	});

	test('counts in a row until a request is accepted', async () => {
		const { clock, lane } = newLimiter();
		const slow = lane.send(async () => await clock.sleep(3_600_000));
		await clock.pass(10);
		for (let times = 1; times <= 20; times += 1) {
			await refuseOne(clock, lane);
			expect(lane.pausesInARow).toBe(times);
		}
		// The slow request was sent before the pause and doesn't hold others back.
		expect(clock.now()).toBeLessThan(600_000);
		await clock.run(slow);
		lane.rate.accepted(clock.now());
		expect(lane.pausesInARow).toBe(0);
	});
});

test("a request that its caller no longer wants when its turn comes isn't sent, and takes no turn", async () => {
	const { clock, lane } = newLimiter({ concurrency: 1, requestsPerSecond: 1 });
	const starts: string[] = [];
	const send = async (name: string, isWanted?: () => boolean) =>
		await lane.send(
			async () => {
				starts.push(`${name} at ${Math.round(clock.now() / 1000)} s`);
				await clock.sleep(100);
			},
			{ isWanted },
		);
	const sending = Promise.allSettled([
		send('first'),
		send('unwanted', () => clock.now() < 500),
		send('wanted', () => clock.now() >= 500),
		...Array.from({ length: 1000 }, async () => await send('unwanted', () => false)),
		send('last'),
	]);
	const [, unwanted] = await clock.run(sending);
	expect(unwanted).toMatchObject({ status: 'rejected', reason: expect.any(CanceledInQueue) });
	expect(starts).toEqual(['first at 0 s', 'wanted at 1 s', 'last at 2 s']);
});

describe('a closed rate limiter', () => {
	test('rejects queued and new requests, and lets requests in flight finish', async () => {
		const { clock, limiter, lane } = newLimiter({ concurrency: 1 });
		const underWay = lane.send(async () => {
			await clock.sleep(1000);
			return 'answered';
		});
		const sent = jest.fn();
		const waiting = lane.send(sent);
		limiter.close('stopped');
		limiter.close('later');
		await expect(waiting).rejects.toBe('stopped');
		await expect(lane.send(sent)).rejects.toBe('stopped');
		await expect(clock.run(underWay)).resolves.toBe('answered');
		expect(sent).not.toHaveBeenCalled();
	});
});
