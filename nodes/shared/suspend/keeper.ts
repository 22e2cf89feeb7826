import type { IExecuteFunctions, INodeExecutionData, IRunExecutionData } from 'n8n-workflow';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { problemOf } from '../run/nodeErrors';
import { openEntries, pack, packFailure, unpack, type WaitPlan } from './parcels';
import { MOST_RESTARTS, WATCHER, watcherWorkflow } from './subWorkflows';
import { tasksInWords, type WaitEntry } from '../images/waitJobs';
import { failOpen, mergeSettled, type WatcherNotes } from './watcher';

/** A batch that brings n8n down whenever it is checked is not tried for ever. */
const MOST_CRASHES = 5;

/** What the keeper keeps while it is suspended: everything but what has been settled since. */
interface KeeperNotes {
	plan?: WaitPlan;
	/** Parcels, as they came at first. */
	given?: INodeExecutionData[];
	watcherId?: string;
	/** In a row, without any task being settled in between. */
	crashes?: number;
	settled?: number;
	/** In all. */
	restarts?: number;
}

/**
 * One round of the keeper: starts the watcher at first, and looks at what became of it when n8n
 * resumes the keeper.
 *
 * @returns on output 0 nothing, but what n8n shows while it is suspended; on output 1 parcels of
 *   results; on output 2 the failure that ends the run. Never throws: the engine would send the
 *   input through output 0, to the next keeper.
 */
export async function keep(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	// Of the whole sub-execution: each round is run by a node of its own.
	const notes = context.getContext('flow') as KeeperNotes;
	const input = context.getInputData();
	if (notes.plan === undefined) {
		notes.plan = unpack(input).plan;
		notes.given = input;
	}
	const { plan } = notes;
	if (plan === undefined) return [[], [], []];
	const { entries } = unpack(notes.given ?? []);
	try {
		if (notes.watcherId === undefined) return await startWatcher(context, notes, plan, entries);
		const came = unpack(input);
		if (came.failure !== undefined) return [[], [], input];
		if (came.isParcels) return [[], input, []];
		return await restart(context, notes, plan, entries);
	} catch (error) {
		if (!plan.goOn) {
			const problem = problemOf(error);
			const description = [problem.description, tasksInWords(entries)]
				.filter((text) => text !== '')
				.join('\n');
			return [[], [], packFailure(plan, { ...problem, description })];
		}
		return [[], pack(plan, failOpen(context, entries, error)), []];
	}
}

async function startWatcher(
	context: IExecuteFunctions,
	notes: KeeperNotes,
	plan: WaitPlan,
	entries: WaitEntry[],
): Promise<INodeExecutionData[][]> {
	const executionId = context.getExecutionId();
	const workflowId = String(context.getWorkflow().id);
	const result = await context.executeWorkflow(
		watcherWorkflow(context, plan),
		pack({ ...plan, keeperExecutionId: executionId }, entries),
		undefined,
		{
			doNotWaitToFinish: false,
			parentExecution: { executionId, workflowId, shouldResume: true },
		},
	);
	notes.watcherId = result.executionId;
	return [openEntries(entries), [], []];
}

/** After a watcher that brought no result: it crashed, or somebody stopped or deleted it. */
async function restart(
	context: IExecuteFunctions,
	notes: KeeperNotes,
	plan: WaitPlan,
	entries: WaitEntry[],
): Promise<INodeExecutionData[][]> {
	const data = await context.getExecutionDataById(notes.watcherId ?? '');
	const stopped = whyStopped(context.getInputData(), data);
	const parent = await context.getExecutionDataById(plan.parentExecutionId);
	if (parent === undefined || parent.resultData.error !== undefined) return [[], [], []];
	if (data !== undefined) recover(plan, entries, data);
	if (stopped !== undefined) {
		throw new GatewayError({ message: stopped, description: STILL_TO_BE_HAD });
	}
	const settled = entries.filter(({ done }) => done !== undefined).length;
	notes.crashes = settled > (notes.settled ?? 0) ? 1 : (notes.crashes ?? 0) + 1;
	notes.settled = settled;
	notes.restarts = (notes.restarts ?? 0) + 1;
	if (notes.crashes > MOST_CRASHES || notes.restarts > MOST_RESTARTS) {
		const times =
			notes.crashes > MOST_CRASHES ? `${MOST_CRASHES} times in a row` : `${MOST_RESTARTS} times`;
		throw new GatewayError({
			message: `n8n crashed ${times} while checking the image tasks`,
			description: STILL_TO_BE_HAD,
		});
	}
	return await startWatcher(context, notes, plan, entries);
}

const STILL_TO_BE_HAD =
	'The tasks continue at the gateway: use Image Wait or Image Task with their IDs.';

/** What the last watcher had before it crashed: what it was given, and what it noted since. */
function recover(plan: WaitPlan, entries: WaitEntry[], data: IRunExecutionData): void {
	const { nodeExecutionStack = [], contextData = {} } = data.executionData ?? {};
	mergeSettled(entries, nodeExecutionStack[0]?.data.main?.[0] ?? []);
	const notes = contextData[`node:${WATCHER}`] as WatcherNotes | undefined;
	mergeSettled(entries, notes?.settled);
	plan.tally = notes?.tally ?? plan.tally;
}

/**
 * Why it is not started again. Everything that fails within a watcher is a parcel; an error is n8n's
 * own, such as that of an execution that it resumes before it has started itself, and may pass.
 */
function whyStopped(
	input: INodeExecutionData[],
	data: IRunExecutionData | undefined,
): string | undefined {
	const { name = '', message = input[0]?.json.error } = data?.resultData.error ?? {};
	return /cancel/i.test(`${name} ${String(message)}`)
		? 'The execution that checked the image tasks was stopped'
		: undefined;
}
