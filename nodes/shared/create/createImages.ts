import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import {
	planUrl,
	type AsyncFlag,
	type RequestPlan,
	type TaskType,
} from '../../../gateway/protocol/requestPlan';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { openBudget, type Budget } from './budget';
import { createChecker, type ImageRequest } from './modelChecks';
import { addHints } from '../run/hints';
import { collect } from './collectImages';
import { counted } from './counted';
import { dryRunItem } from './dryRunItem';
import { readPaidResponse, taskItem } from './paidResponse';
import { readTarget } from '../images/imageItems';
import { finishRun, readRunEnd } from '../images/runResult';
import { runItems, type Job } from '../run/itemRunner';
import {
	inRange,
	readChoice,
	readLimits,
	readOptions,
	readSwitch,
} from '../parameters/optionValues';
import { paired } from '../run/paid';
import { openPaidRequests, type PaidRequest } from '../run/paidRequests';
import { readParameter } from '../parameters/reader';
import { isTool, openRun, type Run } from '../run/runContext';
import { openProgress, type Progress } from '../suspend/progress';
import { assertCanSuspend, suspend } from '../suspend/suspend';
import type { WaitJob } from '../images/waitJobs';
import { createTaskPoller } from '../images/pollTasks';

/** How the request of an item comes about, and what is sent for it. */
export interface Creation<R extends ImageRequest> {
	/** Reads the request of an item from its parameters; sends nothing that is paid for. */
	read: (run: Run, itemIndex: number) => R | Promise<R>;
	/** The paid request; `asyncFlag` undefined means synchronous. */
	plan: (request: R, asyncFlag?: AsyncFlag) => RequestPlan;
}

/**
 * The way of an item through Image Generation and Image Edit: check everything, pay once, wait
 * where asked to, hand out the images.
 */
