/** What one model's limit, or that of one kind of request, does to all others of the account. */
import { planMessage } from '../../../gateway/messages/message.js';
import { Client } from '../../../gateway/pace/client.js';
import type { RateLimiter } from '../../../gateway/pace/rateLimiter.js';
import { openLimiter } from '../../../gateway/pace/sharedRates.js';
import { planImages, planTaskQuery, type RequestPlan } from '../../../gateway/protocol/requestPlan.js'; // prettier-ignore
import { sendBy } from '../senders.mjs';
import { FakeClock } from '../fake-clock.mjs';
import { response, slidingWindow, VirtualGateway, type RateLimit } from '../virtual-gateway.mjs';

const image = (model: string) => planImages('generation', { model, prompt: 'p' });
const poll = planTaskQuery('generation', '1');
const message = (model: string, patienceMs?: number) => ({
	...planMessage({ model, messages: [], maxTokens: 5 } as never),
	patienceMs,
});

let accounts = 0;

/** An account whose requests meet limits by model; status checks by the name `poll`. */
function newAccount(seed = 1) {
	// Timers are late: with those on time, runs took turns which they didn't in n8n.
	const clock = new FakeClock(seed, 1);
	accounts += 1;
	const account = { idWithKey: `account ${accounts}`, mediaUrl: '' };
	const gateways: Record<string, VirtualGateway> = {};
	const varied = (ms: number) => () => ms * (0.9 + clock.random() / 5);
	const limit = (model: string, rate: RateLimit, latencyMs = 200, retryAfter?: string) =>
		(gateways[model] = new VirtualGateway(clock, rate, varied(latencyMs), retryAfter));
	const open = (requestsPerSecond?: number): RateLimiter =>
		openLimiter(account, { concurrency: 10, requestsPerSecond, timeoutMs: 1 }, clock, true);
	const clientOf = (limiter: RateLimiter) =>
		new Client({
			limiter,
			clock,
			sendOnce: async ({ body, call }) =>
				await gateways[(body?.model as string | undefined) ?? call]!.receive(() =>
					response(200, { id: '1', status: 'queued', content: [] }),
				),
		});
	const client = (requestsPerSecond?: number) => clientOf(open(requestsPerSecond));
	/** Sends a plan so many times at once. @returns the time it took, in seconds, and how many failed */
	const send = async (plan: RequestPlan, count: number, by = client()) => {
		const from = clock.now();
		const sending = Array.from({ length: count }, async () => await sendBy(by, plan));
		const ends = await Promise.allSettled(sending);
		const failed = ends.filter(({ status }) => status === 'rejected').length;
		return { seconds: (clock.now() - from) / 1000, failed };
	};
	return { clock, gateways, limit, open, client, clientOf, send };
}

type World = ReturnType<typeof newAccount>;

const never: RateLimit = () => false;
const always: RateLimit = () => true;

/** Agents that send one message after another, each taking a second, where two in three are accepted. */
async function startAgents({ limit, client, clock }: World): Promise<void> {
	limit('chat', slidingWindow(10), 1000);
	const agent = async (): Promise<void> => {
		const by = client();
		while (clock.now() < 60_000) await sendBy(by, message('chat')).catch(() => undefined);
	};
	for (let count = 0; count < 15; count += 1) void agent();
	await clock.pass(10_000);
}

test.each<[string, (world: World) => unknown]>([
	['twenty refused messages', ({ limit, send }) => [limit('chat', never), send(message('chat'), 20)]], // prettier-ignore
	['a Retry-After of 200 s', ({ limit, send }) => [limit('chat', never, 20, '200'), send(message('chat'), 1)]], // prettier-ignore
	['agents at one and a half times their limit', startAgents],
	[
		'refused images of another model',
		({ limit, send }) => [limit('b', never), send(image('b'), 20)],
	],
	['another model at its limit', ({ limit, send }) => [limit('b', slidingWindow(2)), send(image('b'), 60)]], // prettier-ignore
	['refused status checks of another run', ({ limit, send }) => [limit('poll', never), send(poll, 20)]], // prettier-ignore
])('images that nobody refuses take no longer beside %s', async (_name, start) => {
	const world = newAccount();
	world.limit('a', always);
	await start(world);
	await world.clock.pass(500);
	const { seconds, failed } = await world.clock.run(world.send(image('a'), 300));
	// Ten at a time, each 0.2 s.
	expect([failed, seconds < 1.3 * 6]).toEqual([0, true]);
});

