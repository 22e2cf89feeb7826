import type { INodeExecutionData } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import type { Clock } from '../../../gateway/util/clock';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { failedItem, nodeError, problemOf, type KnownFacts } from './nodeErrors';
import type { PaidRequests } from './paidRequests';
import { RunEnded } from '../transport/inFlight';
import type { Run } from './runContext';
import { addTakenOver } from './tally';

/** What to do for one item; made from its parameters before anything is sent. */
export type Job = () => Promise<INodeExecutionData[]>;

/** What a node does for its items. */
export interface Work {
	/** Checks the parameters of an item; must send nothing that is paid for. */
	prepare: (itemIndex: number) => Job | Promise<Job>;
	/** Looks at the batch as a whole when all items are prepared; may throw. */
	beforeFirst?: () => void;
	/** Whether an earlier try has paid for an item: what is wrong with the batch is not its concern. */
	isPaid?: (itemIndex: number) => boolean;
	/** What is known of an item: a failed one keeps it as a successful one does. */
	knownOf?: (itemIndex: number) => KnownFacts | undefined;
	/** Where the node notes what it has paid for. */
	paidRequests?: Pick<PaidRequests, 'inWords' | 'settle'> &
		Partial<Pick<PaidRequests, 'withEarlier' | 'itemsOfEarlier'>>;
}

/** Items are begun for so long, in milliseconds, before others in n8n's process get their turn. */
const LONGEST_TURN_MS = 20;
/** At least so many are begun in one go: they are in flight before the first can fail. */
const FEWEST_IN_TURN = 25;

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
	{ prepare, beforeFirst, isPaid, paidRequests, knownOf }: Work,
): Promise<INodeExecutionData[][]> {
	const { context, clock } = run;
	const goOn = context.continueOnFail();
	const results: INodeExecutionData[][] = [];
	const failures: Failure[] = [];

	const fail = (error: unknown, itemIndex: number): void => {
		if (goOn) {
			const items = paidRequests?.itemsOfEarlier?.(itemIndex);
			if (items !== undefined) {
				addTakenOver(run.tally, items);
				results[itemIndex] = items;
				return;
			}
			const known = knownOf?.(itemIndex);
			const whole = paidRequests?.withEarlier?.(error, itemIndex) ?? error;
			results[itemIndex] = [failedItem(context.getNode(), whole, itemIndex, known)];
		} else if (!(error instanceof RunEnded)) failures.push({ error, itemIndex });
	};

	/** Does something for every item; a failure in one does not keep the others from it. */
	const forEach = async (
		act: (itemIndex: number) => Promise<void>,
		onFailure?: () => void,
	): Promise<void> => {
		const attempt = async (itemIndex: number): Promise<void> => {
			try {
				await act(itemIndex);
			} catch (error) {
				fail(error, itemIndex);
				if (failures.length > 0) onFailure?.();
			}
		};
		await inTurns(clock, count, attempt, () => isStopped);
	};

	const jobs: Job[] = [];
	let prepared = false;
	let isStopped = false;
	const stopped = run.stopped.catch(() => {
		isStopped = true;
	});
	const work = async (): Promise<void> => {
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
				if (goOn && isPaid?.(itemIndex)) return;
				fail(error, itemIndex);
				delete jobs[itemIndex];
			});
			if (!goOn) return;
		}
		await forEach(
			async (itemIndex) => {
				const job = jobs[itemIndex];
				if (job !== undefined) results[itemIndex] = await job();
			},
			() => run.halt(),
		);
	};
	await Promise.race([work(), stopped]);
	if (isStopped) {
		// The engine tells a stopped execution from a failed one by the word "canceled".
		throw new NodeOperationError(context.getNode(), 'The execution was canceled', {
			description: paidRequests?.inWords() ?? '',
		});
	}
	if (failures.length > 0) {
		const { error, itemIndex } = summary(failures, prepared);
		throw nodeError(context.getNode(), error, itemIndex, paidRequests?.inWords() ?? '');
	}
	const output = Array.from({ length: count }, (_, itemIndex) => results[itemIndex] ?? []);
	const failed = output.flatMap((items, itemIndex) =>
		items.some(({ json }) => json.error !== undefined) ? [itemIndex] : [],
	);
	paidRequests?.settle(new Set(failed));
	return output;
}

/**
 * Begins something for every item, in turns of `LONGEST_TURN_MS`, and waits until all has ended.
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
	let turn = { began: clock.now(), items: 0 };
	for (let itemIndex = 0; itemIndex < count; itemIndex += 1) {
		begun.push(begin(itemIndex));
		if (isStopped()) break;
		turn.items += 1;
		if (turn.items < FEWEST_IN_TURN || clock.now() - turn.began < LONGEST_TURN_MS) continue;
		// It ends at once, without an error of its own, where the run has ended.
		await clock.sleep(0).catch(() => undefined);
		turn = { began: clock.now(), items: 0 };
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
	const [first, ...others] = failures as [Failure, ...Failure[]];
	const { message, description } = problemOf(first.error);
	const problems = others.map(({ error }) => problemOf(error));
	const isOne = problems.every((other) => other.message === message);
	if (others.length === 0 || (prepared && isOne)) return first;
	// What to do next stands above the lines if it is the same for all.
	const isOneAdvice = isOne && problems.every((other) => other.description === description);
	const advice = isOneAdvice && description !== '' ? [description] : [];
	const lines = failures.map(
		({ error, itemIndex }) => `Item ${itemIndex}: ${problemOf(error).message}`,
	);
	return {
		itemIndex: first.itemIndex,
		error: new GatewayError({
			...problemOf(first.error),
			message: `${failures.length} items failed. ${lines[0]}`,
			description: [...advice, ...lines.slice(0, MOST_LINES)].join('\n'),
		}),
	};
}
