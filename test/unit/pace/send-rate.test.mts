import { SendRate } from '../../../gateway/pace/sendRate.js';

/** A rate that rises with each accepted request of a busy run. */
function accept(rate: SendRate, times: number, now = 0): void {
	for (let request = 0; request < times; request += 1) rate.accepted(now, true);
}

/** Refusals in a row; what the last one shows. */
function refuse(rate: SendRate, times: number, accepted: number, now = 0) {
	const shown = Array.from({ length: times }, () => rate.refused(now, accepted, true));
	return shown.at(-1);
}

test('each accepted request raises the rate by the same, until a limit is met', () => {
	const rate = new SendRate();
	const first = rate.perSecond;
	accept(rate, 1);
	const gain = rate.perSecond - first;
	accept(rate, 9);
	expect(rate.perSecond).toBe(first + 10 * gain);
	expect([rate.isGuess, rate.limit]).toEqual([true, undefined]);
});

test('a single refusal is sporadic, and one of five: the rate falls a little, and the run goes on', () => {
	const rate = new SendRate();
	accept(rate, 30);
	const before = rate.perSecond;
	expect(rate.refused(0, 29, true)).toBe('sporadic');
	expect(rate.perSecond).toBeCloseTo(0.95 * before);
	expect([rate.isGuess, rate.limit]).toEqual([true, undefined]);
	for (let round = 0; round < 200; round += 1) {
		accept(rate, 4);
		expect(rate.refused(0, 20, true)).toBe('sporadic');
	}
	expect(rate.perSecond).toBeGreaterThan(50);
});

test.each([
	['four in a row', 0],
	['two of five', 1.5],
])('%s are not sporadic: the limit is just below what was accepted', (_, between) => {
	const rate = new SendRate();
	accept(rate, 30);
	let shown = 'sporadic';
	for (let times = 0; shown === 'sporadic' && times < 30; times += 1) {
		accept(rate, times % 2 === 0 ? Math.floor(between) : Math.ceil(between));
		shown = rate.refused(0, 30, true);
	}
	expect(shown).toBe('limit');
	expect(rate.perSecond).toBeCloseTo(0.95 * 30);
});

test('the rate holds for 15 s after a limit, also in another run, and other refusals do not prolong it', () => {
	const rate = new SendRate();
	accept(rate, 60);
	expect(refuse(rate, 4, 50, 1000)).toBe('limit');
	const { limit, perSecond: met } = rate;
	const other = new SendRate(undefined, limit);
	expect([other.perSecond, other.isGuess]).toEqual([met, false]);
	for (const one of [rate, other]) {
		accept(one, 100, 15_900);
		expect(one.perSecond).toBe(met);
	}
	accept(rate, 1, 16_000);
	expect(rate.perSecond).toBeGreaterThan(met);
	// Another run may have caused them.
	expect(refuse(other, 4, 40, 15_900)).toBe('limit');
	const lower = other.perSecond;
	accept(other, 1, 16_000);
	expect(other.perSecond).toBeGreaterThan(lower);
});

test('where only ten were accepted, the first limit does not hold: others may have used it', () => {
	const rate = new SendRate();
	accept(rate, 10);
	expect(refuse(rate, 4, 10)).toBe('limit');
	expect(rate.perSecond).toBeCloseTo(0.95 * 10);
	accept(rate, 1);
	expect(rate.perSecond).toBeGreaterThan(10);
	expect(refuse(rate, 4, 10)).toBe('limit');
	accept(rate, 1);
	expect(rate.perSecond).toBeCloseTo(0.95 * 10);
});

describe('an outage is not a rate', () => {
	test('where nothing was accepted, a run begins again with one request, and knows no limit', () => {
		const rate = new SendRate();
		expect(rate.refused(0, 0, true)).toBe('outage');
		expect([rate.isGuess, rate.limit]).toEqual([false, undefined]);
		expect(rate.perSecond).toBeLessThan(1);
		accept(rate, 10);
		expect(rate.perSecond).toBeGreaterThan(20);
	});

	test('a limit that was met stays', () => {
		const rate = new SendRate();
		accept(rate, 60);
		refuse(rate, 4, 50);
		const met = rate.limit;
		expect(refuse(rate, 20, 0)).toBe('outage');
		expect(rate.limit).toEqual(met);
	});
});

test.each([0.01, 30])('a given %d per second is not exceeded, and is reached again', (highest) => {
	const rate = new SendRate(highest);
	expect(rate.perSecond).toBe(highest);
	accept(rate, 100);
	refuse(rate, 50, 1);
	expect(rate.perSecond).toBeLessThanOrEqual(highest);
	accept(rate, 100, 20_000);
	expect(rate.perSecond).toBe(highest);
});
