import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { GatewayError, type Problem } from '../../../gateway';
import { isJsonObject } from '../../../util/json';
import { detailsOf, type ItemDetails, type ItemReport, soleIndex } from '../errors/itemReport';
import type { RunCounts, RunResult } from '../run/summary';
import { failedItem, finalError, isFailed, problemOf } from '../errors/nodeErrors';
import { taskItem } from '../tasks/taskItem';
import {
	listTasks,
	openWait,
	openWaits,
	type TaskWait,
	type WaitEntry,
} from '../tasks/waitEntries';

/** What the sub-executions know of the suspended node. */
export interface WaitPlan {
	parentExecutionId: string;
	/** The name of the user's node, for errors. */
	nodeName: string;
	workflowName: string;
	/** Whether On Error is set to continue: a failed item is an output item, and not the end. */
	continuesOnFail: boolean;
	/** Whether failed items go to an error output. */
	errorOutput: boolean;
	/** Whether tasks that are open at their deadline go to the second output. */
	toOutput: boolean;
	addSummary: boolean;
	counts: RunCounts;
	/** The options for all requests. */
	options: IDataObject;
}

/** The waits of a suspended node with their results, or the failure that ends its run. */
export interface StoredWaits {
	plan: WaitPlan;
	/** One for each input item. */
	entries: WaitEntry[];
	failure?: StoredFailure;
}

/** The failure that ends a run, with the lines that list its items, and its details. */
interface StoredFailure {
	problem: Problem;
	messages: string[];
	details: IDataObject;
}

/** The key of stored waits in an item's JSON, which no item of a user has. */
const KEY = 'mediaGatewayWaits';

/** The content of the first item: everything except the results. */
type Head = { plan: WaitPlan; waits: Array<TaskWait | null>; failure?: StoredFailure };

/**
 * The content of a further item: an output item. It is an item because n8n stores the files of
 * items.
 */
type Result = { itemIndex: number; isOpen: boolean; json: IDataObject };

const asItem = (content: Head | Result): INodeExecutionData => ({
	json: { [KEY]: content as unknown as IDataObject },
	pairedItem: { item: 0 },
});

/** The waits as items, which n8n passes from one execution to another. */
export function toItems({ plan, entries, failure }: StoredWaits): INodeExecutionData[] {
	const waits = entries.map((entry) => openWait(entry) ?? null);
	const results = entries.flatMap(({ done }, itemIndex) => {
		const wrap = ({ json, binary }: INodeExecutionData, isOpen: boolean): INodeExecutionData => ({
			...asItem({ itemIndex, isOpen, json }),
			...(binary === undefined ? {} : { binary }),
		});
		const items = done?.items.map((item) => wrap(item, false)) ?? [];
		return done?.open === undefined ? items : [...items, wrap(done.open, true)];
	});
	return [asItem({ plan, waits, failure }), ...results];
}

/** The opposite of `toItems`. @returns undefined if the items contain no waits */
export function fromItems([first, ...others]: INodeExecutionData[]): StoredWaits | undefined {
	const head = first?.json[KEY] as Head | undefined;
	if (!isJsonObject(head)) return undefined;
	const { plan, waits, failure } = head;
	// An input item without a wait has a result, which may be empty.
	const entries = waits.map(
		(wait): WaitEntry => (wait === null ? { done: { items: [] } } : { wait }),
	);
	for (const { json: content, binary } of others) {
		const { itemIndex, isOpen, json } = content[KEY] as Result;
		const done = entries[itemIndex]?.done;
		const item: INodeExecutionData = { json, pairedItem: { item: itemIndex } };
		if (binary !== undefined) item.binary = binary;
		if (isOpen) Object.assign(done ?? {}, { open: item });
		else done?.items.push(item);
	}
	return { plan, entries, failure };
}

/** The result of all waits. */
export function resultOf(entries: WaitEntry[], counts: RunCounts): RunResult {
	return {
		items: entries.map(({ done }) => done?.items ?? []),
		open: entries.flatMap(({ done }) => done?.open ?? []),
		counts,
	};
}

/** An item for each open task. */
export const openItems = (entries: WaitEntry[]): INodeExecutionData[] =>
	openWaits(entries).map((wait) => taskItem(wait));

