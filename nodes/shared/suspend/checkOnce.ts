import type { IExecuteFunctions } from 'n8n-workflow';
import { hasCode, type TaskEnd } from '../../../gateway';
import { ItemParameters } from '../parameters/itemParameters';
import { readLimits } from '../parameters/optionValues';
import { runItems } from '../run/itemRunner';
import { leaving } from '../run/leaving';
import { openRun } from '../run/runContext';
import {
	allTasks,
	countTasks,
	listTasks,
	openWait,
	withOutput,
	type WaitEntry,
	type TaskWait,
} from '../tasks/waitEntries';
import { endOfWait } from '../tasks/waitForTasks';
import { reportOfWaits, withFields, type StoredWaits } from './storedWaits';

/** How long after its deadline a task is still polled if no check had time for it. */
const LONGEST_BACKLOG_MS = 1_800_000;

/** The waits after a check. */
interface Checked {
	entries: WaitEntry[];
	/** Input items whose tasks there was no time to poll: the next check begins with them. */
	unpolled: number[];
}

/** Lets the polls of some items begin before those of the others. */
function openTurns(first: number[]) {
	const isFirst = new Set(first);
	const last = Math.max(...first);
	let begin = (): void => undefined;
	const begun = new Promise<void>((resolve) => (begin = resolve));
	return {
		/** Resolves when the poll of an item may begin. Items come here in their order. */
		turnOf: async (itemIndex: number): Promise<void> => {
			if (itemIndex < last && !isFirst.has(itemIndex)) await begun;
		},
		/** Notes that the poll of an item has begun. */
		noteBegun: (itemIndex: number) => void (itemIndex === last && begin()),
	};
}

/**
 * One check of stored waits: polls each open task until a poll gets a result about it, as long as
 * there are results. A task that is open afterwards stays for the next check.
 *
 * @param overdue the items that the last check had no time to poll: this one begins with them
 */
export async function checkOnce(
	context: IExecuteFunctions,
	{ plan, entries: stored }: StoredWaits,
	overdue: number[] = [],
): Promise<Checked> {
	const run = await openRun(context, readLimits(new ItemParameters(context, 0)));
	const entries = [...stored];
	const waits = { run, entries, toOutput: plan.toOutput };
	const unpolled: number[] = [];
	run.gateway.announce(allTasks(entries), countTasks(entries));
	const turns = openTurns(overdue.filter((itemIndex) => openWait(entries[itemIndex])));
	const poll = async (wait: TaskWait, itemIndex: number): Promise<TaskEnd<TaskWait>> => {
		await turns.turnOf(itemIndex);
		const checking = run.gateway.waitFor(wait, { once: true });
		turns.noteBegun(itemIndex);
		const result = await checking.catch((error: unknown) => {
			// A failed task may have been paid back.
			if (hasCode(error, 'taskFailed')) wait.charged = 'maybe';
			throw error as Error;
		});
		const isPolled = result.kind === 'finished' || result.polled;
		if (isPolled || Date.now() - wait.deadlineAt >= LONGEST_BACKLOG_MS) return result;
		unpolled.push(itemIndex);
		return { ...result, error: undefined };
	};
	try {
		const output = await runItems(run, entries.length, {
			prepare: (itemIndex) => async () => {
				const wait = openWait(entries[itemIndex]);
				if (wait === undefined) return [];
				return await endOfWait(waits, itemIndex, poll(wait, itemIndex));
			},
			// Without the tasks that are found to be lost.
			itemReport: { ...reportOfWaits(stored), listUnreturned: () => listTasks(entries) },
		});
		const shown = output.map((items, itemIndex) =>
			items.map((item) => withFields(plan, item, stored[itemIndex]?.wait)),
		);
		return { entries: leaving(context, withOutput(entries, shown)), unpolled };
	} finally {
		plan.counts.rateLimitedRequests += run.rateLimitedRequests();
		run.gateway.end();
	}
}
