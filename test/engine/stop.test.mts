/** Stop ends the node at once, and no request leaves afterwards. */
import './fast-time.mjs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../../simulator/gateway.mjs';
import {
	countRequests,
	NODE,
	openBench,
	workflowOf,
	type Bench,
	type NodeName,
} from './workbench.mjs';

let bench: Bench;

beforeAll(async () => {
	bench = await openBench();
});
beforeEach(() => bench.gateway.reset());
afterAll(async () => await bench.close());

/** Waits for what has to come, by looking; whoever waits in vain is ended by the test's time limit. */
async function until(condition: () => boolean): Promise<void> {
	while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

interface Moment {
	node: NodeName;
	parameters: Record<string, unknown>;
	items?: number;
	faults?: Fault[];
	/** Reached when this is so. */
	when: () => boolean;
}

const silent = (call: Fault['call']): Fault[] => [{ call, kind: 'silence' }];
const count = (call: string) => bench.gateway.count(call);

const MOMENTS: Record<string, Moment> = {
	'between two questions': {
		node: 'imageWait',
		parameters: { pollInterval: 2, maxWait: 100_000 },
		items: 20,
		when: () => count('poll') >= 25,
	},
	'during a question': {
		node: 'imageWait',
		parameters: { maxWait: 100_000 },
		items: 20,
		faults: silent('poll'),
		when: () => count('poll') >= 10,
	},
	'while a synchronous request is under way': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox' },
		items: 20,
		faults: silent('sync'),
		when: () => count('sync') >= 10,
	},
	'while a task is submitted': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox', mode: 'submit' },
		items: 20,
		faults: silent('submit'),
		when: () => count('submit') >= 10,
	},
	'between submit and images': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox [slow 99]', mode: 'wait', options: { pollInterval: 1 } },
		items: 5,
		when: () => count('poll') >= 5,
	},
	'during a download': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox' },
		items: 3,
		faults: silent('download'),
		when: () => count('download') >= 3,
	},
	'while an image drips in': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox' },
		faults: [{ call: 'download', kind: 'drip', ms: 20 }],
		when: () => count('download') >= 1,
	},
	'in the pause before a second attempt': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox' },
		items: 5,
		faults: [{ call: 'sync', kind: 'status', status: 429, retryAfter: 290 }],
		when: () => count('sync') >= 1,
	},
	'while one task is asked for': {
		node: 'imageTask',
		parameters: {},
		items: 3,
		faults: silent('poll'),
		when: () => count('poll') >= 3,
	},
	'while the listing is read': {
		node: 'imageGeneration',
		parameters: { prompt: 'a fox' },
		faults: silent('listing'),
		when: () => count('listing') >= 1,
	},
};

const cases = Object.entries(MOMENTS).flatMap(([name, moment]) => [
	[name, moment, {}] as const,
	[
		`${name}, with Retry On Fail`,
		moment,
		{ retryOnFail: true, maxTries: 5, waitBetweenTries: 1 },
	] as const,
	[`${name}, On Error set to go on`, moment, { onError: 'continueErrorOutput' as const }] as const,
]);

test.each(cases)('Stop %s', async (_, { node, parameters, items = 1, faults, when }, settings) => {
	// A listing is kept for a minute: a gateway at a new address has to be asked.
	const own = faults?.[0]?.call === 'listing' ? await openBench() : undefined;
	const usual = bench;
	bench = own ?? bench;
	try {
		const prompts = Array.from({ length: items }, () => 'a fox [slow 99]');
		const ids = node === 'imageGeneration' ? [] : await bench.submit(...prompts);
		bench.gateway.setFaults(faults ?? []);
		const paidBefore = bench.gateway.paid;
		const input = prompts.map((__, index) => ({ json: ids[index] ? { taskId: ids[index] } : {} }));
		const execution = bench.host.start(workflowOf(node, parameters, settings), { input });
		await until(when);
		execution.stop();
		const sent = countRequests();
		const result = await execution.promise;
		expect(result.status).toBe('canceled');

		// Every connection is given up, and then nothing more comes: a tenth of a second here is ten seconds for
		// the node, if it were still alive.
		await until(() => bench.gateway.inFlight === 0);
		await sleep(100);
		sent.stop();
		expect(sent.to(bench.gateway.url)).toBe(0);
		expect(bench.gateway.inFlight).toBe(0);
		expect(bench.gateway.paid - paidBefore).toBeLessThanOrEqual(items);
		expect(result.error?.message).toBe('The execution was canceled');
		expect(result.output(NODE).every(({ json }) => json.url === undefined)).toBe(true);
	} finally {
		bench = usual;
		await own?.close();
	}
});
