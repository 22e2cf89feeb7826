import type { IExecuteFunctions } from 'n8n-workflow';
import { hasCode } from '../../../gateway/protocol/gatewayError';
import { withFieldsOfFailed } from '../images/imageItems';
import { ItemParameters } from '../parameters/itemParameters';
import { readLimits } from '../parameters/optionValues';
import { runItems } from '../run/itemRunner';
import { openRun } from '../run/runContext';
import type { FinishedTask, OpenTask } from '../../../gateway/wait/taskWaiter';
import {
	allTasks,
	countTasks,
	knownWaits,
	listTasks,
	withOutput,
	type WaitEntry,
	type TaskWait,
} from '../tasks/waitEntries';
import { endOfWait } from '../tasks/waitForTasks';
import { fieldsOfFailed, type StoredWaits } from './storedWaits';

/**
 * The duration of a check: each open task is polled once, and all responses are awaited. A task
 * whose deadline is between two checks is polled after it, and then counts as still open.
 */
const CHECK_MS = 1000;
/** How long after its deadline a task is still polled if no check had time for it. */
const LONGEST_BACKLOG_MS = 1_800_000;

/** The waits after a check. */
interface Checked {
	entries: WaitEntry[];
	/** Input items whose tasks there was no time to poll: the next check begins with them. */
	unpolled: number[];
}

/**
 * One check of stored waits: a wait of a second for each open task. A task that is open afterwards
 * stays for the next check.
 *
 * @param overdue the items that the last check had no time to poll, if any: only these are polled
 */
export async function checkOnce(
	context: IExecuteFunctions,
	{ plan, entries: stored }: StoredWaits,
	overdue: number[] = [],
): Promise<Checked> {
	const limits = readLimits(new ItemParameters(context, 0));
	const run = await openRun(context, limits, { pollIntervalMs: CHECK_MS });
	plan.tally = Object.assign(run.tally, plan.tally);
	const entries = [...stored];
	const waits = { run, entries, toOutput: plan.toOutput, finished: new Set<string>() };
	const unpolled: number[] = [];
	run.gateway.expect(allTasks(entries), countTasks(entries));
	const check = async (
		wait: TaskWait,
		itemIndex: number,
	): Promise<FinishedTask<TaskWait> | OpenTask<TaskWait>> => {
		const result = await run.gateway.waitFor(wait, CHECK_MS).catch((error: unknown) => {
			// A failed task may have been paid back.
			if (hasCode(error, 'taskFailed')) wait.charged = 'maybe';
			throw error as Error;
		});
		if (result.kind === 'finished' || result.polled) return result;
		unpolled.push(itemIndex);
		const isKept = Date.now() - wait.deadlineAt < LONGEST_BACKLOG_MS;
		return isKept ? { ...result, error: undefined } : result;
	};
	try {
		const output = await runItems(run, entries.length, {
			prepare: (itemIndex) => async () => {
				const { wait, done } = entries[itemIndex] ?? {};
				const isDue = overdue.length === 0 || overdue.includes(itemIndex);
				if (wait === undefined || done !== undefined || !isDue) return [];
				return await endOfWait(waits, itemIndex, check(wait, itemIndex));
			},
			// Without the tasks that are found to be lost.
			known: { ...knownWaits(stored), listUnreturned: () => listTasks(entries) },
		});
		const fieldsOf = (itemIndex: number) => fieldsOfFailed(plan, stored[itemIndex]?.wait);
		return { entries: withOutput(entries, withFieldsOfFailed(output, fieldsOf)), unpolled };
	} finally {
		run.gateway.end();
	}
}
