import { RateLimiter } from '../../../gateway/pace/rateLimiter.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import { planModelList } from '../../../gateway/models/models.js';
import {
	planDownload,
	planImages,
	planTaskQuery,
	type RequestPlan,
} from '../../../gateway/protocol/requestPlan.js';
import { GatewayError, hasCode } from '../../../gateway/protocol/gatewayError.js';
import { Client } from '../../../gateway/pace/client.js';
import { StoppableClock } from '../../../gateway/pace/stoppableClock.js';
import { sendBy, sentBy } from '../senders.mjs';
import { RunEnded } from '../../../gateway/wire/inFlight.js';
import { FakeClock } from '../fake-clock.mjs';
import { response, fault, TOO_OFTEN } from '../virtual-gateway.mjs';

const paid = planImages('generation', { model: 'painter', prompt: 'a red boat' }, 'query');
const free = planTaskQuery('generation', 't1');
const listing = planModelList();
const download = planDownload('https://images.example/1.png');
const accepted = response(200, { id: 't1', status: 'queued' });
const REFUSAL = response(429, TOO_OFTEN);
const QUOTA = response(429, { error: { message: 'quota exceeded' } });
const asking = (pause: string) => response(429, TOO_OFTEN, { 'retry-after': pause });

/** A client at a gateway that responds with these outcomes in turn, the last one for ever. */
function clientFor(outcomes: Outcome[], { concurrency = 10, latencyMs = 10 } = {}) {
	const clock = new FakeClock();
	const limiter = new RateLimiter({ concurrency, clock });
	const sent: Array<{ plan: RequestPlan; at: number; timeoutMs?: number }> = [];
	const onRateLimited = jest.fn();
	const client = new Client({
		limiter,
		clock,
		onRateLimited,
		sendOnce: async (plan, timeoutMs) => {
			sent.push({ plan, at: clock.now(), timeoutMs });
			await clock.sleep(latencyMs);
			return outcomes[Math.min(sent.length, outcomes.length) - 1];
		},
	});
	return { clock, client, sent, onRateLimited };
}

test('what its signal ends as its turn comes is not sent', async () => {
	const { client, sent } = clientFor([accepted]);
	const controller = new AbortController();
	const sending = sendBy(client, { ...paid, signal: controller.signal });
	controller.abort();
	await expect(sending).rejects.toBeInstanceOf(RunEnded);
	expect(sent).toEqual([]);
});

test('the end of a run ends the pause of a request, and all that would follow', async () => {
	const clock = new StoppableClock(async () => await new Promise(() => undefined));
	const ended = new RunEnded('Stopped');
	const paused = clock.sleep(1000);
	clock.close(ended);
	clock.close(new Error('later'));
	await expect(paused).rejects.toBe(ended);
	await expect(clock.sleep(1000)).rejects.toBe(ended);
});

// client/retry-policy.test.mts has what comes after each outcome.
describe('a paid request', () => {
	test.each<[string, Outcome[], number, 'good' | 'failed' | 'unknown']>([
		['a time-out', [fault('timeout'), accepted], 1, 'unknown'],
		['a refusal and a time-out', [REFUSAL, fault('timeout'), accepted], 2, 'unknown'],
		['400', [response(400), accepted], 1, 'failed'],
		['a redirect', [response(307, {}, { location: 'https://evil.example' })], 1, 'failed'],
		['no connection within the time limit', [fault('connectTimeout'), accepted], 1, 'failed'],
		['a refused connection', [fault('refused'), accepted], 2, 'good'],
		['a refusal', [asking('3'), accepted], 2, 'good'],
		['refusals', [REFUSAL], 15, 'failed'],
		['refusals and refused connections', [...Array(8).fill(REFUSAL), fault('refused')], 14, 'failed'], // prettier-ignore
		['a refusal for quota', [QUOTA, accepted], 2, 'good'],
		['refusals of both kinds', [REFUSAL, QUOTA, REFUSAL, QUOTA, accepted], 4, 'failed'],
	])('after %s', async (_name, outcomes, times, end) => {
		const { clock, client, sent } = clientFor(outcomes);
		const error = await clock.run(
			sendBy(client, paid).then(
				() => undefined,
				(reason: unknown) => reason,
			),
		);
		expect(sent).toHaveLength(times);
		expect(error instanceof GatewayError).toBe(end !== 'good');
		expect(hasCode(error, 'outcomeUnknown')).toBe(end === 'unknown');
	});
});

