import { type IDataObject, type INodeExecutionData, deepCopy } from 'n8n-workflow';
import {
	type Bill,
	type Charged,
	GatewayError,
	isInline,
	laterBill,
	type Problem,
	type Receipt,
} from '../../../gateway';
import { readMessage, type Turn } from '../../../gateway/messages';
import { withoutUndefined, type JsonObject } from '../../../util/json';
import type { Identity } from './identity';
import type { UnreturnedPayment, RequestFacts } from '../errors/itemReport';
import { describeUnreturned, problemOf } from '../errors/nodeErrors';
import { counted } from '../../../util/text';
import { rowName } from '../errors/rowNames';

/** What a paid request has come to so far. */
export type PaymentResult = Paid | UnknownResult;

/** What it has come to if it was certainly charged. */
export type Paid = PaidImages | PaidMessage;

/** The images of a request, or their task. */
export type PaidImages = AboutRequest & (ImagesResult | TaskResult | StoredImages);

/** What is known of a request beside what it has come to. */
interface AboutRequest extends Bill {
	/**
	 * The facts of the request; in a later try, an expression may create another one from the same
	 * item.
	 */
	facts?: RequestFacts;
	/** The number of the request. */
	requestId?: string;
	/** What the input item says of the charge, where that has brought the payment. */
	chargedByInput?: Charged;
}

export type ImagesResult = Extract<Receipt, { kind: 'images' }>;

type TaskResult = Extract<Receipt, { kind: 'task' }> & {
	/** Whether the task has failed, or the gateway no longer has it, or has no image of it. */
	end?: 'failed' | 'lost';
};

/** The output items in place of images from inside the response: those of a whole batch would fill the memory. */
type StoredImages = Omit<ImagesResult, 'kind' | 'images'> & {
	kind: 'storedItems';
	items: INodeExecutionData[];
};

/** The response to a message. */
export interface PaidMessage extends AboutRequest {
	kind: 'message';
	message: JsonObject;
	/** The conversation that was sent with it, as the output shows it. */
	turns: Turn[];
}

/** A request that may or may not have been accepted. */
interface UnknownResult extends AboutRequest {
	kind: 'unknown';
	problem: Problem;
}

/** The record of a paid request. */
export interface Payment extends Identity {
	result: PaymentResult;
	/** What the gateway knows the payment by, where it takes such keys. */
	idempotencyKey?: string;
	/** Whether the node has returned its result. The engine may still run the node again. */
	delivered?: boolean;
}

/**
 * The output items of a payment whose result has no address that an error could name: images from
 * inside a response, or a message. The message is simplified, as the item's parameters may no longer
 * be readable.
 *
 * @returns copies, linked to the input item; undefined for other payments
 */
export function itemsWithoutAddress(
	result: PaymentResult,
	itemIndex: number,
): INodeExecutionData[] | undefined {
	if (result.kind === 'storedItems') {
		return result.items.map((item) => ({
			...item,
			json: deepCopy(item.json),
			pairedItem: { item: itemIndex },
		}));
	}
	const response = result.kind === 'message' ? readMessage(result.message) : undefined;
	if (result.kind !== 'message' || response === undefined) return undefined;
	const { content, ...facts } = response;
	const messages = [...result.turns, { role: 'assistant', content }];
	const json = deepCopy(withoutUndefined({ ...facts, messages })) as IDataObject;
	return [{ json, pairedItem: { item: itemIndex } }];
}

/** The steps for a person after a batch has failed. */
export const RECOVERY_ADVICE =
	"Correct what failed in this node (a retry gets the same input items), save, and choose 'Retry with currently saved workflow' in Executions: it pays only for what is missing. To get the rest without that, set 'On Error' to 'Continue (using error output)' first. 'Execute step' pays for all items again.";

/** The same for a batch of one item. */
export const RECOVERY_ADVICE_OF_ONE =
	"To get it without paying twice, choose 'Retry with currently saved workflow' in Executions; 'Execute step' pays again.";

/** The same where another workflow has called this one, whose retry would call it anew. */
export const adviceForCalled = (executionId: string): string =>
	`To get it without paying twice, retry the sub-workflow's own execution (${executionId}) in Executions; a retry of the workflow that called it pays again.`;

