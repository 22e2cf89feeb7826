import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { GatewayError } from '../../../gateway';
import { finishRun } from '../run/summary';
import { nodeError, problemOf } from '../errors/nodeErrors';
import { tryForAMinute } from '../run/tryForAMinute';
import { leaving } from '../run/leaving';
import { isStopped } from '../run/runContext';
import { checkOnce } from './checkOnce';
import { inPlace, linked, unlinked } from './itemLinks';
import * as engine from '../run/n8nEngine';
import { reportSubmitted } from './submittedTasks';
import {
	areOver,
	fromItems,
	itemsMeanwhile,
	openItems,
	resultOf,
	toItems,
	withFailure,
	type StoredWaits,
	type WaitPlan,
} from './storedWaits';
import { CHECKS, checkWorkflow, KEEPER, keepWorkflow, MOST_RESTARTS } from './subWorkflows';

/** An ID that no execution has: n8n asks its database for it, and gets nothing. */
const NO_EXECUTION = '0';

type StepFunction = (context: IExecuteFunctions) => Promise<INodeExecutionData[][]>;

/**
 * The step, which ends once n8n's database answers: n8n tries only once to store what it has come to, and
 * without that the run is stuck, or ends without its images.
 */
function onceStorable(step: StepFunction): StepFunction {
	return async (context) => {
		const output = await step(context);
		await engine.readExecution(context, NO_EXECUTION).catch(() => undefined);
		return output;
	};
}

/** What Image Wait does in a sub-execution, by its hidden parameter "Step". */
const STEPS = {
	supervise: onceStorable(supervise),
	keep: keepResults,
	check: onceStorable(pollStored),
	progress: reportSubmitted,
	result: results,
	fail,
};

/** A step by its name; undefined for the ordinary wait. */
export const stepOf = (step: unknown) => Object.entries(STEPS).find(([name]) => name === step)?.[1];

/** The results, for each output of the user's node. */
function results(context: IExecuteFunctions): INodeExecutionData[][] {
	const waits = fromItems(context.getInputData());
	if (waits === undefined) return [[], []];
	const { plan, entries } = waits;
	const ended = resultOf(entries, plan.counts);
	const { items, open } = finishRun(context, ended, plan.addSummary);
	return [inOutput(plan, items), unlinked(open)];
}

/** The items of the first output. @param items those of each input item */
const inOutput = ({ errorOutput }: WaitPlan, items: INodeExecutionData[][]) =>
	linked(errorOutput ? inPlace(items) : items.flat(), errorOutput);

/** @throws NodeApiError: the failure that ends the run */
function fail(context: IExecuteFunctions): never {
	const { failure } = fromItems(context.getInputData()) ?? {};
	const problem = failure?.problem ?? { message: 'The image tasks failed', description: '' };
	const error = nodeError(context.getNode(), new GatewayError(problem));
	error.messages = failure?.messages ?? [];
	// As they were told of all items, with what was paid for.
	error.context.details = failure?.details;
	throw error;
}

/* The supervisor. */

/** The notes of the supervisor, which n8n stores. */
interface SupervisorNotes {
	/** The waits at the start, as items. */
	stored?: INodeExecutionData[];
	/** The ID of the keeper's execution. */
	keeperId?: string;
	/** How often the checks were restarted. */
	restarts?: number;
}

/**
 * A node of the supervisor's chain: the first starts the checks; the next ones, which run when the
 * checks have ended, return their results or restart them.
 *
 * @returns on output 0 what n8n shows while the execution is suspended; on output 1 the results; on
 *   output 2 the failure that ends the run. It must not throw: the engine would send the input to
 *   output 0, and so to the next node.
 */
async function supervise(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	// Notes of the whole sub-execution, because each round has a node of its own.
	const notes = engine.notesOf<SupervisorNotes>(context, 'flow');
	const input = context.getInputData();
	notes.stored ??= input;
	const waits = fromItems(notes.stored);
	if (waits === undefined) return [[], [], []];
	const isFirst = notes.keeperId === undefined;
	try {
		if (isFirst) return await startChecks(context, notes, waits);
		const ended = fromItems(input);
		return ended === undefined ? await restart(context, notes, waits) : endWith(ended);
	} catch (error) {
		// The node that waits has its own way to go on with its items, and tries again before.
		if (isFirst) return endWith({ ...waits, failure: failureOf(error) });
		return endWith(withFailure(context, waits, error));
	}
}

const failureOf = (error: unknown): StoredWaits['failure'] => ({
	problem: problemOf(error),
	messages: [],
	details: {},
});

const endWith = (waits: StoredWaits): INodeExecutionData[][] =>
	waits.failure === undefined ? [[], toItems(waits), []] : [[], [], toItems(waits)];

async function startChecks(
	context: IExecuteFunctions,
	notes: SupervisorNotes,
	{ plan, entries }: StoredWaits,
): Promise<INodeExecutionData[][]> {
	const workflow = keepWorkflow(context, plan);
	notes.keeperId = await engine.startSuspended(context, workflow, toItems({ plan, entries }));
	return [inOutput(plan, itemsMeanwhile(context, { plan, entries })), [], []];
}

