import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeProperties,
} from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { NOT_IN_TOOLS } from '../fields/imageFields';
import { describeRun, finishRun } from '../run/summary';
import { ItemParameters } from '../parameters/itemParameters';
import { hasSecondOutput, readRunEnd } from '../parameters/optionValues';
import { finalError } from '../run/nodeErrors';
import { addHints, isTool } from '../run/runContext';
import type { Tally } from '../run/tally';
import { tasksInWords, type WaitEntry } from '../tasks/taskWaiter';
import { failOpen, resultOf, toItems, type WaitPlan } from './storedWaits';
import {
	canForwardAllOutputs,
	canWaitForSubExecution,
	passOnResult,
	startSubWorkflow,
} from './n8nEngine';
import { supervisorWorkflow, workflowName } from './subWorkflows';

/*
 * How waiting survives a crash (docs/architecture.md): the user's execution is suspended until a
 * sub-execution has ended, and goes on with its result.
 */

/**
 * The options that make waiting survive a crash.
 *
 * @param modes in which modes of the node there is something to survive; undefined where it has none
 */
export function survivalFields(modes?: string[]): INodeProperties[] {
	// It has no effect in an agent's tool.
	const show = modes && { show: { '/mode': modes } };
	const displayOptions = { ...show, hide: NOT_IN_TOOLS };
	return [
		{
			displayName: 'Park After (Seconds)',
			name: 'parkAfter',
			type: 'number',
			typeOptions: { minValue: 0, maxValue: 3600 },
			default: 0,
			description:
				"With 'Survive Restarts': how long to wait in memory before the execution is stored. Quick tasks finish sooner, but a crash within this time loses the run.",
			displayOptions,
		},
		{
			displayName: 'Survive Restarts',
			name: 'surviveRestarts',
			type: 'boolean',
			default: false,
			description:
				"Whether waiting survives a restart or crash of n8n. The execution is stored in the database, and its output has no hint with the cost: use 'Add Summary' instead. Requires n8n 2 and a saved workflow.",
			hint: "Even a quick task takes about a minute. To get it sooner, set 'Park After'.",
			displayOptions,
		},
	];
}

/** What the editor shows beside a node whose execution is stored. */
export const WAITING_TOOLTIP =
	'Waiting for image tasks. They are checked about once a minute, even after n8n restarts.';

/**
 * The options "Survive Restarts" and "Park After" of a run.
 *
 * @returns how long to wait in memory before the execution is suspended, in milliseconds; undefined
 *   where it is not: not chosen, or without effect in an agent's tool
 * @throws NodeOperationError where a suspended execution would come back with nothing
 */
export function readParkAfter(
	context: IExecuteFunctions,
	first: ItemParameters,
): number | undefined {
	const isChosen = first.options.switch('surviveRestarts', 'Survive Restarts', false);
	if (!isChosen || isTool(context)) return undefined;
	assertCanSuspend(context, hasSecondOutput(first));
	return first.options.milliseconds('parkAfter');
}

/** @throws NodeOperationError that says what to do instead */
function assertCanSuspend(context: IExecuteFunctions, toOutput: boolean): void {
	const refuse = (message: string, advice: string): never => {
		throw new NodeOperationError(context.getNode(), message, {
			description: `Nothing is lost: the tasks continue at the gateway. ${advice}`,
		});
	};
	if (!canWaitForSubExecution() || context.getExecutionId() === undefined) {
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
	if (!canForwardAllOutputs()) {
		refuse(
			"This version of n8n can't combine 'Survive Restarts' with a second output",
			"Update n8n, or set 'On Timeout' to 'Error'.",
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
	const plan = planOf(context, tally);
	const { toOutput } = plan;
	let supervisor: Awaited<ReturnType<typeof startSubWorkflow>>;
	try {
		const workflow = supervisorWorkflow(context, plan);
		supervisor = await startSubWorkflow(context, workflow, toItems({ plan, entries }), true);
	} catch (error) {
		const isStopped = context.getExecutionCancelSignal()?.aborted === true;
		if (isStopped || !context.continueOnFail()) {
			throw finalError(context.getNode(), error, { describeUnreturned: inWords });
		}
		const failed = resultOf(failOpen(context, entries, error), tally);
		const { items, open } = finishRun(context, failed, plan.end);
		return toOutput ? [items.flat(), open] : [items.flat()];
	}
	const [items = [], open = []] = supervisor.outputs;
	const output = toOutput ? [items, open] : [items];
	// It has failed at once: Retry On Fail needs the input again.
	if (!supervisor.isSuspended) return output;
	passOnResult(context, toOutput);
	// The result has no hints: n8n shows this one while the execution is suspended.
	const done = entries.map((entry) => entry.done?.items ?? []);
	addHints(context, [describeRun(done, tally)], 'info');
	return output;
}

/** What the sub-executions have to know. */
function planOf(context: IExecuteFunctions, tally: Tally): WaitPlan {
	const { name: nodeName, onError } = context.getNode();
	const first = new ItemParameters(context, 0);
	// As values: in a sub-execution no expression of the user works.
	const names = ['concurrency', 'maxDownloadMb', 'requestsPerSecond', 'timeout'];
	const options = names.map((name) => [name, first.options.value(name)]);
	return {
		parentExecutionId: context.getExecutionId(),
		nodeName,
		workflowName: workflowName(context),
		errorWorkflow: context.getWorkflowSettings?.().errorWorkflow,
		goOn: context.continueOnFail(),
		errorOutput: onError === 'continueErrorOutput',
		toOutput: hasSecondOutput(first),
		end: readRunEnd(first),
		tally,
		options: Object.fromEntries(options) as IDataObject,
	};
}
