import type { INodeExecutionData } from 'n8n-workflow';
import { type Charged, type Task, taskKey, type Wait } from '../../../gateway';
import { fieldsOf, type RequestFacts } from '../errors/itemReport';
import type { TaskOfItem } from './taskItem';

/** The wait of an input item for a task. */
export interface TaskWait extends Wait, TaskOfItem {
	facts: RequestFacts;
	/** Whether the task was charged: certainly where the node that waits has submitted it. */
	charged: Charged;
}

/**
 * An input item of a wait: what it waits for, or its result. Neither if its parameters were
 * invalid.
 */
export interface WaitEntry {
	wait?: TaskWait;
	/** The result; `open` is an item for the second output, if the task was open at its deadline. */
	done?: { items: INodeExecutionData[]; open?: INodeExecutionData };
}

/** The entries with the output of their items; a wait that is continued later has none. */
export const withOutput = (entries: WaitEntry[], output: INodeExecutionData[][]): WaitEntry[] =>
	entries.map(({ wait, done }, itemIndex) => {
		const items = output[itemIndex] ?? [];
		// A wait that has ended has output: images, or a failed item.
		const isOpen = wait !== undefined && items.length === 0;
		return done !== undefined || isOpen ? { wait, done } : { wait, done: { items } };
	});

/** The wait of an item, while it has no result. */
export const openWait = ({ wait, done }: WaitEntry = {}): TaskWait | undefined =>
	done === undefined ? wait : undefined;

export const openWaits = (entries: WaitEntry[]): TaskWait[] =>
	entries.flatMap((entry) => openWait(entry) ?? []);

/** The number of open tasks: several items may have the same one. */
export const countTasks = (entries: WaitEntry[]): number =>
	new Set(openWaits(entries).map(({ task }) => taskKey(task))).size;

/**
 * The tasks of a batch, also the failed ones: a response that names one of them is about no other task.
 */
export const allTasks = (entries: WaitEntry[]): Task[] =>
	entries.flatMap(({ wait, done }) => {
		const output = fieldsOf((done?.items[0] ?? done?.open)?.json);
		const { taskId, taskType } = wait?.task ?? (output as Partial<Task>);
		return taskId === undefined ? [] : [{ taskId, taskType }];
	});

/** Lists the tasks of a batch that ends early, apart from those without a result to get. */
export function listTasks(entries: WaitEntry[]) {
	return entries.flatMap(({ wait, done }, item) => {
		// The output items of a task contain its ID.
		const named = wait?.task ?? ((done?.items[0] ?? done?.open)?.json as Partial<Task>);
		const { taskId, taskType, statusUrl } = named ?? {};
		return taskId === undefined ? [] : [{ item, taskId, taskType, statusUrl }];
	});
}
