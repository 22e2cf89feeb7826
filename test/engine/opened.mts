/** Keeps what a test file opens, and closes it after its last test. */
import { openBench, type Bench, type BenchOptions } from './workbench.mjs';

const open: Array<{ close(): Promise<void> }> = [];

afterAll(async () => {
	await Promise.all(open.map(async (one) => await one.close()));
});

/** Waits for a gateway, a bench or a server to open, and sees to it that it is closed. */
export async function opened<T extends { close(): Promise<void> }>(
	promise: Promise<T>,
): Promise<T> {
	const one = await promise;
	open.push(one);
	return one;
}

/** A gateway and its host for all tests of a file; each test finds the gateway as if it were new. */
export function sharedBench(options: BenchOptions = {}): Bench {
	let bench: Bench;
	beforeAll(async () => {
		bench = await opened(openBench(options));
	});
	beforeEach(() => bench.gateway.reset());
	return {
		get gateway() {
			return bench.gateway;
		},
		get host() {
			return bench.host;
		},
		run: async (...given) => await bench.run(...given),
		submit: async (...prompts) => await bench.submit(...prompts),
		submitEdit: async (prompt) => await bench.submitEdit(prompt),
		close: async () => await bench.close(),
	};
}
