import { Client } from '../../../gateway/pace/client.js';
import { RateLimiter } from '../../../gateway/pace/rateLimiter.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import {
	planDownload,
	planTaskQuery,
	type RequestPlan,
} from '../../../gateway/protocol/requestPlan.js';
import { sendBy } from '../senders.mjs';
import { FakeClock } from '../fake-clock.mjs';
import { response, TOO_OFTEN } from '../virtual-gateway.mjs';

const poll = planTaskQuery('generation', 't1');
const [boat, ship] = ['boat', 'ship'].map((name) =>
	planDownload(`https://images.example/${name}.png`, true),
) as [RequestPlan, RequestPlan];
const good = response(200, { fileName: '1.png' });
const refusal = response(429, TOO_OFTEN);

/** A client whose requests of each plan have these outcomes in turn, and are good then. */
function clientFor(
	scripts: Array<[RequestPlan, ...Outcome[]]>,
	concurrency = 10,
	requestsPerSecond?: number,
) {
	const clock = new FakeClock();
	const sent: Array<[RequestPlan, number]> = [];
	const client = new Client({
		clock,
		limiter: new RateLimiter({ concurrency, clock, requestsPerSecond }),
		gatewayUrl: 'https://gateway.example/api',
		sendOnce: async (plan) => {
			sent.push([plan, clock.now()]);
			await clock.sleep(10);
			const outcomes = scripts.find(([scripted]) => scripted === plan) ?? [plan];
			return (outcomes.splice(1, 1)[0] ?? good) as Outcome;
		},
	});
	/** When the requests of a plan were sent, in milliseconds. */
	const times = (plan: RequestPlan) => sent.filter(([of]) => of === plan).map(([, at]) => at);
	return { clock, client, times };
}

test('a pause that an image host asks for is that of the download alone, in the limit of the run', async () => {
	const inTenSeconds = response(429, TOO_OFTEN, { 'retry-after': '10' });
	const { clock, client, times } = clientFor([[boat, inTenSeconds]], 1);
	await clock.run(Promise.all([boat, ship, poll].map(async (plan) => await sendBy(client, plan))));
	expect(times(boat)[1]).toBeGreaterThanOrEqual(10_000);
	expect([...times(ship), ...times(poll)]).toEqual([10, 20]);
});

test('downloads say nothing about the refusals of the gateway, nor these about downloads', async () => {
	const refusals = Array<Outcome>(16).fill(refusal);
	const { clock, client, times } = clientFor([
		[poll, ...refusals],
		[ship, refusal],
	]);
	for (const _ of refusals) {
		await clock.run(client.attempt(poll));
		await clock.run(sendBy(client, boat));
	}
	// The pauses between two status checks double from 0.4 s.
	expect(times(poll)[8]! - times(poll)[7]!).toBeGreaterThan(20_000);
	await clock.run(sendBy(client, ship));
	expect(times(ship)).toHaveLength(2);
});

test.each([
	['another host has no part in the rate of the gateway', 'https://images.example', 0],
	['another port is another host', 'https://gateway.example:8443', 0],
	['the gateway has', 'https://gateway.example', 4000],
])('a download from %s', async (_name, host, least) => {
	const { clock, client, times } = clientFor([], 2, 1);
	const images = [1, 2, 3, 4].map((name) => planDownload(`${host}/${name}.png`));
	// The status check waits for its turn, and keeps none that it doesn't use.
	const checks = [poll, poll].map(async (plan) => await client.attempt(plan));
	await clock.run(Promise.all([...checks, ...images.map((plan) => sendBy(client, plan))]));
	const last = Math.max(...images.flatMap(times));
	expect(last).toBeGreaterThanOrEqual(least);
	if (least === 0) expect(last).toBeLessThan(100);
	expect(times(poll)[1]).toBeGreaterThanOrEqual(1000);
});

test('downloads and requests to the gateway share the places in flight in their order', async () => {
	const { clock, client, times } = clientFor([], 1);
	await clock.run(Promise.all([poll, boat, poll, ship].map((plan) => sendBy(client, plan))));
	expect([...times(poll), ...times(boat), ...times(ship)]).toEqual([0, 20, 10, 30]);
});
