/**
 * Makes the pauses of nodes pass faster: minutes are over in seconds. The nodes sleep as they always
 * do, between real requests, but n8n's `sleep` takes a hundredth of the time, and the clock by which
 * the nodes measure it runs a hundred times as fast. Time-outs of requests and the time of day stay
 * as they are.
 *
 * Time passes only while the process runs: on a machine that is busy with other things a request
 * takes longer, and minutes of the nodes' time must not be over by that.
 *
 * To be imported before anything that loads n8n.
 */
import { createRequire } from 'node:module';

const FACTOR = 100;
/** In milliseconds: how often the clock looks whether the process runs, and what one look may add. */
const TICK = 2;
const LONGEST_STEP = 10;

// There may be several copies: this is the one whose `sleep` nodes are given.
const { resolve } = createRequire(createRequire(import.meta.url).resolve('n8n-workflow'));
const sleepModule = resolve('@n8n/utils/sleep');

jest.doMock(sleepModule, () => {
	const real = jest.requireActual<{ sleep: (ms: number, signal?: AbortSignal) => Promise<void> }>(
		sleepModule,
	);
	return {
		...real,
		sleep: async (ms: number, signal?: AbortSignal) => {
			const end = advance() + ms;
			await real.sleep(ms / FACTOR, signal);
			virtual = Math.max(virtual, end);
		},
	};
});

const realPerformance = globalThis.performance;
let virtual = realPerformance.now();
let last = virtual;

/** Lets the time pass that the process has run since the last look, and gives the time. */
function advance(): number {
	const now = realPerformance.now();
	virtual += Math.min(now - last, LONGEST_STEP) * FACTOR;
	last = now;
	return virtual;
}
setInterval(advance, TICK).unref();

Object.defineProperty(globalThis, 'performance', {
	configurable: true,
	value: new Proxy(realPerformance, {
		get: (target, name) => {
			if (name === 'now') return advance;
			const value = Reflect.get(target, name) as unknown;
			return typeof value === 'function' ? (value.bind(target) as unknown) : value;
		},
	}),
});
