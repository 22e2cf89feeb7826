import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { failedItem, nodeError } from './errors';
import type { Ledger } from './ledger';
import { RunEnded, type Run } from './run';

/** What to do for one item; made from its parameters before anything is sent. */
export type Job = () => Promise<INodeExecutionData[]>;

/**
 * The one item runner. Jobs are prepared for all items before the first one is started, so that a
 * mistake in item 57 is found before item 0 is paid for. Then all run at once; how many requests
 * are under way is the gate's business. The order of the input is kept.
 *
 * Where the node goes on after errors, a failed item takes its place in the output. Where it stops,
 * nothing new is begun after the first failure, what is under way is let end (it is paid for), and
 * the error lists everything that can still be had.
 *
 * @param prepare checks the parameters of an item; must send nothing that is paid for
 * @throws NodeApiError or NodeOperationError with the index of the first item that failed
 */
export async function runItems(
	run: Run,
	count: number,
	prepare: (itemIndex: number) => Job | Promise<Job>,
	ledger?: Ledger,
): Promise<INodeExecutionData[]> {
	const { context } = run;
	const goOn = context.continueOnFail();
	const results: INodeExecutionData[][] = [];
	let failure: { error: unknown; itemIndex: number } | undefined;

	const fail = (error: unknown, itemIndex: number): void => {
		if (goOn) {
			results[itemIndex] = [failedItem(error, itemIndex)];
		} else if (!(error instanceof RunEnded)) {
			failure ??= { error, itemIndex };
			run.halt();
		}
	};

	/** Does something for every item; a failure in one does not keep the others from it. */
	const forEach = async (act: (itemIndex: number) => Promise<void>): Promise<void> => {
		if (failure !== undefined) return;
		const attempts = Array.from({ length: count }, async (_, itemIndex) => {
			try {
				await act(itemIndex);
			} catch (error) {
				fail(error, itemIndex);
			}
		});
		await Promise.all(attempts);
	};

	const jobs: Job[] = [];
	const work = async (): Promise<void> => {
		await forEach(async (itemIndex) => {
			jobs[itemIndex] = await prepare(itemIndex);
		});
		await forEach(async (itemIndex) => {
			const job = jobs[itemIndex];
			if (job !== undefined) results[itemIndex] = await job();
		});
	};
	try {
		await Promise.race([work(), run.stopped]);
	} catch {
		throw new NodeOperationError(context.getNode(), 'The execution was stopped', {
			description: ledger?.inWords() ?? '',
		});
	}
	if (failure !== undefined) {
		throw nodeError(context.getNode(), failure.error, failure.itemIndex, ledger?.inWords() ?? '');
	}
	const output = results.flat();
	if (!output.some((item) => item.json.error !== undefined)) ledger?.clear();
	return output;
}

/**
 * Whether an AI agent has called the node: it gets addresses, because binary data would be dropped.
 * Newer versions of n8n run a tool as an ordinary node, and only its log's destination tells.
 */
export function isTool(context: IExecuteFunctions): boolean {
	return context.isToolExecution?.() === true || context.getNode().rewireOutputLogTo === 'ai_tool';
}
