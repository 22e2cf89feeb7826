/**
 * Makes the pauses of nodes pass faster: minutes are over in seconds. The nodes sleep as they always
 * do, between real requests, but n8n's `sleep` takes a hundredth of the time, and the clock by which
 * the nodes measure it runs a hundred times as fast. Time-outs of requests and the time of day stay
 * as they are.
 *
 * To be imported before anything that loads n8n.
 */
import { createRequire } from 'node:module';

const FACTOR = 100;

// There may be several copies: this is the one whose `sleep` nodes are given.
const { resolve } = createRequire(createRequire(import.meta.url).resolve('n8n-workflow'));
const sleepModule = resolve('@n8n/utils/sleep');

jest.doMock(sleepModule, () => {
	const real = jest.requireActual<{ sleep: (ms: number, signal?: AbortSignal) => Promise<void> }>(
		sleepModule,
	);
	return {
		...real,
		sleep: async (ms: number, signal?: AbortSignal) => await real.sleep(ms / FACTOR, signal),
	};
});

const realPerformance = globalThis.performance;
const start = realPerformance.now();

Object.defineProperty(globalThis, 'performance', {
	configurable: true,
	value: new Proxy(realPerformance, {
		get: (target, name) => {
			if (name === 'now') return () => start + (target.now() - start) * FACTOR;
			const value = Reflect.get(target, name) as unknown;
			return typeof value === 'function' ? (value.bind(target) as unknown) : value;
		},
	}),
});
