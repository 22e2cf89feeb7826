/** Runs that share a rate: none depends on the end of another. */
import { RateLimiter, type Lane } from '../../../gateway/pace/rateLimiter.js';
import { SharedRate } from '../../../gateway/pace/sharedRate.js';
import { openLimiter } from '../../../gateway/pace/sharedRates.js';
import { planImages } from '../../../gateway/protocol/requestPlan.js';
import { FakeClock } from '../fake-clock.mjs';

const IMAGE = planImages('generation', { model: 'm', prompt: 'p' });

/** The clock of a run, which ends with it, as its limiter does. */
function stoppable(clock: FakeClock) {
	let stop: (reason: Error) => void = () => undefined;
	const stopped = new Promise<never>((_, reject) => (stop = reject));
	stopped.catch(() => undefined);
	const sleep = async (ms: number) => await Promise.race([clock.sleep(ms), stopped]);
	return { stop: () => stop(new Error('stopped')), own: { ...clock, now: clock.now, random: clock.random, sleep } }; // prettier-ignore
}

function newRun(
	clock: FakeClock,
	rate: SharedRate,
	limits: { concurrency?: number; requestsPerSecond?: number } = {},
) {
	const { own, stop } = stoppable(clock);
	const limiter = new RateLimiter({ concurrency: 10, clock: own, rateOf: () => rate, ...limits });
	const lane = limiter.laneOf(IMAGE);
	const starts: number[] = [];
	const send = async (count: number, takesMs = 5) =>
		await Promise.allSettled(
			Array.from({ length: count }, async () => {
				await lane.send(async () => {
					starts.push(clock.now());
					await clock.sleep(takesMs);
				});
			}),
		);
	return { limiter, lane, starts, send, stop };
}

const refuse = async (clock: FakeClock, lane: Lane, retryAfterMs = 0) =>
	await clock.run(lane.send(async (request) => lane.rate.refused(request, retryAfterMs, clock)));

