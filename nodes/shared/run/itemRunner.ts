import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { GatewayError } from '../../../gateway/util/gatewayError';
import {
	describeUnreturned,
	failedItem,
	finalError,
	nodeError,
	problemOf,
	type UnreturnedPayments,
} from './nodeErrors';
import type { RequestFacts } from './requestFacts';
import { RunEnded } from '../transport/inFlight';
import { isTool, type Run } from './runContext';
import { addReusedItems } from './tally';
import { reportStopped } from './browserConsole';

/** The work for one item, prepared from its parameters before anything is sent. */
export type Job = () => Promise<INodeExecutionData[]>;

/** The work of a node, for all of its items. */
export interface Work {
	/** Reads and checks the parameters of an item. It must not send paid requests. */
	prepare: (itemIndex: number) => Job | Promise<Job>;
	/** Checks the batch as a whole once all items are prepared; may throw. */
	beforeFirst?: () => void;
	/** The facts of an item's request, also for an item that failed. */
	knownOf?: (itemIndex: number) => RequestFacts | undefined;
	/** The record of what was paid for the items. */
	payments?: PaymentRecord;
}

/** A record of payments, for items that fail and runs that end early. */
export interface PaymentRecord extends UnreturnedPayments {
	/** Whether an item has been paid for: then an error of the whole batch doesn't apply to it. */
	has?(itemIndex: number): boolean;
	/**
	 * An earlier try's payment for an item that fails before this try has sent its request.
	 *
	 * @returns the error, which also names what was paid for, and the facts recorded with the
	 *   payment, which may differ from this try's request; `items` are recorded output items, to be
	 *   returned in place of the error if no address or task ID leads to them
	 */
	recover?(
		error: unknown,
		itemIndex: number,
	): { error: unknown; items?: INodeExecutionData[]; facts?: RequestFacts };
	/**
	 * The node returns its items.
	 *
	 * @param failed indexes of the input items that failed
	 */
	settle?(failed: Set<number>): void;
	/** The run is over, however it ended. */
	close?(): void;
}

/** The number of items started before n8n's process handles other events. */
const ITEMS_IN_TURN = 25;

interface Failure {
	error: unknown;
	itemIndex: number;
}

/**
 * Runs the items of a node. All items are prepared before the first one is started, so that a
 * mistake in item 57 is found before item 0 is paid for. Then all run at once; the rate limiter
 * decides how many requests are in progress. The output has the order of the input.
 *
 * If On Error is set to continue, a failed item is an item of the output. Otherwise nothing new is
 * started after the first failure, requests in progress may finish (they are paid for), and the
 * error lists everything that was paid for and can still be retrieved.
 *
 * @returns the output items of each input item
 * @throws NodeApiError or NodeOperationError with the index of the first item that failed
 */
export async function runItems(
	run: Run,
	count: number,
	work: Work,
): Promise<INodeExecutionData[][]> {
	const { node, clock, continuesOnFail } = run;
	const { prepare, beforeFirst, payments, knownOf } = work;
	const results: INodeExecutionData[][] = [];
	const failures: Failure[] = [];

	const fail = (error: unknown, itemIndex: number): void => {
		if (!continuesOnFail) {
			if (!(error instanceof RunEnded)) failures.push({ error, itemIndex });
			return;
		}
		const recovered = payments?.recover?.(error, itemIndex) ?? { error };
		const { items, facts = knownOf?.(itemIndex) } = recovered;
		if (items !== undefined) addReusedItems(run.tally, items);
		results[itemIndex] = items ?? [failedItem(node, recovered.error, itemIndex, facts)];
	};

	const jobs: Job[] = [];
	let prepared = false;
	let isStopped = false;
	/** Runs a function for every item; an error in one item doesn't affect the others. */
	const forEach = async (act: (itemIndex: number) => Promise<void>): Promise<void> => {
		const started: Array<Promise<void>> = [];
		for (let itemIndex = 0; itemIndex < count && !isStopped; itemIndex += 1) {
			const running = act(itemIndex).catch((error: unknown) => {
				fail(error, itemIndex);
				if (prepared && failures.length > 0) run.close();
			});
			started.push(running);
			// A rejection means that the run has ended, which the items report.
			if (started.length % ITEMS_IN_TURN === 0) await clock.sleep(0).catch(() => undefined);
		}
		await Promise.all(started);
	};

	const stopped = run.stopped.catch(() => {
		isStopped = true;
	});
	const runAll = async (): Promise<void> => {
		await forEach(async (itemIndex) => {
			jobs[itemIndex] = await prepare(itemIndex);
		});
		// After a Stop no budget is reserved any more, because it wouldn't be released.
		if (failures.length > 0 || isStopped) return;
		prepared = true;
		try {
			beforeFirst?.();
		} catch (error) {
			jobs.forEach((_, itemIndex) => {
				if (continuesOnFail && payments?.has?.(itemIndex)) return;
				fail(error, itemIndex);
				delete jobs[itemIndex];
			});
			if (!continuesOnFail) return;
		}
		await forEach(async (itemIndex) => {
			const job = jobs[itemIndex];
			if (job !== undefined) results[itemIndex] = await job();
		});
	};
	await Promise.race([runAll(), stopped]);
	if (isStopped) {
		// The engine recognizes a stopped execution by the word "canceled".
		throw new NodeOperationError(node, 'The execution was canceled', {
			description: describeUnreturned(payments?.listUnreturned() ?? []),
		});
	}
	if (failures.length > 0) {
		const { error, itemIndex } = summary(failures, prepared);
		throw nodeError(node, error, itemIndex, payments);
	}
	return Array.from({ length: count }, (_, itemIndex) => results[itemIndex] ?? []);
}

