import {
	type IDataObject,
	type IExecuteFunctions,
	type INodeExecutionData,
	NodeOperationError,
} from 'n8n-workflow';
import { stopError } from '../run/itemRunner';
import { describeRun, finishRun, type RunCounts } from '../run/summary';
import { ItemParameters } from '../parameters/itemParameters';
import { hasSecondOutput, readAddSummary } from '../parameters/optionValues';
import { describeUnreturned, finalError } from '../errors/nodeErrors';
import { tryForAMinute } from '../run/tryForAMinute';
import { leaving, logRun } from '../run/leaving';
import { addHints, isStopped, isTool } from '../run/runContext';
import type { WaitEntry } from '../tasks/waitEntries';
import {
	failOpen,
	reportOfWaits,
	openItems,
	resultOf,
	toItems,
	type WaitPlan,
} from './storedWaits';
import * as engine from '../run/n8nEngine';
import { supervisorWorkflow } from './subWorkflows';

/*
 * Waiting that survives a crash (docs/architecture.md): the user's execution is suspended until a
 * sub-execution has ended, and then passes on its result.
 */

/** The editor's tooltip at a node whose execution is suspended. */
export const WAITING_TOOLTIP =
	'Waiting for image tasks. They are checked about once a minute, even after n8n restarts.';

/**
 * Reads the option "Survive Restarts": whether the execution is stored in place of waiting in memory. It
 * never is where an agent calls the node.
 *
 * @throws NodeOperationError if this n8n can't resume the execution with all results
 */
export function readIsStored(context: IExecuteFunctions, first: ItemParameters): boolean {
	const isChosen = first.options.switch('surviveRestarts', 'Survive Restarts', false);
	if (!isChosen || isTool(context)) return false;
	assertCanSuspend(context, hasSecondOutput(first));
	return true;
}

/** @throws NodeOperationError that says what to do instead */
function assertCanSuspend(context: IExecuteFunctions, toOutput: boolean): void {
	const refuse = (message: string, advice: string): never => {
		throw new NodeOperationError(context.getNode(), message, {
			description: `${advice} Nothing was sent.`,
		});
	};
	if (!engine.canWaitForSubExecution() || context.getExecutionId() === undefined) {
		refuse(
			"'Survive Restarts' requires n8n 2",
			'Turn the option off, or submit in one workflow and collect with Image Task in a scheduled one.',
		);
	}
	if (!toOutput) return;
	if (context.getNode().onError === 'continueErrorOutput') {
		refuse(
			"'Survive Restarts' can't be combined with both a second output and an error output",
			"Set 'On Timeout' to 'Error', or 'On Error' to 'Continue'.",
		);
	}
	if (!engine.canForwardAllOutputs()) {
		refuse(
			"This version of n8n can't combine 'Survive Restarts' with a second output",
			"Update n8n, or set 'On Timeout' to 'Error'.",
		);
	}
}

/**
 * Suspends the execution until all tasks have finished or their deadlines are over.
 *
 * @param entries one for each input item
 * @param itemReport what is known of the items, if the execution can't be suspended
 * @returns the open tasks, which n8n shows while the execution is suspended; if it can't be suspended
 *   and On Error is set to continue, a failed item for each of them
 * @throws NodeApiError or NodeOperationError that names all tasks, if the node stops
 */
export async function suspend(
	context: IExecuteFunctions,
	entries: WaitEntry[],
	counts: RunCounts,
	itemReport = reportOfWaits(entries),
): Promise<INodeExecutionData[][]> {
	const plan = planOf(context, counts);
	const { toOutput } = plan;
	const text = describeUnreturned(itemReport.listUnreturned?.() ?? []);
	try {
		const workflow = supervisorWorkflow(context, plan);
		const items = toItems({ plan, entries: leaving(context, entries) });
		await tryForAMinute(context, () => engine.startSuspended(context, workflow, items));
		// A worker without the package, or an older n8n, drops the IDs in the database.
		logRun(context, `The run is stored while it waits. ${text}`, 'info');
	} catch (error) {
		if (isStopped(context)) throw stopError(context.getNode(), itemReport);
		logRun(context, `n8n could not store the run. ${text}`);
		if (!context.continueOnFail()) throw finalError(context.getNode(), error, itemReport);
		const failed = resultOf(failOpen(context, { plan, entries }, error), counts);
		const { items, open } = finishRun(context, failed, plan.addSummary);
		return toOutput ? [items.flat(), open] : [items.flat()];
	}
	engine.passOnResult(context, toOutput);
	// The result has no hints: n8n shows this one while the execution is suspended.
	const { items } = resultOf(entries, counts);
	addHints(context, [describeRun({ items, open: openItems(entries), counts })], 'info');
	return toOutput ? [openItems(entries), []] : [openItems(entries)];
}

/** What the sub-executions know of this node. */
function planOf(context: IExecuteFunctions, counts: RunCounts): WaitPlan {
	const { name: nodeName, onError } = context.getNode();
	const first = new ItemParameters(context, 0);
	// Values, because the user's expressions don't work in a sub-execution.
	const names = ['concurrency', 'requestsPerSecond', 'timeout'];
	const options = names.map((name) => [name, first.options.value(name)]);
	return {
		parentExecutionId: context.getExecutionId(),
		nodeName,
		workflowName: engine.workflowName(context),
		continuesOnFail: context.continueOnFail(),
		errorOutput: onError === 'continueErrorOutput',
		toOutput: hasSecondOutput(first),
		addSummary: readAddSummary(first),
		counts,
		options: Object.fromEntries(options) as IDataObject,
	};
}