describe.each([
	['its clock', ({ stop }: ReturnType<typeof newRun>) => stop()],
	['its limiter', ({ limiter }: ReturnType<typeof newRun>) => limiter.close(new Error('over'))],
])('a run that is stopped by %s', (_name, end) => {
	test('while it keeps the time for all leaves the others their turns', async () => {
		const clock = new FakeClock();
		const rate = new SharedRate();
		const first = newRun(clock, rate);
		const second = newRun(clock, rate);
		await refuse(clock, first.lane, 10_000);
		const sending = [first.send(3), second.send(3)];
		await clock.pass(1000);
		end(first);
		const [ofFirst, ofSecond] = await clock.run(Promise.all(sending));
		expect(ofFirst!.map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
		expect(ofSecond!.map(({ status }) => status)).toEqual(Array(3).fill('fulfilled'));
		expect(second.starts[0]).toBe(10_000);
	});
});

test('a run that is gone without an end, with the timer for all, holds nobody back', async () => {
	const clock = new FakeClock();
	const rate = new SharedRate();
	const gone = new RateLimiter({
		concurrency: 10,
		requestsPerSecond: 1,
		rateOf: () => rate,
		clock: { now: clock.now, random: clock.random, sleep: async () => await new Promise(() => {}) },
	});
	for (let count = 0; count < 2; count += 1)
		void gone.laneOf(IMAGE).send(async () => await Promise.resolve());
	await clock.pass(5000);
	const next = newRun(clock, rate, { requestsPerSecond: 1 });
	await clock.run(next.send(3));
	expect(next.starts).toHaveLength(3);
});

test('a request that failed as its run ended takes no room of the others', async () => {
	const clock = new FakeClock();
	const rate = new SharedRate();
	const first = newRun(clock, rate);
	await refuse(clock, first.lane);
	await clock.pass(5000);
	const failing = first.lane.send(async (request) => {
		await clock.sleep(10);
		request.mayEndRun = true;
	});
	const second = newRun(clock, rate);
	const sending = second.send(1);
	await clock.pass(5);
	first.stop();
	await clock.run(Promise.all([failing, sending]));
	// The next one of an account that has accepted nothing comes a second later.
	expect(second.starts[0]).toBeLessThan(5000 + 1100);
});

describe('runs that share a rate', () => {
	test('keep their own concurrency and requests per second', async () => {
		const clock = new FakeClock();
		const rate = new SharedRate();
		const slow = newRun(clock, rate, { requestsPerSecond: 2 });
		const single = newRun(clock, rate, { concurrency: 1 });
		const free = newRun(clock, rate);
		const sending = [slow.send(9), single.send(4, 1000), free.send(60)];
		await clock.run(Promise.all(sending));
		expect(slow.starts.at(-1)).toBeGreaterThan(4000);
		expect(slow.starts.at(-1)).toBeLessThan(4300);
		expect(single.starts).toEqual([0, 1000, 2000, 3000]);
		// The other two don't hold it back.
		expect(free.starts.at(-1)).toBeLessThan(1500);
	});

	test('with a rate of its own begin at that rate', async () => {
		const clock = new FakeClock();
		const run = newRun(clock, new SharedRate(), { requestsPerSecond: 200, concurrency: 1000 });
		await clock.run(run.send(400, 30_000));
		expect(run.starts.at(-1)).toBeLessThan(2200);
	});

	test.each([0, 1, 8])(
		'take turns, however many requests each has queued (timers %i ms late)',
		async (lateMs) => {
			const clock = new FakeClock(1, lateMs);
			const rate = new SharedRate();
			const runs = [1, 2, 3].map(() => newRun(clock, rate));
			await refuse(clock, runs[0]!.lane);
			await clock.run(Promise.all(runs.map(({ send }, index) => send(210 - 100 * index))));
			// The last one, with ten requests, ends after about thirty of all.
			const end = runs[2]!.starts.at(-1)!;
			const before = runs.map(({ starts }) => starts.filter((at) => at <= end).length);
			expect(Math.max(...before)).toBeLessThanOrEqual(11);
			expect(Math.min(...before)).toBeGreaterThanOrEqual(9);
		},
	);

	test('share it also if none of them has sent anything when they begin', async () => {
		const clock = new FakeClock();
		const account = { idWithKey: 'began together', mediaUrl: '' };
		const limits = { concurrency: 10, timeoutMs: 1, maxResponseBytes: 1 };
		const open = () => openLimiter(account, limits, clock, true).laneOf(IMAGE);
		await clock.pass(1000);
		const [first, second] = [open(), open()];
		await refuse(clock, first);
		expect(second.pausesInARow).toBe(1);
		// What was found is forgotten after a minute.
		await clock.pass(61_000);
		await refuse(clock, open());
		expect(second.pausesInARow).toBe(1);
	});

	test('pause together, and count only their own pauses', async () => {
		const clock = new FakeClock();
		const rate = new SharedRate();
		const first = newRun(clock, rate);
		for (let times = 0; times < 4; times += 1) await refuse(clock, first.lane);
		const second = newRun(clock, rate);
		expect([first.lane.pausesInARow, second.lane.pausesInARow]).toEqual([4, 0]);
		await refuse(clock, second.lane);
		expect([first.lane.pausesInARow, second.lane.pausesInARow]).toEqual([5, 1]);
		// The fifth pause, of 0.4 s × 2⁴ × 0.75 at least.
		const refusedAt = clock.now();
		await clock.run(Promise.all([first.send(1), second.send(1)]));
		expect(second.starts[0]! - refusedAt).toBeGreaterThan(4800);
		rate.accepted(clock.now());
		expect(second.lane.pausesInARow).toBe(0);
	});

	test('wait for the one request that tries after a pause, but not for as long as an image takes', async () => {
		const clock = new FakeClock();
		const rate = new SharedRate();
		const first = newRun(clock, rate);
		const second = newRun(clock, rate);
		await refuse(clock, first.lane);
		const image = first.send(1, 60_000);
		const task = second.send(1);
		await clock.run(Promise.all([image, task]));
		const waited = second.starts[0]! - first.starts[0]!;
		expect(waited).toBe(2000);
	});
});

test('a rate is not outdated while a request is under way, however long it takes', async () => {
	const clock = new FakeClock();
	const rate = new SharedRate();
	const sending = newRun(clock, rate).send(1, 600_000);
	await clock.pass(300_000);
	expect(rate.isOutdated(clock.now())).toBe(false);
	await clock.run(sending);
	expect(rate.isOutdated(clock.now())).toBe(true);
});
