import { SendRate } from '../../../gateway/pace/sendRate.js';

/** A rate that rises with each accepted request of a busy run. */
function accept(rate: SendRate, times: number, now = 0): void {
	for (let request = 0; request < times; request += 1) rate.accepted(now, true);
}

/** Refusals in a row, after so many requests in a second; what the last one shows. */
function refuse(rate: SendRate, times: number, accepted: number, now = 0, sent = accepted) {
	const shown = Array.from({ length: times }, () => rate.refused(now, { sent, accepted }, true));
	return shown.at(-1);
}

/** Meets a limit of 50 a second at a time. */
function met50(now = 0): SendRate {
	const rate = new SendRate();
	accept(rate, 60, now);
	expect(refuse(rate, 4, 50, now)).toBe('limit');
	accept(rate, 1, now);
	return rate;
}

test('each accepted request raises the rate by the same, until a limit is met', () => {
	const rate = new SendRate();
	const first = rate.perSecond;
	accept(rate, 1);
	const gain = rate.perSecond - first;
	accept(rate, 9);
	expect(rate.perSecond).toBe(first + 10 * gain);
	expect(rate.isGuess).toBe(true);
});

test('a single refusal is sporadic, and one of five: the rate falls a little, and the runs go on', () => {
	const rate = new SendRate();
	accept(rate, 30);
	const before = rate.perSecond;
	expect(refuse(rate, 1, 29)).toBe('sporadic');
	expect(rate.perSecond).toBeCloseTo(0.95 * before);
	expect(rate.isGuess).toBe(true);
	for (let round = 0; round < 200; round += 1) {
		accept(rate, 4);
		expect(refuse(rate, 1, 20)).toBe('sporadic');
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
		shown = rate.refused(0, { sent: 34, accepted: 30 }, true);
	}
	expect(shown).toBe('limit');
	expect(rate.perSecond).toBeCloseTo(0.95 * 30);
});

describe('the rate after a limit', () => {
	test('holds for 15 s, which other refusals do not prolong', () => {
		const rate = met50(1000);
		expect(rate.perSecond).toBeCloseTo(0.95 * 50);
		expect(refuse(rate, 4, 40, 9000)).toBe('limit');
		accept(rate, 1, 9000);
		const met = rate.perSecond;
		accept(rate, 100, 15_900);
		expect(rate.perSecond).toBe(met);
		accept(rate, 1, 16_000);
		expect(rate.perSecond).toBeGreaterThan(met);
	});

	test('keeps most of it where other processes got the rest', () => {
		const rate = met50();
		expect(refuse(rate, 3, 3, 2000, 45)).toBe('sporadic');
		const before = rate.perSecond;
		expect(refuse(rate, 1, 3, 2000, 45)).toBe('limit');
		expect(rate.perSecond).toBeCloseTo(0.7 * before);
	});

	test('does not hold far below the highest one, but does where it stays there', () => {
		const rate = met50();
		const limit = (now: number) => {
			refuse(rate, 4, 4, now, 5);
			const lowered = rate.perSecond;
			accept(rate, 1, now + 1);
			return rate.perSecond > lowered;
		};
		expect(limit(2000)).toBe(true);
		const next = Array.from({ length: 12 }, (_, second) => limit(3000 + 1000 * second));
		expect(next[0]).toBe(true);
		expect(next.at(-1)).toBe(false);
	});

	test('does not hold where only ten were accepted: others may have used it', () => {
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
});

describe('an outage is not a rate', () => {
	test('where nothing was accepted, an account begins again with one request, and knows no limit', () => {
		const rate = new SendRate();
		expect(refuse(rate, 1, 0)).toBe('outage');
		expect(rate.isGuess).toBe(false);
		expect(rate.perSecond).toBeLessThan(1);
		accept(rate, 10);
		expect(rate.perSecond).toBeGreaterThan(20);
	});

	test('a limit that was met stays', () => {
		const rate = met50();
		refuse(rate, 4, 50);
		const met = rate.perSecond;
		expect(refuse(rate, 20, 0)).toBe('outage');
		expect(rate.perSecond).toBe(met);
	});
});
