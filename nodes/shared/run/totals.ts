import { rounded, type Bill } from '../../../gateway';
import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { finiteNumber, withoutUndefined } from '../../../util/json';
import { detailsOf, type RequestFacts } from '../errors/itemReport';

/** Several bills together: one for each currency. */
export function sumOfBills(bills: Bill[]): Bill[] {
	const sums = new Map<string | undefined, number>();
	for (const { cost, costCurrency } of bills) {
		if (cost === undefined) continue;
		sums.set(costCurrency, rounded((sums.get(costCurrency) ?? 0) + cost));
	}
	return [...sums].map(([costCurrency, cost]) => ({ cost, costCurrency }));
}

/** What the output of a run says that it has made and cost. */
interface Totals {
	/** Finished images, downloaded or not. */
	images: number;
	tasks: number;
	/** In the unit of the gateway's list; undefined if no price is known. */
	estimatedCost?: number;
	/** The gateway's bills, one for each currency. */
	bills: Bill[];
	/** Images without a bill or an estimate; a request that brought none counts as one. */
	unpricedImages: number;
}

/** The same of one input item. */
type ItemTotals = Bill & {
	task?: string;
	images?: number;
	estimatedCost?: number;
	isPaid?: boolean;
};

/**
 * Adds up what output items say of themselves, failed ones too.
 *
 * @param items the output items of each input item; several with the same task share its images and cost
 */
export function totalsOf(items: INodeExecutionData[][]): Totals {
	const byTask = new Map<unknown, ItemTotals>();
	items.forEach((list, itemIndex) => {
		const own = totalsOfItem(list);
		const key = own.task ?? itemIndex;
		// Only one of the items may know the price.
		byTask.set(key, { ...byTask.get(key), ...own });
	});
	const all = [...byTask.values()];
	const unpriced = all.filter(
		({ isPaid, cost, estimatedCost }) => isPaid && (cost ?? estimatedCost) === undefined,
	);
	return {
		images: all.reduce((sum, { images = 0 }) => sum + images, 0),
		tasks: all.filter(({ task }) => task !== undefined).length,
		estimatedCost: sumOfEstimates(all),
		bills: sumOfBills(all),
		unpricedImages: unpriced.reduce((sum, { images = 1 }) => sum + images, 0),
	};
}

function totalsOfItem(list: INodeExecutionData[]): ItemTotals {
	const facts = list
		.map(({ json }) => detailsOf(json) ?? json)
		.filter(({ charged, dryRun }) => charged !== 'no' && dryRun !== true);
	const images = facts.reduce((sum, one) => sum + imagesIn(one), 0);
	const [bill] = sumOfBills(facts as Bill[]);
	const { taskId, taskType, outcome }: IDataObject = facts[0] ?? {};
	// The ID in a response of unknown outcome may be that of anything.
	const hasTask = taskId !== undefined && outcome !== 'unknown';
	return withoutUndefined({
		task: hasTask ? `${String(taskType)} ${String(taskId)}` : undefined,
		images: images === 0 ? undefined : images,
		estimatedCost: sumOfEstimates(facts),
		isPaid: facts.length > 0 || undefined,
		...bill,
	});
}

/** The images in an output item: one, all of a request, or those that couldn't be downloaded. */
function imagesIn({ images, index, charged, url, urls }: IDataObject): number {
	if (Array.isArray(images)) return images.length;
	if (index !== undefined) return 1;
	if (charged !== 'yes' || url === undefined) return 0;
	return Array.isArray(urls) ? urls.length : 1;
}

/** Undefined if no price is known. */
function sumOfEstimates(facts: Array<{ estimatedCost?: unknown }>): number | undefined {
	const costs = facts.flatMap(({ estimatedCost }) => finiteNumber(estimatedCost) ?? []);
	return costs.length === 0 ? undefined : rounded(costs.reduce((sum, cost) => sum + cost, 0));
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