test.each<[string, Outcome[], number]>([
	['a time-out', [fault('timeout'), accepted], 2],
	['refusals and 503', [...Array<Outcome>(8).fill(REFUSAL), response(503)], 14],
])('a free request after %s', async (_name, outcomes, times) => {
	const { clock, client, sent } = clientFor(outcomes);
	const { attempts } = await clock.run(client.request(free));
	expect([sent.length, attempts]).toEqual([times, times]);
});

test.each<[string, RequestPlan]>([
	['a paid request', paid],
	['a free request', free],
	['the listing', listing],
	['a download', download],
])('the pauses of %s double, also at an address that is wrong', async (_name, plan) => {
	const { clock, client, sent } = clientFor([fault('refused', 'ECONNREFUSED')]);
	const { attempts } = await clock.run(sentBy(client, plan));
	expect(attempts).toBe(6);
	expect(clock.now()).toBeLessThan(31_100);
	const pauses = sent.slice(1).map(({ at }, index) => at - sent[index].at);
	expect(pauses.every((pause, index) => pause >= 500 * 2 ** index)).toBe(true);
});

describe('Retry-After', () => {
	test.each([
		['seconds', '7', 7000],
		['a date', new Date(Date.now() + 40_000).toUTCString(), 30_000],
	])('as %s holds back the whole run after a 429', async (_form, header, ms) => {
		const { clock, client, sent } = clientFor([asking(header), accepted], { concurrency: 1 });
		const first = sendBy(client, paid);
		await clock.pass(1000);
		await clock.run(Promise.all([first, sendBy(client, free)]));
		// The refused request keeps its turn.
		expect(sent.map(({ plan }) => plan)).toEqual([paid, paid, free]);
		expect(sent[1].at).toBeGreaterThanOrEqual(ms);
	});

	test.each([paid, free])('of an hour is that of its request alone: $call', async (plan) => {
		const refusal = asking('3600');
		const { clock, client } = clientFor([refusal, refusal, accepted], { concurrency: 1 });
		const all = [plan, plan, paid, free].map(async (one) => await sentBy(client, one));
		const ends = await clock.run(Promise.all(all));
		expect(ends.map(({ outcome }) => outcome)).toEqual([refusal, refusal, accepted, accepted]);
		expect(clock.now()).toBeLessThan(1000);
	});
});

test.each([
	['a 503 is no sign that the gateway is ready again', response(503), 70_000, Infinity],
	['nor is a refusal for quota', QUOTA, 70_000, Infinity],
	['a 404 is one, although it is no good response', response(404), 0, 50_000],
])('between two 429, %s', async (_name, between, least, most) => {
	const { clock, client } = clientFor(Array.from({ length: 9 }, () => [REFUSAL, between]).flat());
	for (let times = 0; times < 18; times += 1) await clock.run(client.attempt(free));
	expect(clock.now()).toBeGreaterThan(least);
	expect(clock.now()).toBeLessThan(most);
});

test.each<[string, RequestPlan, Outcome[], number]>([
	['of a paid request', paid, [REFUSAL, REFUSAL, accepted], 2],
	['of a status check', free, [REFUSAL, REFUSAL, accepted], 2],
	['but not the last one, which nothing follows', paid, [REFUSAL], 14],
	['but no other faults', paid, [fault('refused'), QUOTA, accepted], 0],
])('refusals for the rate limit are counted, %s', async (_name, plan, outcomes, repeats) => {
	const { clock, client, onRateLimited } = clientFor(outcomes);
	await clock.run(sentBy(client, plan));
	expect(onRateLimited).toHaveBeenCalledTimes(repeats);
});

test('fifteen refusals in a row end each request that is refused then, whichever they were of', async () => {
	const refusals = Array.from({ length: 100 }, () => REFUSAL);
	const { clock, client, sent } = clientFor([...refusals, accepted], { concurrency: 5 });
	const failedAt: number[] = [];
	const ends = Array.from({ length: 100 }, async () => {
		await sendBy(client, paid).catch((error: GatewayError) => {
			expect(error.message).toMatch(/Rate limit exceeded \(429\)/);
			expect(error).not.toMatchObject({ code: 'outcomeUnknown' });
			failedAt.push(clock.now());
		});
	});
	await clock.run(Promise.all(ends));
	// The five that were sent together are one refusal.
	expect([failedAt.length, sent.length]).toEqual([82, 118]);
	expect(failedAt[0]).toBeGreaterThan(200_000);
	expect(failedAt[0]).toBeLessThan(360_000);
});
