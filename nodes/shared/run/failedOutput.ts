import type {
	IExecuteFunctions,
	INodeExecutionData,
	IPairedItemData,
	NodeApiError,
	NodeOperationError,
} from 'n8n-workflow';
import { agentText, chargedIn, detailsOf } from './itemFacts';
import { isFailed } from './nodeErrors';
import { isTool } from './runContext';

/*
 * What the output of a node, and the error that ends it, have besides the facts of its items.
 */

/** Whether the engine would take an item for a failed one. */
const isError = ({ json }: INodeExecutionData): boolean =>
	json.error !== undefined &&
	Object.keys(json).every((key) => ['error', 'message', 'details'].includes(key));

/**
 * The output of a node, whose failed items keep the files of their input items on the error output,
 * as the engine keeps the fields there. For an agent, their texts say whether to repeat the call.
 */
export function withFailures(
	context: IExecuteFunctions,
	outputs: INodeExecutionData[][],
): INodeExecutionData[][] {
	const forAgent = isTool(context);
	const keepsFiles = canKeepFiles(context);
	if (!forAgent && !keepsFiles) return outputs;
	const input = context.getInputData();
	const shown = (item: INodeExecutionData): INodeExecutionData => {
		if (!isError(item)) return item;
		const { binary } = (keepsFiles && input[(item.pairedItem as IPairedItemData).item]) || {};
		return {
			...item,
			...(forAgent && { json: { ...item.json, error: textOf(item) } }),
			...(binary && { binary }),
		};
	};
	return outputs.map((items) => items.map(shown));
}

/**
 * With n8n's setting that combines binary data with JSON, the engine moves files into the JSON, and
 * a failed item with a further key would leave by the first output, as a success.
 */
function canKeepFiles(context: IExecuteFunctions): boolean {
	const isSeparate = context.getWorkflowSettings?.().binaryMode !== 'combined';
	return isSeparate && context.getNode().onError === 'continueErrorOutput';
}

const textOf = ({ json }: INodeExecutionData): string =>
	agentText(chargedIn(detailsOf(json)?.charged) ?? 'maybe', String(json.error));

/** The error that ends a node, whose text tells an agent whether to repeat the call. */
export function withAdvice(
	context: IExecuteFunctions,
	error: NodeApiError | NodeOperationError,
): NodeApiError | NodeOperationError {
	if (!isTool(context)) return error;
	const { charged } = (error.context.details ?? {}) as { charged?: unknown };
	const description = error.description ?? '';
	error.message = agentText(chargedIn(charged) ?? 'maybe', error.message, description);
	return error;
}

/** Why all items have failed, for a hint. */
export function describeFailure(items: INodeExecutionData[]): string {
	const failed = items.filter(isFailed);
	const paid = failed.filter(({ json }) => detailsOf(json)?.charged === 'yes').length;
	const count = failed.length === 1 ? '1 item' : `${failed.length} items`;
	const were = paid === 1 ? '1 of them was' : `${paid} of them were`;
	const kept =
		paid === 0 ? '' : ` ${were} paid for by an earlier try: 'details' has its task or image.`;
	return `${count} failed: ${String(failed[0]?.json.error)}.${kept}`;
}
