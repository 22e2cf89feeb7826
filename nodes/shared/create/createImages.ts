import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import type { PayingField } from '../fields/choices';
import { withInputFieldsOfFailed } from '../images/imageItems';
import { Checker } from '../models/modelChecks';
import { tolerant } from '../parameters/orUndefined';
import { ItemParameters } from '../parameters/itemParameters';
import { readBudget, readAddSummary, readLimits } from '../parameters/optionValues';
import { runPayingNode } from '../payments/payingNode';
import { describeSentAgain, type PaidImages } from '../payments/payment';
import type { PaymentLog } from '../payments/paymentLog';
import { runItems, type Failure } from '../run/itemRunner';
import { failedItems, isFailed } from '../errors/nodeErrors';
import { addHints, currencyOf, openRun } from '../run/runContext';
import { logRun } from '../run/leaving';
import { describeRun, finishRun, tellUser } from '../run/summary';
import { openSubmittedTasks } from '../suspend/submittedTasks';
import { readIsStored, suspend } from '../suspend/suspend';
import { paymentOfInput } from './paymentOfInput';
import { Budget } from './budget';
import { executeItem } from './executeItem';
import { readRequestFacts } from './imageRequest';
import { MODES, prepareItem, type Batch, type RequestBuilder } from './prepareItem';

/**
 * Image and Image Edit: check all items, pay for each once, wait, return the images.
 *
 * @param fields of the node
 */
export const createImages = async (
	context: IExecuteFunctions,
	fields: PayingField[],
	builder: RequestBuilder,
): Promise<INodeExecutionData[][]> =>
	await runPayingNode<PaidImages>(
		context,
		fields,
		async (paymentLog) => await createRecorded(context, builder, paymentLog),
		tolerant(context, readRequestFacts),
		{ readPaymentOfInput: paymentOfInput(context, readRequestFacts, builder.taskType) },
	);

async function createRecorded(
	context: IExecuteFunctions,
	builder: RequestBuilder,
	paymentLog: PaymentLog<PaidImages>,
): Promise<INodeExecutionData[][]> {
	const first = new ItemParameters(context, 0);
	const addSummary = readAddSummary(first);
	const batch = await openBatch(context, builder, paymentLog);
	const { run, budget, submittedTasks } = batch;
	let isReturned = false;
	try {
		const done = await runItems(run, context.getInputData().length, {
			prepare: async (itemIndex) => {
				const job = await prepareItem(batch, new ItemParameters(context, itemIndex));
				return async () => await executeItem(batch, job);
			},
			checkAll: () => assignAndReserve(batch),
			itemReport: paymentLog.itemReport,
		});
		const output = await outputOf(context, batch, done, addSummary);
		isReturned = true;
		return output;
	} finally {
		// A stopped execution sends nothing more, and may not know what it has sent.
		if (!run.gateway.isStopped()) {
			budget.close(paymentLog.itemReport.estimateOf);
		}
		run.gateway.end();
		await submittedTasks?.close(isReturned);
	}
}

/**
 * What the node returns for the items that are done: the images and their summary, or, once the
 * execution has been suspended, what `suspend` returns.
 */
async function outputOf(
	context: IExecuteFunctions,
	batch: Batch,
	done: INodeExecutionData[][],
	addSummary: boolean,
): Promise<INodeExecutionData[][]> {
	const { run, budget, paymentLog, waits, mode, submittedTasks } = batch;
	const isInMemory = mode === 'wait' && submittedTasks === undefined;
	const isStored = waits.some((wait) => wait !== undefined);
	const items = withInputFieldsOfFailed(context, done);
	addHints(context, run.hints);
	const { idempotencyHeader } = run.gateway.account;
	const sentAgain = idempotencyHeader === '' ? 0 : paymentLog.journal.countSentAgain();
	if (sentAgain > 0) {
		const told = describeSentAgain(sentAgain, idempotencyHeader, paymentLog.journal.lostTasks());
		// n8n drops the hints of a stored run with its result.
		if (isStored) logRun(context, told, 'info');
		tellUser(context, told, 'info');
	}
	const dryRun = budget.describeDry(failedItems(items).size, currencyOf(run));
	if (dryRun !== undefined) addHints(context, [dryRun], 'info');
	const counts = {
		rateLimitedRequests: run.rateLimitedRequests(),
		reused: paymentLog.itemReport.reused(),
		currency: currencyOf(run),
	};
	const entries = items.map((own, itemIndex) => {
		const wait = waits[itemIndex];
		return wait === undefined ? { done: { items: own } } : { wait };
	});
	const result = { items, open: [], counts, isDry: dryRun !== undefined };
	const finished = isStored ? result : finishRun(context, result, addSummary, isInMemory);
	if (run.isTool) {
		budget.close(paymentLog.itemReport.estimateOf);
		// The agent can tell it to the user.
		const last = finished.items.flat().findLast((item) => !isFailed(item));
		if (last && last.json.dryRun !== true)
			last.json = { ...last.json, charge: describeRun(result) + budget.describeLeft() };
	}
	const output = isStored
		? await suspend(context, entries, counts, paymentLog.itemReport)
		: [finished.items.flat()];
	// Where n8n can't suspend the execution, open tasks come out as failed items.
	const isFailedAsWhole = isStored && output.flat().some(isFailed);
	paymentLog.itemReport.markReturned(isFailedAsWhole ? new Set(items.keys()) : failedItems(items));
	return output;
}

/** @returns the errors of the items for which the budget isn't enough */
function assignAndReserve({ budget, paymentLog: { assignment } }: Batch): Failure[] {
	assignment.assign();
	// The budget is not needed for items that an earlier try has paid for.
	return budget.reserve((itemIndex) => assignment.owned.has(itemIndex));
}

/** @throws NodeOperationError if a setting of the whole run is invalid */
async function openBatch(
	context: IExecuteFunctions,
	builder: RequestBuilder,
	paymentLog: PaymentLog<PaidImages>,
): Promise<Batch> {
	const first = new ItemParameters(context, 0);
	const { options } = first;
	const mode = first.choice('mode', 'Mode', MODES);
	// Only tasks are waited for.
	const isStored = mode !== 'sync' && readIsStored(context, first);
	const submittedTasks = isStored ? openSubmittedTasks(context) : undefined;
	const budget = new Budget(context, readBudget(options));
	const run = await openRun(context, readLimits(first), {
		pollIntervalMs: options.milliseconds('pollInterval'),
	});
	return {
		run,
		builder,
		budget,
		checker: new Checker(run, builder.taskType, budget.isSet),
		paymentLog,
		mode,
		submittedTasks,
		itemOfTask: new Map(),
		waits: [],
	};
}
