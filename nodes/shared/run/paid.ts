import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { deepCopy } from 'n8n-workflow';
import { readMessage } from '../../../gateway/messages/message';
import { quote } from '../../../gateway/util/text';
import type { JsonObject } from '../../../gateway/util/json';
import {
	GatewayError,
	UnknownOutcomeError,
	type Problem,
} from '../../../gateway/util/gatewayError';
import { withoutUndefined, type RequestPlan } from '../../../gateway/protocol/requestPlan';
import { idIn, isInline, type ImageResult, type TaskRef } from '../../../gateway/protocol/task';
import { problemOf } from './nodeErrors';

/** What a paid request has brought so far. */
export interface Paid {
	task?: TaskRef & { status: string; submittedAt: string };
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
	/** What the request was: an expression may make another one of the same item later. */
	facts?: { model: string; prompt: string; estimatedCost?: number };
	/** Nobody knows whether the request was accepted. */
	unknown?: Problem;
	/** The task has failed. */
	failed?: boolean;
	/** The gateway has the task no longer, or no image of it. */
	lost?: boolean;
}

/** What is kept of a paid request: JSON that n8n stores with the execution. */
export interface PaidNote {
	fingerprint: string;
	/** Of the node's parameters and the input item. */
	source: string;
	/** Of the account and the files; in notes of earlier versions there is none. */
	basis?: string;
	executionId: string;
	runIndex: number;
	itemIndex: number;
	paid: Paid;
	/** Its result has left the node. */
	delivered?: boolean;
}

/** What one item has paid for; `undefined` while its request is under way. */
export interface Payment {
	itemIndex: number;
	paid: Paid | undefined;
}

/** What was paid for in a run that ends early, as the user reads it. */
export function paymentsInWords(payments: Payment[]): string {
	const sorted = [...payments].sort((one, other) => one.itemIndex - other.itemIndex);
	const lines = (read: (paid: Paid | undefined) => string[]): string[] =>
		sorted.flatMap(({ itemIndex, paid }) => read(paid).map((text) => `item ${itemIndex}: ${text}`));
	return whatIsLeft({
		tasks: lines(taskToBeHad),
		images: lines(imagesToBeHad),
		unknown: lines(unknownOutcome),
	});
}

/** What a run leaves behind that ends early, a line for each thing. */
export interface Left {
	/** Finished or still running: a task that has failed has nothing to give. */
	tasks?: string[];
	images?: string[];
	/** What may have been charged. */
	unknown?: string[];
}

/** What a run leaves behind, under a heading for each kind; empty if there is nothing. */
export function whatIsLeft({ tasks = [], images = [], unknown = [] }: Left): string {
	const parts: Array<[heading: string, lines: string[]]> = [
		['Image tasks that have finished or are still running. Image Wait gets their images:', tasks],
		['Finished images:', images],
		["Requests that may have been charged. Check the usage log in the gateway's console:", unknown],
	];
	return parts
		.flatMap(([heading, lines]) => (lines.length === 0 ? [] : [heading, ...lines]))
		.join('\n');
}

function taskToBeHad(paid: Paid = {}): string[] {
	const { images = [], task, failed, lost } = paid;
	const isNeeded = images.length === 0 || hasInside(paid);
	return task === undefined || !isNeeded || failed === true || lost === true
		? []
		: [`${task.taskType} task ${task.taskId}`];
}

function imagesToBeHad(paid: Paid = {}): string[] {
	const { images = [], items = [], task } = paid;
	// An image inside its own address would fill the error with its bytes.
	const addresses = images.filter((image) => !isInline(image)).map(({ url }) => url);
	// Its task has such an image, whatever becomes of the execution.
	if (task !== undefined) return addresses;
	const inside = images.length - addresses.length + items.length;
	return [...addresses, ...Array<string>(inside).fill(INSIDE)];
}

/** Whether an image came inside the response: it has no address. */
const hasInside = ({ images = [], items }: Paid): boolean =>
	items !== undefined || images.some(isInline);

const INSIDE = 'an image inside the response, which a retry of this execution returns';

function unknownOutcome(paid: Paid | undefined): string[] {
	if (paid === undefined) return ['the request was in progress'];
	if (paid.unknown === undefined) return [];
	const { taskId } = paid.unknown;
	return [
		taskId === undefined
			? 'the outcome of the request is unknown'
			: `the outcome of the request is unknown; its response contains the ID ${quote(taskId)}`,
	];
}

/**
 * What an earlier try has paid for and nothing but its notes can give back, as items: a message has no
 * address. What its item was to look like is not known where it can't be prepared any more: it is
 * simplified, without the conversation.
 *
 * @returns copies, at the place where the item is now; undefined where an error leads to all of it
 */
export function itemsOfNote(
	{ items, message }: Paid,
	itemIndex: number,
): INodeExecutionData[] | undefined {
	if (items !== undefined) return paired(items, itemIndex);
	const response = message && readMessage(message);
	if (response === undefined) return undefined;
	const json = deepCopy(withoutUndefined({ ...response, content: undefined })) as IDataObject;
	return [{ json, pairedItem: { item: itemIndex } }];
}

/** Items of an earlier try, as copies, at the place where the item is now. */
export function paired(items: INodeExecutionData[], itemIndex: number): INodeExecutionData[] {
	return items.map(({ json, binary }) => ({
		json: { ...json },
		...(binary === undefined ? {} : { binary: { ...binary } }),
		pairedItem: { item: itemIndex },
	}));
}

/** Of a request that a Stop has cut off. */
export const STOPPED: Problem = {
	message: 'The outcome is unknown: the execution was stopped before the response arrived',
	description: "Check the usage log in the gateway's console before you send it again.",
};

/** Of a response with status 200 that brings nothing. */
export const nothingUsable = (call: RequestPlan['call']): Problem => ({
	message: `The response contains no ${call === 'message' ? 'message' : 'image or task ID'}`,
	description:
		"You may have been charged, so the request wasn't sent again. Check the usage log in the gateway's console.",
});

/** An error of an item that was paid for all the same. */
export function withPayment(error: unknown, paid: Paid, itemIndex: number): GatewayError {
	const problem = problemOf(error);
	const had = paymentsInWords([{ itemIndex, paid }]);
	const Kind = paid.unknown === undefined ? GatewayError : UnknownOutcomeError;
	return new Kind({
		...problem,
		taskId: paid.task?.taskId ?? paid.unknown?.taskId,
		taskType: paid.task?.taskType,
		description: [problem.description, had].filter((text) => text !== '').join('\n'),
	});
}

/** An unknown outcome whose response names an ID leads to the task, if there is one. */
export function withId(problem: Problem): Problem {
	const taskId = problem.taskId ?? idIn(problem.response ?? '');
	if (taskId === undefined) return problem;
	return {
		...problem,
		taskId,
		description: `${problem.description} The response contains the ID "${taskId}". Use Image Task to check whether it is a task.`,
	};
}
