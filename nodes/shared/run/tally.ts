import { rounded } from '../../../util/amount';
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

/** The estimated cost of requests together; undefined if no price is known. */
export function sumOf(requests: Array<RequestFacts | undefined>): number | undefined {
	const costs = requests.flatMap((facts) => facts?.estimatedCost ?? []);
	const known = costs.filter((cost) => cost >= 0);
	return known.length === 0 ? undefined : rounded(known.reduce((sum, cost) => sum + cost, 0));
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

/**
 * Adds the images of a task, and corrects its cost, which was added when the wait for it began, if it
 * was known then.
 */
export function addImages(tally: Tally, facts: RequestFacts, images: number): void {
	tally.images += images;
	const { estimatedCost = 0 } = tally;
	const cost = costOf(facts, images);
	if (cost === undefined) return;
	tally.estimatedCost = rounded(Math.max(0, estimatedCost + cost - (facts.estimatedCost ?? 0)));
}
