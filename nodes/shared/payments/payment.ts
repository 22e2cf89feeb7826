import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { deepCopy } from 'n8n-workflow';
import { readMessage } from '../../../gateway/messages/message';
import { afterColon, reasonIn } from '../../../gateway/protocol/errorBody';
import { type RequestPlan } from '../../../gateway/protocol/requestPlan';
import { idIn, isInline, type ImageResult, type KnownTask } from '../../../gateway/protocol/task';
import {
	GatewayError,
	UnknownOutcomeError,
	type Problem,
} from '../../../gateway/util/gatewayError';
import { withoutInlineImages } from '../../../gateway/util/inlineImages';
import { isJsonObject, withoutUndefined, type JsonObject } from '../../../gateway/util/json';
import { quote } from '../../../gateway/util/text';
import { problemOf, type RequestFacts } from '../run/nodeErrors';

/** What a paid request has brought so far. */
export interface Paid {
	/** `reason` where the gateway said at once that it has failed. */
	task?: KnownTask & { status: string; submittedAt: string; reason?: string };
	images?: ImageResult[];
	/** Unix seconds. */
	created?: number;
	/**
	 * The output items, in place of images that came inside the response: a batch of these would fill
	 * the memory before it is done.
	 */
	items?: INodeExecutionData[];
	/** The response to a message. */
	message?: JsonObject;
	/** What was sent: an expression may make another request of the same item later. */
	facts?: RequestFacts;
	/** It is unknown whether the request was accepted. */
	unknown?: Problem;
	/** The task has failed. */
	failed?: boolean;
	/** The gateway has the task no longer, or no image of it. */
	lost?: boolean;
}

/** Which request it is, and where it belongs. */
export interface PaidRequest {
	executionId: string;
	runIndex: number;
	itemIndex: number;
	/** Digest of what is sent. */
	fingerprint: string;
	/**
	 * Digest of what the request is made from: it stays the same where an expression gives another
	 * prompt or seed.
	 */
	source: string;
}

/** What was paid for one request. */
export interface Payment extends PaidRequest {
	paid: Paid;
	/** Its result has left the node. It is kept only because the engine may run the node again. */
	delivered?: boolean;
}

/** Under this name the payments lie in a node's context. */
const KEY = 'mediaGatewayPaid';

/**
 * The payments in a node's context, which n8n stores with the execution. Calls of a tool that an agent
 * makes at once are runs side by side in one context, so all of them work on this one list.
 *
 * @param isKept whether a payment can be of use any more; the others are taken out
 */
export function openPayments(
	context: IExecuteFunctions,
	isKept: (payment: Payment) => boolean,
): Payment[] {
	const store = context.getContext('node') as { [KEY]?: unknown };
	const payments = (Array.isArray(store[KEY]) ? store[KEY] : []) as Payment[];
	keepOnly(payments, (payment) => isPayment(payment) && isKept(payment));
	store[KEY] = payments;
	return payments;
}

/** Takes the other payments out of a list, which stays the same list. */
export function keepOnly(payments: Payment[], isKept: (payment: Payment) => boolean): void {
	const kept = payments.filter(isKept);
	kept.forEach((payment, place) => (payments[place] = payment));
	payments.length = kept.length;
}

const isPayment = (stored: unknown): boolean =>
	isJsonObject(stored) && typeof stored.fingerprint === 'string' && isJsonObject(stored.paid);

/**
 * The output items of a payment whose result has no address, so that no error can lead to it: images
 * from inside a response, or a message. The form of a message's item is not known where the item
 * can't be prepared any more: it is simplified, without the conversation.
 *
 * @returns copies, linked to the input item; undefined where an error leads to everything
 */
export function itemsWithoutAddress(
	{ items, message }: Paid,
	itemIndex: number,
): INodeExecutionData[] | undefined {
	if (items !== undefined) return copiesOf(items, itemIndex);
	const response = message && readMessage(message);
	if (response === undefined) return undefined;
	const json = deepCopy(withoutUndefined({ ...response, content: undefined })) as IDataObject;
	return [{ json, pairedItem: { item: itemIndex } }];
}

/**
 * Copies of recorded output items, linked to the input item.
 *
 * @param field that the image goes into now; by default the one it was recorded with
 */
export function copiesOf(
	items: INodeExecutionData[],
	itemIndex: number,
	field?: string,
): INodeExecutionData[] {
	return items.map(({ json, binary = {} }) => {
		const files = Object.entries(binary).map(([name, file]) => [field ?? name, file] as const);
		return {
			json: { ...json },
			...(files.length === 0 ? {} : { binary: Object.fromEntries(files) }),
			pairedItem: { item: itemIndex },
		};
	});
}

/** What was paid for an input item; `paid` is undefined while the request is in progress. */
export interface ItemPayment {
	itemIndex: number;
	paid: Paid | undefined;
}

