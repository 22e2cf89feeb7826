import { CanceledInQueue, RateLimiter } from '../../../gateway/client/rateLimiter.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import { planMessage } from '../../../gateway/messages/message.js';
import { planModelList } from '../../../gateway/protocol/models.js';
import {
	planDownload,
	planGeneration,
	planTaskQuery,
	type RequestPlan,
} from '../../../gateway/protocol/requestPlan.js';
import { GatewayError, UnknownOutcomeError } from '../../../gateway/util/gatewayError.js';
import { Client } from '../../../gateway/client/client.js';
import { FakeClock } from '../fake-clock.mjs';
import { response, fault, page, TOO_OFTEN } from '../virtual-gateway.mjs';

const paid = planGeneration({ model: 'painter', prompt: 'a red boat' }, 'query');
const free = planTaskQuery('generation', 't1');
const accepted = response(200, { id: 't1', status: 'queued' });
const QUOTA = response(429, { error: { message: 'quota exceeded' } });

/** A client at a gateway that responds with these outcomes in turn, the last one for ever. */
function clientFor(outcomes: Outcome[], concurrency = 10, onRepeat?: () => void) {
	const clock = new FakeClock();
	const limiter = new RateLimiter({ concurrency, clock });
	const sent: Array<{ plan: RequestPlan; at: number; timeoutMs?: number }> = [];
	const client = new Client({
		limiter,
		clock,
		wallClock: clock.now,
		onRepeat,
		sendOnce: async (plan, timeoutMs) => {
			sent.push({ plan, at: clock.now(), timeoutMs });
			await clock.sleep(10);
			return outcomes[Math.min(sent.length, outcomes.length) - 1];
		},
	});
	return { clock, limiter, client, sent };
}

const failure = async (clock: FakeClock, promise: Promise<unknown>): Promise<GatewayError> =>
	await clock.run(
		promise.then(
			() => {
				throw new Error('It did not fail');
			},
			(error: GatewayError) => error,
		),
	);

test('a good response is handed out after one attempt', async () => {
	const { clock, client, sent } = clientFor([accepted]);
	await expect(clock.run(client.send(paid))).resolves.toMatchObject({
		json: { id: 't1', status: 'queued' },
	});
	expect(sent).toHaveLength(1);
});

describe('a paid request is never sent twice', () => {
	// client/retry-policy.test.mts has what comes after each outcome.
	test.each<[string, boolean, Outcome]>([
		['a time-out', true, fault('timeout')],
		['503 with Retry-After', true, response(503, {}, { 'retry-after': '1' })],
		['a web page', true, page(200, '<html>')],
		['400', false, response(400)],
		['a redirect', false, response(307, {}, { location: 'https://evil.example' })],
		['no connection within the time limit', false, fault('connectTimeout')],
	])('after %s, which may have been charged: %s', async (_name, isUnknown, outcome) => {
		const { clock, client, sent } = clientFor([outcome, accepted]);
		const error = await failure(clock, client.send(paid));
		expect(error).toBeInstanceOf(GatewayError);
		expect(error instanceof UnknownOutcomeError).toBe(isUnknown);
		expect(sent).toHaveLength(1);
	});

	test('after a time-out that follows a refusal', async () => {
		const { clock, client, sent } = clientFor([
			response(429, TOO_OFTEN),
			fault('timeout'),
			accepted,
		]);
		expect(await failure(clock, client.send(paid))).toBeInstanceOf(UnknownOutcomeError);
		expect(sent).toHaveLength(2);
	});
});

