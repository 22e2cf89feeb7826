import { Client } from '../../../gateway/client/client.js';
import { RateLimiter } from '../../../gateway/client/rateLimiter.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import {
	planDownload,
	planGeneration,
	planTaskQuery,
	type RequestPlan,
} from '../../../gateway/protocol/requestPlan.js';
import { FakeClock } from '../fake-clock.mjs';
import { response, TOO_OFTEN } from '../virtual-gateway.mjs';

const HOME = 'https://gateway.example';
const poll = planTaskQuery('generation', 't1');
const own = planDownload(`${HOME}/1.png`);
const [boat, ship, raft] = ['boat', 'ship', 'raft'].map((name) =>
	planDownload(`https://images.example/${name}.png`, true),
);
const elsewhere = planDownload('https://pictures.example/1.png', true);
const good = response(200, { fileName: '1.png' });
const inTenSeconds = response(429, TOO_OFTEN, { 'retry-after': '10' });

/** A client whose first request of each plan has these outcomes in turn, and which is good then. */
function clientFor(scripts: Array<[RequestPlan, ...Outcome[]]>, concurrency = 10) {
	const clock = new FakeClock();
	const hosts = new Map<string, RateLimiter>();
	const asked = new Set<string>();
	const sent: Array<[RequestPlan, number]> = [];
	const client = new Client({
		clock,
		limiter: new RateLimiter({ concurrency, clock }),
		hostLimiter: (origin) => {
			asked.add(origin);
			if (origin === HOME) return undefined;
			const limiter = hosts.get(origin) ?? new RateLimiter({ concurrency: 10, clock });
			hosts.set(origin, limiter);
			return limiter;
		},
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
	return { clock, client, times, asked };
}

test('a pause that an image host asks for holds back its own images alone', async () => {
	const { clock, client, times } = clientFor([[boat, inTenSeconds]]);
	const first = client.send(boat);
	await clock.pass(100);
	const others = [ship, elsewhere, own, poll].map(async (plan) => await client.send(plan));
	await clock.run(Promise.all([first, ...others]));
	expect(times(boat)[1]).toBeGreaterThanOrEqual(10_000);
	expect(times(ship)[0]).toBeGreaterThanOrEqual(10_000);
	for (const plan of [elsewhere, own, poll]) expect(times(plan)[0]).toBeLessThan(1000);
});

test('a pause that the gateway asks for holds back everything of the run', async () => {
	const { clock, client, times, asked } = clientFor([[poll, inTenSeconds]]);
	const first = client.send(poll);
	await clock.pass(100);
	const others = [boat, elsewhere, own].map(async (plan) => await client.send(plan));
	await clock.run(Promise.all([first, ...others]));
	for (const plan of [boat, elsewhere, own]) {
		expect(times(plan)).toHaveLength(1);
		expect(times(plan)[0]).toBeGreaterThanOrEqual(10_000);
	}
	// Only images have a host of their own.
	expect([...asked].sort()).toEqual([HOME, 'https://images.example', 'https://pictures.example']);
});

test('an image that waits for the turn of the run heeds a pause of its host meanwhile', async () => {
	const { clock, client, times } = clientFor([[boat, inTenSeconds]], 1);
	const all = [boat, ship, poll, raft].map(async (plan) => await client.send(plan));
	await expect(clock.run(Promise.all(all))).resolves.toHaveLength(4);
	expect(times(boat)).toHaveLength(2);
	for (const plan of [ship, raft]) {
		expect(times(plan)).toHaveLength(1);
		expect(times(plan)[0]).toBeGreaterThanOrEqual(10_000);
	}
	// Nothing keeps the turn of the run during the pause.
	expect(times(poll)[0]).toBeLessThan(1000);
});

test('images of a host share the limit of the run in flight', async () => {
	const { clock, client, times } = clientFor([], 1);
	const all = [boat, ship, raft].map(async (plan) => await client.send(plan));
	await clock.run(Promise.all(all));
	const starts = [boat, ship, raft].flatMap(times);
	expect(starts.slice(1).every((at, index) => at - starts[index] >= 10)).toBe(true);
});

test('an image that waits for its host ends when the run is stopped', async () => {
	const { clock, client, times } = clientFor([[boat, inTenSeconds]]);
	const first = client.send(boat);
	await clock.pass(100);
	const ends = Promise.allSettled([first, client.send(ship)]);
	clock.close('stopped');
	await expect(ends).resolves.toEqual([
		{ status: 'rejected', reason: 'stopped' },
		{ status: 'rejected', reason: 'stopped' },
	]);
	expect(times(ship)).toEqual([]);
});

test('a gateway that refuses a submit says nothing about an image host', async () => {
	const submit = planGeneration({ model: 'painter', prompt: 'a red boat' });
	const inAnHour = response(429, TOO_OFTEN, { 'retry-after': '3600' });
	const { clock, client, times } = clientFor([[submit, inAnHour]]);
	const { outcome } = await clock.run(client.request(submit));
	expect(outcome).toBe(inAnHour);
	await clock.run(client.send(boat));
	expect(times(boat)[0]).toBeLessThan(5000);
});
