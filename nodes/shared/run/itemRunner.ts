import { type INode, type INodeExecutionData, NodeOperationError } from 'n8n-workflow';
import { GatewayError, RunEnded } from '../../../gateway';
import { capital } from '../../../util/text';
import { FREE_ITEMS, type ItemReport } from '../errors/itemReport';
import {
	describeUnreturned,
	failedItem,
	nodeError,
	problemOf,
	rowNamesOf,
} from '../errors/nodeErrors';
import { reasonIn } from '../errors/failureReasons';
import type { Run } from './runContext';

/** Executes a prepared item. */
type ExecuteItem = () => Promise<INodeExecutionData[]>;

/** The steps of a node for all of its items. */
interface ItemSteps {
	/** Reads and checks the parameters of an item. It must not send paid requests. */
	prepare: (itemIndex: number) => ExecuteItem | Promise<ExecuteItem>;
	/**
	 * Checks the batch as a whole once all items are prepared. @returns why some can't be executed
	 */
	checkAll?: () => Failure[];
	/** What is known of the items, for their errors; by default, that nothing is charged. */
	itemReport?: ItemReport;
}

/** What the items of a run need of it. */
type RunOfItems = Pick<Run, 'node' | 'continuesOnFail'> & {
	gateway: Pick<Run['gateway'], 'stopped' | 'yieldToOthers' | 'close'>;
};

/** The number of items started before n8n's process handles other events. */
const ITEMS_IN_TURN = 25;

/** An item that can't be executed, or has failed. */
export interface Failure {
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
	run: RunOfItems,
	count: number,
	steps: ItemSteps,
): Promise<INodeExecutionData[][]> {
	const { itemReport = FREE_ITEMS } = steps;
	const runner = new ItemRunner(run, count, steps);
	const stop = run.gateway.stopped.catch(() => {
		runner.isStopped = true;
	});
	await Promise.race([runner.runAll(), stop]);
	if (runner.isStopped) throw stopError(run.node, itemReport);
	if (runner.failures.length > 0) {
		const { error, ...source } = mergedFailure(runner.failures, runner.isPrepared, itemReport);
		throw nodeError(run.node, error, { ...source, itemReport });
	}
	return Array.from({ length: count }, (_, itemIndex) => runner.results[itemIndex] ?? []);
}

/** The error of a stopped run, with what it has paid for. */
export function stopError(node: INode, itemReport: ItemReport): NodeOperationError {
	const paid = itemReport.listUnreturned?.() ?? [];
	// The engine recognizes a stopped execution by the word "canceled".
	const error = new NodeOperationError(node, 'The execution was canceled', {
		description: describeUnreturned(paid, rowNamesOf(itemReport)),
	});
	error.context.details = { paid };
	return error;
}

/** The items of a run, with their results and failures. */
class ItemRunner {
	readonly results: INodeExecutionData[][] = [];

	/** The failures of a run that On Error ends. */
	readonly failures: Failure[] = [];

	/** Whether all items were prepared, so that some may have been paid for. */
	isPrepared = false;

	isStopped = false;

	private readonly prepared: Array<ExecuteItem | undefined> = [];

	constructor(
		private readonly run: RunOfItems,
		private readonly count: number,
		private readonly steps: ItemSteps,
	) {}

	async runAll(): Promise<void> {
		await this.forEach(async (itemIndex) => {
			this.prepared[itemIndex] = await this.steps.prepare(itemIndex);
		});
		// After a Stop no budget is reserved any more, because it wouldn't be released.
		if (this.failures.length > 0 || this.isStopped) return;
		this.isPrepared = true;
		for (const { error, itemIndex } of this.steps.checkAll?.() ?? []) {
			this.fail(error, itemIndex);
			delete this.prepared[itemIndex];
		}
		if (this.failures.length > 0) return;
		await this.forEach(async (itemIndex) => {
			const execute = this.prepared[itemIndex];
			if (execute !== undefined) this.results[itemIndex] = await execute();
		});
	}

	/** Runs a function for every item. An error of one ends the others where On Error doesn't continue. */
	private async forEach(step: (itemIndex: number) => Promise<void>): Promise<void> {
		const started: Array<Promise<void>> = [];
		for (let itemIndex = 0; itemIndex < this.count && !this.isStopped; itemIndex += 1) {
			const running = step(itemIndex).catch((error: unknown) => {
				this.fail(error, itemIndex);
				if (this.isPrepared && this.failures.length > 0) this.run.gateway.close();
			});
			started.push(running);
			// A rejection means that the run has ended, which the items report.
			if (started.length % ITEMS_IN_TURN === 0)
				await this.run.gateway.yieldToOthers().catch(() => undefined);
		}
		await Promise.all(started);
	}

	private fail(error: unknown, itemIndex: number): void {
		const { node, continuesOnFail } = this.run;
		if (!continuesOnFail) {
			if (!(error instanceof RunEnded)) this.failures.push({ error, itemIndex });
			return;
		}
		const { itemReport = FREE_ITEMS } = this.steps;
		this.results[itemIndex] = resultOfFailure(node, { error, itemIndex }, itemReport);
	}
}

/** The output of an item that has failed: its recorded result, or a failed item. */
export function resultOfFailure(
	node: INode,
	{ error, itemIndex }: Failure,
	itemReport: ItemReport,
): INodeExecutionData[] {
	const { items, error: told } = itemReport.recover?.(error, itemIndex) ?? { error };
	return items ?? [failedItem(node, told, itemIndex, itemReport.itemDetails(itemIndex))];
}

/** The most lines in an error of several items. */
const MOST_LINES = 100;

/**
 * Several failures as one error, with a line for each item. If the items were already running and
 * all failed with the same message, it is the error of the first one: they have a single cause.
 */
function mergedFailure(
	failures: Failure[],
	prepared: boolean,
	itemReport: ItemReport,
): { error: unknown; itemIndex?: number; lines?: string[] } {
	failures.sort((one, other) => one.itemIndex - other.itemIndex);
	const [first] = failures as [Failure, ...Failure[]];
	// One error for several items is about their run, e.g. its budget.
	const isOfRun = failures.length > 1 && failures.every(({ error }) => error === first.error);
	if (isOfRun) return { error: first.error };
	const problem = problemOf(first.error);
	const problems = failures.map(({ error }) => problemOf(error));
	const [reason, ...reasons] = problems.map((one) => reasonIn(one.message, one));
	const isOne = reasons.every((other) => other === reason);
	if (failures.length === 1 || (prepared && isOne)) return first;
	// Advice is shown if it is the same for all items.
	const { description: advice } = problem;
	const isOneAdvice = isOne && problems.every(({ description }) => description === advice);
	const nameOf = rowNamesOf(itemReport);
	const lines = failures
		.slice(0, MOST_LINES)
		.map(({ itemIndex }, at) => `${capital(nameOf(itemIndex))}: ${problems[at]?.message}`);
	return {
		itemIndex: first.itemIndex,
		lines,
		error: new GatewayError({
			...problem,
			message: `${failures.length} items failed. ${lines[0]}`,
			description: isOneAdvice ? advice : '',
		}),
	};
}
