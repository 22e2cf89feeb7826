import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { NodeOperationError, sleep } from 'n8n-workflow';
import { digestOf } from '../../../gateway/protocol/fingerprint';
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
	/** `lost`: the node ends without having given out the tasks. */
	end?: 'done' | 'lost';
	onEnd?: () => void;
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
	const key = digestOf([context.getExecutionId(), context.getNode().name, Date.now(), opened++]);
	const channel: Channel = { tasks: [] };
	let running: Promise<unknown> | undefined;

	const start = async (): Promise<void> => {
		const { id, name } = context.getWorkflow();
		channels.set(key, channel);
		try {
			await context.executeWorkflow(
				progressWorkflow(context, name ?? 'Workflow'),
				[{ json: { key } }],
				undefined,
				{
					doNotWaitToFinish: false,
					parentExecution: {
						executionId: context.getExecutionId(),
						workflowId: String(id),
						shouldResume: false,
					},
				},
			);
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
			channel.end = safe ? 'done' : 'lost';
			channel.onEnd?.();
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
	const input = context.getInputData();
	const channel = channels.get(String(input[0]?.json.key));
	if (channel === undefined) return [[], []];
	if (channel.end === undefined) await pause(context, channel);
	const tasks = channel.tasks.splice(0);
	if (tasks.length > 0 || channel.end === undefined) {
		return [tasks, [{ json: input[0]?.json ?? {}, pairedItem: { item: 0 } }]];
	}
	if (channel.end === 'done') return [[], []];
	throw new NodeOperationError(context.getNode(), 'The run that submitted these tasks has ended', {
		description:
			'The tasks continue at the gateway. Their IDs are in the output of this node: give them to Image Wait or Image Task.',
	});
}

async function pause(context: IExecuteFunctions, channel: Channel): Promise<void> {
	const timer = new AbortController();
	const stop = context.getExecutionCancelSignal();
	await new Promise<void>((resolve) => {
		channel.onEnd = resolve;
		// Taken away with the timer: the signal lives as long as the execution.
		stop?.addEventListener('abort', () => resolve(), { once: true, signal: timer.signal });
		sleep(ROUND_MS, timer.signal).then(resolve, () => undefined);
	});
	timer.abort();
	channel.onEnd = undefined;
}
