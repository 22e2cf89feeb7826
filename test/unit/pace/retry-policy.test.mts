import { requestedPauseMs, retryAfterMs } from '../../../gateway/protocol/retryAfter.js';
import { faultOf, type Fault } from '../../../gateway/protocol/networkFault.js';
import { isGood, chargedAfter, type Outcome } from '../../../gateway/protocol/outcome.js';
import {
	backoffMs,
	decideRetry,
	isTransient,
	type Attempted,
} from '../../../gateway/pace/retryPolicy.js';
import { response, fault, FAULTS, FIRST_ATTEMPT, page, TOO_OFTEN } from '../virtual-gateway.mjs';

const NOW = Date.UTC(2030, 0, 1);
const QUOTA = { error: { message: 'Insufficient quota', type: 'insufficient_quota' } };
const PAID = { paid: true, call: 'sync' } as const;
const FREE = { paid: false, call: 'poll' } as const;
const DOWNLOAD = { paid: false, call: 'download' } as const;

const decide = (outcome: Outcome, plan: Attempted['plan'], more: Partial<Attempted> = {}) =>
	decideRetry({
		...FIRST_ATTEMPT,
		plan,
		outcome,
		refusalsInARow: more.attempts ?? 1,
		random: 0.5,
		nowMs: NOW,
		...more,
	});

/** What docs/errors-and-charges.md promises: sent again if paid, if free, and whether surely not accepted. */
test.each<[string, Outcome, boolean, boolean, boolean]>([
	['200 with JSON', response(200, { id: '1' }), false, false, false],
	['200 with an empty body', page(200, ''), false, true, false],
	['200 with half a document', page(200, '{"id": "1'), false, true, false],
	['303', response(303), false, false, false],
	['307', response(307), false, false, true],
	['400', response(400), false, false, true],
	['408', response(408), false, true, false],
	['425', response(425), false, true, true],
	['429', response(429, TOO_OFTEN), true, true, true],
	['499', response(499), false, false, false],
	['500', response(500), false, true, false],
	['503 with Retry-After', response(503, {}, { 'retry-after': '2' }), false, true, false],
	['connection refused', fault('refused'), true, true, true],
	['certificate not trusted', fault('certificate'), false, false, true],
	['no connection made', fault('unconnected'), true, true, true],
	['no connection within the time limit', fault('connectTimeout'), false, true, true],
	['connection reset', fault('reset'), false, true, false],
	['time-out', fault('timeout'), false, true, false],
	['response too large', fault('tooLarge'), false, false, false],
	['any other fault', fault('other'), false, true, false],
])('after %s: sent again if paid, if free; certainly not accepted', (...row) => {
	const [, outcome, paid, free, safe] = row;
	expect([decide(outcome, PAID).again, decide(outcome, FREE).again]).toEqual([paid, free]);
	expect(!isGood(outcome) && isTransient(outcome)).toBe(free);
	expect(chargedAfter(outcome) === 'no').toBe(safe);
});

/** How often each is sent in all, with the key of its payment. */
test.each<[string, Outcome, number]>([
	['200 with JSON', response(200, { id: '1' }), 1],
	['200 with half a document', page(200, '{"id": "1'), 6],
	['400', response(400), 1],
	['409, in progress', response(409, { error: { message: 'same key in use' } }), 24],
	['409 about something else', response(409, { error: { message: '2 running generations' } }), 1],
	['409, completed', response(409, { error: { message: 'this key: already completed' } }), 1],
	['429, in progress', response(429, { error: { message: 'the same key is in progress' } }), 24],
	['429, completed', response(429, { error: { message: 'this key: already completed' } }), 1],
	['425, in progress', response(425, { error: { message: 'the same key is in progress' } }), 24],
	['409, another body', response(409, { error: { message: 'key used with a different body' } }), 1],
	['422', response(422, { detail: [{ msg: 'does not match' }] }), 1],
	['408', response(408), 6],
	['500', response(500), 6],
	['connection refused', fault('refused'), 6],
	['no connection within the time limit', fault('connectTimeout'), 1],
	['connection reset', fault('reset'), 6],
	['time-out', fault('timeout'), 3],
	['response too large', fault('tooLarge'), 1],
])('with an idempotency key after %s: sent %i times', (_, outcome, most) => {
	const keyed = { ...PAID, isIdempotent: true };
	const attempts = Array.from({ length: 30 }, (__, index) => index + 1);
	const last = attempts.find((count) => !decide(outcome, keyed, { attempts: count }).again);
	expect(last).toBe(most);
});

test('a paid request is sent again only where it was certainly not accepted', () => {
	const everything = [
		...FAULTS.map((kind) => fault(kind)),
		...Array.from({ length: 500 }, (_, index) => response(100 + index, TOO_OFTEN)),
		...Array.from({ length: 500 }, (_, index) => page(100 + index, '')),
	];
	const again = everything.filter((outcome) => decide(outcome, PAID).again);
	expect(again).toHaveLength(5);
	expect(again.every((outcome) => chargedAfter(outcome) === 'no')).toBe(true);
});

describe('a 429', () => {
	// responses/quota.test.mts has the words of both.
	test.each([PAID, FREE])('that speaks of money is sent again once: $call', (plan) => {
		const outcome = response(429, QUOTA);
		const decided = [1, 2].map((quotaRefusals) => decide(outcome, plan, { quotaRefusals }));
		expect(decided).toMatchObject([{ again: true, rateLimited: false }, { again: false }]);
	});

	test('of a download makes a pause of its own', () => {
		const decided = (headers: Record<string, string>) =>
			decide(response(429, TOO_OFTEN, headers), DOWNLOAD, { attempts: 2, random: 1 });
		const own = { again: true, rateLimited: false };
		expect(decided({})).toEqual({ ...own, afterMs: 2000 });
		expect(decided({ 'retry-after': '7' })).toEqual({ ...own, afterMs: 7000 });
		expect(decided({ 'retry-after': '301' })).toEqual({ again: false });
	});
});

