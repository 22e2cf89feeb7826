/** The signal of one call: it ends this call wherever it is, and no other one. */
import { getEventListeners } from 'node:events';
import { openGateway, RunEnded, type Settled } from '../../gateway/index.js';
import type { Receipt } from '../../gateway/responses/paidResponse.js';
import { until } from '../until.mjs';

const REQUEST = { model: 'aurora-image-1', prompt: 'A fox' };
const DONE = { data: [{ url: 'https://images.example/1.png' }] };
const TASK = { taskId: 'task_0123456789', taskType: 'generation' as const };

type Send = (
	signal: AbortSignal,
	count: number,
) => Promise<{ httpCode: number; headers?: Record<string, string>; json?: object }>;

/** A gateway with a journal, whose transport and sleeps are the test's. */
function open(send: Send, limits = {}) {
	const settled: Array<Settled<Receipt>> = [];
	const slept: number[] = [];
	let sent = 0;
	const gateway = openGateway<string>(
		{
			baseUrl: 'https://gateway.example',
			apiKey: 'sk-0123456789',
			idempotencyHeader: 'Idempotency-Key',
		},
		{
			limits,
			transport: async (_, signal) => {
				const { httpCode, headers = {}, json = {} } = await send(signal, (sent += 1));
				return { httpCode, headers, body: JSON.stringify(json) };
			},
			sleep: async (ms) => {
				slept.push(ms);
				// A pause never ends by itself.
				if (ms > 0) await new Promise(() => undefined);
			},
			journal: {
				find: () => undefined,
				begin: () => undefined,
				settle: (_, end) => settled.push(end),
				idempotencyKey: (key) => key,
			},
		},
	);
	return { gateway, settled, slept, sent: () => sent };
}

/** A response that never comes. */
const silent: Send = async (signal) =>
	await new Promise((_, reject) => {
		signal.addEventListener('abort', () => reject(signal.reason as Error));
	});

test('a request in the queue ends, and is not sent', async () => {
	const { gateway, settled, sent } = open(silent, { concurrency: 1 });
	const [first, second] = [new AbortController(), new AbortController()];
	const sending = gateway.generate(REQUEST, { key: 'a', signal: first.signal });
	const queued = gateway.generate(REQUEST, { key: 'b', signal: second.signal });
	await until(() => sent() === 1);
	second.abort();
	const error: unknown = await queued.catch((reason: unknown) => reason);
	expect(error).toBeInstanceOf(RunEnded);
	expect(error).toMatchObject({ charged: 'no' });
	first.abort();
	await expect(sending).rejects.toMatchObject({ code: 'outcomeUnknown', charged: 'maybe' });
	expect([sent(), settled]).toMatchObject([1, [{ charged: 'maybe' }]]);
	gateway.end();
});

// Of the request that was sent, not of what came after it.
const LOST = {
	code: 'outcomeUnknown',
	problem: { message: expect.stringContaining('the connection was closed') },
};

test.each([
	['at no cost after a refused connection', 'ECONNREFUSED', RunEnded, { charged: 'no' }],
	['as unknown after a lost response', 'ECONNRESET', Error, LOST],
])('a pause before another attempt ends, %s', async (_, code, Kind, expected) => {
	const { gateway, settled, slept, sent } = open(async () => {
		throw Object.assign(new Error('read'), { code });
	});
	const { signal, abort } = controls();
	const sending = gateway.generate(REQUEST, { key: 'a', signal });
	await until(() => slept.some((ms) => ms > 100));
	abort();
	const error: unknown = await sending.catch((reason: unknown) => reason);
	expect(error).toBeInstanceOf(Kind);
	expect(error).toMatchObject(expected);
	const charged = code === 'ECONNRESET' ? 'maybe' : 'no';
	expect([sent(), settled]).toMatchObject([1, [{ charged }]]);
	gateway.end();
});

test('the wait for a task ends, and another wait for it goes on', async () => {
	const open1 = open(async () => ({ httpCode: 200, json: { id: TASK.taskId, status: 'queued' } }));
	const { gateway, sent, slept } = open1;
	const { signal, abort } = controls();
	const ended = gateway.wait(TASK, 60_000, { signal });
	const other = gateway.wait(TASK, 60_000).catch((error: unknown) => error);
	await until(() => sent() === 2 && slept.some((ms) => ms > 100));
	abort();
	await expect(ended).rejects.toBeInstanceOf(RunEnded);
	const first = await Promise.race([other, Promise.resolve('waits')]);
	expect(first).toBe('waits');
	gateway.end();
	await other;
});

