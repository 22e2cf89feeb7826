import type { IDataObject, INode, INodeExecutionData, JsonObject } from 'n8n-workflow';
import { NodeApiError, NodeOperationError, WAIT_FOR_SUB_EXECUTION } from 'n8n-workflow';
import { withoutDataUrls } from '../../../gateway/util/inlineImages';
import { isJsonObject, withoutUndefined } from '../../../gateway/util/json';
import { escapeHtml } from '../../../gateway/util/text';
import {
	GatewayError,
	UnknownOutcomeError,
	type Problem,
} from '../../../gateway/util/gatewayError';

/** In characters: enough to find an ID in it, and never megabytes. */
const LONGEST_RESPONSE = 2048;

/** A text that the engine does not take for its own: one with this word is a Stop by the user. */
const shown = (text: string): string => withoutDataUrls(text).replaceAll('canceled', 'Canceled');

/** What is wrong with any error, as a problem; errors of the platform keep their words. */
export function problemOf(error: unknown): Problem {
	let problem: Problem = { message: String(error), description: '' };
	if (error instanceof GatewayError) ({ problem } = error);
	else if (error instanceof NodeOperationError || error instanceof NodeApiError) {
		const { message, description, context } = error;
		// What `nodeError` has put there.
		const details = isJsonObject(context.details) ? (context.details as Partial<Problem>) : {};
		problem = { message, description: String(description ?? ''), ...details };
	} else if (error instanceof Error) problem.message = error.message;
	const { message, description, url, response } = problem;
	return {
		...problem,
		message: shown(message),
		description: shown(description),
		url: url?.startsWith('data:') === true ? undefined : url,
		response: response && withoutDataUrls(response).slice(0, LONGEST_RESPONSE),
	};
}

/** What is known of an image request. It belongs to its items whatever becomes of them. */
export type RequestFacts = {
	model?: string;
	prompt?: string;
	/** What else was sent, by which the image can be made again. */
	parameters?: IDataObject;
	/** Of the request, for as many images as it asks for; in the gateway's currency. */
	estimatedCost?: number;
	/** Where the model is priced by the image: the cost then follows from the images that come. */
	pricePerImage?: number;
};

/**
 * The item that stands for a failed one where the node goes on. The engine takes it for an error
 * only if its JSON has no key but `error`, `message` and `details`.
 */
export function failedItem(
	node: INode,
	error: unknown,
	itemIndex: number,
	{ model, prompt }: RequestFacts = {},
): INodeExecutionData {
	const { message, description, ...details } = problemOf(error);
	const more = withoutUndefined({
		model,
		prompt,
		...details,
		outcome: error instanceof UnknownOutcomeError ? 'unknown' : undefined,
		description: description === '' ? undefined : description,
	}) as IDataObject;
	return {
		json: { error: message, [keyOfDetails(node)]: more },
		pairedItem: { item: itemIndex },
	};
}

/** Whether an output item stands for a failed one. */
export const isFailed = ({ json }: INodeExecutionData): boolean => json.error !== undefined;

/** The indexes of the input items that failed. @param output the output items of each */
export const failedItems = (output: INodeExecutionData[][]): Set<number> =>
	new Set(output.flatMap((items, itemIndex) => (items.some(isFailed) ? [itemIndex] : [])));

/**
 * n8n 1.x knows only `error` and `message`: with `details` the item would not leave by the error
 * output, but as a success.
 */
function keyOfDetails({ onError }: INode): 'details' | 'message' {
	const isOld = WAIT_FOR_SUB_EXECUTION === undefined;
	return isOld && onError === 'continueErrorOutput' ? 'message' : 'details';
}

/** What was paid for and has not been returned, for the end of a run. */
export interface Unreturned {
	/** A list for the description of an error; may be empty. */
	describeUnreturned(): string;
	/** How a person gets that without paying for it again. */
	readonly rescue?: string;
}

/**
 * The error that ends the node, out of whatever was thrown. One that was made for the user already
 * keeps everything, but for the word that the engine would take for a Stop.
 *
 * @param payments what earlier tries have paid for
 */
export function finalError(
	node: INode,
	error: unknown,
	payments?: Unreturned,
): NodeApiError | NodeOperationError {
	const isMade = error instanceof NodeApiError || error instanceof NodeOperationError;
	// Only what `nodeError` has made has details, and says what was paid for.
	const isUntold = isMade && error.context.details === undefined && payments !== undefined;
	if (!isMade || (isUntold && payments.describeUnreturned() !== '')) {
		return nodeError(node, error, undefined, payments);
	}
	error.message = shown(error.message);
	return error;
}

/**
 * The error of an item that ends the node. What to click comes first, and the list of what was paid
 * for last: it may have hundreds of lines.
 */
export function nodeError(
	node: INode,
	error: unknown,
	itemIndex: number | undefined,
	payments?: Unreturned,
): NodeApiError | NodeOperationError {
	const { message, description, httpCode, ...details } = problemOf(error);
	const unreturned = payments?.describeUnreturned() ?? '';
	const rescue = unreturned === '' ? '' : (payments?.rescue ?? '');
	const advice = [rescue, description, unreturned].filter((text) => text !== '').join('\n');
	// The editor shows HTML: there a line break is a blank, and a part of an address can be read as a
	// letter. The text itself stays as it is for whoever reads it elsewhere.
	const html = escapeHtml(advice).replaceAll('%%', '&#37;&#37;').replaceAll('\n', '<br>');
	const texts = { description: advice, itemIndex };
	const data = { message, ...withoutUndefined(details) } as JsonObject;
	const made =
		error instanceof GatewayError
			? new NodeApiError(node, data, { ...texts, message, httpCode: httpCode?.toString() })
			: new NodeOperationError(node, message, texts);
	// The platform rewrites texts in which it sees an error code, and prefers its own for a status.
	made.message = message;
	made.description = advice;
	Object.assign(made.context, {
		details: withoutUndefined({ ...details, httpCode }),
		...(html === advice ? {} : { descriptionTemplate: html }),
	});
	return made;
}
