import type { INodeExecutionData } from 'n8n-workflow';
import { finiteNumber, isJsonObject } from '../../../gateway/util/json';
import { rounded } from '../../../gateway/validation/pricing';

/** What a run counts as it goes. Plain data: it is stored with what is waited for. */
export interface Tally {
	/** Finished images, whether they could be downloaded or not. */
	images: number;
	tasks: number;
	/**
	 * Of every request that was accepted or whose outcome is unknown, in the gateway's currency;
	 * undefined as long as no price is known.
	 */
	estimatedCost?: number;
	/** Requests that were refused for the rate limit, and repeated. */
	rateLimitedRequests: number;
	/** Items whose request an earlier try has paid for. */
	takenOverItems: number;
}

/** What a run did, as a value for workflows. */
export interface Summary extends Tally {
	/** Input items with at least one failure. */
	failedItems: number;
}

export const emptyTally = (): Tally => ({
	images: 0,
	tasks: 0,
	rateLimitedRequests: 0,
	takenOverItems: 0,
});

/** Adds what another part of the run has counted. */
export function addTally(tally: Tally, other: Tally): void {
	tally.images += other.images;
	tally.tasks += other.tasks;
	tally.rateLimitedRequests += other.rateLimitedRequests;
	tally.takenOverItems += other.takenOverItems;
	addCost(tally, other.estimatedCost);
}

/** Adds what a request is estimated to cost, where that is known. */
export function addCost(tally: Tally, cost: number | undefined): void {
	if (cost === undefined || !(cost >= 0)) return;
	tally.estimatedCost = rounded((tally.estimatedCost ?? 0) + cost);
}

/** Counts the images of an item that an earlier try has paid for, and that come out as they are. */
export function addTakenOver(tally: Tally, items: INodeExecutionData[]): void {
	tally.takenOverItems += 1;
	tally.images += items.length;
	if (items[0]?.json.taskId !== undefined) tally.tasks += 1;
	for (const { json } of items) addCost(tally, finiteNumber(json.estimatedCost));
}

/** What was stored of a tally; what has another form counts as none. */
export function readTally(stored: unknown): Tally {
	if (!isJsonObject(stored)) return emptyTally();
	const count = (value: unknown): number => Math.max(0, finiteNumber(value) ?? 0);
	const tally: Tally = {
		images: count(stored.images),
		tasks: count(stored.tasks),
		rateLimitedRequests: count(stored.rateLimitedRequests),
		takenOverItems: count(stored.takenOverItems),
	};
	addCost(tally, finiteNumber(stored.estimatedCost));
	return tally;
}

/** @param items the output items of each input item */
export function summaryOf(tally: Tally, items: INodeExecutionData[][]): Summary {
	const failed = items.filter((list) => list.some(isFailed));
	const { estimatedCost, ...counts } = tally;
	return {
		...counts,
		...(estimatedCost === undefined ? {} : { estimatedCost }),
		failedItems: failed.length,
	};
}

const isFailed = ({ json }: INodeExecutionData): boolean => json.error !== undefined;

/** The summary in one line. */
export function summaryInWords(summary: Summary): string {
	const { images, tasks, estimatedCost, rateLimitedRequests, failedItems, takenOverItems } =
		summary;
	const parts = [
		...(images > 0 || tasks === 0 ? [counted(images, 'image')] : []),
		...(tasks > 0 ? [counted(tasks, 'task')] : []),
		...(estimatedCost === undefined ? [] : [`estimated cost ${estimatedCost}`]),
		...(rateLimitedRequests > 0
			? [`${counted(rateLimitedRequests, 'request')} retried after a rate limit`]
			: []),
		...(failedItems > 0 ? [`${counted(failedItems, 'item')} failed`] : []),
		...(takenOverItems > 0
			? [`${counted(takenOverItems, 'item')} paid for by an earlier try`]
			: []),
	];
	return `${parts.join('; ')}.`;
}

const counted = (count: number, noun: string): string =>
	`${count} ${count === 1 ? noun : `${noun}s`}`;
