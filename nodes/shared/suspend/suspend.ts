import type {
	ExecuteWorkflowData,
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
} from 'n8n-workflow';
import * as n8n from 'n8n-workflow';
import { withoutUndefined } from '../../../gateway/protocol/requestPlan';
import { finishRun, readRunEnd } from '../images/runResult';
import { hasSecondOutput, readOptions } from '../parameters/optionValues';
import { readParameter } from '../parameters/reader';
import { nodeError, problemOf } from '../run/nodeErrors';
import { pack, type WaitPlan } from './parcels';
import type { Tally } from '../run/tally';
import { keeperWorkflow } from './subWorkflows';
import { tasksInWords, type WaitEntry } from '../images/waitJobs';
import { failOpen } from './watcher';

/*
 * How waiting survives a crash (docs/architecture.md): the user's execution is suspended until a
 * sub-execution, the keeper, has ended, and goes on with its result.
 */

/**
 * Refuses to wait where a suspended execution would come back with nothing. Known by features: an
 * n8n that hands the result of a sub-execution to the one that waits has a date of its own for that
 * wait; one that hands on more than the first output also knows when an execution is terminal.
 *
 * @throws NodeOperationError that says what to do instead
 */
export function assertCanSuspend(context: IExecuteFunctions): void {
	if (n8n.WAIT_FOR_SUB_EXECUTION === undefined || context.getExecutionId() === undefined) {
		throw new n8n.NodeOperationError(context.getNode(), "'Survive Restarts' requires n8n 2", {
			description:
				'Nothing is lost: the tasks continue at the gateway. Turn the option off, or submit in one workflow and collect with Image Task in a scheduled one.',
		});
	}
	if (!hasSecondOutput(context)) return;
	if (context.getNode().onError === 'continueErrorOutput') {
		throw new n8n.NodeOperationError(
			context.getNode(),
			"'Survive Restarts' can't be combined with both a second output and an error output",
			{
				description:
					"Set 'On Timeout' to 'Error', or 'On Error' to 'Continue'. Nothing is lost: the tasks continue at the gateway.",
			},
		);
	}
	if (n8n.isTerminalExecutionStatus === undefined) {
		throw new n8n.NodeOperationError(
			context.getNode(),
			"This version of n8n can't combine 'Survive Restarts' with a second output",
			{
				description:
					"Update n8n, or set 'On Timeout' to 'Error'. Nothing is lost: the tasks continue at the gateway.",
			},
		);
	}
}

/**
 * Suspends the execution until all tasks are settled or their deadlines are over.
 *
 * @param entries one for each input item
 * @param tally of what the run has done so far
 * @param inWords what the run leaves behind if the execution cannot be suspended
 * @returns what the node returns; n8n shows it while the execution waits. Where it cannot be suspended
 *   and the node goes on: a failed item for each open task
 * @throws NodeApiError or NodeOperationError that names all tasks, where the node stops
 */
export async function suspend(
	context: IExecuteFunctions,
	entries: WaitEntry[],
	tally: Tally,
	inWords = () => tasksInWords(entries),
): Promise<INodeExecutionData[][]> {
	const toOutput = hasSecondOutput(context);
	let result: ExecuteWorkflowData;
	try {
		result = await startKeeper(context, entries, tally);
	} catch (error) {
		const isStopped = context.getExecutionCancelSignal()?.aborted === true;
		if (isStopped || !context.continueOnFail()) {
			const left = inWords();
			const isSaid = problemOf(error).description.includes(left);
			throw nodeError(context.getNode(), error, undefined, isSaid ? '' : left);
		}
		const failed = failOpen(context, entries, error);
		const found = failed.map(({ done }) => done?.items ?? []);
		const stillOpen = entries.flatMap(({ done }) => done?.open ?? []);
		const end = readRunEnd(context);
		const { items, open } = finishRun(context, { items: found, open: stillOpen }, tally, end);
		return toOutput ? [items.flat(), open] : [items.flat()];
	}
	const [items, open] = result.data;
	const output = toOutput ? [items ?? [], open ?? []] : [items ?? []];
	// It has failed at once: Retry On Fail needs the input again.
	if (!result.waitTill) return output;
	// Without the first n8n replaces the links of what comes back, without the second it hands on only
	// the first output.
	context.setMetadata({
		preserveSourceOverwrite: true,
		...(toOutput ? { forwardAllOutputs: true } : {}),
	});
	// The result takes the place of the input. Where there is none (n8n's Retry of an execution that
	// was stopped here), n8n would hand on the input as if it were images.
	context.getExecuteData().data = { main: [[]] };
	return output;
}

/** @throws whatever n8n throws, such as the error of its database */
async function startKeeper(
	context: IExecuteFunctions,
	entries: WaitEntry[],
	tally: Tally,
): Promise<ExecuteWorkflowData> {
	const executionId = context.getExecutionId();
	const { id, name } = context.getWorkflow();
	const { name: nodeName, onError } = context.getNode();
	const plan: WaitPlan = {
		parentExecutionId: executionId,
		nodeName,
		workflowName: name ?? 'Workflow',
		errorWorkflow: context.getWorkflowSettings?.().errorWorkflow,
		count: entries.length,
		goOn: context.continueOnFail(),
		errorOutput: onError === 'continueErrorOutput',
		end: readRunEnd(context),
		tally,
		parameters: valuesOf(context, readOptions(context, 0)),
	};
	return await context.executeWorkflow(
		keeperWorkflow(context, plan),
		pack(plan, entries),
		undefined,
		{
			doNotWaitToFinish: false,
			parentExecution: { executionId, workflowId: String(id), shouldResume: true },
		},
	);
}

/** The parameters of the waiting as values: in a sub-execution no expression of the user works. */
function valuesOf(context: IExecuteFunctions, options: IDataObject): IDataObject {
	const { concurrency, requestsPerSecond, timeout, maxDownloadMb, onTimeout } = options;
	const pollInterval = readParameter(context, 'pollInterval', 0, options.pollInterval ?? 3);
	return {
		pollInterval: pollInterval as number,
		options: withoutUndefined({
			concurrency,
			requestsPerSecond,
			timeout,
			maxDownloadMb,
			onTimeout,
		}) as IDataObject,
	};
}