/**
 * Restarts checks that ended without a result: n8n crashed, or failed to resume them. If a person
 * has stopped them, that is the failure of the run.
 */
async function restart(
	context: IExecuteFunctions,
	notes: SupervisorNotes,
	waits: StoredWaits,
): Promise<INodeExecutionData[][]> {
	const keeper = await engine.readExecution(context, notes.keeperId ?? '');
	const { checksId = '' } = (keeper?.notes(KEEPER) ?? {}) as KeeperNotes;
	const checks = await engine.readExecution(context, checksId);
	const parent = await engine.readExecution(context, waits.plan.parentExecutionId);
	if (parent === undefined || parent.error !== undefined) return [[], [], []];
	// n8n has given them to the keeper, and has ended it before it could pass them on.
	const kept = fromItems(keeper?.nextInput ?? []);
	if (kept !== undefined && areOver(kept)) return endWith(kept);
	// From here on, an error names the open tasks and keeps the results of the others.
	Object.assign(waits, lastChecked(checks));
	if (areOver(waits)) return endWith(waits);
	// Without stored data of the checks, their error is in the item that n8n made of it.
	const error = checks?.error ?? keeper?.error ?? String(context.getInputData()[0]?.json.error);
	const isStopped = engine.isStop(error);
	notes.restarts = (notes.restarts ?? 0) + 1;
	if (!isStopped && notes.restarts <= MOST_RESTARTS) {
		return await tryForAMinute(context, () => startChecks(context, notes, waits));
	}
	throw new GatewayError({
		message: isStopped
			? 'The execution that checked the image tasks was stopped'
			: `n8n crashed ${MOST_RESTARTS} times while checking the image tasks`,
		description: 'The tasks continue at the gateway: use Image Wait or Image Task with their IDs.',
	});
}

/* The keeper. */

/** The notes of the keeper, which n8n stores. */
interface KeeperNotes {
	/** The ID of the execution of the checks. */
	checksId?: string;
}

/** Starts the checks. n8n passes on their results in place of what this returns. */
async function keepResults(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const waits = fromItems(context.getInputData());
	if (waits === undefined) return [[]];
	const notes = engine.notesOf<KeeperNotes>(context, 'node');
	const workflow = checkWorkflow(context, waits.plan);
	notes.checksId = await engine.startSuspended(context, workflow, toItems(waits));
	return [openItems(waits.entries)];
}

/** The waits after the last complete check; if there was none, those at the start of the checks. */
function lastChecked(checks: engine.StoredExecution | undefined): StoredWaits | undefined {
	const notes = checks?.notes(CHECKS) as CheckNotes | undefined;
	return fromItems(notes?.stored ?? checks?.nextInput ?? []);
}

/* The checks. */

/** The notes of the checks, which n8n stores. */
interface CheckNotes {
	/** The waits after the last check, as items. */
	stored?: INodeExecutionData[];
	/** Whether the user's execution has been suspended at an earlier check. */
	sawParent?: boolean;
}

/**
 * A round of the checks: the first one suspends the execution; the others, after each resume, poll
 * every open task, and suspend it again.
 *
 * @returns on output 0 the open tasks; on output 1 the results, once there is no open task. An
 *   error is a result: only a Stop throws.
 */
async function pollStored(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const notes = engine.notesOf<CheckNotes>(context, 'node');
	const waits = fromItems(notes.stored ?? context.getInputData());
	if (waits === undefined) return [[], []];
	try {
		return await nextRound(context, notes, waits);
	} catch (error) {
		if (isStopped(context)) throw error as Error;
		return [[], leaving(context, toItems(withFailure(context, waits, error)))];
	}
}

async function nextRound(
	context: IExecuteFunctions,
	notes: CheckNotes,
	waits: StoredWaits,
): Promise<INodeExecutionData[][]> {
	if (notes.stored !== undefined) {
		if (await hasEnded(context, waits.plan, notes)) return [[], []];
		waits.entries = await checkOnce(context, waits);
	}
	const open = openItems(waits.entries);
	if (open.length === 0) {
		delete notes.stored;
		return [[], toItems(waits)];
	}
	notes.stored = toItems(waits);
	await engine.suspendUntilNextRound(context);
	return [open, []];
}

/**
 * Whether the user's execution was stopped, deleted or resumed: then its tasks aren't polled any
 * more.
 */
async function hasEnded(
	context: IExecuteFunctions,
	{ parentExecutionId }: WaitPlan,
	notes: CheckNotes,
): Promise<boolean> {
	const parent = await engine.readExecution(context, parentExecutionId);
	if (parent === undefined || parent.error !== undefined) return true;
	// At the first check, n8n may not have stored it as suspended yet.
	notes.sawParent ||= parent.isSuspended;
	return notes.sawParent && !parent.isSuspended;
}