export async function createImages<R extends ImageRequest>(
	context: IExecuteFunctions,
	taskType: TaskType,
	creation: Creation<R>,
): Promise<INodeExecutionData[][]> {
	const common = readOptions(context, 0);
	const survival = readSurvival(context, common);
	const end = readRunEnd(context);
	const budget = openBudget(context, common);
	const run = await openRun(context, readLimits(context));
	const paidRequests = openPaidRequests(run);
	const { windowMs, progress } = survival ?? {};
	const wanted: Array<{ request: PaidRequest; estimatedCost?: number }> = [];
	const isPaid = (itemIndex: number): boolean => {
		const { request } = wanted[itemIndex] ?? {};
		return request !== undefined && paidRequests.has(request);
	};
	let safe = false;
	try {
		const checker = createChecker(run, taskType);
		const pollIntervalMs = inRange(context, 'pollInterval', common.pollInterval, 0) * 1000;
		const count = context.getInputData().length;
		const poller = createTaskPoller(run, pollIntervalMs, count);
		/** What each item asks for: its errors name it too. */
		const asks: Array<{ model: string; prompt: string }> = [];
		/** What is still open, where the execution is suspended. */
		const jobs: Array<WaitJob | undefined> = [];

		const prepare = async (itemIndex: number): Promise<Job> => {
			const options = readOptions(context, itemIndex);
			const mode = readChoice(
				context,
				'Mode',
				readParameter(context, 'mode', itemIndex, 'sync'),
				MODES,
				itemIndex,
			);
			const flag = readChoice(
				context,
				'Asynchronous Flag',
				options.asyncFlag,
				ASYNC_FLAGS,
				itemIndex,
			);
			const asyncFlag = mode === 'sync' ? undefined : flag;
			const checks = readChecks(context, options, itemIndex);
			const target = readTarget(context, itemIndex);
			const maxWaitMs = inRange(context, 'maxWait', options.maxWait, itemIndex) * 1000;

			const asked = await creation.read(run, itemIndex);
			asks[itemIndex] = { model: asked.model, prompt: asked.prompt };
			const { request, violations, estimatedCost } = needsListing(checks, budget)
				? await checker.check(asked, mode !== 'sync')
				: { request: asked, violations: [], estimatedCost: undefined };
			const plan = creation.plan(request, asyncFlag);
			if (checks.dryRun) {
				const url = planUrl(plan, run.address.baseUrl);
				return async () => [dryRunItem(plan, url, violations, estimatedCost, itemIndex)];
			}
			if (violations.length > 0 && checks.checkLimits) {
				throw new GatewayError({
					message: `Invalid parameters for model '${request.model}': ${violations.join('; ')}`,
					description: 'Nothing was sent for this item.',
				});
			}
			// What the listing makes of a request is no part of what the user asked for.
			const askedPlan = request === asked ? plan : creation.plan(asked, asyncFlag);
			const paidRequest = paidRequests.expect(itemIndex, askedPlan);
			wanted[itemIndex] = { request: paidRequest, estimatedCost };

			const { model, prompt } = request;
			return async () => {
				const takenOver = paidRequests.has(paidRequest);
				const paid = await counted(
					run.tally,
					estimatedCost,
					takenOver,
					async () =>
						await paidRequests
							.payOnce(paidRequest, plan, (body) => {
								budget.accepted(itemIndex);
								return readPaidResponse(body, taskType, mode !== 'sync');
							})
							.catch(async (error) => await Promise.reject(await checker.explain(error, model))),
				);
				if (paid.items !== undefined) return paired(paid.items, itemIndex);
				const { task } = paid;
				const submitted = task && taskItem(task, { model, prompt, estimatedCost }, itemIndex);
				if (submitted !== undefined && paid.images === undefined) progress?.add(submitted);
				if (mode === 'submit' && submitted !== undefined) return [submitted];
				const facts = { model, prompt, estimatedCost };
				const patience = { maxWaitMs, windowMs };
				const found = await collect(run, poller, paidRequests, paid, facts, target, patience);
				if (Array.isArray(found)) return found;
				jobs[itemIndex] = found;
				return [];
			};
		};

		const items = await runItems(run, count, {
			prepare,
			beforeFirst: () => {
				// What an earlier try has paid for is not paid again.
				const unpaid = Object.values(wanted).filter(({ request }) => !paidRequests.has(request));
				budget.reserve(
					new Map(unpaid.map(({ request, estimatedCost }) => [request.itemIndex, estimatedCost])),
				);
			},
			isPaid,
			paidRequests,
			knownOf: (itemIndex) => asks[itemIndex],
		});
		addHints(context, checker.hints);
		const output = Object.values(jobs).some((job) => job !== undefined)
			? await suspend(
					context,
					items.map((done, itemIndex) => {
						const job = jobs[itemIndex];
						return job === undefined ? { done: { items: done } } : { job };
					}),
					run.tally,
				)
			: [finishRun(context, { items, open: [] }, run.tally, end).items.flat()];
		safe = true;
		return output;
	} finally {
		paidRequests.close();
		budget.settle(isPaid);
		run.end();
		await progress?.close(safe);
	}
}

/** How the run survives a crash; undefined if it does not. */
function readSurvival(
	context: IExecuteFunctions,
	options: IDataObject,
): { windowMs: number; progress: Progress } | undefined {
	const chosen = readSwitch(context, 'Survive Restarts', options.surviveRestarts, false, 0);
	const mode = readParameter(context, 'mode', 0, 'sync');
	if (!chosen || mode === 'sync' || isTool(context)) return undefined;
	assertCanSuspend(context);
	const windowMs = inRange(context, 'parkAfter', options.parkAfter, 0) * 1000;
	return { windowMs, progress: openProgress(context) };
}

const MODES = ['sync', 'wait', 'submit'] as const;
const ASYNC_FLAGS: [AsyncFlag, ...AsyncFlag[]] = ['query', 'header', 'body'];

interface Checks {
	checkLimits: boolean;
	dryRun: boolean;
}

function readChecks(context: IExecuteFunctions, options: IDataObject, itemIndex: number): Checks {
	const { checkLimits, dryRun } = options;
	return {
		checkLimits: readSwitch(context, 'Check Limits Before Sending', checkLimits, true, itemIndex),
		dryRun: readSwitch(context, 'Dry Run', dryRun, false, itemIndex),
	};
}

/** Whether anything in the options has use for what the gateway publishes of the model. */
function needsListing({ checkLimits, dryRun }: Checks, budget: Budget): boolean {
	return checkLimits || dryRun || budget.isSet;
}
