import { Gate, NotSent } from '../../gateway/gate.js';
import { planGeneration } from '../../gateway/plan.js';
import { createSender } from '../../gateway/sender.js';
import { FakeClock } from './fake-clock.mjs';
import {
	answer,
	fixedWindows,
	slidingWindow,
	VirtualGateway,
	type RateLimit,
} from './virtual-gateway.mjs';

/** Sends so many requests at once, each of which takes `takesMs`; tells when each was started. */
async function startTimes(
	clock: FakeClock,
	gate: Gate,
	count: number,
	takesMs: number,
): Promise<number[]> {
	const starts: number[] = [];
	const requests = Array.from({ length: count }, async () => {
		await gate.run(async () => {
			starts.push(clock.now());
			await clock.sleep(takesMs);
			gate.succeeded();
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

describe('what may be under way', () => {
	test.each([1, 3, 10, 50])('is bounded by a concurrency of %d, and that is used', async (most) => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: most, clock });
		let now = 0;
		let highest = 0;
		const requests = Array.from({ length: 200 }, async () => {
			await gate.run(async () => {
				highest = Math.max(highest, ++now);
				await clock.sleep(5000);
				now -= 1;
			});
		});
		await clock.run(Promise.all(requests));
		expect(highest).toBe(most);
		expect(now).toBe(0);
	});

	test('makes room when a request fails', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 1, clock });
		const failing = gate.run(async () => {
			await clock.sleep(10);
			throw new Error('cut');
		});
		const next = gate.run(async () => 'sent');
		await expect(clock.run(failing)).rejects.toThrow('cut');
		await expect(clock.run(next)).resolves.toBe('sent');
	});

	test('is let out in the order of arrival', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 2, clock });
		const order: number[] = [];
		const requests = Array.from({ length: 20 }, async (_, index) => {
			await gate.run(async () => {
				order.push(index);
				await clock.sleep(10);
			});
		});
		await clock.run(Promise.all(requests));
		expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
	});
});

describe('requests per second', () => {
	test.each([0.5, 1, 7, 30, 400])('are at most %d, and that is used', async (requestsPerSecond) => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 1000, requestsPerSecond, clock });
		const count = Math.ceil(requestsPerSecond * 20);
		const starts = await startTimes(clock, gate, count, 5);
		const span = 1000 * Math.max(1, 1 / requestsPerSecond);
		// More than that only by what a timer that fires late may catch up.
		const lateness = Math.ceil(requestsPerSecond / 100);
		expect(mostWithin(starts, span)).toBeLessThanOrEqual(Math.max(1, requestsPerSecond) + lateness);
		expect(starts.at(-1)).toBeLessThanOrEqual(20_000);
	});

	test('are not saved up while there is nothing to do', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 100, requestsPerSecond: 5, clock });
		await clock.pass(60_000);
		const starts = await startTimes(clock, gate, 20, 5);
		expect(mostWithin(starts, 1000)).toBeLessThanOrEqual(6);
	});

	test('without a limit begin with a handful at once and speed up', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 1000, clock });
		const starts = await startTimes(clock, gate, 1000, 200);
		expect(starts.filter((at) => at === 0)).toHaveLength(10);
		expect(starts.filter((at) => at < 1000).length).toBeLessThan(200);
		expect(starts.filter((at) => at >= 1000 && at < 2000).length).toBeGreaterThan(250);
	});

	test('without a limit are not held back where only a handful is under way', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 10, clock });
		const starts = await startTimes(clock, gate, 1000, 5);
		expect(starts.at(-1)).toBeLessThanOrEqual(99 * 5);
	});

	test('are held back after a refusal, however few are under way', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 10, clock });
		await clock.run(gate.run(async (pass) => gate.throttled(pass)));
		const refusedAt = clock.now();
		const starts = await startTimes(clock, gate, 50, 5);
		const first = Math.min(...starts);
		expect(first).toBeGreaterThan(refusedAt);
		expect(starts.filter((at) => at < first + 1000).length).toBeLessThan(5);
	});
});

