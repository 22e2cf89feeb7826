/**
 * Makes the pauses of nodes pass faster: minutes are over in seconds. The nodes sleep as they always
 * do, between real requests, but n8n's `sleep` takes a hundredth of the time, and the clock by which
 * the nodes measure it runs a hundred times as fast. Time-outs of requests and the time of day stay
 * as they are.
 */
import { createRequire } from 'node:module';

const FACTOR = 100;

// There may be several copies: this is the one whose `sleep` nodes are given. n8n is loaded once for
// several test files, so the real one is put back.
const fromN8n = createRequire(createRequire(import.meta.url).resolve('n8n-workflow'));
const sleepModule = fromN8n('@n8n/utils/sleep') as {
	sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
};
const realSleep = sleepModule.sleep;
sleepModule.sleep = async (ms, signal) => await realSleep(ms / FACTOR, signal);
afterAll(() => void (sleepModule.sleep = realSleep));

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
