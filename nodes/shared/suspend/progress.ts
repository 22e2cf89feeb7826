import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { NodeOperationError, sleep } from 'n8n-workflow';
import { startSubWorkflow } from './n8nEngine';
import { progressWorkflow } from './subWorkflows';

/*
 * While a batch is submitted, n8n knows nothing of the tasks that were accepted: a crash or a Stop
 * would take their IDs along. A sub-execution that runs beside the node puts them out, and n8n stores
 * what it has put out after each round.
 */

/** At most so old are the task IDs that a crash takes along, in milliseconds. */
const ROUND_MS = 1000;

/** Between the node that submits and the one that puts out, which run in the same process. */
interface Channel {
	tasks: INodeExecutionData[];
	/** Aborted when the node that submits has ended. */
	ended: AbortController;
	/** Whether that node has given out all tasks. */
	safe: boolean;
}

const channels = new Map<string, Channel>();
let opened = 0;

/** Keeps the IDs of what a node submits. */
export interface Progress {
	/** @param item a task, in the form in which Image Wait takes it */
	add(item: INodeExecutionData): void;
	/** @param safe whether all tasks have got out of the node; else they stay in n8n's list */
	close(safe: boolean): Promise<void>;
}

/**
 * Begins to keep task IDs. What fails here must not keep anybody from submitting, and is passed over.
 */
export function openProgress(context: IExecuteFunctions): Progress {
	const key = `${context.getExecutionId()} ${(opened += 1)}`;
	const channel: Channel = { tasks: [], ended: new AbortController(), safe: false };
	let running: Promise<unknown> | undefined;

	const start = async (): Promise<void> => {
		channels.set(key, channel);
		try {
			await startSubWorkflow(context, progressWorkflow(context), [{ json: { key } }], false);
		} catch {
			// It ends with an error where the tasks are to be kept.
		} finally {
			channels.delete(key);
		}
	};

	return {
		add: (item) => {
			channel.tasks.push(item);
			running ??= start();
		},
		close: async (safe) => {
			channel.safe = safe;
			channel.ended.abort();
			await running;
		},
	};
}

/**
 * One round of the sub-execution: waits a moment, then puts out what was submitted in the meantime.
 *
 * @returns tasks on output 0; on output 1 what leads to the next round
 * @throws NodeOperationError at the end, where the tasks are to stay in n8n's list
 */
export async function reportProgress(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const json = context.getInputData()[0]?.json ?? {};
	const channel = channels.get(String(json.key));
	if (channel === undefined) return [[], []];
	const { signal } = channel.ended;
	await sleep(ROUND_MS, signal).catch(() => undefined);
	const tasks = channel.tasks.splice(0);
	if (tasks.length > 0 || !signal.aborted) return [tasks, [{ json, pairedItem: { item: 0 } }]];
	if (channel.safe) return [[], []];
	throw new NodeOperationError(context.getNode(), 'The run that submitted these tasks has ended', {
		description:
			'The tasks continue at the gateway. Their IDs are in the output of this node: give them to Image Wait or Image Task.',
	});
}
