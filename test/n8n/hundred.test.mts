/** The main example a hundred times within a minute on one server, and what is left in memory. */
import type { Gateway } from '../../simulator/gateway.mjs';
import {
	itemsOf,
	readExample,
	withWebhook,
	type Credentials,
} from '../../harness/server/example-workflows.mjs';
import { serverVersions } from '../../harness/server/packed-package.mjs';
import type { Memory, N8nServer } from '../../harness/server/server.mjs';
import { openRealServer, type RealServer } from './real-server.mjs';

const RUNS = 100;
/** One start every 0.5 s: all hundred within 50 s. */
const PACE_MS = 500;
const MB = 1_000_000;

jest.setTimeout(600_000);

const described = serverVersions().includes('2') ? describe : describe.skip;

described('a hundred runs on n8n 2', () => {
	let real: RealServer;
	let server: N8nServer;
	let gateway: Gateway;
	let credentials: Credentials;

	beforeAll(async () => {
		real = await openRealServer('2', { taskSeconds: [2, 5] });
		({ server, gateway, credentials } = real);
	});

	afterAll(async () => await real?.close());

	/** What is held at rest: what timers and connections hold is let go within seconds. */
	async function memoryAtRest(): Promise<Memory> {
		await pause(10_000);
		return await server.memory();
	}

	/**
	 * Starts the example so many times at an even pace, and waits until all is over.
	 * @returns ids of the executions
	 */
	async function run(webhook: string, runs: number): Promise<string[]> {
		const workflow = withWebhook(readExample('first-image', credentials), webhook);
		const { id: workflowId } = await server.createWorkflow(workflow);
		await server.activate(workflowId);
		const calls: Array<Promise<unknown>> = [];
		for (let number = 0; number < runs; number += 1) {
			calls.push(server.runWebhook(webhook, { number }));
			await pause(PACE_MS);
		}
		await Promise.all(calls);
		const filter = { workflowId, status: ['success', 'error', 'crashed', 'canceled'] };
		for (const deadline = Date.now() + 60_000; ; await pause(500)) {
			// The list gives a hundred at most, which is just what is needed.
			const over = await server.executions(filter);
			if (over.length >= runs) return over.map(({ id }) => id);
			if (Date.now() > deadline) throw new Error(`${over.length} of ${runs} runs are over`);
		}
	}

	it('all succeed, and leave no more than 50 MB behind', async () => {
		// What a server loads and compiles at its first executions is not what a run leaves behind.
		await run('warm', 10);
		const before = await memoryAtRest();
		const after = await hundredRuns('hundred', before);
		// What is in use; the resident size also holds what the allocator keeps for the next time.
		const inUse = (memory: Memory) => memory.heapUsed + memory.external;
		expect((inUse(after) - inUse(before)) / MB).toBeLessThan(50);
		if ((after.rss - before.rss) / MB < 50) return;
		// A busy machine lets requests pile up, and the process keeps the pages of its busiest moment.
		// What a run leaves behind would come again with the next hundred.
		const again = await hundredRuns('again', after);
		expect((again.rss - after.rss) / MB).toBeLessThan(50);
	});

	/** Runs the example a hundred times, checks every picture, and tells the memory after it. */
	async function hundredRuns(webhook: string, before: Memory): Promise<Memory> {
		gateway.reset();
		const begun = Date.now();
		const ids = await run(webhook, RUNS);
		const seconds = (Date.now() - begun) / 1_000;
		expect(ids).toHaveLength(RUNS);
		for (const executionId of ids) {
			const execution = await server.execution(executionId);
			expect(execution.status).toBe('success');
			const items = itemsOf(execution, 'Images');
			expect(items.map(({ binary }) => binary.data.mimeType)).toEqual(Array(3).fill('image/png'));
		}
		expect(gateway.paid).toBe(3 * RUNS);

		const after = await memoryAtRest();
		const kinds = ['rss', 'heapUsed', 'external'] as const;
		const figures = kinds.map((kind) => {
			const [old, now] = [before[kind] / MB, after[kind] / MB];
			return `${kind} ${old.toFixed(1)} -> ${now.toFixed(1)} MB (${(now - old).toFixed(1)})`;
		});
		console.log(
			`${RUNS} runs, ${3 * RUNS} images in ${seconds.toFixed(1)} s: ${figures.join(', ')}`,
		);
		return after;
	}
});

async function pause(milliseconds: number): Promise<void> {
	await new Promise((resolve) => setTimeout(resolve, milliseconds));
}