/** What a person does after a batch has failed, in the order of the clicks. */
export const RESCUE =
	"To get the other items without paying for them again, set 'On Error' to 'Continue' in this node's settings, and save. Then open Executions, select this execution, and choose 'Retry with currently saved workflow': only items that failed are sent again. 'Execute step' pays for all items again.";

/** The same where there are no other items: a retry uses again what was paid for. */
export const RESCUE_OF_ONE =
	"To get the result without paying for it again, open Executions, select this execution, and choose 'Retry with currently saved workflow'. 'Execute step' pays again.";

/** Lists what was paid for and not returned, for the description of an error. */
export function describePayments(payments: ItemPayment[]): string {
	const sorted = [...payments].sort((one, other) => one.itemIndex - other.itemIndex);
	const lines = (read: (paid: Paid | undefined) => string[]): string[] =>
		sorted.flatMap(({ itemIndex, paid }) => read(paid).map((text) => `item ${itemIndex}: ${text}`));
	return describeLeftovers(lines(availableTask), lines(availableImages), lines(unknownOutcome));
}

/**
 * The lines of what a run leaves behind that ends early, under a heading for each kind.
 *
 * @param tasks that have finished or are still running
 * @param unknown requests that may have been charged
 * @returns an empty text if there are none
 */
export function describeLeftovers(
	tasks: string[],
	images: string[] = [],
	unknown: string[] = [],
): string {
	const parts: Array<[heading: string, lines: string[]]> = [
		['Image tasks that have finished or are still running. Image Wait gets their images:', tasks],
		['Finished images:', images],
		["Requests that may have been charged. Check the usage log in the gateway's console:", unknown],
	];
	return parts
		.flatMap(([heading, lines]) => (lines.length === 0 ? [] : [heading, ...lines]))
		.join('\n');
}

/** A task is named where its images have no address, or aren't known yet. */
function availableTask({ task, images = [], items, failed, lost }: Paid = {}): string[] {
	if (task === undefined || failed === true || lost === true) return [];
	const isNeeded = images.length === 0 || items !== undefined || images.some(isInline);
	return isNeeded ? [`${task.taskType} task ${task.taskId}`] : [];
}

function availableImages({ images = [], items = [], task }: Paid = {}): string[] {
	// An image inside its own address would fill the error with its bytes.
	const addresses = images.filter((image) => !isInline(image)).map(({ url }) => url);
	// Its task has such an image, whatever becomes of the execution.
	if (task !== undefined) return addresses;
	const inside = images.length - addresses.length + items.length;
	return [...addresses, ...Array<string>(inside).fill(INSIDE)];
}

const INSIDE = 'an image inside the response, which a retry of this execution returns';

function unknownOutcome(paid: Paid | undefined): string[] {
	if (paid === undefined) return ['the request was in progress'];
	if (paid.unknown === undefined) return [];
	const { taskId } = paid.unknown;
	const id = taskId === undefined ? '' : `; its response contains the ID ${quote(taskId)}`;
	return [`the outcome of the request is unknown${id}`];
}

/** The error of an item for which an earlier try has paid, with what that brought. */
export function withPayment(error: unknown, { itemIndex, paid = {} }: ItemPayment): GatewayError {
	const problem = problemOf(error);
	const payment = describePayments([{ itemIndex, paid }]);
	const Kind = paid.unknown === undefined ? GatewayError : UnknownOutcomeError;
	return new Kind({
		...problem,
		taskId: paid.task?.taskId ?? paid.unknown?.taskId,
		taskType: paid.task?.taskType,
		description: [problem.description, payment].filter((text) => text !== '').join('\n'),
	});
}

/**
 * The problem of a request that a Stop has ended.
 *
 * @param arrived what had arrived of the response by then
 */
export function stoppedProblem(plan: RequestPlan, arrived = ''): Problem {
	const problem: Problem = {
		message: 'The outcome is unknown: the execution was stopped before the response arrived',
		description: "Check the usage log in the gateway's console before you send it again.",
	};
	return arrived === '' ? problem : withTaskId(plan, { ...problem, response: arrived });
}

/** The problem of a response with status 200 that contains nothing usable. */
export function unusableProblem({ call }: RequestPlan, body: JsonObject): Problem {
	return {
		message: `The response contains no ${call === 'message' ? 'message' : 'image or task ID'}${afterColon(reasonIn(body))}`,
		description:
			"You may have been charged, so the request wasn't sent again. Check the usage log in the gateway's console.",
		response: JSON.stringify(withoutInlineImages(body)),
	};
}

/** An unknown outcome whose response contains an ID leads to the task, if it is one. */
export function withTaskId({ call }: RequestPlan, problem: Problem): Problem {
	if (call === 'message') return problem;
	const taskId = problem.taskId ?? idIn(problem.response ?? '');
	if (taskId === undefined) return problem;
	return {
		...problem,
		taskId,
		description: `${problem.description} The response contains the ID "${taskId}". Use Image Task to check whether it is a task.`,
	};
}
