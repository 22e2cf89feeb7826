import type { INodeExecutionData } from 'n8n-workflow';
import {
	isOutOfReach,
	mergedFacts,
	type TaskEnd,
	taskName,
	type TaskState,
} from '../../../gateway';
import { afterColon } from '../../../util/text';
import { partOf, resultItems } from '../images/imageItems';
import type { ItemParameters } from '../parameters/itemParameters';
import { fieldsOf, type ItemReport } from '../errors/itemReport';
import { failedItem } from '../errors/nodeErrors';
import { runItems } from '../run/itemRunner';
import type { Run } from '../run/runContext';
import {
	chargeOfInput,
	imagesOf,
	readFinishedImages,
	readTask,
	type ImagesOfItem,
} from './taskReference';
import { taskItem, type TaskOfItem } from './taskItem';
import {
	allTasks,
	countTasks,
	listTasks,
	withOutput,
	type WaitEntry,
	type TaskWait,
} from './waitEntries';

/** Reads the wait of an item from its parameters. @throws NodeOperationError */
function readWait(item: ItemParameters): TaskWait {
	const maxWaitMs = item.milliseconds('maxWait');
	const charged = chargeOfInput(item.input?.json ?? {});
	const ofItem = readTask(item);
	const facts = { ...ofItem.facts, meant: imagesOf(item, ofItem.task.taskId) };
	return { ...ofItem, facts, maxWaitMs, deadlineAt: Date.now() + maxWaitMs, charged };
}

/** What an item is waited for: its task, or the images that it names. */
interface WaitOfItem {
	wait?: TaskWait;
	finished?: ImagesOfItem;
	/** Why there is neither, where that ends no other item's wait. */
	failure?: Error;
	/** Whether it is a request of unknown outcome, whose ID may be that of no task. */
	isUnclear?: boolean;
}

/**
 * Reads what an item of Image Wait is waited for. A request of unknown outcome, as in the list of payments
 * of a failed batch, fails by itself whatever On Error says: the others have images to get.
 */
export function readWaitOfItem(item: ItemParameters): WaitOfItem {
	const isUnclear = fieldsOf(item.input?.json).outcome === 'unknown';
	try {
		const finished = readFinishedImages(item);
		return finished === undefined ? { wait: readWait(item), isUnclear } : { finished };
	} catch (error) {
		if (!isUnclear) throw error as Error;
		return { failure: error as Error };
	}
}

/** How a person gets the images of the tasks that Image Wait waits for. */
const RECOVERY_ADVICE = 'Run the node again, or give the IDs to Image Wait or Image Task.';

/** Options of the wait for all tasks of a run. */
interface WaitOptions {
	/**
	 * Whether a task that is open at its deadline goes to the second output; if not, it is an error.
	 */
	toOutput: boolean;
	/** Whether the execution is stored in place of waiting here. */
	isStored: boolean;
	/** What is known of the items. */
	itemReport: ItemReport;
}

/**
 * Waits for all tasks of a batch, in this process.
 *
 * @param read reads the wait of an item, or the images it names; its errors are those of the item
 * @returns an entry for each input item; a wait that is continued later has no result
 * @throws NodeApiError or NodeOperationError that lists the IDs of all tasks
 */
export async function waitForTasks(
	run: Run,
	count: number,
	read: (itemIndex: number) => WaitOfItem,
	{ toOutput, isStored, itemReport }: WaitOptions,
): Promise<WaitEntry[]> {
	const entries: WaitEntry[] = Array.from({ length: count }, () => ({}));
	const shared: Waits = { run, entries, toOutput };
	const output = await runItems(run, count, {
		prepare: (itemIndex) => {
			const { finished, wait, failure, isUnclear = false } = read(itemIndex);
			entries[itemIndex] = { wait };
			const failed = (error: unknown): INodeExecutionData[] => [
				failedItem(run.node, error, itemIndex, itemReport.itemDetails(itemIndex)),
			];
			return async () => {
				if (failure !== undefined) return failed(failure);
				if (finished !== undefined) {
					return await resultItems(run, finished.images, finished.facts, finished.outputSettings);
				}
				if (wait === undefined || isStored) return [];
				const ended = endOfWait(shared, itemIndex, run.gateway.waitFor(wait));
				return await (isUnclear ? ended.catch(failed) : ended);
			};
		},
		checkAll: () => {
			// The number of tasks affects the pauses.
			run.gateway.announce(allTasks(entries), countTasks(entries));
			return [];
		},
		itemReport: {
			...itemReport,
			recoveryAdvice: RECOVERY_ADVICE,
			listUnreturned: () => listTasks(entries),
		},
	});
	return withOutput(entries, output);
}

/** What the waits of a batch share. */
interface Waits {
	run: Run;
	entries: WaitEntry[];
	toOutput: boolean;
}

/**
 * The output items of an item at the end of its wait: none if its task is still open, which its entry
 * then says.
 *
 * @throws the error of the task
 */
export async function endOfWait(
	{ run, entries, toOutput }: Waits,
	itemIndex: number,
	waiting: Promise<TaskEnd<TaskWait>>,
): Promise<INodeExecutionData[]> {
	const result = await waiting.catch((error: unknown) => {
		// A task that is lost can't be had. One whose image is lost still can: later, or by hand.
		if (isOutOfReach(error)) entries[itemIndex] = {};
		throw error as Error;
	});
	if (result.kind === 'finished') return await finishedItems(run, result.state, result.wait);
	entries[itemIndex] = { wait: result.wait };
	if (result.error === undefined) return [];
	if (!toOutput) throw result.error;
	entries[itemIndex] = { done: { items: [], open: taskItem(result.wait) } };
	return [];
}

/** The output items of a finished task. */
export async function finishedItems(
	run: Run,
	state: TaskState,
	{ facts: known, outputSettings }: Pick<TaskOfItem, 'facts' | 'outputSettings'>,
): Promise<INodeExecutionData[]> {
	const { model, taskId, taskType, status, refusal } = state;
	const { part, facts } = partOf(state, known);
	if (refusal !== undefined) {
		run.hints.add(`The ${taskName(state)} has not all of its images${afterColon(refusal)}`);
	}
	const shown = { ...facts, ...mergedFacts(part, facts), taskId, taskType, status };
	return await resultItems(
		run,
		part.images,
		{ ...shown, model: shown.model ?? model },
		outputSettings,
	);
}
