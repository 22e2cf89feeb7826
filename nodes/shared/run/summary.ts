import { inItsUnit, type Bill } from '../../../gateway';
import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { UniqueNames } from '../../../util/fileName';
import { isJsonObject, withoutUndefined } from '../../../util/json';
import { detailsOf } from '../errors/itemReport';
import { counted, oneLine } from '../../../util/text';
import { failedItems, isFailed } from '../errors/nodeErrors';
import { describeReasons } from '../errors/failureReasons';
import { leaving, logPrefix, withFileNames } from './leaving';
import { canWaitForSubExecution } from './n8nEngine';
import { addHints, isTool } from './runContext';
import { totalsOf } from './totals';

/** What the output of a run doesn't say. A plain value, stored while the execution is suspended. */
export interface RunCounts {
	/** Requests that were retried after a rate limit. */
	rateLimitedRequests: number;
	/** The input items that an earlier try has paid for. */
	reused: number[];
	/** The unit of amounts, if it is known. */
	currency?: string;
}

/** The result of a run. */
export interface RunResult {
	/** The output items of each input item. */
	items: INodeExecutionData[][];
	/** Items of the second output: tasks that are still open. */
	open: INodeExecutionData[];
	counts: RunCounts;
	/** Whether the hint of a dry run tells of failed items. */
	isDry?: boolean;
}

/**
 * The same items with unique file names. They are assigned by position, not in the order in which
 * images arrived, so that the same run gives the same names.
 *
 * @param items the output items of each input item
 */
export function withUniqueFileNames(items: INodeExecutionData[][]): INodeExecutionData[][] {
	const names = new UniqueNames();
	return items.map((list) => list.map((item) => withFileNames(item, (name) => names.claim(name))));
}

/** The size from which a hint is shown: n8n 2.41 can't read executions with 300 files of 300 kB. */
const MANY_MEGABYTES = 25;

/** A batch that is worth an option: below, a person sees each image. */
const MANY_TASKS = 10;
const SURVIVE =
	"In the middle of such a run, a crash of n8n would lose them: add the option 'Survive Restarts'.";

/** The size of the files that are stored inside the items, in bytes. */
function bytesInside(items: INodeExecutionData[][]): number {
	const files = items.flatMap((list) => list.flatMap(({ binary = {} }) => Object.values(binary)));
	const inside = files.filter(({ id }) => id === undefined);
	// Base64 takes four characters for three bytes.
	return inside.reduce((sum, { data }) => sum + (data.length * 3) / 4, 0);
}

/**
 * Shows a hint about a run. It is a line in n8n's log where n8n shows no hints: for an agent's tool, and
 * in old versions.
 */
export function tellUser(
	context: IExecuteFunctions,
	message: string,
	type: 'info' | 'warning',
): void {
	if (!isTool(context) && context.addExecutionHints !== undefined) {
		addHints(context, [message], type);
		return;
	}
	const line = oneLine(`${logPrefix(context)}: ${leaving(context, message)}`);
	context.logger?.[type === 'info' ? 'info' : 'warn'](line);
}

/**
 * Finishes a run: file names become unique, and the user gets a hint with what the run did and
 * cost.
 *
 * @param isInMemory whether the run has waited for its tasks without being stored
 */
export function finishRun(
	context: IExecuteFunctions,
	result: RunResult,
	addSummary: boolean,
	isInMemory = false,
): RunResult {
	const items = withUniqueFileNames(result.items);
	const finished = { ...result, items };
	const summary = summaryOf(finished);
	// After a dry run all counts are 0.
	const counts = Object.entries(summary).filter(
		([name]) => !result.isDry || name !== 'failedItems',
	);
	const isWorthIt = counts.some(([, count]) => Number(count) > 0);
	const isAtRisk = isInMemory && canWaitForSubExecution() && Number(summary.tasks) >= MANY_TASKS;
	const advice = isAtRisk && !isTool(context) ? ` ${SURVIVE}` : '';
	if (isWorthIt) tellUser(context, describeRun(finished) + advice, 'info');
	const megabytes = Math.round(bytesInside(items) / 1e6);
	if (megabytes >= MANY_MEGABYTES) {
		tellUser(
			context,
			`n8n stores these images inside the execution, where their ${megabytes} MB slow it down. Set N8N_DEFAULT_BINARY_DATA_MODE to 'filesystem', or turn off 'Download'.`,
			'warning',
		);
	}
	return addSummary ? withSummary(finished, summary) : finished;
}

