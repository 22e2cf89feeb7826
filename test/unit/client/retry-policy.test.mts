import { requestedPauseMs, retryAfterMs } from '../../../gateway/protocol/retryAfter.js';
import { faultOf, type Fault } from '../../../gateway/protocol/networkFault.js';
import { isGood, wasNotAccepted, type Outcome } from '../../../gateway/protocol/outcome.js';
import {
	backoffMs,
	decideRetry,
	isRateLimited,
	isTransient,
} from '../../../gateway/client/retryPolicy.js';
import { response, fault, FAULTS, page, TOO_OFTEN } from '../virtual-gateway.mjs';

const NOW = Date.UTC(2030, 0, 1);
const QUOTA = { error: { message: 'Insufficient quota', type: 'insufficient_quota' } };

const decide = (outcome: Outcome, paid: boolean, attempt = 1, quotaRefusals = 0) =>
	decideRetry({
		plan: { paid, call: paid ? 'sync' : 'poll' },
		outcome,
		attempts: attempt,
		rateRefusals: 0,
		quotaRefusals,
		refusalsInARow: attempt,
		random: 0.5,
		nowMs: NOW,
	});

/** What the design prescribes (section 4): sent again if paid, if free, and whether surely not accepted. */
const MATRIX: Array<[name: string, outcome: Outcome, paid: boolean, free: boolean, safe: boolean]> =
	[
		['200 with JSON', response(200, { id: '1' }), false, false, false],
		['201 with JSON', response(201, { id: '1' }), false, false, false],
		['200 with an empty body', page(200, ''), false, true, false],
		['200 with a web page', page(200, '<html>'), false, true, false],
		['200 with half a document', page(200, '{"id": "1'), false, true, false],
		['200 with a list', response(200, []), false, true, false],
		['200 with null', response(200, null), false, true, false],
		['204 without a body', page(204, ''), false, true, false],
		['an interim status', page(199, ''), false, false, false],
		['a redirect to nowhere', page(300, ''), false, false, true],
		['301', response(301), false, false, true],
		['302', response(302), false, false, true],
		['303', response(303), false, false, false],
		['307', response(307), false, false, true],
		['400', response(400), false, false, true],
		['401', response(401), false, false, true],
		['403', response(403), false, false, true],
		['404', response(404), false, false, true],
		['408', response(408), false, true, false],
		['409', response(409), false, false, true],
		['413', response(413), false, false, true],
		['422', response(422), false, false, true],
		['425', response(425), false, true, true],
		['429', response(429, TOO_OFTEN), true, true, true],
		['429 without a body', page(429, ''), true, true, true],
		['499', response(499), false, false, false],
		['500', response(500), false, true, false],
		['501', response(501), false, true, true],
		['502', page(502, '<html>Bad Gateway'), false, true, false],
		['503', response(503), false, true, false],
		['503 with Retry-After', response(503, {}, { 'retry-after': '2' }), false, true, false],
		['504', response(504), false, true, false],
		['529', response(529), false, true, false],
		['599', response(599), false, true, false],
		['connection refused', fault('refused'), true, true, true],
		['name not found', fault('notFound'), true, true, true],
		['certificate not trusted', fault('certificate'), false, false, true],
		['address not valid', fault('invalidAddress'), false, false, true],
		['header not valid', fault('invalidHeader'), false, false, true],
		['address blocked by n8n', fault('blocked'), false, false, true],
		['no connection made', fault('unconnected'), true, true, true],
		['no connection within the time limit', fault('connectTimeout'), false, true, true],
		['connection reset', fault('reset'), false, true, false],
		['time-out', fault('timeout'), false, true, false],
		['response too large', fault('tooLarge'), false, false, false],
		['any other fault', fault('other'), false, true, false],
	];

describe.each(MATRIX)('after %s', (_name, outcome, paid, free, safe) => {
	test(`a paid request is ${paid ? '' : 'not '}sent again`, () => {
		expect(decide(outcome, true).again).toBe(paid);
	});

	test(`a free request is ${free ? '' : 'not '}sent again`, () => {
		expect(decide(outcome, false).again).toBe(free);
		expect(!isGood(outcome) && isTransient(outcome)).toBe(free);
	});

	test(`it is ${safe ? '' : 'not '}certain that nothing was accepted`, () => {
		expect(wasNotAccepted(outcome)).toBe(safe);
	});

	test('there are six attempts at most, fifteen after a refusal for the rate limit', () => {
		const most = isRateLimited(outcome) ? 15 : 6;
		for (const isPaid of [true, false]) {
			const after = Array.from({ length: 100 }, (_, index) => decide(outcome, isPaid, index + 1));
			const again = after.filter((decision) => decision.again);
			expect(again).toHaveLength((isPaid ? paid : free) ? most - 1 : 0);
		}
	});
});

