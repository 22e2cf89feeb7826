import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { GatewayError, type Problem } from '../../../gateway/util/gatewayError';
import { failedItem, problemOf } from '../run/nodeErrors';
import { readTally, type Tally } from '../run/tally';
import { openEntries, pack, packFailure, unpack, type WaitPlan } from './parcels';
import { tasksInWords, waitForJobs, type WaitEntry, type WaitJob } from '../images/waitJobs';

/**
 * A wait that is due so soon is taken up at the next round of n8n, which comes every 60 s: that is
 * earlier than any later date would be. Long enough that all executions are stored by then.
 */
const SUSPEND_MS = 5000;
/**
 * Each open task is polled once, and all responses are waited for. A task whose deadline comes
 * between two rounds is polled after it, and only then called open.
 */
const CHECK_MS = 1000;
/** If a wait does not suspend anything, rounds must not go on for ever. */
const SHORTEST_ROUND_MS = 1000;
const MOST_SHORT_ROUNDS = 10;

/** What the watcher keeps while it is suspended. */
export interface WatcherNotes {
	begun?: boolean;
	/** Parcels of what is settled. */
	settled?: INodeExecutionData[];
	/** What the run has done so far. */
	tally?: Tally;
	/** What has become known of the open ones, by input item. */
	known?: Array<Partial<WaitJob> | null>;
	suspendedAt?: number;
	shortRounds?: number;
	/** Whether the user's execution was seen suspended. */
	sawParent?: boolean;
}

/**
 * One round of the watcher: suspends at first, asks about every open task after each resume.
 *
 * @returns nothing on output 0 and parcels on output 1 once there is nothing left to wait for; on
 *   output 2 the failure that nobody is left to hand to; never throws, but when it is stopped: what
 *   fails is a parcel
 */
export async function watch(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const { plan, entries } = unpack(context.getInputData());
	if (plan === undefined) return [[], []];
	try {
		return await nextRound(context, plan, entries);
	} catch (error) {
		if (context.getExecutionCancelSignal()?.aborted === true) return await Promise.reject(error);
		return [[], failed(context, plan, entries, error)];
	}
}

async function nextRound(
	context: IExecuteFunctions,
	plan: WaitPlan,
	entries: WaitEntry[],
): Promise<INodeExecutionData[][]> {
	const notes = context.getContext('node') as WatcherNotes;
	if (notes.begun !== true) {
		notes.begun = true;
		return await suspendAgain(context, notes, entries);
	}
	if (await hasEnded(context, plan.parentExecutionId, notes)) return [[], []];
	if (await isDeleted(context, plan.keeperExecutionId)) {
		return [[], [], packFailure(plan, keeperDeleted(plan, entries))];
	}
	countShortRounds(notes);

	const tally = readTally(notes.tally ?? plan.tally);
	plan.tally = tally;
	mergeSettled(entries, notes.settled);
	mergeKnown(entries, notes.known);
	const waited = await waitForJobs(
		context,
		entries.length,
		(itemIndex) => entries[itemIndex] ?? {},
		CHECK_MS,
		tally,
	);
	entries.splice(0, entries.length, ...waited);
	const isOpen = entries.some(({ job, done }) => job !== undefined && done === undefined);
	if (!isOpen) {
		delete notes.settled;
		return [[], pack(plan, entries)];
	}
	notes.tally = tally;
	notes.known = entries.map(({ job, done }) =>
		done !== undefined || job === undefined
			? null
			: {
					task: job.task,
					status: job.status,
					unasked: job.unasked,
					sightings: job.sightings,
				},
	);
	notes.settled = pack(
		plan,
		entries.map(({ done }) => ({ done })),
	);
	return await suspendAgain(context, notes, entries);
}

/** Adds what is settled to what was to be waited for. */
export function mergeSettled(entries: WaitEntry[], settled: INodeExecutionData[] = []): void {
	unpack(settled).entries.forEach(({ done }, itemIndex) => {
		if (done !== undefined) entries[itemIndex] = { ...entries[itemIndex], done };
	});
}

