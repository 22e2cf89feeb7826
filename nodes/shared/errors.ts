import type { IDataObject, INode, INodeExecutionData, JsonObject } from 'n8n-workflow';
import { NodeApiError, NodeOperationError, WAIT_FOR_SUB_EXECUTION } from 'n8n-workflow';
import { withoutUndefined } from '../../gateway/plan';
import { GatewayError, UnknownOutcomeError, type Problem } from '../../gateway/problem';

/** What is wrong with any error, as a problem; errors of the platform keep their words. */
export function problemOf(error: unknown): Problem {
	if (error instanceof GatewayError) return error.problem;
	if (error instanceof NodeOperationError || error instanceof NodeApiError) {
		return { message: error.message, description: String(error.description ?? '') };
	}
	return { message: error instanceof Error ? error.message : String(error), description: '' };
}

/**
 * The item that stands for a failed one where the node goes on. The engine takes it for an error
 * only if its JSON has no key but `error`, `message` and `details`.
 */
export function failedItem(node: INode, error: unknown, itemIndex: number): INodeExecutionData {
	const { message, description, ...details } = problemOf(error);
	const more = withoutUndefined({
		...details,
		outcome: error instanceof UnknownOutcomeError ? 'unknown' : undefined,
		description: description === '' ? undefined : description,
	}) as IDataObject;
	return {
		json: { error: message, [keyOfDetails(node)]: more },
		pairedItem: { item: itemIndex },
	};
}

/**
 * n8n 1.x knows only `error` and `message`: with `details` the item would not leave by the error
 * output, but as a success.
 */
function keyOfDetails({ onError }: INode): 'details' | 'message' {
	const isOld = WAIT_FOR_SUB_EXECUTION === undefined;
	return isOld && onError === 'continueErrorOutput' ? 'message' : 'details';
}

/**
 * The error that ends the node.
 *
 * @param stillToBeHad what was paid for in this run and has not come out, in words
 */
export function nodeError(
	node: INode,
	error: unknown,
	itemIndex: number,
	stillToBeHad: string,
): NodeApiError | NodeOperationError {
	const { message, description, httpCode, ...details } = problemOf(error);
	const advice = [description, stillToBeHad].filter((text) => text !== '').join('\n');
	const made =
		error instanceof GatewayError
			? new NodeApiError(
					node,
					{ message, ...(withoutUndefined(details) as JsonObject) },
					{
						message,
						description: advice,
						httpCode: httpCode === undefined ? undefined : String(httpCode),
						itemIndex,
					},
				)
			: new NodeOperationError(node, message, { description: advice, itemIndex });
	// The platform rewrites texts in which it sees an error code, and prefers its own for a status.
	// The engine books every error whose message has this word as a Stop by the user.
	made.message = message.replaceAll('canceled', 'Canceled');
	made.description = advice;
	Object.assign(made.context, { details: withoutUndefined({ ...details, httpCode }) });
	return made;
}
