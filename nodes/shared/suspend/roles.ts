import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	IPairedItemData,
} from 'n8n-workflow';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { finishRun } from '../run/summary';
import { ItemParameters } from '../parameters/itemParameters';
import { readLimits } from '../parameters/optionValues';
import { isFailed, nodeError } from '../run/nodeErrors';
import { openRun } from '../run/runContext';
import { waitForTasks, type WaitEntry } from '../tasks/taskWaiter';
import { reportProgress } from './progress';
import {
	fromItems,
	openItems,
	resultOf,
	toItems,
	withFailure,
	type StoredWaits,
} from './storedWaits';
import {
	isStop,
	notesOf,
	readExecution,
	startSubWorkflow,
	suspendUntilNextRound,
	withoutLink,
	type StoredExecution,
} from './n8nEngine';
import { CHECKS, checkWorkflow, MOST_RESTARTS } from './subWorkflows';

/** What Image Wait does in a sub-execution, by its parameter "Role". */
const ACTS = { supervise, check: pollStored, progress: reportProgress, result: results, fail };

/** Undefined for the wait itself. */
export const actOf = (role: unknown) => Object.entries(ACTS).find(([name]) => name === role)?.[1];

/** The items for the user, for each output of the node that waits. */
function results(context: IExecuteFunctions): INodeExecutionData[][] {
	const waits = fromItems(context.getInputData());
	if (waits === undefined) return [[], []];
	const { plan, entries } = waits;
	const ended = resultOf(entries, plan.tally);
	const { items, open } = finishRun(context, ended, plan.end, plan.nodeName);
	return [linked(plan.errorOutput ? inPlace(items) : items.flat(), plan.errorOutput), open];
}

/** @throws NodeApiError: the failure that ends the run */
function fail(context: IExecuteFunctions): never {
	const { failure } = fromItems(context.getInputData()) ?? {};
	const problem = failure ?? { message: 'The image tasks failed', description: '' };
	throw nodeError(context.getNode(), new GatewayError(problem), undefined);
}

/* The supervisor. */

/** What the supervisor keeps while it is suspended. */
interface SupervisorNotes {
	/** The waits as they came at first, as items. */
	stored?: INodeExecutionData[];
	/** The execution that checks the tasks. */
	checksId?: string;
	/** How often they were started again. */
	restarts?: number;
}

/**
 * One round of the supervisor: starts the checks at first, and looks at what became of them when n8n
 * resumes it.
 *
 * @returns on output 0 nothing, but what n8n shows while it is suspended; on output 1 the results; on
 *   output 2 the failure that ends the run. Never throws: the engine would send the input through
 *   output 0, to the next round.
 */
async function supervise(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	// Of the whole sub-execution: each round is run by a node of its own.
	const notes = notesOf<SupervisorNotes>(context, 'flow');
	const input = context.getInputData();
	notes.stored ??= input;
	const waits = fromItems(notes.stored);
	if (waits === undefined) return [[], [], []];
	try {
		if (notes.checksId === undefined) return await startChecks(context, notes, waits);
		const ended = fromItems(input);
		return ended === undefined ? await restart(context, notes, waits) : leave(ended);
	} catch (error) {
		return leave(withFailure(context, waits, error));
	}
}

const leave = (waits: StoredWaits): INodeExecutionData[][] =>
	waits.failure === undefined ? [[], toItems(waits), []] : [[], [], toItems(waits)];

async function startChecks(
	context: IExecuteFunctions,
	notes: SupervisorNotes,
	{ plan, entries }: StoredWaits,
): Promise<INodeExecutionData[][]> {
	const given = toItems({ plan: { ...plan, supervisorId: context.getExecutionId() }, entries });
	const started = await startSubWorkflow(context, checkWorkflow(context, plan), given, true);
	notes.checksId = started.executionId;
	return [openItems(entries), [], []];
}

