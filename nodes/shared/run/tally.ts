import { rounded } from '../../../util/amount';
import { sumOfBills, type Bill } from '../../../util/bill';
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
	/** The gateway's bills for all of these requests, one for each currency. */
	bills?: Bill[];
	/** Those of this try, and the number of its requests that the gateway names no bill for. */
	newBills?: Bill[];
	unbilled?: number;
	/** What this try has spent, for the budget: by the bills where they are known, or else estimated. */
	spent?: number;
}

/** The counts as the summary of a run shows them. A bill in several currencies has no sum. */
export function shownTally(tally: Tally): Partial<Tally> & Bill {
	const { bills = [] } = tally;
	const inner = ['bills', 'newBills', 'unbilled', 'spent', 'reusedCost'];
	const shown = Object.entries(tally).filter(([name]) => !inner.includes(name));
	return { ...Object.fromEntries(shown), ...(bills.length === 1 ? bills[0] : {}) };
}

/**
 * Adds what was billed for a task once it has ended.
 *
 * @param facts those of its submit, whose bill was added when the wait for it began
 */
export function addBill(tally: Tally, facts: RequestFacts, bill: Bill): void {
	if (bill.cost === undefined) return;
	if (facts.cost === undefined) tally.unbilled = Math.max(0, (tally.unbilled ?? 0) - 1);
	const before = { ...facts, cost: facts.cost === undefined ? undefined : -facts.cost };
	const sum = (bills: Bill[] = []) => sumOfBills([...bills, before, bill]).filter(isBilled);
	tally.bills = sum(tally.bills);
	tally.newBills = sum(tally.newBills);
}

const isBilled = ({ cost }: Bill, _: number, all: Bill[]): boolean =>
	cost !== 0 || all.length === 1;

/** The estimated cost of requests together; undefined if no price is known. */
export function sumOf(requests: Array<RequestFacts | undefined>): number | undefined {
	const costs = requests.flatMap((facts) => facts?.estimatedCost ?? []);
	const priced = costs.filter((cost) => cost >= 0);
	return priced.length === 0 ? undefined : rounded(priced.reduce((sum, cost) => sum + cost, 0));
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