test('a paid request is sent again only where it was certainly not accepted', () => {
	const everything = [
		...FAULTS.map((kind) => fault(kind)),
		...Array.from({ length: 500 }, (_, index) => response(100 + index, TOO_OFTEN)),
		...Array.from({ length: 500 }, (_, index) => page(100 + index, '')),
	];
	const again = everything.filter((outcome) => decide(outcome, true).again);
	expect(again).toHaveLength(5);
	expect(again.every(wasNotAccepted)).toBe(true);
});

describe('a 429', () => {
	// protocol/quota.test.mts has the words of both.
	test('that speaks of money is sent again once', () => {
		const outcome = response(429, QUOTA);
		for (const paid of [true, false]) {
			expect(decide(outcome, paid, 1, 1)).toMatchObject({ again: true, rateLimited: false });
			expect(decide(outcome, paid, 2, 2).again).toBe(false);
		}
	});

	test('that speaks of haste pauses the whole run', () => {
		expect(decide(response(429, TOO_OFTEN), true)).toMatchObject({
			again: true,
			rateLimited: true,
		});
	});

	test('of a download makes a pause of its own', () => {
		const plan = { paid: false, call: 'download' } as const;
		const facts = {
			plan,
			attempts: 2,
			rateRefusals: 0,
			quotaRefusals: 0,
			refusalsInARow: 2,
			nowMs: NOW,
			random: 1,
		};
		const decided = (headers: Record<string, string>) =>
			decideRetry({ ...facts, outcome: response(429, TOO_OFTEN, headers) });
		const own = { again: true, rateLimited: false };
		expect(decided({})).toEqual({ ...own, afterMs: 2000 });
		expect(decided({ 'retry-after': '7' })).toEqual({ ...own, afterMs: 7000 });
		expect(decided({ 'retry-after': '301' })).toEqual({ again: false });
	});
});

describe('the pause before the next attempt', () => {
	test('doubles, up to twenty seconds', () => {
		const pauses = [1, 2, 3, 4, 5, 6, 7, 50].map((attempt) => backoffMs(attempt, 1));
		expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 20_000, 20_000, 20_000]);
	});

	test('is spread by chance over its upper half', () => {
		expect(backoffMs(3, 0)).toBe(2000);
		expect(backoffMs(3, 0.5)).toBe(3000);
	});

	test('is at least what the gateway asks for', () => {
		const outcome = response(503, {}, { 'retry-after': '17' });
		expect(decide(outcome, false)).toMatchObject({ again: true, afterMs: 17_000 });
		const rateLimited = response(503, {}, { 'retry-after': '0' });
		expect(decide(rateLimited, false)).toMatchObject({ again: true, afterMs: 750 });
	});

	test('is at most five minutes: after a longer Retry-After there is no retry', () => {
		const asking = (seconds: number) => response(429, TOO_OFTEN, { 'retry-after': `${seconds}` });
		expect(decide(asking(300), true).again).toBe(true);
		expect(decide(asking(301), true).again).toBe(false);
	});

	test('is only the Retry-After after 429 for the rate limit, because the rate limiter adds its own', () => {
		const asking = response(429, TOO_OFTEN, { 'retry-after': '2' });
		expect(decide(asking, true, 9)).toEqual({ again: true, afterMs: 2000, rateLimited: true });
		// The rate limiter doubles its own pauses.
		const silent = response(429, TOO_OFTEN);
		expect(decide(silent, true, 9)).toEqual({ again: true, afterMs: 0, rateLimited: true });
	});

	test.each([
		[4200, { again: true, afterMs: 600, rateLimited: false }],
		[4201, { again: false }],
		[4799, { again: false }],
	])(
		'at a wrong address ends within 4.8 s without a response, or is not made: after %d ms',
		(nothingForMs, decision) => {
			// The third attempt's pause is 600 ms at most.
			const plan = { paid: false, call: 'listing' } as const;
			const tried = {
				plan,
				attempts: 3,
				rateRefusals: 0,
				quotaRefusals: 0,
				refusalsInARow: 0,
				nowMs: NOW,
			};
			const decided = decideRetry({ ...tried, outcome: fault('refused'), random: 1, nothingForMs });
			expect(decided).toEqual(decision);
		},
	);
});

