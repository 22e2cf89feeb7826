import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { GatewayError, type Problem } from '../../../gateway/util/gatewayError';
import { isJsonObject } from '../../../gateway/util/json';
import type { RunEnd, RunResult } from '../run/summary';
import { failedItem, finalError, problemOf } from '../run/nodeErrors';
import type { Tally } from '../run/tally';
import { openItem, tasksInWords, type TaskWait, type WaitEntry } from '../tasks/taskWaiter';

/** What a sub-execution has to know of the node that waits for it. */
export interface WaitPlan {
	parentExecutionId: string;
	/** The execution that supervises the checks: people can delete it. */
	supervisorId?: string;
	/** Of the user's node, for errors. */
	nodeName: string;
	workflowName: string;
	/** As the user's workflow has it: called where a failure cannot reach that workflow. */
	errorWorkflow?: string;
	/** Whether failed items are items, rather than the end of the run. */
	goOn: boolean;
	/** Whether failed items leave by an output of their own. */
	errorOutput: boolean;
	/** Whether tasks that are open at their deadline leave by the second output. */
	toOutput: boolean;
	/** What is done with all items at the end. */
	end: RunEnd;
	/** What the run has done so far. */
	tally: Tally;
	/** Values of the options that hold for all requests. */
	options: IDataObject;
}

/** The waits of a suspended node, what came of those that have ended, or the failure of all. */
export interface StoredWaits {
	plan: WaitPlan;
	/** By input item. */
	entries: WaitEntry[];
	failure?: Problem;
}

/** Under this name, so that no item of a user is taken for one. */
const KEY = 'mediaGatewayWaits';

/** The first item: everything but what came of the waits. */
type Head = { plan: WaitPlan; waits: Array<TaskWait | null>; failure?: Problem };

/** An item that came of a wait. Items of their own, because n8n stores only files of items. */
type Result = { itemIndex: number; isOpen: boolean; json: IDataObject };

const asItem = (content: Head | Result): INodeExecutionData => ({
	json: { [KEY]: content as unknown as IDataObject },
	pairedItem: { item: 0 },
});

/** The waits as items, in which form n8n hands them from execution to execution. */
export function toItems({ plan, entries, failure }: StoredWaits): INodeExecutionData[] {
	const waits = entries.map(({ wait, done }) => (done === undefined ? (wait ?? null) : null));
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

/** The opposite of `toItems`. @returns undefined where the items hold no waits */
export function fromItems([first, ...others]: INodeExecutionData[]): StoredWaits | undefined {
	const head = first?.json[KEY] as Head | undefined;
	if (!isJsonObject(head)) return undefined;
	const { plan, waits, failure } = head;
	// An input item without a wait has ended, be it with nothing.
	const entries = waits.map(
		(wait): WaitEntry => (wait === null ? { done: { items: [] } } : { wait }),
	);
	for (const { json: content, binary } of others) {
		const { itemIndex, isOpen, json } = content[KEY] as unknown as Result;
		const done = entries[itemIndex]?.done;
		const item: INodeExecutionData = { json, pairedItem: { item: itemIndex } };
		if (binary !== undefined) item.binary = binary;
		if (isOpen) Object.assign(done ?? {}, { open: item });
		else done?.items.push(item);
	}
	return { plan, entries, failure };
}

/** What came of all waits. */
export function resultOf(entries: WaitEntry[], tally: Tally): RunResult {
	return {
		items: entries.map(({ done }) => done?.items ?? []),
		open: entries.flatMap(({ done }) => done?.open ?? []),
		tally,
	};
}

/** What is still waited for, in the form in which Image Wait and Image Task take it. */
export function openItems(entries: WaitEntry[]): INodeExecutionData[] {
	return entries.flatMap(({ wait, done }) =>
		wait === undefined || done !== undefined ? [] : [openItem(wait)],
	);
}

/** The waits after an error that concerns all: a failed item for each, or the end of the run. */
export function withFailure(
	context: IExecuteFunctions,
	{ plan, entries }: StoredWaits,
	error: unknown,
): StoredWaits {
	if (plan.goOn) return { plan, entries: failOpen(context, entries, error) };
	const describeUnreturned = () => tasksInWords(entries);
	const failure = problemOf(finalError(context.getNode(), error, { describeUnreturned }));
	return { plan, entries: [], failure };
}

/** The same entries, where each open task has failed, and its error names it. */
export function failOpen(
	context: IExecuteFunctions,
	entries: WaitEntry[],
	error: unknown,
): WaitEntry[] {
	return entries.map(({ wait, done }, itemIndex) => {
		if (done !== undefined || wait === undefined) return { done };
		const { taskId, taskType, status } = wait.task;
		const problem = new GatewayError({ ...problemOf(error), taskId, taskType, status });
		return { done: { items: [failedItem(context.getNode(), problem, itemIndex, wait.facts)] } };
	});
}
