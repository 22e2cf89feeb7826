import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { NodeOperationError, sleep } from 'n8n-workflow';
import { leaving } from '../run/leaving';
import * as engine from '../run/n8nEngine';
import { submittedWorkflow } from './subWorkflows';

/*
 * While a batch is being submitted, a crash or a Stop would lose the IDs of its tasks. So a
 * sub-execution runs at the same time: it outputs all of them once a second, if there are new ones, and
 * n8n stores its whole output after each of these rounds.
 */

/** The pause between two rounds. */
const ROUND_MS = 1000;

/** The tasks of a node that submits, for the sub-execution, which runs in the same process. */
interface Channel {
	/** Those that no round has output yet. */
	tasks: INodeExecutionData[];
	/** What the last round has output. */
	stored: INodeExecutionData[];
	/** Aborted when that node has ended. */
	ended: AbortController;
	/** Whether that node has returned all tasks. */
	isReturned: boolean;
}

const channels = new Map<string, Channel>();
let opened = 0;

/** The storage of the tasks that a node submits. */
export type SubmittedTasks = ReturnType<typeof openSubmittedTasks>;

/** Starts to store tasks. Errors are ignored: they must not prevent the node from submitting. */
export function openSubmittedTasks(context: IExecuteFunctions) {
	const key = `${context.getExecutionId()} ${(opened += 1)}`;
	const channel: Channel = {
		tasks: [],
		stored: [],
		ended: new AbortController(),
		isReturned: false,
	};
	let running: Promise<unknown> | undefined;

	const start = async (): Promise<void> => {
		channels.set(key, channel);
		try {
			await engine.startSubWorkflow(context, submittedWorkflow(context), [{ json: { key } }]);
		} catch {
			// An error at its end keeps the sub-execution in n8n's list.
		} finally {
			channels.delete(key);
		}
	};

	return {
		/** @param item the output item of a task */
		add: (item: INodeExecutionData): void => {
			channel.tasks.push(leaving(context, item));
			running ??= start();
		},
		/** @param isReturned whether the node has returned all tasks; if not, they stay in n8n's list */
		close: async (isReturned: boolean): Promise<void> => {
			channel.isReturned = isReturned;
			channel.ended.abort();
			await running;
		},
	};
}

/**
 * A round of the sub-execution: waits a second, or until there is a new task, and outputs all that was
 * submitted: the editor shows the last round, and a person copies what it shows. The round before gives
 * its tasks away, which n8n keeps in memory, or else each would be stored as often as there are rounds.
 *
 * @returns the tasks on output 0; on output 1 an item that starts the next round
 * @throws NodeOperationError at the end, if the tasks must stay in n8n's list
 */
export async function reportSubmitted(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const json = context.getInputData()[0]?.json ?? {};
	const channel = channels.get(String(json.key));
	if (channel === undefined) return [[], []];
	const { signal } = channel.ended;
	do await sleep(ROUND_MS, signal).catch(() => undefined);
	while (channel.tasks.length === 0 && !signal.aborted);
	if (channel.tasks.length > 0) {
		channel.stored = [...channel.stored.splice(0), ...channel.tasks.splice(0)];
		return [channel.stored, [{ json, pairedItem: { item: 0 } }]];
	}
	if (channel.isReturned) return [[], []];
	throw new NodeOperationError(context.getNode(), 'The run that submitted these tasks has ended', {
		description:
			"The tasks continue at the gateway. Their IDs are in the output of this node: choose the run before this one, and paste its output into the example 'Collect these tasks', or give the IDs to Image Wait or Image Task.",
	});
}
