import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import type { Clock } from '../../../gateway/util/clock';
import { GatewayError } from '../../../gateway/util/gatewayError';
import {
	failedItem,
	finalError,
	nodeError,
	problemOf,
	type RequestFacts,
	type Unreturned,
} from './nodeErrors';
import { RunEnded } from '../transport/inFlight';
import { isTool, type Run } from './runContext';
import { addReusedItems } from './tally';
import { sayStopped } from './watcher';

/** What to do for one item; made from its parameters before anything is sent. */
export type Job = () => Promise<INodeExecutionData[]>;

/** What a node does for its items. */
export interface Work {
	/** Checks the parameters of an item; must send nothing that is paid for. */
	prepare: (itemIndex: number) => Job | Promise<Job>;
	/** Looks at the batch as a whole when all items are prepared; may throw. */
	beforeFirst?: () => void;
	/** What is known of an item: a failed one keeps it as a successful one does. */
	knownOf?: (itemIndex: number) => RequestFacts | undefined;
	/** What the items have paid for. */
	payments?: PaymentRecord;
}

/** What a node has paid for, as far as it matters when items fail or the run ends early. */
export interface PaymentRecord extends Unreturned {
	/** Whether an item has been paid for: then a problem of the batch doesn't concern it. */
	has?(itemIndex: number): boolean;
	/**
	 * What an earlier try has paid for an item that fails before this try has sent anything for it.
	 *
	 * @returns the error, which also names what was paid for, and the facts recorded with the payment,
	 *   which may differ from this try's request; `items` are recorded output items, in place of the
	 *   error: it couldn't lead to them
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

/** So many items are begun before others in n8n's process get their turn. */
const ITEMS_IN_TURN = 25;

interface Failure {
	error: unknown;
	itemIndex: number;
}

/**
 * The one item runner. Jobs are prepared for all items before the first one is started, so that a
 * mistake in item 57 is found before item 0 is paid for. Then all run at once; how many requests
 * are under way is the rate limiter's business. The order of the input is kept.
 *
 * Where the node goes on after errors, a failed item takes its place in the output. Where it stops,
 * nothing new is begun after the first failure, what is under way is let end (it is paid for), and
 * the error lists everything that can still be had.
 *
 * @returns the output items of each input item
 * @throws NodeApiError or NodeOperationError with the index of the first item that failed
 */
export async function runItems(
	run: Run,
	count: number,
	work: Work,
): Promise<INodeExecutionData[][]> {
	const { node, clock, continuesOnFail: goOn } = run;
	const { prepare, beforeFirst, payments, knownOf } = work;
	const results: INodeExecutionData[][] = [];
	const failures: Failure[] = [];

	const fail = (error: unknown, itemIndex: number): void => {
		if (!goOn) {
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
	/** Does something for every item; a failure in one does not keep the others from it. */
	const forEach = async (act: (itemIndex: number) => Promise<void>): Promise<void> => {
		const attempt = async (itemIndex: number): Promise<void> => {
			try {
				await act(itemIndex);
			} catch (error) {
				fail(error, itemIndex);
				if (prepared && failures.length > 0) run.halt();
			}
		};
		await inTurns(clock, count, attempt, () => isStopped);
	};

	const stopped = run.stopped.catch(() => {
		isStopped = true;
	});
	const runAll = async (): Promise<void> => {
		await forEach(async (itemIndex) => {
			jobs[itemIndex] = await prepare(itemIndex);
		});
		// After a Stop nothing is set aside for requests any more: nobody would give it back.
		if (failures.length > 0 || isStopped) return;
		prepared = true;
		try {
			beforeFirst?.();
		} catch (error) {
			jobs.forEach((_, itemIndex) => {
				if (goOn && payments?.has?.(itemIndex)) return;
				fail(error, itemIndex);
				delete jobs[itemIndex];
			});
			if (!goOn) return;
		}
		await forEach(async (itemIndex) => {
			const job = jobs[itemIndex];
			if (job !== undefined) results[itemIndex] = await job();
		});
	};
	await Promise.race([runAll(), stopped]);
	if (isStopped) {
		// The engine tells a stopped execution from a failed one by the word "canceled".
		throw new NodeOperationError(node, 'The execution was canceled', {
			description: payments?.describeUnreturned() ?? '',
		});
	}
	if (failures.length > 0) {
		const { error, itemIndex } = summary(failures, prepared);
		throw nodeError(node, error, itemIndex, payments);
	}
	return Array.from({ length: count }, (_, itemIndex) => results[itemIndex] ?? []);
}

/**
 * Begins something for every item, a few at a time, and waits until all has ended.
 *
 * @param isStopped asked after each: then nothing more is begun
 */
async function inTurns(
	clock: Clock,
	count: number,
	begin: (itemIndex: number) => Promise<void>,
	isStopped: () => boolean,
): Promise<void> {
	const begun: Array<Promise<void>> = [];
	for (let itemIndex = 0; itemIndex < count; itemIndex += 1) {
		begun.push(begin(itemIndex));
		if (isStopped()) break;
		// It ends at once, without an error of its own, where the run has ended.
		if (begun.length % ITEMS_IN_TURN === 0) await clock.sleep(0).catch(() => undefined);
	}
	await Promise.all(begun);
}

/** More lines than these help nobody. */
const MOST_LINES = 100;

/**
 * Several failures as one error with a line for each item. Once the requests are on their way, the
 * same failure of all of them is one: it has a single cause.
 */
function summary(failures: Failure[], prepared: boolean): Failure {
	failures.sort((one, other) => one.itemIndex - other.itemIndex);
	const [first] = failures as [Failure, ...Failure[]];
	const problem = problemOf(first.error);
	const problems = failures.map(({ error }) => problemOf(error));
	const isOne = problems.every(({ message }) => message === problem.message);
	if (failures.length === 1 || (prepared && isOne)) return first;
	// What to do next stands above the lines if it is the same for all.
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
 * What every node's `execute` goes through. Whatever fails outside of the items (a credential that
 * cannot work, an option that holds for the whole run) becomes a failed item for each input item
 * where the node goes on: if it were thrown, the engine would hand on the input as a success. What
 * earlier tries of Retry On Fail have paid for is not forgotten for that.
 *
 * @param openPayments opens the record of a node that pays; it is settled and closed here
 * @throws NodeApiError or NodeOperationError where the node stops, and whenever the user stops it
 */
export async function runNode(
	context: IExecuteFunctions,
	execute: () => Promise<INodeExecutionData[][]>,
	openPayments?: () => Required<PaymentRecord>,
): Promise<INodeExecutionData[][]> {
	const isStopped = (): boolean => context.getExecutionCancelSignal()?.aborted === true;
	// Retry On Fail runs the node again after a Stop: the first try has said everything.
	const wasStopped = isStopped();
	try {
		return await execute();
	} catch (error) {
		// What a Stop ends must keep the word by which the engine knows it.
		if (isStopped()) {
			if (!wasStopped) sayStopped(context, isTool(context), problemOf(error).description);
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