test("the items of a run with another model don't wait for one that is refused, nor do their tasks", async () => {
	const { clock, client, limit, send } = newAccount();
	limit('a', always);
	limit('b', never, 20);
	limit('poll', always);
	const by = client();
	void send(image('b'), 20, by);
	const { seconds } = await clock.run(send(image('a'), 60, by));
	const checked = await clock.run(send(poll, 60, by));
	expect([seconds < 1.3 * 1.2, checked.seconds < 1.3 * 1.2]).toEqual([true, true]);
});

describe('a chat message, for 30 seconds at most,', () => {
	test.each([
		['of another kind of request', 'b', image('b')],
		['to another model', 'other', message('other')],
	])("isn't held back by a refused batch %s", async (_name, model, batch) => {
		const { clock, limit, send } = newAccount();
		limit(model, never);
		limit('chat', always);
		void send(batch, 60);
		for (const afterMs of [1000, 10_000, 40_000]) {
			await clock.pass(afterMs);
			const { seconds, failed } = await clock.run(send(message('chat', 30_000), 1));
			expect([failed, seconds < 0.3]).toEqual([0, true]);
		}
	});

	test('fails in time behind a refused batch to its model', async () => {
		const { clock, limit, send } = newAccount();
		limit('chat', never, 20);
		void send(message('chat'), 60);
		for (const afterMs of [1000, 10_000, 40_000]) {
			await clock.pass(afterMs);
			const { seconds, failed } = await clock.run(send(message('chat', 30_000), 5));
			expect([failed, seconds <= 30.1]).toEqual([5, true]);
		}
	});

	test('fails in time in a queue that moves on, and at once in a pause that is longer', async () => {
		const { clock, limit, send } = newAccount();
		limit('chat', slidingWindow(1), 20);
		const { seconds, failed } = await clock.run(send(message('chat', 30_000), 60));
		expect([failed > 20, failed < 50, seconds <= 30.1]).toEqual([true, true, true]);
		limit('chat', never, 20, '200');
		void send(message('chat'), 1);
		await clock.pass(5000);
		const late = await clock.run(send(message('chat', 30_000), 1));
		expect(late).toEqual({ failed: 1, seconds: 0 });
	});
});

test('two models at one limit of the account take little longer than one', async () => {
	const seconds = async (models: string[], seed: number) => {
		const { clock, gateways, limit, send } = newAccount(seed);
		const shared = limit('a', slidingWindow(20), 40);
		for (const model of models) gateways[model] = shared;
		const count = 600 / models.length;
		await clock.run(Promise.all(models.map(async (model) => await send(image(model), count))));
		return clock.now() / 1000;
	};
	for (const seed of [1, 2, 3]) {
		expect(await seconds(['a', 'b'], seed)).toBeLessThan(1.2 * (await seconds(['a'], seed)));
	}
});

test("a run's own rate lets requests start in their order, whatever they are", async () => {
	const { clock, gateways, limit, send, client } = newAccount();
	for (const name of ['a', 'b', 'c']) limit(name, always);
	const by = client(1);
	void send(image('a'), 3, by);
	void send(image('b'), 3, by);
	const last = send(image('c'), 1, by);
	void send(image('a'), 20, by);
	await clock.run(last);
	expect(gateways.a!.requests + gateways.b!.requests).toBeLessThanOrEqual(7);
});

test.each(['first', 'second'])(
	'of two executions that wait for one rate, the %s is stopped: the other goes on',
	async (stopped) => {
		const { clock, limit, open, clientOf, send } = newAccount();
		const gateway = limit('a', (now) => now > 9000, 20, '10');
		const limiters = [open(), open()];
		const ends = limiters.map(async (limiter) => await send(image('a'), 3, clientOf(limiter)));
		await clock.pass(5000);
		limiters[stopped === 'first' ? 0 : 1]!.close(new Error('stopped'));
		const failed = (await clock.run(Promise.all(ends))).map((end) => end.failed);
		expect(failed).toEqual(stopped === 'first' ? [3, 0] : [0, 3]);
		expect(gateway.acceptedAt).toHaveLength(3);
	},
);

test('the rates of models that are used no more are forgotten, and those of edits are those of their model', () => {
	const { open } = newAccount();
	const rateOf = (plan: RequestPlan) => open().laneOf(plan).rate;
	const first = rateOf(image('a'));
	expect(rateOf(image('a'))).toBe(first);
	const form = { fields: [['model', 'a']] as Array<[string, string]>, files: [] };
	expect(rateOf({ ...image('a'), body: undefined, form })).toBe(first);
	for (let model = 0; model < 250; model += 1) rateOf(image(`model ${model}`));
	expect(rateOf(image('a'))).not.toBe(first);
});