/** A gateway that is too slow for one round gets the other polls in the next. */
function mergeKnown(entries: WaitEntry[], known: WatcherNotes['known'] = []): void {
	known.forEach((more, itemIndex) => {
		const entry = entries[itemIndex];
		if (entry?.job !== undefined && more) entry.job = { ...entry.job, ...more };
	});
	const open = entries.flatMap(({ job, done }) => (done === undefined ? (job ?? []) : []));
	const isBehind = open.some(({ unasked }) => unasked === true);
	for (const job of open) job.rests = isBehind && job.unasked !== true;
}

async function suspendAgain(
	context: IExecuteFunctions,
	notes: WatcherNotes,
	entries: WaitEntry[],
): Promise<INodeExecutionData[][]> {
	const now = Date.now();
	notes.suspendedAt = now;
	await context.putExecutionToWait(new Date(now + SUSPEND_MS));
	return [openEntries(entries), []];
}

/** @throws GatewayError where a wait does not suspend the execution */
function countShortRounds(notes: WatcherNotes): void {
	const lasted = Date.now() - (notes.suspendedAt ?? 0);
	notes.shortRounds = lasted < SHORTEST_ROUND_MS ? (notes.shortRounds ?? 0) + 1 : 0;
	if (notes.shortRounds <= MOST_SHORT_ROUNDS) return;
	throw new GatewayError({
		message: "This version of n8n didn't suspend the execution",
		description: "Turn 'Survive Restarts' off.",
	});
}

/** Whether nobody waits for these tasks any more: the user's execution was stopped or deleted. */
async function hasEnded(
	context: IExecuteFunctions,
	executionId: string,
	notes: WatcherNotes,
): Promise<boolean> {
	const data = await context.getExecutionDataById(executionId);
	if (data === undefined || data.resultData.error !== undefined) return true;
	// At first it may not be stored yet.
	if (data.waitTill !== undefined) notes.sawParent = true;
	return notes.sawParent === true && data.waitTill === undefined;
}

async function isDeleted(context: IExecuteFunctions, executionId?: string): Promise<boolean> {
	if (executionId === undefined) return false;
	return (await context.getExecutionDataById(executionId)) === undefined;
}

/** Nothing can reach the user's execution any more: n8n resumes it for the keeper's sake only. */
const keeperDeleted = ({ parentExecutionId }: WaitPlan, entries: WaitEntry[]): Problem => ({
	message: 'The execution that held these image tasks was deleted',
	description: [
		`Execution ${parentExecutionId} is waiting for it and won't continue. Stop that execution, and use Image Wait or Image Task to get the images.`,
		tasksInWords(entries),
	].join('\n'),
});

/** What fails for the whole run: an item for each task, or the end of the run. */
function failed(
	context: IExecuteFunctions,
	plan: WaitPlan,
	entries: WaitEntry[],
	error: unknown,
): INodeExecutionData[] {
	if (!plan.goOn) {
		const problem = problemOf(error);
		const tasks = tasksInWords(entries);
		const description = problem.description.includes(tasks)
			? problem.description
			: [problem.description, tasks].filter((text) => text !== '').join('\n');
		return packFailure(plan, { ...problem, description });
	}
	return pack(plan, failOpen(context, entries, error));
}

/** The same entries, where each open task has failed, and its error names it. */
export function failOpen(
	context: IExecuteFunctions,
	entries: WaitEntry[],
	error: unknown,
): WaitEntry[] {
	return entries.map(({ job, done }, itemIndex) => {
		if (done !== undefined || job === undefined) return { job, done };
		const { taskId, taskType } = job.task;
		const problem = {
			...problemOf(error),
			taskId,
			taskType: taskType === 'auto' ? undefined : taskType,
			status: job.status,
		};
		const items = [failedItem(context.getNode(), new GatewayError(problem), itemIndex, job.facts)];
		return { job, done: { items } };
	});
}
