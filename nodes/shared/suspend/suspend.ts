import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import * as n8n from 'n8n-workflow';
import { withoutUndefined } from '../../../gateway/protocol/requestPlan';
import { readRunEnd } from '../images/runResult';
import { hasSecondOutput, readOptions } from '../parameters/optionValues';
import { readParameter } from '../parameters/reader';
import { pack, type WaitPlan } from './parcels';
import type { Tally } from '../run/tally';
import { keeperWorkflow } from './subWorkflows';
import type { WaitEntry } from '../images/waitJobs';

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
 * @returns what the node returns; n8n shows it while the execution waits
 */
export async function suspend(
	context: IExecuteFunctions,
	entries: WaitEntry[],
	tally: Tally,
): Promise<INodeExecutionData[][]> {
	const executionId = context.getExecutionId();
	const { id, name } = context.getWorkflow();
	const { name: nodeName, onError } = context.getNode();
	const options = readOptions(context, 0);
	const toOutput = hasSecondOutput(context);
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
		parameters: valuesOf(context, options),
	};
	const result = await context.executeWorkflow(
		keeperWorkflow(context, plan),
		pack(plan, entries),
		undefined,
		{
			doNotWaitToFinish: false,
			parentExecution: { executionId, workflowId: String(id), shouldResume: true },
		},
	);
	// Without the first n8n replaces the links of what comes back, without the second it hands on only
	// the first output.
	context.setMetadata({
		preserveSourceOverwrite: true,
		...(toOutput ? { forwardAllOutputs: true } : {}),
	});
	// The result takes the place of the input. Where there is none (n8n's Retry of an execution that
	// was stopped here), n8n would hand on the input as if it were images.
	context.getExecuteData().data = { main: [[]] };
	const [items, open] = result.data;
	return toOutput ? [items ?? [], open ?? []] : [items ?? []];
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
