import type { IExecuteFunctions } from 'n8n-workflow';
import { hasCode, type TaskEnd } from '../../../gateway';
import { ItemParameters } from '../parameters/itemParameters';
import { readLimits } from '../parameters/optionValues';
import { runItems } from '../run/itemRunner';
import { tryForAMinute } from '../run/tryForAMinute';
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

/**
 * One check of stored waits: polls each open task until a poll gets a result about it, as long as
 * there are results. A task that is open afterwards stays for the next check.
 *
 * @returns the waits after the check
 */
export async function checkOnce(
	context: IExecuteFunctions,
	{ plan, entries: stored }: StoredWaits,
): Promise<WaitEntry[]> {
	const limits = readLimits(new ItemParameters(context, 0));
	const run = await tryForAMinute(context, () => openRun(context, limits));
	const entries = [...stored];
	const waits = { run, entries, toOutput: plan.toOutput };
	run.gateway.announce(allTasks(entries), countTasks(entries));
	const poll = async (wait: TaskWait): Promise<TaskEnd<TaskWait>> => {
		const result = await run.gateway.waitFor(wait, { once: true }).catch((error: unknown) => {
			// A failed task may have been paid back.
			if (hasCode(error, 'taskFailed')) wait.charged = 'maybe';
			throw error as Error;
		});
		const isPolled = result.kind === 'finished' || result.polled;
		const isOver = isPolled || Date.now() - wait.deadlineAt >= LONGEST_BACKLOG_MS;
		return isOver ? result : { ...result, error: undefined };
	};
	try {
		const output = await runItems(run, entries.length, {
			prepare: (itemIndex) => async () => {
				const wait = openWait(entries[itemIndex]);
				if (wait === undefined) return [];
				return await endOfWait(waits, itemIndex, poll(wait));
			},
			// Without the tasks that are found to be lost.
			itemReport: { ...reportOfWaits(stored), listUnreturned: () => listTasks(entries) },
		});
		const shown = output.map((items, itemIndex) =>
			items.map((item) => withFields(plan, item, stored[itemIndex]?.wait)),
		);
		return leaving(context, withOutput(entries, shown));
	} finally {
		plan.counts.rateLimitedRequests += run.rateLimitedRequests();
		run.gateway.end();
	}
}
