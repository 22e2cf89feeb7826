import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { notesOfRun } from './liveNotes';
import { failedItem, finalError } from './nodeErrors';
import { itemsOfNote, paymentsInWords, withPayment, type PaidNote } from './paid';
import { isTool } from './runContext';

/**
 * What every node's `execute` goes through. Whatever fails outside of the items (a credential that
 * cannot work, an option that holds for the whole run) becomes a failed item for each input item
 * where the node goes on: if it were thrown, the engine would hand on the input as a success. What
 * earlier tries of Retry On Fail have paid for is not forgotten for that.
 *
 * @param output the index of the output by which these items leave
 * @throws NodeApiError or NodeOperationError where the node stops, and whenever the user stops it
 */
export async function runNode(
	context: IExecuteFunctions,
	execute: () => Promise<INodeExecutionData[][]>,
	output = 0,
): Promise<INodeExecutionData[][]> {
	try {
		return await execute();
	} catch (error) {
		// What a Stop ends must keep the word by which the engine knows it.
		if (context.getExecutionCancelSignal()?.aborted === true) return await Promise.reject(error);
		const node = context.getNode();
		// The calls of a tool share their notes: whose they are nobody can tell here.
		const earlier = isTool(context) ? new Map<number, PaidNote>() : notesOfRun(context);
		if (!context.continueOnFail()) {
			throw finalError(node, error, paymentsInWords([...earlier.values()]));
		}
		const failed = context.getInputData().map((_, itemIndex) => {
			const note = earlier.get(itemIndex);
			const paid = note?.paid;
			const items = paid && itemsOfNote(paid, itemIndex);
			if (note !== undefined && items !== undefined) {
				note.delivered = true;
				return items;
			}
			const whole = paid === undefined ? error : withPayment(error, paid, itemIndex);
			return [failedItem(node, whole, itemIndex, paid?.facts)];
		});
		return [...Array.from({ length: output }, () => []), failed.flat()];
	}
}