describe('a request that was surely not accepted is sent again', () => {
	test.each<[string, Outcome]>([
		['429 with Retry-After', response(429, TOO_OFTEN, { 'retry-after': '3' })],
		['a refused connection', fault('refused')],
		['429 for quota', QUOTA],
	])('after %s', async (_name, outcome) => {
		const { clock, client, sent } = clientFor([outcome, accepted]);
		await expect(clock.run(client.send(paid))).resolves.toMatchObject({ json: { id: 't1' } });
		expect(sent).toHaveLength(2);
	});

	test.each([true, false])(
		'up to six attempts where the connection is refused (paid: %s)',
		async (isPaid) => {
			const { clock, client, sent } = clientFor([fault('refused', 'ECONNREFUSED')]);
			const error = await failure(clock, client.send(isPaid ? paid : free));
			expect(sent).toHaveLength(6);
			expect(error.message).toMatch(/connection to the gateway was refused.*\(tried 6 times\)/);
			const pauses = sent.slice(1).map(({ at }, index) => at - sent[index].at);
			// The paid one is the first of its run: its address may be wrong.
			const first = isPaid ? 75 : 500;
			expect(pauses.every((pause, index) => pause >= first * 2 ** index)).toBe(true);
		},
	);

	test('up to fifteen attempts after 429 for the rate limit', async () => {
		const { clock, client, sent } = clientFor([response(429, TOO_OFTEN)]);
		const error = await failure(clock, client.send(paid));
		expect(sent).toHaveLength(15);
		expect(error.problem.httpCode).toBe(429);
	});

	test.each([
		['a status check and a 503', free, response(503)],
		['a paid request and a refused connection', paid, fault('refused')],
	])('refusals for the rate limit do not count among other faults: %s', async (_, plan, other) => {
		const refusals = Array.from({ length: 8 }, () => response(429, TOO_OFTEN));
		const { clock, client, sent } = clientFor([...refusals, other]);
		await failure(clock, client.send(plan));
		expect(sent).toHaveLength(8 + 6);
	});

	test('one retry after 429 for quota', async () => {
		const { clock, client, sent } = clientFor([QUOTA]);
		const error = await failure(clock, client.send(paid));
		expect(sent).toHaveLength(2);
		expect(error.message).toMatch(/quota/);
	});

	test('one retry after 429 for quota, also with rate limit refusals in between', async () => {
		const { clock, client, sent } = clientFor([
			response(429, TOO_OFTEN),
			QUOTA,
			response(429, TOO_OFTEN),
			QUOTA,
			accepted,
		]);
		await failure(clock, client.send(paid));
		expect(sent).toHaveLength(4);
	});
});

describe('a free request is sent again', () => {
	test.each<[string, Outcome]>([
		['a time-out', fault('timeout')],
		['502', page(502, '<html>')],
		['a web page', page(200, '<html>')],
	])('after %s', async (_name, outcome) => {
		const { clock, client, sent } = clientFor([outcome, outcome, accepted]);
		await expect(clock.run(client.send(free))).resolves.toMatchObject({ json: { id: 't1' } });
		expect(sent).toHaveLength(3);
	});

	test("but not after an error that another attempt wouldn't change", async () => {
		const { clock, client, sent } = clientFor([response(404), accepted]);
		const { outcome, attempts } = await clock.run(client.request(free));
		expect([outcome, attempts, sent.length]).toEqual([response(404), 1, 1]);
	});
});

describe('Retry-After', () => {
	test.each([
		['seconds', '7', 7000],
		['a date', new Date(30_000).toUTCString(), 30_000],
	])('as %s holds back the whole run after a 429', async (_form, header, ms) => {
		const refusal = response(429, TOO_OFTEN, { 'retry-after': header });
		const { clock, client, sent } = clientFor([refusal, accepted], 1);
		await clock.run(Promise.all([client.send(paid), client.send(paid), client.send(free)]));
		expect(sent).toHaveLength(4);
		expect(sent[1].at).toBeGreaterThanOrEqual(ms);
	});

	test.each([paid, free])('of an hour is that of its request alone: $call', async (plan) => {
		const refusal = response(429, TOO_OFTEN, { 'retry-after': '3600' });
		const { clock, client, sent } = clientFor([refusal, refusal, accepted], 1);
		const all = [plan, plan, paid, free].map(async (one) => await client.request(one));
		const ends = await clock.run(Promise.all(all));
		expect(ends.map(({ outcome }) => outcome)).toEqual([refusal, refusal, accepted, accepted]);
		expect(sent).toHaveLength(4);
		expect(clock.now()).toBeLessThan(1000);
	});
});

test.each([
	['a 503 is no sign that the gateway is ready again', response(503), 70_000, Infinity],
	['nor is a 500', response(500), 70_000, Infinity],
	['nor is a connection that breaks', fault('reset'), 70_000, Infinity],
	['nor is a refusal for quota', QUOTA, 70_000, Infinity],
	['a 404 is one, although it is no good response', response(404), 0, 50_000],
])('between two 429, %s', async (_name, between, least, most) => {
	const refusal = response(429, TOO_OFTEN);
	const { clock, client } = clientFor(Array.from({ length: 9 }, () => [refusal, between]).flat());
	for (let times = 0; times < 18; times += 1) await clock.run(client.attempt(free));
	expect(clock.now()).toBeGreaterThan(least);
	expect(clock.now()).toBeLessThan(most);
});

