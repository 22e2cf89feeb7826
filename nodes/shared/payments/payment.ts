import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { deepCopy } from 'n8n-workflow';
import {
	type Charged,
	GatewayError,
	isInline,
	type Problem,
	type Receipt,
	type Task,
} from '../../../gateway';
import { readMessage, type Turn } from '../../../gateway/messages';
import { laterBill, type Bill } from '../../../util/bill';
import { withoutUndefined, type JsonObject } from '../../../util/json';
import type { UnreturnedPayment } from '../run/knownItems';
import { describeUnreturned, problemOf } from '../run/nodeErrors';
import type { RequestFacts } from '../run/requestFacts';
import { counted } from '../../../util/text';
import { rowName } from '../run/rowNames';

/** The result of a paid request so far. */
export interface PaymentResult extends Receipt {
	/**
	 * The output items, in place of images from inside the response: those of a whole batch would
	 * fill the memory.
	 */
	items?: INodeExecutionData[];
	/** The response to a message. */
	message?: JsonObject;
	/** The conversation that was sent with it, as the output shows it. */
	turns?: Turn[];
	/**
	 * The facts of the request; in a later try, an expression may create another one from the same
	 * item.
	 */
	facts?: RequestFacts;
	/** The problem of a request that may or may not have been accepted. */
	unknown?: Problem;
	/** Whether the task has failed. */
	failed?: boolean;
	/** Whether the gateway no longer has the task, or has no image of it. */
	lost?: boolean;
	/** What the input item says of the charge, where that has brought the payment. */
	brought?: Charged;
}

/** The record of a paid request. */
export interface Payment {
	/** This and the next two: the item of the run that has paid, or has used it last. */
	executionId: string;
	runIndex: number;
	itemIndex: number;
	/** A digest of what the person chose. */
	choices?: string;
	/** A digest of the request. */
	fingerprint: string;
	/**
	 * A digest of what the request is created from (parameters, input, files): it stays the same if
	 * an expression returns another prompt or seed.
	 */
	source: string;
	result: PaymentResult;
	/** What the gateway knows the payment by, where it takes such keys. */
	reference?: string;
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
	{ items, message, turns }: PaymentResult,
	itemIndex: number,
): INodeExecutionData[] | undefined {
	if (items !== undefined) {
		return items.map((item) => ({
			...item,
			json: deepCopy(item.json),
			pairedItem: { item: itemIndex },
		}));
	}
	const response = message && readMessage(message);
	if (response === undefined) return undefined;
	const { content, ...facts } = response;
	const messages = turns && [...turns, { role: 'assistant', content }];
	const json = deepCopy(withoutUndefined({ ...facts, messages })) as IDataObject;
	return [{ json, pairedItem: { item: itemIndex } }];
}

/** The steps for a person after a batch has failed. */
export const RESCUE =
	"Correct what failed in this node (a retry gets the same input items), save, and choose 'Retry with currently saved workflow' in Executions: it pays only for what is missing. To get the rest without that, set 'On Error' to 'Continue (using error output)' first. 'Execute step' pays for all items again.";

/** The same for a batch of one item. */
export const RESCUE_OF_ONE =
	"To get it without paying twice, choose 'Retry with currently saved workflow' in Executions; 'Execute step' pays again.";

/** The same where another workflow has called this one, whose retry would call it anew. */
export const rescueOfCalled = (executionId: string): string =>
	`To get it without paying twice, retry the sub-workflow's own execution (${executionId}) in Executions; a retry of the workflow that called it pays again.`;

/** Whether a payment was charged: a failed task may have been paid back. */
export const chargeOf = ({ unknown, failed, brought = 'yes' }: PaymentResult): Charged =>
	unknown !== undefined || failed === true ? 'maybe' : brought;

/** Whether a payment came to its end without a result: the same key would bring the same again. */
export const hasEnded = ({ unknown, failed }: PaymentResult): boolean =>
	failed === true || unknown?.isAnswered === true;

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
export const billOf = (result: PaymentResult): Bill => laterBill(result, result.unknown ?? {});

/** What was paid for and not returned. */
export const listPayments = (
	payments: Array<Pick<Payment, 'itemIndex' | 'result'>>,
): UnreturnedPayment[] =>
	payments.flatMap(({ itemIndex: item, result }) => {
		const { unknown } = result;
		const { requestId = unknown?.requestId } = result;
		const about = { item, ...(requestId !== undefined && { requestId }) };
		const unclear = { ...about, outcome: 'unknown' as const, taskId: unknown?.taskId };
		return [
			...availableTask(result).map((task) => ({ ...about, ...task })),
			...availableImages(result).map((image) => ({ ...about, ...image })),
			...(result.message === undefined ? [] : [{ ...about, note: MESSAGE }]),
			...(unknown === undefined ? [] : [unclear]),
		];
	});

/** The task whose images have no address, or aren't known yet. */
function availableTask({ task, images = [], items, failed, lost }: PaymentResult): Task[] {
	if (task === undefined || failed === true || lost === true) return [];
	const isNeeded = images.length === 0 || items !== undefined || images.some(isInline);
	const { taskId, taskType, statusUrl } = task;
	return isNeeded ? [{ taskId, taskType, statusUrl }] : [];
}

function availableImages({ images = [], items = [], task }: PaymentResult) {
	// An inline image would fill the error with its bytes.
	const addresses = images.filter((image) => !isInline(image));
	// Inline images are also available from the task.
	const inside = task === undefined ? images.length - addresses.length + items.length : 0;
	return [...addresses.map(({ url }) => ({ url })), ...Array(inside).fill({ note: INSIDE })];
}

const INSIDE = 'an image inside the response';
const MESSAGE = 'the response to a message';

/** The error of an item that an earlier try paid for, with the task or images of that payment. */
export function withPayment(error: unknown, paid: Payment): GatewayError {
	const { result } = paid;
	const problem = problemOf(error);
	const nameOf = (itemIndex: number) => rowName(itemIndex, result.facts?.prompt);
	const payment = describeUnreturned(listPayments([paid]), nameOf);
	const isUnknown = result.unknown !== undefined;
	return new GatewayError(
		{
			...problem,
			taskId: result.task?.taskId ?? result.unknown?.taskId,
			taskType: result.task?.taskType,
			description: [problem.description, payment].filter((text) => text !== '').join('\n'),
		},
		isUnknown ? { charged: 'maybe', code: 'outcomeUnknown' } : {},
	);
}
