/**
 * Makes the pauses of nodes pass faster: minutes are over in seconds. The nodes sleep as they always
 * do, between real requests, but n8n's `sleep` takes a hundredth of the time, and the clock by which
 * the nodes measure it runs a hundred times as fast. It runs no further than a few milliseconds in a
 * turn of the event loop, so that half a minute is the same number of turns on a busy machine, and
 * isn't over while a single response is on its way. The time of day stays as it is, and so do time-outs
 * of requests but for tests of them.
 */
import { createRequire } from 'node:module';

const FACTOR = 100;

/** What counts of a turn of the event loop at most, in milliseconds of the machine. */
const LONGEST_TURN_MS = 3;

const realPerformance = globalThis.performance;
let turnBegan = realPerformance.now();
let atTurn = turnBegan;

const now = () => atTurn + Math.min(realPerformance.now() - turnBegan, LONGEST_TURN_MS) * FACTOR;

const turns = setInterval(() => {
	atTurn = now();
	turnBegan = realPerformance.now();
}, 1);

// There may be several copies: this is the one whose `sleep` nodes are given. n8n is loaded once for
// several test files, so the real one is put back.
const fromN8n = createRequire(createRequire(import.meta.url).resolve('n8n-workflow'));
const sleepModule = fromN8n('@n8n/utils/sleep') as {
	sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
};
const realSleep = sleepModule.sleep;
sleepModule.sleep = async (ms, signal) => {
	const due = now() + ms;
	// Timers are as exact as a millisecond of the machine.
	do await realSleep((due - now()) / FACTOR, signal);
	while (due - now() > FACTOR);
};

/** Waits as long as the nodes do for this number of seconds. */
export const secondsOfNodes = async (seconds: number): Promise<void> =>
	await sleepModule.sleep(seconds * 1000);

/** Makes the time-outs of requests pass as fast, or never come, until what it returns is called. */
export function timeouts(pass: 'fast' | 'never'): () => void {
	const over = new AbortController();
	const spy = jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
		const controller = new AbortController();
		const elapsed = pass === 'fast' ? sleepModule.sleep(ms, over.signal) : Promise.reject();
		elapsed.then(
			() => controller.abort(),
			() => undefined,
		);
		return controller.signal;
	});
	return () => {
		over.abort();
		spy.mockRestore();
	};
}

afterAll(() => {
	clearInterval(turns);
	sleepModule.sleep = realSleep;
});

Object.defineProperty(globalThis, 'performance', {
	configurable: true,
	value: new Proxy(realPerformance, {
		get: (target, name) => {
			if (name === 'now') return now;
			const value = Reflect.get(target, name) as unknown;
			return typeof value === 'function' ? (value.bind(target) as unknown) : value;
		},
	}),
});
