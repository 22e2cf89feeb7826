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
function clientFor(scripts: Array<[RequestPlan, ...Outcome[]]>, concurrency = 10) {
	const clock = new FakeClock();
	const sent: Array<[RequestPlan, number]> = [];
	const client = new Client({
		clock,
		limiter: new RateLimiter({ concurrency, clock }),
		wallClock: clock.now,
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