/** After checks that brought no result: they crashed, or somebody stopped or deleted them. */
async function restart(
	context: IExecuteFunctions,
	notes: SupervisorNotes,
	waits: StoredWaits,
): Promise<INodeExecutionData[][]> {
	const checks = await readExecution(context, notes.checksId ?? '');
	const parent = await readExecution(context, waits.plan.parentExecutionId);
	if (parent === undefined || parent.error !== undefined) return [[], [], []];
	// Here too an error has to name all tasks, and to keep what has ended.
	Object.assign(waits, lastChecked(checks));
	const giveUp = (message: string): never => {
		const description =
			'The tasks continue at the gateway: use Image Wait or Image Task with their IDs.';
		throw new GatewayError({ message, description });
	};
	// n8n tells the supervisor of an error of the checks by an item.
	if (isStop(checks?.error ?? String(context.getInputData()[0]?.json.error))) {
		giveUp('The execution that checked the image tasks was stopped');
	}
	notes.restarts = (notes.restarts ?? 0) + 1;
	if (notes.restarts > MOST_RESTARTS) {
		giveUp(`n8n crashed ${MOST_RESTARTS} times while checking the image tasks`);
	}
	return await startChecks(context, notes, waits);
}

/** The waits as they were after the last check that was not interrupted, else as it was given them. */
function lastChecked(checks: StoredExecution | undefined): StoredWaits | undefined {
	const notes = checks?.notes(CHECKS) as CheckNotes | undefined;
	return fromItems(notes?.stored ?? checks?.nextInput ?? []);
}

/* The checks. */

/**
 * Each open task is polled once, and all responses are waited for. A task whose deadline comes
 * between two rounds is polled after it, and only then called open.
 */
const CHECK_MS = 1000;
/** For so long after its deadline a task that could not be polled is not given up. */
const LONGEST_BACKLOG_MS = 1_800_000;

/** What the checks keep while they are suspended. */
interface CheckNotes {
	/** The waits after the last check, as items. */
	stored?: INodeExecutionData[];
	/** Input items whose tasks the last check had no time to poll: these go first. */
	unpolled?: number[];
	/** Whether the user's execution was seen suspended. */
	sawParent?: boolean;
}

/**
 * One round of the checks: suspends at first, polls every open task after each resume.
 *
 * @returns nothing on output 0 and the results on output 1 once there is nothing left to wait for; on
 *   output 2 the failure that nobody is left to hand to. Never throws, but when it is stopped: what
 *   fails is a result.
 */
async function pollStored(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const notes = notesOf<CheckNotes>(context, 'node');
	const waits = fromItems(notes.stored ?? context.getInputData());
	if (waits === undefined) return [[], []];
	try {
		return await nextRound(context, notes, waits);
	} catch (error) {
		if (context.getExecutionCancelSignal()?.aborted === true) return await Promise.reject(error);
		return [[], toItems(withFailure(context, waits, error))];
	}
}

async function nextRound(
	context: IExecuteFunctions,
	notes: CheckNotes,
	waits: StoredWaits,
): Promise<INodeExecutionData[][]> {
	if (notes.stored !== undefined) {
		const { parentExecutionId, supervisorId = '' } = waits.plan;
		if (await hasEnded(context, parentExecutionId, notes)) return [[], []];
		if ((await readExecution(context, supervisorId)) === undefined) {
			// Nobody is left to hand a result to: n8n resumes the user's execution after that one only.
			const ending = { ...waits, plan: { ...waits.plan, goOn: false } };
			return [[], [], toItems(withFailure(context, ending, supervisorDeleted(waits)))];
		}
		waits.entries = await pollOnce(context, notes, waits);
	}
	const open = openItems(waits.entries);
	if (open.length === 0) {
		delete notes.stored;
		return [[], toItems(waits)];
	}
	notes.stored = toItems(waits);
	await suspendUntilNextRound(context);
	return [open, []];
}

