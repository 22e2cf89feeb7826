import type {
	ExecuteWorkflowData,
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeProperties,
} from 'n8n-workflow';
import * as n8n from 'n8n-workflow';
import { NOT_IN_TOOLS } from '../fields/imageFields';
import { describeRun, finishRun } from '../run/summary';
import { ItemParameters } from '../parameters/itemParameters';
import { hasSecondOutput, readRunEnd } from '../parameters/optionValues';
import { finalError } from '../run/nodeErrors';
import { addHints, isTool } from '../run/runContext';
import type { Tally } from '../run/tally';
import { tasksInWords, type WaitEntry } from '../tasks/taskWaiter';
import { failOpen, resultOf, toItems, type WaitPlan } from './storedWaits';
import { startSubWorkflow, supervisorWorkflow, workflowName } from './subWorkflows';

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

/**
 * Known by features: an n8n that hands the result of a sub-execution to the one that waits has a date
 * of its own for that wait; one that hands on more than the first output also knows when an execution
 * is terminal.
 *
 * @throws NodeOperationError that says what to do instead
 */
function assertCanSuspend(context: IExecuteFunctions, toOutput: boolean): void {
	const refuse = (message: string, advice: string): never => {
		throw new n8n.NodeOperationError(context.getNode(), message, {
			description: `Nothing is lost: the tasks continue at the gateway. ${advice}`,
		});
	};
	if (n8n.WAIT_FOR_SUB_EXECUTION === undefined || context.getExecutionId() === undefined) {
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
	if (n8n.isTerminalExecutionStatus === undefined) {
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
	let result: ExecuteWorkflowData;
	try {
		const supervisor = supervisorWorkflow(context, plan);
		result = await startSubWorkflow(context, supervisor, toItems({ plan, entries }), true);
	} catch (error) {
		const isStopped = context.getExecutionCancelSignal()?.aborted === true;
		if (isStopped || !context.continueOnFail()) {
			throw finalError(context.getNode(), error, { describeUnreturned: inWords });
		}
		const failed = resultOf(failOpen(context, entries, error), tally);
		const { items, open } = finishRun(context, failed, plan.end);
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
	// What comes back has no hints: n8n shows this one while the execution waits.
	const done = entries.map((entry) => entry.done?.items ?? []);
	addHints(context, [describeRun(done, tally)], 'info');
	// The result takes the place of the input. Where there is none (n8n's Retry of an execution that
	// was stopped here), n8n would hand on the input as if it were images.
	context.getExecuteData().data = { main: [[]] };
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
