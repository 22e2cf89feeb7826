import type {
	IExecuteFunctions,
	INodeExecutionData,
	IPairedItemData,
	NodeApiError,
	NodeOperationError,
} from 'n8n-workflow';
import { agentText, detailsOf, type ItemReport } from '../errors/itemReport';
import { isTool } from './runContext';
import { type Charged, readCharged } from '../../../gateway';

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
export function withFilesOfFailed(
	context: IExecuteFunctions,
	outputs: INodeExecutionData[][],
	itemReport: ItemReport,
): INodeExecutionData[][] {
	const forAgent = isTool(context);
	const keepsFiles = canKeepFiles(context);
	if (!forAgent && !keepsFiles) return outputs;
	const input = context.getInputData();
	const shown = (item: INodeExecutionData): INodeExecutionData => {
		const { json } = item;
		const details = detailsOf(json);
		// For an agent, a failed item may have the fields of its input as well.
		if (forAgent && details !== undefined) {
			const error = agentText(chargeOfCall(itemReport, details.charged), String(json.error));
			return { ...item, json: { ...json, error } };
		}
		if (!keepsFiles || !isError(item)) return item;
		const { binary } = input[(item.pairedItem as IPairedItemData).item] ?? {};
		return binary === undefined ? item : { ...item, binary };
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

/** Whether the call of a tool was charged, by what its error says of its item. */
const chargeOfCall = ({ isPaying }: ItemReport, charged: unknown): Charged =>
	isPaying ? (readCharged(charged) ?? 'maybe') : 'no';

/** The error that ends a node, whose text tells an agent whether to repeat the call. */
export function withAdvice(
	context: IExecuteFunctions,
	error: NodeApiError | NodeOperationError,
	itemReport: ItemReport,
): NodeApiError | NodeOperationError {
	if (!isTool(context)) return error;
	const { charged, taskId, url } = (error.context.details ?? {}) as Record<string, unknown>;
	const charge = chargeOfCall(itemReport, charged);
	// Advice for a person, who may send it again, would contradict that the agent must not.
	const isForPerson = charge === 'maybe' && taskId === undefined && url === undefined;
	const description = isForPerson ? '' : (error.description ?? '');
	error.message = agentText(charge, error.message, description.replace(DETAILS_BELOW, '').trim());
	return error;
}

/** The end of an error for a person: an agent has no details. */
const DETAILS_BELOW = / ?See 'Error details' below\.$/;