test('a refused request keeps its turn during the pause', async () => {
	const refusal = response(429, TOO_OFTEN, { 'retry-after': '3' });
	const { clock, client, sent } = clientFor([refusal, accepted], 1);
	const first = client.send(paid);
	await clock.pass(1000);
	await clock.run(Promise.all([first, client.send(free)]));
	expect(sent.map(({ plan }) => plan)).toEqual([paid, paid, free]);
});

describe('the repeats after a refusal for the rate limit are counted', () => {
	const refusal = response(429, TOO_OFTEN);

	test.each<[string, RequestPlan, Outcome[], number]>([
		['once each', paid, [refusal, refusal, accepted], 2],
		['once each also for a status check', free, [refusal, refusal, accepted], 2],
		['not after a refused connection', paid, [fault('refused'), accepted], 0],
		['not after a bad gateway', free, [response(502), accepted], 0],
		['not after a refusal for quota', paid, [QUOTA, accepted], 0],
		['not for the last attempt, which nothing follows', paid, [refusal], 14],
	])('%s', async (_name, plan, outcomes, repeats) => {
		const onRepeat = jest.fn();
		const { clock, client } = clientFor(outcomes, 10, onRepeat);
		await clock.run(client.request(plan));
		expect(onRepeat).toHaveBeenCalledTimes(repeats);
	});

	test('a status check that the poller repeats itself counts as well', async () => {
		const onRepeat = jest.fn();
		const { clock, client } = clientFor([refusal, accepted], 10, onRepeat);
		await clock.run(client.attempt(free));
		await clock.run(client.attempt(free));
		expect(onRepeat).toHaveBeenCalledTimes(1);
	});
});

describe('after a refusal for the rate limit', () => {
	test('a request without time left says so, and not what another one was told', async () => {
		const { clock, client, sent } = clientFor([response(429, TOO_OFTEN), accepted]);
		await clock.run(client.attempt(free));
		await expect(clock.run(client.attempt(free, () => 0))).rejects.toBeInstanceOf(CanceledInQueue);
		expect(sent).toHaveLength(1);
	});
});

test("a request's own sender makes all of its attempts", async () => {
	const { clock, client, sent } = clientFor([accepted]);
	const another = jest
		.fn<Promise<Outcome>, []>()
		.mockResolvedValueOnce(response(502))
		.mockResolvedValueOnce(response(200, { fileName: 'boat.png' }));
	await expect(clock.run(client.send(free, { sendOnce: another }))).resolves.toMatchObject({
		json: { fileName: 'boat.png' },
	});
	expect(sent).toHaveLength(0);
});

test('an attempt is sent once, with its own timeout', async () => {
	const { clock, client, sent } = clientFor([response(502), accepted]);
	await expect(clock.run(client.attempt(free, () => 1234))).resolves.toEqual(response(502));
	expect(sent).toEqual([{ plan: free, at: 0, timeoutMs: 1234 }]);
});

test('when the run is stopped, waiting requests are not sent', async () => {
	const { clock, client, sent } = clientFor([fault('refused'), accepted], 1);
	const sending = [client.send(paid), client.send(paid)];
	await clock.pass(50);
	clock.close('stopped');
	const ends = await Promise.allSettled(sending);
	expect(ends).toContainEqual({ status: 'rejected', reason: 'stopped' });
	expect(sent.length).toBeLessThanOrEqual(2);
});

test('fifteen refusals in a row end each request that is refused then, whichever they were of', async () => {
	const refusals = Array.from({ length: 100 }, () => response(429, TOO_OFTEN));
	const { clock, client, sent } = clientFor([...refusals, accepted], 5);
	const failedAt: number[] = [];
	const ends = Array.from({ length: 100 }, async () => {
		await client.send(paid).catch((error: GatewayError) => {
			expect(error.message).toMatch(/Rate limit exceeded \(429\)/);
			expect(error).not.toBeInstanceOf(UnknownOutcomeError);
			failedAt.push(clock.now());
		});
	});
	await clock.run(Promise.all(ends));
	// The five that were sent together are one refusal.
	expect([failedAt.length, sent.length]).toEqual([82, 118]);
	expect(failedAt[0]).toBeGreaterThan(200_000);
	expect(failedAt[0]).toBeLessThan(360_000);
});

