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

/** The same of one image of a task, or of one input item. */
type PartTotals = Bill & {
	task?: string;
	images?: number;
	estimatedCost?: number;
	isPaid?: boolean;
};

/**
 * Adds up what output items say of themselves, failed ones too.
 *
 * @param items the output items of each input item; several with the same task share its images and
 *   cost, or each is about some of its images
 */
export function totalsOf(items: INodeExecutionData[][]): Totals {
	const parts = new Map<unknown, PartTotals>();
	items.forEach((list, itemIndex) => {
		for (const facts of partsOf(list)) {
			const own = totalsOfPart(facts);
			const index = facts.length === 1 ? facts[0]?.index : undefined;
			const key = own.task === undefined ? itemIndex : [own.task, index].join(' ');
			// Only one of the items may know the price.
			parts.set(key, { ...parts.get(key), ...own });
		}
	});
	const all = [...parts.values()];
	const unpriced = all.filter(
		({ isPaid, cost, estimatedCost }) => isPaid && (cost ?? estimatedCost) === undefined,
	);
	return {
		images: all.reduce((sum, { images = 0 }) => sum + images, 0),
		tasks: new Set(all.flatMap(({ task }) => task ?? [])).size,
		estimatedCost: sumOfEstimates(all),
		bills: sumOfBills(all),
		unpricedImages: unpriced.reduce((sum, { images = 1 }) => sum + images, 0),
	};
}

/** The facts of what an input item was charged for: of a task's images one by one, or else together. */
function partsOf(list: INodeExecutionData[]): IDataObject[][] {
	const facts = list
		.map(({ json }) => detailsOf(json) ?? json)
		.filter(({ charged, dryRun }) => charged !== 'no' && dryRun !== true);
	const isApart = facts.every(({ taskId }) => taskId !== undefined);
	return isApart ? facts.map((one) => [one]) : [facts];
}

function totalsOfPart(facts: IDataObject[]): PartTotals {
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
