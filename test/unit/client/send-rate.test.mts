import { SendRate } from '../../../gateway/client/sendRate.js';

/** The constants of the algorithm, as docs/scaling.md has them. */
const BETA = 0.94;
const PLATEAU = (1 + BETA) / 2;
const C = 0.0003;

/** Accepts so many seconds' worth of requests, all that the rate allows. */
function accept(rate: SendRate, seconds: number): void {
	for (let step = 0; step < seconds * 10; step += 1) rate.accepted(0.1, rate.perSecond);
}

/** A rate that has met a limit of so many requests per second. */
function atLimit(limit: number): SendRate {
	const rate = new SendRate();
	while (rate.perSecond < limit) rate.accepted(0.01, rate.perSecond);
	rate.refused(limit + 1, true);
	return rate;
}

describe('in slow start', () => {
	test('each accepted request raises the rate by the same', () => {
		const rate = new SendRate();
		const first = rate.perSecond;
		rate.accepted(0.001, first);
		const gain = rate.perSecond - first;
		expect(gain).toBeGreaterThan(0);
		rate.accepted(5, rate.perSecond);
		expect(rate.perSecond).toBe(first + 2 * gain);
	});

	test('the first refusal shows the limit', () => {
		const rate = atLimit(200);
		expect(rate.inSlowStart).toBe(false);
		expect(rate.perSecond).toBeCloseTo(200 * BETA);
	});

	test('within the initial window a refusal does not end it, a second one does', () => {
		const rate = new SendRate();
		rate.refused(1, true);
		expect(rate.perSecond).toBeCloseTo(BETA);
		expect([rate.inSlowStart, rate.isUnknown]).toEqual([true, false]);
		rate.refused(3, true);
		expect(rate.inSlowStart).toBe(false);
	});

	test('other refusals of the same event tell the limit more exactly', () => {
		const rate = atLimit(60);
		rate.refused(51, false);
		rate.refused(56, false);
		expect(rate.perSecond).toBeCloseTo(50 * BETA);
		expect(rate.inSlowStart).toBe(false);
	});
});

describe('after a refusal the rate follows the cubic', () => {
	test.each([60, 200, 1000])('of %d requests per second: concave, flat, convex', (limit) => {
		const rate = atLimit(limit);
		const plateau = limit * PLATEAU;
		const k = Math.cbrt((plateau - limit * BETA) / C);
		const seen = Array.from({ length: 4 }, () => {
			accept(rate, k * 0.45);
			return rate.perSecond;
		});
		const [half, full, late, later] = seen as [number, number, number, number];
		const at = (share: number) => plateau + C * ((share - 1) * k) ** 3;
		expect(half / at(0.45)).toBeCloseTo(1, 2);
		expect(full / at(0.9)).toBeCloseTo(1, 2);
		expect(late / at(1.35)).toBeCloseTo(1, 2);
		expect(full - half).toBeLessThan(half - limit * BETA);
		expect(later - late).toBeGreaterThan(late - full);
	});

	test('twice as long as to the plateau without a refusal, and it is slow start again', () => {
		const rate = atLimit(100);
		const k = Math.cbrt((100 * (PLATEAU - BETA)) / C);
		accept(rate, 1.9 * k);
		expect([rate.inSlowStart, rate.isUnknown]).toEqual([false, false]);
		accept(rate, 0.2 * k);
		expect([rate.inSlowStart, rate.isUnknown]).toEqual([true, false]);
		const before = rate.perSecond;
		rate.accepted(0.01, before);
		expect(rate.perSecond).toBeGreaterThan(before + 1);
		// A burst after a quiet time is refused at once: it does not show the limit.
		rate.refused(2, true);
		expect(rate.perSecond).toBeCloseTo(100 * BETA);
	});

	test('half way up to the plateau, one refusal says nothing, two in a row do', () => {
		const rate = atLimit(100);
		rate.refused(95, true);
		expect(rate.perSecond).toBeCloseTo(100 * BETA);
		rate.refused(95, true, true);
		expect(rate.perSecond).toBeCloseTo(100 * BETA ** 2);
	});

	test('a share that is refused at any rate is no limit, more than that is', () => {
		const rate = atLimit(100);
		for (let round = 0; round < 40; round += 1) {
			for (const sent of [20, 40, 60, 80]) rate.accepted(0.01, 90, sent);
			rate.refused(21, true);
			accept(rate, 5);
		}
		expect(rate.perSecond).toBeGreaterThan(94);
		const before = rate.perSecond;
		for (let times = 0; times < 10; times += 1) rate.refused(before, true, times > 0);
		expect(rate.perSecond).toBeLessThan(0.9 * before);
	});

	test('one event lowers it once, the next one again', () => {
		const rate = atLimit(100);
		rate.refused(101, false);
		expect(rate.perSecond).toBeCloseTo(100 * BETA);
		rate.refused(96, true, true);
		expect(rate.perSecond).toBeCloseTo(100 * BETA ** 2);
	});

	test('it does not rise unused, and rises as before when it is used again', () => {
		const rate = atLimit(100);
		const before = rate.perSecond;
		for (let times = 0; times < 1000; times += 1) rate.accepted(1, before / 3);
		expect(rate.perSecond).toBe(before);
		accept(rate, 5);
		expect(rate.perSecond).toBeGreaterThan(before);
		expect(rate.perSecond).toBeLessThan(100);
	});

	test('the first requests after a quiet time say nothing of the limit when they are refused', () => {
		const rate = atLimit(100);
		rate.refused(2, true, true);
		rate.refused(3, false);
		rate.refused(1, false);
		expect(rate.perSecond).toBeCloseTo(100 * BETA ** 2);
	});
});

describe('whatever happens', () => {
	test('refusals without end leave a rate that ends', () => {
		const rate = atLimit(100);
		for (let times = 0; times < 10_000; times += 1) rate.refused(1, true, true);
		expect(rate.perSecond).toBeGreaterThanOrEqual(0.1);
		accept(rate, 60);
		expect(rate.perSecond).toBeGreaterThan(50);
	});

	test.each([0.01, 1, 30])(
		'a limit of %d that was set is not exceeded, and is reached again',
		(highest) => {
			const rate = new SendRate(highest);
			expect(rate.perSecond).toBe(highest);
			accept(rate, 100);
			for (let times = 0; times < 50; times += 1) rate.refused(1, true, true);
			expect(rate.perSecond).toBeLessThanOrEqual(highest);
			accept(rate, 100);
			expect(rate.perSecond).toBe(highest);
		},
	);

	test('a snapshot is a copy, and goes on where it was taken', () => {
		const rate = atLimit(100);
		accept(rate, 3);
		const copy = new SendRate(undefined, rate.snapshot());
		accept(rate, 5);
		expect(copy.perSecond).toBeLessThan(rate.perSecond);
		accept(copy, 5);
		expect(copy.perSecond).toBe(rate.perSecond);
	});
});
