import { Requests, RunEnded } from '../../../gateway/wire/inFlight.js';
import type { FaultOutcome, Outcome } from '../../../gateway/protocol/outcome.js';

const faultFrom = (error: unknown): FaultOutcome => ({
	kind: 'fault',
	fault: 'other',
	detail: String(error),
});

/** A request that never gets a response, and ends only by its signal. */
const endless = async (signal: AbortSignal): Promise<Outcome> =>
	await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

const timeout = { kind: 'fault', fault: 'timeout', detail: '' };

/** The time stands still until a test moves it on; the timers of the platform follow it. */
let now: number;
let timers: Array<{ at: number; fire: () => void }>;

beforeEach(() => {
	now = 0.4;
	timers = [];
	jest.spyOn(performance, 'now').mockImplementation(() => now);
	jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
		expect(Number.isInteger(ms)).toBe(true);
		const controller = new AbortController();
		timers.push({ at: now + ms, fire: () => controller.abort() });
		return controller.signal;
	});
});
afterEach(() => jest.restoreAllMocks());

async function pass(ms: number): Promise<void> {
	now += ms;
	for (let due = true; due; ) {
		const index = timers.findIndex(({ at }) => at <= now);
		due = index >= 0;
		if (due) timers.splice(index, 1)[0]!.fire();
	}
	await new Promise((resolve) => setImmediate(resolve));
}

/** What became of a request so far. */
function watch(outcome: Promise<Outcome>): { end?: unknown } {
	const seen: { end?: unknown } = {};
	outcome.then(
		(value) => (seen.end = value),
		(error) => (seen.end = error),
	);
	return seen;
}

test('each ends at its own deadline, whatever order they were sent in', async () => {
	const requests = new Requests();
	const long = watch(requests.run(5000, endless, faultFrom));
	const short = watch(requests.run(1000, endless, faultFrom));
	await pass(500);
	const middle = watch(requests.run(2000, endless, faultFrom));
	await pass(501);
	expect([short.end, middle.end, long.end]).toEqual([timeout, undefined, undefined]);
	await pass(1500);
	expect([middle.end, long.end]).toEqual([timeout, undefined]);
	await pass(2500);
	expect(long.end).toEqual(timeout);
});

test('the deadline begins anew with each part of a stream, for an hour at most', async () => {
	jest.spyOn(Date, 'now').mockImplementation(() => now);
	let onPart = (): void => undefined;
	const stream = watch(
		new Requests().run(
			1000,
			async (signal, arrived) => {
				onPart = arrived;
				return await endless(signal);
			},
			faultFrom,
		),
	);
	for (let parts = 0; parts < 4000 && stream.end === undefined; parts += 1) {
		onPart();
		await pass(990);
	}
	expect(stream.end).toEqual(timeout);
	expect(now).toBeGreaterThan(3_600_000);
});

test('one that has its response is left alone', async () => {
	const requests = new Requests();
	let signal: AbortSignal | undefined;
	const response = { kind: 'response', httpCode: 200, headers: {}, text: '', json: {} } as const;
	const outcome = await requests.run(
		1000,
		async (own) => {
			signal = own;
			return response;
		},
		faultFrom,
	);
	await pass(2000);
	expect(outcome).toBe(response);
	expect(signal?.aborted).toBe(false);
});

test('Stop ends them all, and that is no time-out', async () => {
	const requests = new Requests();
	const stopped = [1000, 2000].map((ms) => watch(requests.run(ms, endless, faultFrom)));
	requests.abort();
	await pass(0);
	stopped.forEach(({ end }) => expect(end).toBeInstanceOf(RunEnded));
	const send = jest.fn(endless);
	await expect(requests.run(1000, send, faultFrom)).rejects.toBeInstanceOf(RunEnded);
	expect(send).not.toHaveBeenCalled();
});