describe('Retry-After', () => {
	const inTwoMinutes = new Date(NOW + 120_000).toUTCString();
	const yesterday = new Date(NOW - 86_400_000).toUTCString();
	const nextYear = new Date(NOW + 366 * 86_400_000).toUTCString();

	test.each([
		['0', 0],
		['5', 5000],
		[' 5 ', 5000],
		['1.5', 1500],
		['86400', 86_400_000],
		[`${31 * 86_400}`, 31 * 86_400_000],
		[`${NOW / 1000 + 31 * 86_400}`, 31 * 86_400_000],
		['5'.padStart(64, '0'), 5000],
		['604800', 604_800_000],
		[inTwoMinutes, 120_000],
		[`${NOW / 1000 + 120}`, 120_000],
	])('%j is a pause', (header, ms) => {
		expect(retryAfterMs(header, NOW)).toBe(ms);
	});

	const ofTheDay = '1893456000';
	const longerThanAnybodyWrites = '5'.padStart(65, '0');
	test.each([
		...[undefined, '', '  ', '-5', 'soon', 'NaN', 'Infinity', ofTheDay, '99999999999999999999'],
		...['1e400', longerThanAnybodyWrites, yesterday, nextYear, `${NOW / 1000 - 1}`],
		...[`${NOW / 1000 + 32 * 86_400}`, 'Mon, 99 Foo 2030 00:00:00 GMT'],
	])('%j says nothing sensible', (header) => {
		expect(retryAfterMs(header, NOW)).toBeUndefined();
	});

	const unix = String(NOW / 1000 + 9);
	test.each<[number, Record<string, string>, number | undefined]>([
		[429, { 'ratelimit-reset': '7' }, 7000],
		[503, { 'ratelimit-reset': '7' }, 7000],
		[429, { 'x-ratelimit-reset': '8' }, 8000],
		[429, { 'x-ratelimit-reset': unix }, 9000],
		[429, { 'x-ratelimit-reset': '8', 'ratelimit-reset': '7' }, 7000],
		[429, { 'x-ratelimit-reset': '8', 'ratelimit-reset': '7', 'retry-after': '0' }, 0],
		[429, { 'x-ratelimit-reset': '8', 'ratelimit-reset': '-1', 'retry-after': 'soon' }, 8000],
		[429, { 'x-ratelimit-reset': 'Infinity' }, undefined],
		// It stands on every response, and is about requests that may still be sent.
		[200, { 'ratelimit-reset': '7', 'x-ratelimit-reset': '8' }, undefined],
		[500, { 'ratelimit-reset': '7' }, undefined],
	])('%i with %j asks for %j ms', (httpCode, headers, ms) => {
		expect(requestedPauseMs(response(httpCode, {}, headers), NOW)).toBe(ms);
	});
});

describe('the fault behind an error of the network', () => {
	test.each<[string, Fault]>([
		['ECONNREFUSED', 'refused'],
		['EHOSTUNREACH', 'refused'],
		['ENOTFOUND', 'notFound'],
		['EAI_AGAIN', 'notFound'],
		['ECONNRESET', 'reset'],
		['EPIPE', 'reset'],
		['ETIMEDOUT', 'timeout'],
		['ECONNABORTED', 'timeout'],
		['CERT_HAS_EXPIRED', 'certificate'],
		['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate'],
		['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate'],
		['ERR_INVALID_URL', 'invalidAddress'],
		['ERR_SSL_WRONG_VERSION_NUMBER', 'invalidAddress'],
		['econnreset', 'reset'],
		['ESOMETHING', 'other'],
		['constructor', 'other'],
	])('%s is %s', (code, expected) => {
		expect(faultOf(code)).toBe(expected);
	});

	test.each<[string, Fault]>([
		['socket hang up', 'reset'],
		['The operation was aborted', 'reset'],
		['timeout of 300000ms exceeded', 'timeout'],
		['Request timed out', 'timeout'],
		['something else', 'other'],
		['', 'other'],
	])('without a code, %j is %s', (message, expected) => {
		expect(faultOf(undefined, message)).toBe(expected);
	});

	test.each([
		['connect EHOSTUNREACH 10.0.0.1:443', 'refused'],
		['read EHOSTUNREACH', 'reset'],
		['write ENETUNREACH', 'reset'],
	])(
		'%j on the way is %s: an open connection may have carried the request',
		(message, expected) => {
			expect(faultOf(message.split(' ')[1], message)).toBe(expected);
		},
	);
});
