/** What tests of waiting that survives share: a time of day that is turned on, and the workflow. */
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult, WorkflowJson } from '../../../harness/engine/host.mjs';
import { errorOf } from '../one-node.mjs';
import { NODE, workflowOf, type Bench, type Settings } from '../workbench.mjs';

const ROUND_MS = 60_000;
const DAY_MS = 86_400_000;
const realNow = Date.now;

/** By how much the time of day is ahead; 0 at the beginning of each test. */
export const turned = { ms: 0 };

/** To be called at the top of a test file: deadlines over suspensions go by the time of day. */
export function turnTimeOfDay(): void {
	beforeAll(() => {
		jest.spyOn(Date, 'now').mockImplementation(() => realNow() + turned.ms);
	});
	beforeEach(() => {
		turned.ms = 0;
	});
	afterAll(() => jest.restoreAllMocks());
}

/**
 * For `onWake` of a host: what is due is taken up at the next of n8n's rounds, once a minute.
 *
 * @returns the pause in milliseconds; undefined for a parent, which waits for its child for ever
 */
export function nextRound(until: Date): number | undefined {
	const pauseMs = until.getTime() - Date.now();
	if (pauseMs > DAY_MS) return undefined;
	const due = Math.max(until.getTime() - realNow() - 1, turned.ms + 1);
	turned.ms = Math.ceil(due / ROUND_MS) * ROUND_MS;
	return pauseMs;
}

/** Start → Node → Done, and Node's second output → Failed. */
export function survivingWorkflow(
	type: 'imageGeneration' | 'imageWait',
	{ options, ...parameters }: Record<string, unknown> = {},
	settings: Settings = {},
): WorkflowJson {
	const all = { ...parameters, options: { surviveRestarts: true, ...(options as object) } };
	const json = workflowOf(type, all, settings);
	json.nodes.push(
		{ name: 'Done', type: 'n8n-nodes-base.noOp' },
		{ name: 'Failed', type: 'n8n-nodes-base.noOp' },
	);
	const to = (node: string): N8n.IConnection[] => [{ node, type: 'main', index: 0 }];
	json.connections[NODE] = { main: [to('Done'), to('Failed')] };
	return json;
}

/** Runs until the execution is suspended. */
export async function suspended(
	{ host }: Bench,
	json: WorkflowJson,
	items: N8n.IDataObject[],
): Promise<RunResult> {
	const input = items.map((one) => ({ json: one }));
	const waiting = await host.run(json, { input, mode: 'trigger' });
	expect(errorOf(waiting).message).toBe('');
	expect(waiting.status).toBe('waiting');
	return waiting;
}
