import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { failedItem, finalError } from './nodeErrors';

/**
 * What every node's `execute` goes through. Whatever fails outside of the items (a credential that
 * cannot work, an option that holds for the whole run) becomes a failed item for each input item
 * where the node goes on: if it were thrown, the engine would hand on the input as a success.
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
		if (!context.continueOnFail()) throw finalError(node, error);
		const items = context.getInputData();
		const failed = items.map((_, itemIndex) => failedItem(node, error, itemIndex));
		return [...Array.from({ length: output }, () => []), failed];
	}
}