describe('an address from which nothing of use has come in this run', () => {
	const listing = planModelList();
	const message = planMessage({ model: 'm', max_tokens: 1, messages: [] });
	const download = planDownload('https://images.example/1.png');
	const HTML = page(200, '<html>');
	const wrong: Array<[string, RequestPlan, Outcome]> = [
		['a submit: refused', paid, fault('refused')],
		['a submit: name not found', paid, fault('notFound')],
		['a submit: no TLS', paid, fault('unconnected')],
		['a message: refused', message, fault('refused')],
		['the listing: refused', listing, fault('refused')],
		['the listing: name not found', listing, fault('notFound')],
		['the listing: no TLS', listing, fault('unconnected')],
		['the listing: cut', listing, fault('reset')],
		['the listing: a web page', listing, HTML],
		['an image that was not paid for: refused', download, fault('refused')],
		['an image that was not paid for: a web page', download, HTML],
	];

	/** How long it took until the last word, in milliseconds, and how many attempts. */
	async function until(
		plans: RequestPlan[],
		outcomes: Outcome[],
		isForPaid?: boolean,
	): Promise<{ ms: number; attempts: number; outcome: Outcome }> {
		const { clock, client, sent } = clientFor(outcomes);
		const [plan, ...before] = [...plans].reverse() as [RequestPlan, ...RequestPlan[]];
		for (const earlier of before) await clock.run(client.request(earlier));
		const from = clock.now();
		const already = sent.length;
		const { outcome } = await clock.run(client.request(plan, { isForPaid }));
		return { ms: clock.now() - from, attempts: sent.length - already, outcome };
	}

	test.each(wrong)('%s: said within 5 s, after as many attempts', async (_, plan, outcome) => {
		const isForPaid = plan.call === 'download' ? false : undefined;
		for (let seed = 0; seed < 5; seed += 1) {
			const { ms, attempts } = await until([plan], [outcome], isForPaid);
			expect(ms).toBeLessThan(5000);
			expect(attempts).toBeGreaterThan(3);
		}
	});

	test('a server that takes its time to refuse does not make it longer', async () => {
		const clock = new FakeClock();
		const limiter = new RateLimiter({ concurrency: 10, clock });
		const client = new Client({
			limiter,
			clock,
			wallClock: clock.now,
			sendOnce: async () => {
				await clock.sleep(2000);
				return fault('notFound');
			},
		});
		const all = Array.from({ length: 50 }, async () => await client.request(paid));
		await clock.run(Promise.all(all));
		// Fifty of them, ten at a time.
		expect(clock.now()).toBeLessThanOrEqual(2000 + 4800 + 2000 * 5);
	});

	test('it is waited for once a request of the run has succeeded', async () => {
		for (const outcome of [fault('refused'), fault('notFound')]) {
			const { ms, attempts } = await until([paid, paid], [accepted, outcome]);
			expect([ms > 10_000, attempts]).toEqual([true, 6]);
		}
		// An error in the gateway's own form shows that it is there, a page or a 502 does not.
		const refused = response(400, { error: { message: 'no' } });
		expect((await until([paid, paid], [refused, fault('refused')])).ms).toBeGreaterThan(10_000);
		const html = await until([paid, paid], [page(404, '<html>'), fault('refused')]);
		expect(html.ms).toBeLessThan(5000);
	});

	test('status checks and downloads are retried for longer, unless an image address returns a web page', async () => {
		for (const plan of [free, download]) {
			for (const outcome of [fault('refused'), fault('notFound'), fault('reset')]) {
				const { ms, attempts } = await until([plan], [outcome]);
				expect([ms > 10_000, attempts]).toEqual([true, 6]);
			}
		}
		expect((await until([free], [HTML])).ms).toBeGreaterThan(10_000);
		expect((await until([download], [HTML])).ms).toBeLessThan(5000);
		// It may not be written yet.
		expect((await until([download], [page(200, '')])).ms).toBeGreaterThan(10_000);
	});
});