/** Whether waits have their result: nothing is open, or a failure has ended them. */
export const areOver = ({ entries, failure }: StoredWaits): boolean =>
	failure !== undefined || openWaits(entries).length === 0;

/**
 * What the supervisor hands out while it waits. n8n passes it on as the result where it ends the
 * supervisor without one, for example at the start of a worker in whose queue it is. So nothing in it
 * looks like a result that isn't there: a failed item leads to each open task, and to each image that
 * has finished, whose file belongs to another execution.
 */
export function itemsMeanwhile(
	context: IExecuteFunctions,
	{ plan, entries }: StoredWaits,
): INodeExecutionData[][] {
	const node = context.getNode();
	const error = new GatewayError({
		message: 'n8n ended this wait before its result; the task continues',
		description:
			"Give the task ID to Image Wait or Image Task, or copy this item into the example 'Collect these tasks': it isn't charged again.",
	});
	return failOpen(context, { plan, entries }, error).map(({ done }, itemIndex) =>
		(done?.items ?? []).map((item) => {
			if (item.binary === undefined) return item;
			const { taskId, taskType, status, model, prompt, url, index } =
				item.json as Partial<ItemDetails>;
			const about = { taskId, taskType, status, model, prompt, url, index };
			const ofItem = { charged: 'yes', ...about } as const;
			const { json } = failedItem(node, error, itemIndex, ofItem);
			const fields = plan.errorOutput ? {} : item.json;
			return { json: { ...fields, ...json }, pairedItem: { item: itemIndex } };
		}),
	);
}

/** What the waits of items tell about them, where the executions that continue them fail. */
export function reportOfWaits(entries: WaitEntry[]): ItemReport {
	const itemDetails = (itemIndex: number): ItemDetails => {
		const { task, facts, charged = 'maybe' } = entries[itemIndex]?.wait ?? {};
		const { model, prompt, estimatedCost, cost, costCurrency, meant } = facts ?? {};
		const { taskId, taskType, status, statusUrl } = task ?? {};
		const ofTask = { taskId, taskType, status, statusUrl };
		const index = soleIndex(meant);
		return { charged, ...ofTask, model, prompt, estimatedCost, cost, costCurrency, index };
	};
	return {
		count: entries.length,
		isPaying: false,
		chargeOf: (itemIndex) => itemDetails(itemIndex).charged,
		itemDetails,
		listUnreturned: () => listTasks(entries),
		// Not by the node of the user, which may have paid for them, and would again.
		recoveryAdvice: 'Give the IDs to Image Wait or Image Task.',
	};
}

/**
 * The waits after an error of all: a failed item for each open task, or the failure that ends the
 * run.
 */
export function withFailure(
	context: IExecuteFunctions,
	{ plan, entries }: StoredWaits,
	error: unknown,
): StoredWaits {
	if (plan.continuesOnFail) return { plan, entries: failOpen(context, { plan, entries }, error) };
	const ended = finalError(context.getNode(), error, reportOfWaits(entries));
	const { messages, context: told } = ended;
	const failure = { problem: problemOf(ended), messages, details: told.details as IDataObject };
	return { plan, entries: [], failure };
}

/** The same entries with a failed item for each open task. */
export function failOpen(
	context: IExecuteFunctions,
	{ plan, entries }: StoredWaits,
	error: unknown,
): WaitEntry[] {
	const itemReport = reportOfWaits(entries);
	return entries.map((entry, itemIndex) => {
		const wait = openWait(entry);
		if (wait === undefined) return { done: entry.done };
		const item = failedItem(context.getNode(), error, itemIndex, itemReport.itemDetails(itemIndex));
		return { done: { items: [withFields(plan, item, wait)] } };
	});
}

/** The item, if it has failed with the fields of its input, and the prompt: the engine adds those in an error output. */
export function withFields(
	{ errorOutput }: WaitPlan,
	item: INodeExecutionData,
	wait?: TaskWait,
): INodeExecutionData {
	if (errorOutput || !isFailed(item)) return item;
	const { prompt } = detailsOf(item.json) ?? {};
	const own = prompt === undefined ? {} : { prompt };
	return { ...item, json: { ...wait?.outputSettings.inputFields, ...own, ...item.json } };
}
