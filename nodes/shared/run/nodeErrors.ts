import type { IDataObject, INode, INodeExecutionData, JsonObject } from 'n8n-workflow';
import { NodeApiError, NodeOperationError, WAIT_FOR_SUB_EXECUTION } from 'n8n-workflow';
import type { TaskType } from '../../../gateway/protocol/requestPlan';
import { statusGroup } from '../../../gateway/protocol/status';
import { withoutDataUrls } from '../../../gateway/util/inlineImages';
import { isJsonObject, withoutUndefined } from '../../../gateway/util/json';
import { escapeHtml, quote } from '../../../gateway/util/text';
import {
	GatewayError,
	UnknownOutcomeError,
	type Problem,
} from '../../../gateway/util/gatewayError';
import type { RequestFacts } from './requestFacts';

/** The longest response in an error, in characters: enough for an ID, and never megabytes. */
const LONGEST_RESPONSE = 2048;

/**
 * The text of an error. The engine takes an error with the word "canceled" for a Stop by the user.
 */
const shown = (text: string): string => withoutDataUrls(text).replaceAll('canceled', 'Canceled');

/** The problem behind any error; n8n's own errors keep their texts. */
export function problemOf(error: unknown): Problem {
	let problem: Problem = { message: String(error), description: '' };
	if (error instanceof GatewayError) ({ problem } = error);
	else if (error instanceof NodeOperationError || error instanceof NodeApiError) {
		const { message, description, context } = error;
		// Details that `nodeError` has added.
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

/** What is known of the request of an item that failed. */
export interface FailedRequest extends Pick<RequestFacts, 'model' | 'prompt' | 'estimatedCost'> {
	/** Whether the gateway has accepted it. */
	isAccepted?: boolean;
}

/**
 * Whether a failed item was charged: a request of unknown outcome and a failed task may have been,
 * an accepted request was.
 */
function wasCharged(error: unknown, isAccepted = false): 'yes' | 'maybe' | 'no' {
	const { status, taskId } = problemOf(error);
	const hasFailed = statusGroup(status) === 'unsuccessful';
	if (error instanceof UnknownOutcomeError || hasFailed) return 'maybe';
	if (isAccepted || status !== undefined) return 'yes';
	return taskId === undefined ? 'no' : 'maybe';
}

/**
 * The output item of a failed input item, if On Error is set to continue. The engine takes it for
 * an error only if its JSON has no keys other than `error`, `message` and `details`.
 */
export function failedItem(
	node: INode,
	error: unknown,
	itemIndex: number,
	{ model, prompt, estimatedCost, isAccepted }: FailedRequest = {},
): INodeExecutionData {
	const { message, description, ...details } = problemOf(error);
	const charged = wasCharged(error, isAccepted);
	const more = withoutUndefined({
		model,
		prompt,
		charged,
		estimatedCost: charged === 'no' ? undefined : estimatedCost,
		...details,
		outcome: outcomeOf(error),
		description: description === '' ? undefined : description,
	}) as IDataObject;
	return {
		json: { error: message, [keyOfDetails(node)]: more },
		pairedItem: { item: itemIndex },
	};
}

/** Whether an output item is that of a failed input item. */
export const isFailed = ({ json }: INodeExecutionData): boolean => json.error !== undefined;

/** The indexes of the input items that failed. @param output the output items of each */
export const failedItems = (output: INodeExecutionData[][]): Set<number> =>
	new Set(output.flatMap((items, itemIndex) => (items.some(isFailed) ? [itemIndex] : [])));

/**
 * The key of an error's details. n8n 1.x recognizes failed items by `error` and `message` only:
 * with `details` the item would leave by the first output, as a success.
 */
function keyOfDetails({ onError }: INode): 'details' | 'message' {
	const isOld = WAIT_FOR_SUB_EXECUTION === undefined;
	return isOld && onError === 'continueErrorOutput' ? 'message' : 'details';
}

const outcomeOf = (error: unknown): 'unknown' | undefined =>
	error instanceof UnknownOutcomeError ? 'unknown' : undefined;

/**
 * A payment whose result hasn't been returned: a task, an image, or a request of unknown outcome.
 */
export type UnreturnedPayment = {
	/** The index of the input item. */
	item: number;
	taskId?: string;
	taskType?: TaskType;
	/** The task's address, if the gateway named one. */
	statusUrl?: string;
	/** The address of a finished image. */
	url?: string;
	/** What was paid for, if no address leads to it: a retry of the execution returns it. */
	note?: string;
	/** Set for a request that may have been charged; then `taskId` is an ID in its response. */
	outcome?: 'unknown';
};

/** The payments whose results haven't been returned, for the error that ends a run. */
export interface UnreturnedPayments {
	listUnreturned(): UnreturnedPayment[];
	/** How a person gets these results without paying again. */
	readonly rescue?: string;
}

const TASKS = 'Image tasks that have finished or are still running. Image Wait gets their images:';
const IMAGES = 'Finished images:';
const STORED = 'Results that a retry of this execution returns:';
const UNCLEAR =
	"Requests that may have been charged. Check the usage log in the gateway's console:";

/** The heading and the line of a payment. */
function lineOf(payment: UnreturnedPayment): [heading: string, text: string] {
	const { outcome, taskId, taskType = 'image', url, note } = payment;
	if (outcome === 'unknown') {
		const id = taskId === undefined ? '' : `; its response contains the ID ${quote(taskId)}`;
		return [UNCLEAR, `the outcome of the request is unknown${id}`];
	}
	if (taskId !== undefined) return [TASKS, `${taskType} task ${taskId}`];
	return url === undefined ? [STORED, note ?? ''] : [IMAGES, url];
}

/**
 * The same payments as lines for a person, under a heading for each kind; empty if there are none.
 */
export function describeUnreturned(payments: UnreturnedPayment[]): string {
	const sorted = [...payments].sort((one, other) => one.item - other.item);
	const lines = sorted.map((payment) => ({ item: payment.item, line: lineOf(payment) }));
	return [TASKS, IMAGES, STORED, UNCLEAR]
		.flatMap((heading) => {
			const own = lines.filter(({ line: [kind] }) => kind === heading);
			const listed = own.map(({ item, line: [, text] }) => `item ${item}: ${text}`);
			return listed.length === 0 ? [] : [heading, ...listed];
		})
		.join('\n');
}

/**
 * The error that ends the node. An error that was already made for the user stays as it is, apart
 * from the word that the engine takes for a Stop.
 *
 * @param payments what earlier tries paid for
 */
export function finalError(
	node: INode,
	error: unknown,
	payments?: UnreturnedPayments,
): NodeApiError | NodeOperationError {
	const isMade = error instanceof NodeApiError || error instanceof NodeOperationError;
	// Only errors made by `nodeError` have details, and list what was paid for.
	const isUntold = isMade && error.context.details === undefined && payments !== undefined;
	if (!isMade || (isUntold && payments.listUnreturned().length > 0)) {
		return nodeError(node, error, undefined, payments);
	}
	error.message = shown(error.message);
	return error;
}

/**
 * The error of an item that ends the node. The steps for the user come first. The list of what was
 * paid for comes last, as it may have hundreds of lines; an error workflow reads it as data, in
 * `context.details.paid`.
 */
export function nodeError(
	node: INode,
	error: unknown,
	itemIndex: number | undefined,
	payments?: UnreturnedPayments,
): NodeApiError | NodeOperationError {
	const { message, description, httpCode, ...details } = problemOf(error);
	const paid = payments?.listUnreturned() ?? [];
	const rescue = paid.length === 0 ? '' : (payments?.rescue ?? '');
	const texts = [rescue, description, describeUnreturned(paid)];
	const advice = texts.filter((text) => text !== '').join('\n');
	// The editor renders the description as HTML, in which a line break is a space, and part of an
	// address may be read as a character. Logs and workflows get the plain text.
	const html = escapeHtml(advice).replaceAll('%%', '&#37;&#37;').replaceAll('\n', '<br>');
	const options = { description: advice, itemIndex };
	const data = { message, ...withoutUndefined(details) } as JsonObject;
	const made =
		error instanceof GatewayError
			? new NodeApiError(node, data, { ...options, message, httpCode: httpCode?.toString() })
			: new NodeOperationError(node, message, options);
	// n8n replaces texts that contain an error code, or belong to a status code, with its own.
	made.message = message;
	made.description = advice;
	Object.assign(made.context, {
		details: withoutUndefined({
			outcome: outcomeOf(error),
			paid: paid.length === 0 ? undefined : paid,
			// An error that was stored while the execution was suspended has both already.
			...details,
			httpCode,
		}),
		...(html === advice ? {} : { descriptionTemplate: html }),
	});
	return made;
}
