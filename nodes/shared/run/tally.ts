import type { INodeExecutionData } from 'n8n-workflow';
import { finiteNumber } from '../../../gateway/util/json';
import { rounded } from '../../../gateway/validation/pricing';
import type { RequestFacts } from './requestFacts';

/** The counts and costs of a run. A plain value, stored while the execution is suspended. */
export interface Tally {
	/** Finished images, downloaded or not. */
	images: number;
	tasks: number;
	/**
	 * The estimated cost of all requests that were accepted or whose outcome is unknown, in the
	 * gateway's currency; undefined if no price is known.
	 */
	estimatedCost?: number;
	/** Requests that were retried after a rate limit. */
	rateLimitedRequests: number;
	/** Items whose request was paid for by an earlier try. */
	reusedItems: number;
	/**
	 * The estimated cost of these items, and of requests of earlier tries whose outcome is unknown; it
	 * is part of `estimatedCost`.
	 */
	reusedCost?: number;
}

/** Adds the estimated cost of a request, if it is known. */
export function addCost(tally: Tally, cost: number | undefined): void {
	if (cost === undefined || !(cost >= 0)) return;
	tally.estimatedCost = rounded((tally.estimatedCost ?? 0) + cost);
}

/** Adds the estimated cost of a request of an earlier try. */
export function addReused(tally: Tally, cost: number | undefined): void {
	addCost(tally, cost);
	tally.reusedCost = rounded((tally.reusedCost ?? 0) + (cost ?? 0));
}

/**
 * The estimated cost of a request once its images are known.
 *
 * @param images how many were returned; with 0, the estimate for the requested ones stays
 */
export function costOf({ estimatedCost, pricePerImage }: RequestFacts, images: number) {
	if (pricePerImage === undefined || images === 0) return estimatedCost;
	return rounded(pricePerImage * images);
}

/** Adds the images of a request, and corrects its cost, which was added when it was sent. */
export function addImages(tally: Tally, facts: RequestFacts, images: number): void {
	tally.images += images;
	const { estimatedCost } = tally;
	const cost = costOf(facts, images);
	if (estimatedCost === undefined || cost === undefined) return;
	tally.estimatedCost = rounded(Math.max(0, estimatedCost + cost - (facts.estimatedCost ?? 0)));
}

/** Corrects the cost of a request that an earlier try paid for, once its images are known. */
export function addReusedImages(tally: Tally, facts: RequestFacts, images: number): void {
	const cost = costOf(facts, images);
	if (tally.reusedCost === undefined || cost === undefined) return;
	tally.reusedCost = rounded(Math.max(0, tally.reusedCost + cost - (facts.estimatedCost ?? 0)));
}

/** Adds an item whose recorded output items are returned again. */
export function addReusedItems(tally: Tally, items: INodeExecutionData[]): void {
	const costs = items.flatMap(({ json }) => finiteNumber(json.estimatedCost) ?? []);
	const sum = costs.reduce((total, cost) => total + cost, 0);
	addReused(tally, costs.length === 0 ? undefined : rounded(sum));
	tally.reusedItems += 1;
	tally.images += items.length;
	if (items[0]?.json.taskId !== undefined) tally.tasks += 1;
}
