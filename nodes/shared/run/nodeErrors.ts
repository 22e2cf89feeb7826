import type { IDataObject, INode, INodeExecutionData, JsonObject } from 'n8n-workflow';
import { NodeApiError, NodeOperationError, WAIT_FOR_SUB_EXECUTION } from 'n8n-workflow';
import { withoutDataUrls } from '../../../gateway/util/inlineImages';
import { isJsonObject } from '../../../gateway/util/json';
import { withoutUndefined } from '../../../gateway/protocol/requestPlan';
import {
	GatewayError,
	UnknownOutcomeError,
	type Problem,
} from '../../../gateway/util/gatewayError';

/** What is wrong with any error, as a problem; errors of the platform keep their words. */
export function problemOf(error: unknown): Problem {
	const problem = asProblem(error);
	return {
		...problem,
		message: shown(problem.message),
		description: shown(problem.description),
		url: problem.url?.startsWith('data:') === true ? undefined : problem.url,
		response: problem.response?.slice(0, LONGEST_RESPONSE),
	};
}

function asProblem(error: unknown): Problem {
	if (error instanceof GatewayError) {
		const { response } = error.problem;
		return { ...error.problem, response: response && withoutDataUrls(response) };
	}
	if (error instanceof NodeOperationError || error instanceof NodeApiError) {
		return {
			message: String(error.message),
			description: String(error.description ?? ''),
			...detailsOf(error),
		};
	}
	return { message: error instanceof Error ? error.message : String(error), description: '' };
}

/** In characters: enough to find an ID in it, and never megabytes. */
const LONGEST_RESPONSE = 2048;

/** The engine books every error whose message has this word as a Stop by the user. */
const WORD_OF_A_STOP = 'canceled';

/** A text that the engine does not take for its own. */
const shown = (text: string): string =>
	withoutDataUrls(text).replaceAll(WORD_OF_A_STOP, 'Canceled');

/** What `nodeError` has put there. */
function detailsOf({ context }: NodeOperationError | NodeApiError): Partial<Problem> {
	const { details } = context as { details?: unknown };
	return isJsonObject(details) ? (details as Partial<Problem>) : {};
}

/** What belongs to an item whatever becomes of it. */
export interface KnownFacts {
	model?: string;
	prompt?: string;
}

/**
 * The item that stands for a failed one where the node goes on. The engine takes it for an error
 * only if its JSON has no key but `error`, `message` and `details`.
 */
export function failedItem(
	node: INode,
	error: unknown,
	itemIndex: number,
	{ model, prompt }: KnownFacts = {},
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

/**
 * n8n 1.x knows only `error` and `message`: with `details` the item would not leave by the error
 * output, but as a success.
 */
function keyOfDetails({ onError }: INode): 'details' | 'message' {
	const isOld = WAIT_FOR_SUB_EXECUTION === undefined;
	return isOld && onError === 'continueErrorOutput' ? 'message' : 'details';
}

/**
 * The error that ends the node, out of whatever was thrown. One that was made for the user already
 * keeps everything, but for the word that the engine would take for a Stop.
 *
 * @param stillToBeHad what earlier tries have paid for, in words
 */
export function finalError(
	node: INode,
	error: unknown,
	stillToBeHad: string,
): NodeApiError | NodeOperationError {
	if (!(error instanceof NodeApiError || error instanceof NodeOperationError)) {
		return nodeError(node, error, undefined, stillToBeHad);
	}
	if (stillToBeHad !== '' && !complete.has(error)) {
		return nodeError(node, error, undefined, stillToBeHad);
	}
	error.message = shown(error.message);
	return error;
}

/** Errors that say what was paid for. */
const complete = new WeakSet<Error>();

/**
 * A description as the editor shows it, which is HTML: there a line break is a blank, and a part of
 * an address can be read as a letter. The text itself stays as it is for whoever reads it elsewhere.
 */
function asHtml(description: string): string {
	return description
		.replaceAll('&', '&amp;')
		.replaceAll('<', '&lt;')
		.replaceAll('>', '&gt;')
		.replaceAll('%%', '&#37;&#37;')
		.replaceAll('\n', '<br>');
}

/**
 * The error of an item that ends the node.
 *
 * @param stillToBeHad what was paid for in this run and has not come out, in words
 */
export function nodeError(
	node: INode,
	error: unknown,
	itemIndex: number | undefined,
	stillToBeHad: string,
): NodeApiError | NodeOperationError {
	const { message, description, httpCode, ...details } = problemOf(error);
	const advice = [description, stillToBeHad].filter((text) => text !== '').join('\n');
	const html = asHtml(advice);
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
	made.message = message;
	made.description = advice;
	complete.add(made);
	Object.assign(made.context, {
		details: withoutUndefined({ ...details, httpCode }),
		...(html === advice ? {} : { descriptionTemplate: html }),
	});
	return made;
}