/** The most lines in an error of several items. */
const MOST_LINES = 100;

/**
 * Several failures as one error, with a line for each item. If the items were already running and
 * all failed with the same message, it is the error of the first one: they have a single cause.
 */
function summary(failures: Failure[], prepared: boolean): Failure {
	failures.sort((one, other) => one.itemIndex - other.itemIndex);
	const [first] = failures as [Failure, ...Failure[]];
	const problem = problemOf(first.error);
	const problems = failures.map(({ error }) => problemOf(error));
	const isOne = problems.every(({ message }) => message === problem.message);
	if (failures.length === 1 || (prepared && isOne)) return first;
	// Advice that is the same for all items comes before the lines.
	const { description: advice } = problem;
	const isOneAdvice = isOne && problems.every(({ description }) => description === advice);
	const lines = problems.map(({ message }, at) => `Item ${failures[at]?.itemIndex}: ${message}`);
	const shown = lines.slice(0, MOST_LINES);
	return {
		itemIndex: first.itemIndex,
		error: new GatewayError({
			...problem,
			message: `${failures.length} items failed. ${lines[0]}`,
			description: (isOneAdvice && advice !== '' ? [advice, ...shown] : shown).join('\n'),
		}),
	};
}

/**
 * Runs a node's `execute`. An error outside of the items (an invalid credential, an option of the
 * whole run) becomes a failed item for each input item if On Error is set to continue: if it were
 * thrown, the engine would pass on the input as a success. What earlier tries of Retry On Fail paid
 * for is kept.
 *
 * @param openPayments opens the payment record of a node that pays, after such an error
 * @throws NodeApiError or NodeOperationError if the node stops, or the user stops it
 */
export async function runNode(
	context: IExecuteFunctions,
	execute: () => Promise<INodeExecutionData[][]>,
	openPayments?: () => Required<PaymentRecord>,
): Promise<INodeExecutionData[][]> {
	const isStopped = (): boolean => context.getExecutionCancelSignal()?.aborted === true;
	// Retry On Fail runs the node again after a Stop, which the first try has already reported.
	const wasStopped = isStopped();
	try {
		return await execute();
	} catch (error) {
		// The error of a Stop must keep the word by which the engine recognizes it.
		if (isStopped()) {
			if (!wasStopped) reportStopped(context, isTool(context), problemOf(error).description);
			return await Promise.reject(error);
		}
		const node = context.getNode();
		const payments = openPayments?.();
		if (!context.continueOnFail()) {
			throw finalError(node, error, payments);
		}
		const items = context.getInputData().map((_, itemIndex) => {
			const recovered = payments?.recover(error, itemIndex) ?? { error };
			const { items, facts } = recovered;
			return items ?? [failedItem(node, recovered.error, itemIndex, facts)];
		});
		payments?.settle(new Set(items.keys()));
		payments?.close();
		return [items.flat()];
	}
}