describe('a 429', () => {
	/** A gate at a steady pace, after a refusal `pauseMs`. */
	async function refuseOne(clock: FakeClock, gate: Gate, pauseMs?: number): Promise<void> {
		await clock.run(gate.run(async (pass) => gate.throttled(pass, pauseMs)));
	}

	test('halts the whole run for a moment', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 10, clock });
		await refuseOne(clock, gate);
		const [first] = await startTimes(clock, gate, 5, 1);
		expect(first).toBeGreaterThanOrEqual(150);
		expect(first).toBeLessThanOrEqual(1100);
	});

	test('halts the whole run for as long as Retry-After asks', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 10, clock });
		await refuseOne(clock, gate, 42_000);
		const [first] = await startTimes(clock, gate, 5, 1);
		expect(first).toBeGreaterThanOrEqual(42_000);
		expect(first).toBeLessThan(43_000);
	});

	test('with a Retry-After counts also from a request that was sent earlier', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 10, clock });
		const late = gate.run(async (pass) => {
			await clock.sleep(100);
			gate.throttled(pass, 9000);
		});
		await refuseOne(clock, gate);
		await clock.run(late);
		const [first] = await startTimes(clock, gate, 1, 1);
		expect(first).toBe(9100);
	});

	test('after 429 makes the pauses grow, and one request at a time tries the way', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 10, clock });
		const starts: number[] = [];
		let underWay = 0;
		let most = 0;
		const requests = Array.from({ length: 20 }, async () => {
			for (let refused = true; refused; ) {
				await gate.run(async (pass) => {
					starts.push(clock.now());
					underWay += 1;
					if (clock.now() > 20_000 && clock.now() < 90_000) most = Math.max(most, underWay);
					await clock.sleep(5000);
					underWay -= 1;
					refused = clock.now() < 90_000;
					if (refused) gate.throttled(pass);
					else gate.succeeded();
				});
			}
		});
		await clock.run(Promise.all(requests));
		expect(most).toBe(1);
		const tries = starts.filter((at) => at > 20_000 && at < 90_000);
		const pauses = tries.slice(1).map((at, index) => at - tries[index]);
		expect(pauses.length).toBeGreaterThan(2);
		expect(pauses.every((pause, index) => index === 0 || pause > pauses[index - 1])).toBe(true);
		expect(clock.now()).toBeLessThan(180_000);
	});

	test('lowers the pace, and the pace recovers', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 100, requestsPerSecond: 20, clock });
		for (let times = 0; times < 30; times += 1) await refuseOne(clock, gate);
		await clock.pass(60_000);
		const from = clock.now();
		const starts = await startTimes(clock, gate, 1000, 10);
		const inSecond = (second: number) =>
			starts.filter((at) => Math.floor((at - from) / 1000) === second).length;
		expect(inSecond(0)).toBeLessThan(12);
		expect(inSecond(0)).toBeGreaterThan(0);
		expect(Math.max(...Array.from({ length: 60 }, (_, second) => inSecond(second)))).toBe(20);
		expect(mostWithin(starts, 1000)).toBeLessThanOrEqual(21);
	});

	test('of minutes without end is told to all who wait', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 10, clock });
		const ends = Array.from({ length: 50 }, async () => {
			while (!gate.hopeless) await gate.run(async (pass) => gate.throttled(pass));
		});
		const results = await clock.run(Promise.allSettled(ends), 400_000);
		const reasons = results.map((end) => (end.status === 'rejected' ? end.reason : 'asked'));
		expect(reasons.filter((reason) => reason instanceof NotSent)).toHaveLength(49);
		expect(clock.now()).toBeGreaterThan(300_000);
		gate.succeeded();
		expect(gate.hopeless).toBe(false);
	});
});

