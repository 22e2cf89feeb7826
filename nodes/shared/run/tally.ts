import type { INodeExecutionData } from 'n8n-workflow';
import { finiteNumber } from '../../../gateway/util/json';
import { rounded } from '../../../gateway/validation/pricing';
import type { RequestFacts } from './nodeErrors';

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
	reusedItems: number;
	/** Their part of the estimated cost. */
	reusedCost?: number;
}

/** Adds what a request is estimated to cost, where that is known. */
export function addCost(tally: Tally, cost: number | undefined): void {
	if (cost === undefined || !(cost >= 0)) return;
	tally.estimatedCost = rounded((tally.estimatedCost ?? 0) + cost);
}

/** Counts a request that an earlier try has paid for. */
export function addReused(tally: Tally, cost: number | undefined): void {
	addCost(tally, cost);
	tally.reusedItems += 1;
	tally.reusedCost = rounded((tally.reusedCost ?? 0) + (cost ?? 0));
}

/**
 * What a request is estimated to cost now that its images are known.
 *
 * @param images how many came; with none, what it asked for is all that is known
 */
export function costOf({ estimatedCost, pricePerImage }: RequestFacts, images: number) {
	if (pricePerImage === undefined || images === 0) return estimatedCost;
	return rounded(pricePerImage * images);
}

/** Counts the images of a request, whose cost was counted when it was sent. */
export function addImages(tally: Tally, facts: RequestFacts, images: number): void {
	tally.images += images;
	const { estimatedCost } = tally;
	const cost = costOf(facts, images);
	if (estimatedCost === undefined || cost === undefined) return;
	tally.estimatedCost = rounded(Math.max(0, estimatedCost + cost - (facts.estimatedCost ?? 0)));
}

/** Sets the cost of a request that an earlier try has paid for, now that its images are known. */
export function addReusedImages(tally: Tally, facts: RequestFacts, images: number): void {
	const cost = costOf(facts, images);
	if (tally.reusedCost === undefined || cost === undefined) return;
	tally.reusedCost = rounded(Math.max(0, tally.reusedCost + cost - (facts.estimatedCost ?? 0)));
}

/** Counts the images of an item that an earlier try has paid for, and that come out as they are. */
export function addReusedItems(tally: Tally, items: INodeExecutionData[]): void {
	const costs = items.flatMap(({ json }) => finiteNumber(json.estimatedCost) ?? []);
	const sum = costs.reduce((total, cost) => total + cost, 0);
	addReused(tally, costs.length === 0 ? undefined : rounded(sum));
	tally.images += items.length;
	if (items[0]?.json.taskId !== undefined) tally.tasks += 1;
}