test('the wait for a task brings its images', async () => {
	const body = { id: TASK.taskId, status: 'completed', ...DONE };
	const { gateway } = open(async () => ({ httpCode: 200, json: body }));
	const { images } = await gateway.wait(TASK, 60_000);
	expect(images).toMatchObject(DONE.data);
	gateway.end();
});

test('a status check gives up where the gateway asks for a pause of an hour', async () => {
	const headers = { 'retry-after': '3600' };
	const { gateway, slept } = open(async () => ({ httpCode: 503, headers }));
	let thrown: unknown;
	void gateway.getStatus(TASK).catch((error: unknown) => void (thrown = error));
	await until(() => thrown !== undefined || slept.some((ms) => ms > 100));
	expect(thrown).toMatchObject({ problem: { httpCode: 503 } });
	gateway.end();
});

test.each(['getStatus', 'download'] as const)('%s ends while it is sent', async (name) => {
	const { gateway, sent } = open(silent);
	const { signal, abort } = controls();
	const image = { url: 'https://images.example/1.png', signal };
	const call =
		name === 'getStatus'
			? gateway.getStatus(TASK, { signal })
			: gateway.download(image, async () => await Promise.resolve({}));
	await until(() => sent() === 1);
	abort();
	await expect(call).rejects.toBeInstanceOf(RunEnded);
	expect(sent()).toBe(1);
	gateway.end();
});

test('redirects are followed three times, those of an image ten times', async () => {
	const headers = (count: number) => ({ location: `/v1/other/${count}` });
	const send: Send = async (_, count) =>
		await Promise.resolve({ httpCode: 307, headers: headers(count) });
	const [paying, loading] = [open(send), open(send)];
	await expect(paying.gateway.generate(REQUEST, { key: 'a' })).rejects.toThrow(/redirect/);
	const image = { url: 'https://images.example/1.png' };
	await expect(loading.gateway.download(image, async () => ({}))).rejects.toThrow();
	expect([paying.sent(), loading.sent()]).toEqual([1 + 3, 1 + 10]);
	for (const { gateway } of [paying, loading]) gateway.end();
});

test('a response that has come is returned, and others are sent', async () => {
	const { signal, abort } = controls();
	const { gateway, settled } = open(async (_, count) => {
		if (count === 1) abort();
		return await Promise.resolve({ httpCode: 200, json: DONE });
	});
	const paid = await gateway.generate(REQUEST, { key: 'a', signal });
	expect(paid.kind).toBe('images');
	expect((await gateway.generate(REQUEST, { key: 'b' })).kind).toBe('images');
	expect(settled.map(({ charged }) => charged)).toEqual(['yes', 'yes']);
	await expect(gateway.generate(REQUEST, { key: 'c', signal })).rejects.toBeInstanceOf(RunEnded);
	gateway.end();
});

test('one signal ends many calls at once, and has few listeners meanwhile and none afterwards', async () => {
	const { gateway, sent } = open(silent, { concurrency: 5 });
	const { signal, abort } = controls();
	const calls = Array.from({ length: 20 }, (_, index) =>
		gateway.generate(REQUEST, { key: String(index), signal }).catch((error: unknown) => error),
	);
	await until(() => sent() === 5);
	// With more than ten, Node.js warns of a leak.
	expect(getEventListeners(signal, 'abort').length).toBeLessThan(10);
	abort();
	const ended = (await Promise.all(calls)) as Array<{ charged: string }>;
	expect(ended.map(({ charged }) => charged)).toEqual([
		...Array<string>(5).fill('maybe'),
		...Array<string>(15).fill('no'),
	]);
	expect(sent()).toBe(5);
	expect(getEventListeners(signal, 'abort')).toEqual([]);
	gateway.end();
});

/** A signal, and what aborts it. */
function controls() {
	const controller = new AbortController();
	return { signal: controller.signal, abort: () => controller.abort() };
}