/** How the task of a payment has ended without an image. */
export const endOf = (result: PaymentResult): TaskResult['end'] =>
	result.kind === 'task' ? result.end : undefined;

/** Whether a payment was charged: a failed task may have been paid back. */
export const chargeOf = (result: PaymentResult): Charged =>
	result.kind === 'unknown' || endOf(result) === 'failed'
		? 'maybe'
		: (result.chargedByInput ?? 'yes');

/** Whether a payment came to its end without a result: the same key would bring the same again. */
export const endedWithoutResult = (result: PaymentResult): boolean =>
	result.kind === 'unknown' ? result.problem.isAnswered === true : endOf(result) === 'failed';

/** More tasks than a hint can list. */
const MOST_LISTED = 100;

/**
 * The hint about requests that were sent again with the key of their payment.
 *
 * @param tasks that were named before, and that no item has got
 */
export function describeSentAgain(count: number, header: string, tasks: string[] = []): string {
	const listed = tasks.slice(0, MOST_LISTED).join(', ');
	const lost = tasks.length === 0 ? '' : ` Image Task gets what it has made of these: ${listed}.`;
	return `${counted(count, 'request')} had an unknown outcome and got the same '${header}' again. A gateway that ignores this header may have charged twice.${lost}`;
}

/** The gateway's bill for a request, also for one of unknown outcome. */
export const billOf = (result: PaymentResult): Bill =>
	laterBill(result, result.kind === 'unknown' ? result.problem : {});

/** What leads to the result of a payment. */
export function leadsTo(result: PaymentResult) {
	const { requestId } = result;
	if (result.kind === 'message') return { requestId };
	if (result.kind === 'unknown') {
		const { taskId, requestId: own } = result.problem;
		return { requestId: requestId ?? own, taskId };
	}
	const { taskId, taskType, status, statusUrl } = result.task ?? {};
	const images = result.kind === 'images' ? result.images : [];
	const url = images.find((image) => !isInline(image))?.url;
	return { requestId, taskId, taskType, status, statusUrl, url };
}

/** What was paid for and not returned. */
export const listPayments = (
	payments: Array<Pick<Payment, 'itemIndex' | 'result'>>,
): UnreturnedPayment[] =>
	payments.flatMap(({ itemIndex: item, result }) => {
		const { requestId, taskId } = leadsTo(result);
		const about = { item, ...(requestId !== undefined && { requestId }) };
		if (result.kind === 'message') return [{ ...about, note: MESSAGE }];
		if (result.kind === 'unknown') return [{ ...about, outcome: 'unknown' as const, taskId }];
		return available(result).map((one) => ({ ...about, ...one }));
	});

/** The addresses of images, and what leads to those that have none, or aren't known yet. */
function available(result: PaidImages) {
	if (endOf(result) !== undefined) return [];
	const images = result.kind === 'images' ? result.images : [];
	// An inline image would fill the error with its bytes.
	const addresses = images.flatMap((image) => (isInline(image) ? [] : { url: image.url }));
	const inside =
		result.kind === 'storedItems' ? result.items.length : images.length - addresses.length;
	if (result.task === undefined) return [...addresses, ...Array(inside).fill({ note: INSIDE })];
	const { taskId, taskType, statusUrl } = result.task;
	const isNeeded = result.kind === 'task' || inside > 0;
	return [...(isNeeded ? [{ taskId, taskType, statusUrl }] : []), ...addresses];
}

const INSIDE = 'an image inside the response';
const MESSAGE = 'the response to a message';

/** The error of an item that an earlier try paid for, with the task or images of that payment. */
export function withPayment(error: unknown, paid: Payment): GatewayError {
	const { result } = paid;
	const problem = problemOf(error);
	const nameOf = (itemIndex: number) => rowName(itemIndex, result.facts?.prompt);
	const payment = describeUnreturned(listPayments([paid]), nameOf);
	const isUnknown = result.kind === 'unknown';
	const { taskId, taskType } = leadsTo(result);
	return new GatewayError(
		{
			...problem,
			taskId,
			taskType,
			description: [problem.description, payment].filter((text) => text !== '').join('\n'),
		},
		isUnknown ? 'outcomeUnknown' : undefined,
	);
}