/** The counts and costs of a run. Bills in several currencies have no sum. */
function summaryOf(result: RunResult): IDataObject {
	const { bills, ...made } = totalsOf(outputsOf(result));
	const { rateLimitedRequests, reused } = result.counts;
	return withoutUndefined({
		...made,
		...(bills.length === 1 ? bills[0] : {}),
		rateLimitedRequests,
		reusedItems: reused.length,
		failedItems: failedItems(result.items).size,
	}) as IDataObject;
}

/** The output items of each input item, and those of the tasks that are still open. */
const outputsOf = ({ items, open }: RunResult): INodeExecutionData[][] => [
	...items,
	...open.map((item) => [item]),
];

/**
 * The same items with `summary` on the last item that hasn't failed, or else on the last open one.
 * If there is neither, it is in the `details` of the last failed item, which can have no other
 * fields.
 */
function withSummary(result: RunResult, summary: IDataObject): RunResult {
	const { items, open } = result;
	const all = items.flat();
	const holder = all.findLast((item) => !isFailed(item)) ?? open.at(-1) ?? all.at(-1);
	const add = (item: INodeExecutionData): INodeExecutionData => {
		if (item !== holder) return item;
		const { json } = item;
		if (!isFailed(item)) return { ...item, json: { ...json, summary } };
		// n8n 1 takes an item with a key of its own beside them for a success.
		const key = isJsonObject(json.details) ? 'details' : 'message';
		return { ...item, json: { ...json, [key]: { ...detailsOf(json), summary } } };
	};
	return { ...result, items: items.map((list) => list.map(add)), open: open.map(add) };
}

/** A part of a line, which is empty if there are none. */
const some = (count: number, noun: string, what = ''): string =>
	count > 0 ? counted(count, noun) + what : '';

/** Bills as the part of a sentence. @param currency of those that name none, if it is known */
export const describeBills = (bills: Bill[], currency?: string): string =>
	bills
		.flatMap(({ cost, costCurrency = currency }) =>
			cost === undefined ? [] : inItsUnit(cost, costCurrency),
		)
		.join(' and ');

/** What a cost leaves out, at the end of it. */
export const andUnpriced = (count: number, noun: string): string =>
	count === 0 ? '' : ` and ${counted(count, noun)} without a known price`;

/** What a run has done, in one line, with what this try of it has cost. */
export function describeRun(result: RunResult): string {
	const { items, counts } = result;
	const reused = new Set(counts.reused);
	const own = items.filter((_, itemIndex) => !reused.has(itemIndex));
	const { images, tasks } = totalsOf(outputsOf(result));
	const { bills, estimatedCost, unpricedImages } = totalsOf(outputsOf({ ...result, items: own }));
	const { currency } = counts;
	const costs = [
		bills.length === 0 ? '' : `cost ${describeBills(bills, currency)}`,
		estimatedCost === undefined ? '' : `estimated cost ${inItsUnit(estimatedCost, currency)}`,
	].filter((cost) => cost !== '');
	return sentenceOf([
		images + tasks > 0 ? some(images, 'image') : '0 images',
		some(tasks, 'task'),
		costs.length === 0 ? '' : costs.join('; ') + andUnpriced(unpricedImages, 'image'),
		...describeItems(items, counts),
	]);
}

/**
 * How the items of a run have fared.
 *
 * @param items the output items of each input item
 */
export function describeItems(
	items: INodeExecutionData[][],
	{ rateLimitedRequests, reused }: RunCounts,
): string[] {
	return [
		some(failedItems(items).size, 'item', ` failed: ${describeReasons(items)}`),
		some(reused.length, 'item', ' paid for by an earlier try'),
		some(rateLimitedRequests, 'request', ' retried after a rate limit'),
	];
}

/** The parts of a line that aren't empty, as a sentence. */
export const sentenceOf = (parts: string[]): string =>
	`${parts.filter((part) => part !== '').join('; ')}.`;