/** The ordinary wait for a moment; what is open afterwards stays for the next round. */
async function pollOnce(
	context: IExecuteFunctions,
	notes: CheckNotes,
	{ plan, entries }: StoredWaits,
): Promise<WaitEntry[]> {
	const first = new Set(notes.unpolled);
	const isDue = (itemIndex: number): boolean => first.size === 0 || first.has(itemIndex);
	const unpolled: number[] = [];
	const run = await openRun(context, readLimits(new ItemParameters(context, 0)));
	plan.tally = Object.assign(run.tally, plan.tally);
	try {
		return await waitForTasks(run, entries.length, (itemIndex) => entries[itemIndex] ?? {}, {
			intervalMs: CHECK_MS,
			toOutput: plan.toOutput,
			forMs: (itemIndex) => (isDue(itemIndex) ? CHECK_MS : 0),
			keepsOpen: ({ wait, polled }, itemIndex) => {
				if (polled || !isDue(itemIndex)) return false;
				unpolled.push(itemIndex);
				return Date.now() - wait.deadlineAt < LONGEST_BACKLOG_MS;
			},
		});
	} finally {
		notes.unpolled = unpolled;
		run.end();
	}
}

/** Whether nobody waits for these tasks any more: the user's execution was stopped or deleted. */
async function hasEnded(
	context: IExecuteFunctions,
	executionId: string,
	notes: CheckNotes,
): Promise<boolean> {
	const parent = await readExecution(context, executionId);
	if (parent === undefined || parent.error !== undefined) return true;
	// At first it may not be stored yet.
	notes.sawParent ||= parent.isSuspended;
	return notes.sawParent && !parent.isSuspended;
}

const supervisorDeleted = ({ plan }: StoredWaits): GatewayError =>
	new GatewayError({
		message: 'The execution that held these image tasks was deleted',
		description: `Execution ${plan.parentExecutionId} is waiting for it and won't continue. Stop that execution, and use Image Wait or Image Task to get the images.`,
	});

/* The results. */

/**
 * Puts each failed item at the position of its own input item. After a suspension n8n pairs items by
 * position, and merges the columns of the input item into what leaves by the error output: at
 * another position these would be the columns, and the task ID, of another item. The two kinds keep
 * their order, and they leave by different outputs, so nobody sees what stood between them.
 *
 * @param items the output items of each input item
 * @returns all of them; several failed ones of one input item as one, which names the others
 */
function inPlace(items: INodeExecutionData[][]): INodeExecutionData[] {
	const failed = items.map((list) => combined(list.filter(isFailed)));
	const rest = items.flat().filter((item) => !isFailed(item));
	const output: INodeExecutionData[] = [];
	// Input items without any output leave gaps, which move the rest up: better there than nowhere.
	for (let position = 0; position < failed.length || rest.length > 0; position += 1) {
		const next = failed[position] ?? rest.shift();
		if (next !== undefined) output.push(next);
	}
	return output;
}

function combined([first, ...others]: INodeExecutionData[]): INodeExecutionData | undefined {
	if (first === undefined || others.length === 0) return first;
	const { details, ...rest } = first.json;
	const more = others.map(({ json }) => ({ error: json.error, ...(json.details as IDataObject) }));
	return { ...first, json: { ...rest, details: { ...(details as IDataObject), more } } };
}

/** n8n shows it as the name of a node, in the error of an expression that follows the link. */
const NO_LINK = '(n8n keeps no links of several images for each task while an execution is stored)';

/**
 * After a suspension n8n links each item to the input item at its own position. That is right for one
 * image for each task; the other items are linked to nothing, so that an expression such as
 * `$('Prompts').item` fails there rather than give the values of another input item.
 *
 * @param items in their final order, each paired with its input item
 * @param errorOutput whether failed items leave by an output of their own: n8n follows their links
 *   itself, and would fail
 */
function linked(items: INodeExecutionData[], errorOutput: boolean): INodeExecutionData[] {
	return items.map((item, position) => {
		const isLinked = (item.pairedItem as IPairedItemData).item === position;
		return isLinked || (errorOutput && isFailed(item)) ? item : withoutLink(item, NO_LINK);
	});
}