describe('the pause before the next attempt', () => {
	test('doubles, up to twenty seconds, and is spread by chance over its upper half', () => {
		const pauses = [1, 2, 3, 4, 5, 6, 7, 50].map((attempt) => backoffMs(attempt, 1));
		expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 20_000, 20_000, 20_000]);
		expect([backoffMs(3, 0), backoffMs(3, 0.5)]).toEqual([2000, 3000]);
	});

	test.each([
		['17', { again: true, afterMs: 17_000 }],
		['0', { again: true, afterMs: 750 }],
		['300', { again: true, afterMs: 300_000 }],
		['301', { again: false }],
	])('is at least what the gateway asks for, which may be five minutes: %s', (pause, decision) => {
		const asking = response(503, {}, { 'retry-after': pause });
		expect(decide(asking, FREE)).toMatchObject(decision);
	});
});

describe('Retry-After', () => {
	const atMs = (ms: number) => new Date(NOW + ms).toUTCString();

	test.each<[string | undefined, number | undefined]>([
		['0', 0],
		[' 5 ', 5000],
		[`${31 * 86_400}`, 31 * 86_400_000],
		[atMs(120_000), 120_000],
		['5'.padStart(65, '0'), undefined],
		...[undefined, '', '-5', 'soon', 'Infinity', '1893456000', '99999999999999999999', '1e400'].map(
			(header): [string | undefined, undefined] => [header, undefined],
		),
		[atMs(-86_400_000), undefined],
		[atMs(366 * 86_400_000), undefined],
	])('of %j is a pause of %j ms', (header, ms) => {
		expect(retryAfterMs(header, NOW)).toBe(ms);
	});

	test.each<[number, Record<string, string>, number | undefined]>([
		[429, { 'retry-after': '0' }, 0],
		[429, { 'retry-after': 'soon' }, undefined],
		// It stands on every response, and is about requests that may still be sent.
		[429, { 'ratelimit-reset': '7', 'x-ratelimit-reset': '8' }, undefined],
	])('%i with %j asks for %j ms', (httpCode, headers, ms) => {
		expect(requestedPauseMs(response(httpCode, {}, headers), NOW)).toBe(ms);
	});
});

const H = 3_600_000;
/** What a 429 says without a header, and the pause in it. */
test.each<[unknown, number | undefined]>([
	[{ message: 'Your quota will reset after 27h41m36s.' }, 27 * H + 41 * 60_000 + 36_000],
	[{ message: 'Please try again in 6h12m0s. Visit https://x' }, 6 * H + 12 * 60_000],
	[{ message: 'Rate limit reached: Limit 100, Used 99. Please try again in 20ms.' }, 20],
	[{ message: 'Please retry in 34.074824443s.' }, 34_074.824443],
	[{ message: 'wait 2 minutes' }, 120_000],
	[{ message: 'Try again in 1 hour, 30 minutes' }, 1.5 * H],
	[{ message: 'resets in 3 days' }, 72 * H],
	[{ details: [{ retryDelay: '34s' }] }, 34_000],
	[{ message: 'slow down', retry_after: 14_400 }, 4 * H],
	[{ retryAfter: '7' }, 7000],
	[{ message: 'Please retry your request after 6 seconds' }, 6000],
	// Milliseconds, as some gateways write there.
	[{ retryAfter: 14_401 }, undefined],
	[{ message: 'The limit resets every 1 day' }, undefined],
	[{ message: 'Retry limit: 100 in a 5 h window' }, undefined],
	[{ message: 'x'.repeat(3000) + ' try again in 6s' }, undefined],
	[{ message: 'Rate limit of 60 requests in 10 seconds' }, undefined],
	[{ message: 'try again later, 20 requests' }, undefined],
	[{ message: 'try again in 40 days' }, undefined],
	[{ message: 'try again in 5 models' }, undefined],
	[{ retry_after: '2030-01-01T00:00:00Z' }, undefined],
	[{ retry_after_ms: 500 }, undefined],
])('a 429 with %j asks for %j ms', (error, ms) => {
	const asked = requestedPauseMs(page(429, JSON.stringify({ error })), NOW);
	expect(asked && Math.round(asked)).toBe(ms && Math.round(ms));
	expect(requestedPauseMs(page(503, JSON.stringify({ error })), NOW)).toBeUndefined();
	const header = { ...page(429, JSON.stringify({ error })), headers: { 'retry-after': '3' } };
	expect(requestedPauseMs(header as Outcome, NOW)).toBe(3000);
});

test.each<[string | undefined, string, Fault]>([
	['ECONNREFUSED', '', 'refused'],
	['ENOTFOUND', '', 'notFound'],
	['EAI_AGAIN', '', 'notFound'],
	['ETIMEDOUT', '', 'timeout'],
	['CERT_HAS_EXPIRED', '', 'certificate'],
	['ERR_INVALID_URL', '', 'invalidAddress'],
	['ERR_SSL_WRONG_VERSION_NUMBER', '', 'invalidAddress'],
	[undefined, 'socket hang up', 'reset'],
	[undefined, 'timeout of 300000ms exceeded', 'timeout'],
	[undefined, '', 'other'],
	// An open connection may have carried the request.
	['EHOSTUNREACH', 'connect EHOSTUNREACH 10.0.0.1:443', 'refused'],
	['EHOSTUNREACH', 'read EHOSTUNREACH', 'reset'],
])('the fault behind an error with the code %s and the message %j is %s', (code, message, kind) => {
	expect(faultOf(code, message)).toBe(kind);
});