describe('a closed gate', () => {
	test('refuses whoever waits and whoever comes, and lets end what is under way', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 1, clock });
		const underWay = gate.run(async () => {
			await clock.sleep(1000);
			return 'answered';
		});
		const sent = jest.fn();
		const waiting = gate.run(sent);
		gate.close('stopped');
		gate.close('later');
		await expect(waiting).rejects.toBe('stopped');
		await expect(gate.run(sent)).rejects.toBe('stopped');
		await expect(clock.run(underWay)).resolves.toBe('answered');
		expect(sent).not.toHaveBeenCalled();
	});

	test('is what remains when the clock stops in a pause', async () => {
		const clock = new FakeClock();
		const gate = new Gate({ concurrency: 5, requestsPerSecond: 1, clock });
		const sent = jest.fn(async () => undefined);
		const requests = [gate.run(sent), gate.run(sent), gate.run(sent)];
		await clock.pass(0);
		clock.close('stopped');
		const ends = await Promise.allSettled(requests);
		expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
		expect(sent).toHaveBeenCalledTimes(1);
		await expect(gate.run(sent)).rejects.toBe('stopped');
	});
});

describe('at a gateway that has a limit of its own', () => {
	interface Report {
		seconds: number;
		refused: number;
		failed: number;
	}

	async function submit(
		count: number,
		concurrency: number,
		limit: RateLimit,
		latency: [number, number],
		seed: number,
	): Promise<Report> {
		const clock = new FakeClock(seed);
		const gate = new Gate({ concurrency, clock });
		const gateway = new VirtualGateway(
			clock,
			limit,
			() => latency[0] + clock.random() * (latency[1] - latency[0]),
		);
		const sender = createSender({
			gate,
			clock,
			wallClock: clock.now,
			exchange: async () => await gateway.receive(() => answer(200, { id: '1', status: 'queued' })),
		});
		const plan = planGeneration({ model: 'm', prompt: 'p' }, 'query');
		const ends = await clock.run(
			Promise.allSettled(Array.from({ length: count }, async () => await sender.send(plan))),
		);
		return {
			seconds: clock.now() / 1000,
			refused: gateway.refused,
			failed: ends.filter(({ status }) => status === 'rejected').length,
		};
	}

	const SEEDS = [1, 2, 3, 4, 5];
	const LIMITS: Array<[string, () => RateLimit]> = [
		['whole seconds', () => fixedWindows(30)],
		['any second', () => slidingWindow(30)],
	];

	describe.each(LIMITS)('of 30 requests in %s', (_name, limit) => {
		test.each([10, 50, 100])('200 requests, %d at a time', async (concurrency) => {
			const reports = await Promise.all(
				SEEDS.map(async (seed) => await submit(200, concurrency, limit(), [20, 60], seed)),
			);
			for (const { seconds, refused, failed } of reports) {
				expect(failed).toBe(0);
				expect(refused).toBeLessThan(20);
				expect(seconds).toBeLessThanOrEqual((200 / 30) * 1.25);
			}
		});

		test('200 requests, answered slowly', async () => {
			const reports = await Promise.all(
				SEEDS.map(async (seed) => await submit(200, 10, limit(), [100, 400], seed)),
			);
			for (const { seconds, refused, failed } of reports) {
				expect(failed).toBe(0);
				expect(refused).toBeLessThan(20);
				expect(seconds).toBeLessThanOrEqual((200 / 30 + 0.4) * 1.25);
			}
		});
	});

	test.each<[string, number, () => RateLimit, number]>([
		['one in a second', 20, () => fixedWindows(1), 40],
		['sixty in a minute', 200, () => fixedWindows(60, 60_000), 300],
		['sixty in any minute', 200, () => slidingWindow(60, 60_000), 300],
		['nothing at all for twenty seconds', 400, () => (now) => now < 1000 || now > 21_000, 60],
	])('of %s loses nothing', async (_name, count, limit, seconds) => {
		const report = await submit(count, 10, limit(), [100, 400], 1);
		expect(report.failed).toBe(0);
		expect(report.seconds).toBeLessThan(seconds);
	});

	test('that refuses every tenth request by chance is not taken for a slow one', async () => {
		const chance = new FakeClock(7);
		const report = await submit(400, 10, () => chance.random() > 0.1, [100, 400], 1);
		expect(report.failed).toBe(0);
		expect(report.seconds).toBeLessThan(90);
	});

	test('that refuses everything makes all fail within minutes', async () => {
		const report = await submit(100, 10, () => false, [100, 400], 1);
		expect(report.failed).toBe(100);
		expect(report.seconds).toBeLessThan(400);
		expect(report.refused).toBeLessThan(60);
	});
});
