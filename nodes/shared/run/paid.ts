import type { INodeExecutionData } from 'n8n-workflow';
import { quote } from '../../../gateway/util/text';
import type { JsonObject } from '../../../gateway/util/json';
import type { Problem } from '../../../gateway/util/gatewayError';
import type { ImageResult, TaskRef } from '../../../gateway/protocol/task';

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
	/** Nobody knows whether the request was accepted. */
	unknown?: Problem;
	/** The task has ended without an image. */
	failed?: boolean;
}

/** What one item has paid for; `undefined` while its request is under way. */
export interface Payment {
	itemIndex: number;
	paid: Paid | undefined;
}

/** What was paid for in a run that ends early, as the user reads it. */
export function paymentsInWords(payments: Payment[]): string {
	const sorted = [...payments].sort((one, other) => one.itemIndex - other.itemIndex);
	const lines = (read: (paid: Paid | undefined) => string | undefined): string[] =>
		sorted.flatMap(({ itemIndex, paid }) => {
			const text = read(paid);
			return text === undefined ? [] : [`item ${itemIndex}: ${text}`];
		});
	return stillToBeHad(lines(whatIsThere), lines(whatIsUnknown));
}

/**
 * What was paid for in a run that ends early, a line each; empty if nothing was.
 *
 * @param had what can be had by its ID or address
 * @param unknown what may have been charged
 */
export function stillToBeHad(had: string[], unknown: string[] = []): string {
	const parts = [
		...(had.length === 0 ? [] : ['Already paid for in this run, and still to be had:', ...had]),
		...(unknown.length === 0 ? [] : ['May have been charged:', ...unknown]),
	];
	return parts.join('\n');
}

/** A task that has failed has nothing to give. */
function whatIsThere({ images = [], items, task, failed }: Paid = {}): string | undefined {
	if (items !== undefined) return 'images inside the response';
	if (images.length > 0) return images.map(({ url }) => shorten(url)).join(', ');
	return task === undefined || failed === true ? undefined : `${task.taskType} task ${task.taskId}`;
}

function whatIsUnknown(paid: Paid | undefined): string | undefined {
	if (paid === undefined) return 'the request was under way';
	if (paid.unknown === undefined) return undefined;
	const { taskId } = paid.unknown;
	return `outcome unknown${taskId === undefined ? '' : `, the response names the ID ${quote(taskId)}`}`;
}

/** An image inside its own address would fill the error with its bytes. */
function shorten(url: string): string {
	return url.startsWith('data:') ? 'an image inside the response' : url;
}
