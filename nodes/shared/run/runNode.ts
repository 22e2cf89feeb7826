import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { withAdvice, withFilesOfFailed } from './failedOutput';
import { FREE_ITEMS, type ItemReport } from '../errors/itemReport';
import { resultOfFailure } from './itemRunner';
import { leavingError, leavingItems } from './leaving';
import { finalError } from '../errors/nodeErrors';
import { callOf } from './n8nEngine';
import { isRunByAgent, isStopped } from './runContext';
import { reportStopped } from './stoppedRun';

/**
 * Runs a node's `execute`. An error outside of the items (an invalid credential, an option of the
 * whole run) becomes a failed item for each input item if On Error is set to continue: if it were
 * thrown, the engine would pass on the input as a success. What earlier tries of Retry On Fail paid
 * for is kept.
 *
 * @param itemReport what is known of the items before anything is read
 * @throws NodeApiError or NodeOperationError if the node stops, or the user stops it
 */
export async function runNode(
	context: IExecuteFunctions,
	execute: () => Promise<INodeExecutionData[][]>,
	itemReport: ItemReport = FREE_ITEMS,
): Promise<INodeExecutionData[][]> {
	// Retry On Fail runs the node again after a Stop, which the first try has already reported.
	const wasStopped = isStopped(context);
	const asLeaving = (outputs: INodeExecutionData[][]): INodeExecutionData[][] =>
		withFilesOfFailed(context, outputs, itemReport).map((items) => leavingItems(context, items));
	try {
		return asLeaving(await execute());
	} catch (error) {
		// The error of a Stop must keep the word by which the engine recognizes it.
		if (isStopped(context)) {
			if (!wasStopped) await reportStopped(context, error, itemReport);
			throw leavingError(context, error) as Error;
		}
		const node = context.getNode();
		if (!context.continueOnFail()) {
			const told = withAdvice(context, finalError(node, error, itemReport), itemReport);
			const failure = leavingError(context, told);
			if (!isRunByAgent(context) || hasMoreTries(context)) throw failure;
			return [[{ json: { error: failure.message }, pairedItem: { item: 0 } }]];
		}
		const results = context
			.getInputData()
			.map((_, itemIndex) => resultOfFailure(node, { error, itemIndex }, itemReport));
		itemReport.markReturned?.(new Set(results.keys()));
		return asLeaving([results.flat()]);
	}
}

/** How many tries of each call of a tool have failed. */
const failedTries = new WeakMap<object, number>();

/** Whether Retry On Fail makes another try of an agent's call that has failed. */
function hasMoreTries(context: IExecuteFunctions): boolean {
	const { retryOnFail, maxTries = 3 } = context.getNode();
	if (retryOnFail !== true) return false;
	const call = callOf(context);
	const failed = (failedTries.get(call) ?? 0) + 1;
	failedTries.set(call, failed);
	// As n8n limits the number.
	return failed < Math.min(5, Math.max(2, maxTries));
}
