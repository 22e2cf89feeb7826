import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import {
	planUrl,
	withoutUndefined,
	type AsyncFlag,
	type RequestPlan,
	type TaskType,
} from '../../../gateway/protocol/requestPlan';
import { GatewayError } from '../../../gateway/util/gatewayError';
import type { Budget } from './budget';
import { collectImages } from './collectImages';
import { counted } from './counted';
import { dryRunItem } from './dryRunItem';
import { readItemSettings, type ItemSettings } from './itemSettings';
import { createChecker, type Checker, type ImageRequest } from './modelChecks';
import { openBudget } from './openBudget';
import { readPaidResponse, taskItem } from './paidResponse';
import { addHints } from '../run/hints';
import { finishRun, readRunEnd } from '../images/runResult';
import { runItems, type Job } from '../run/itemRunner';
import type { KnownFacts } from '../run/nodeErrors';
import { inRange, readLimits, readOptions, readSwitch } from '../parameters/optionValues';
import { paired } from '../run/paid';
import { openPaidRequests, type PaidRequest, type PaidRequests } from '../run/paidRequests';
import { readParameter } from '../parameters/reader';
import { isTool, openRun, type Run } from '../run/runContext';
import { openProgress, type Progress } from '../suspend/progress';
import { assertCanSuspend, suspend } from '../suspend/suspend';
import type { WaitJob } from '../images/waitJobs';
import { createTaskPoller, type TaskPoller } from '../images/pollTasks';

/** How the request of an item comes about, and what is sent for it. */
export interface Creation<R extends ImageRequest> {
	/** Reads the request of an item from its parameters; sends nothing that is paid for. */
	read: (run: Run, itemIndex: number) => R | Promise<R>;
	/** The paid request; `asyncFlag` undefined means synchronous. */
	plan: (request: R, asyncFlag?: AsyncFlag) => RequestPlan;
}

/** What all items of an execution share. */
interface Batch<R extends ImageRequest> {
	run: Run;
	taskType: TaskType;
	creation: Creation<R>;
	budget: Budget;
	checker: Checker;
	paidRequests: PaidRequests;
	poller: TaskPoller;
	/** With Survive Restarts: how long to wait in memory, and where accepted tasks are stored. */
	windowMs?: number;
	progress?: Progress;
	/** What each item asks for: its errors name it too. */
	asked: KnownFacts[];
	/** What each item pays for, unless an earlier try has. */
	wanted: Array<{ request: PaidRequest; estimatedCost?: number }>;
	/** What is still open, where the execution is suspended. */
	jobs: Array<WaitJob | undefined>;
}

/** An item whose request has been checked, and can be sent. */
interface PreparedItem {
	itemIndex: number;
	settings: ItemSettings;
	plan: RequestPlan;
	paidRequest: PaidRequest;
	facts: { model: string; prompt: string; estimatedCost?: number };
}

/** Image Generation and Image Edit: check all items, pay for each once, wait, return the images. */
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
	const wanted: Batch<R>['wanted'] = [];
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
		const shared = { run, taskType, creation, budget, checker, paidRequests, poller, wanted };
		const batch: Batch<R> = { ...shared, ...survival, asked: [], jobs: [] };

		let failed = new Set<number>();
		const items = await runItems(run, count, {
			prepare: async (itemIndex) => await prepareItem(batch, itemIndex),
			beforeFirst: () => {
				// What an earlier try has paid for is not paid again.
				const unpaid = Object.values(wanted).filter(({ request }) => !paidRequests.has(request));
				budget.reserve(
					new Map(unpaid.map(({ request, estimatedCost }) => [request.itemIndex, estimatedCost])),
				);
			},
			isPaid,
			// What was paid for has not left the node before the execution is suspended.
			paidRequests: { ...paidRequests, settle: (indexes) => void (failed = indexes) },
			knownOf: (itemIndex) => batch.asked[itemIndex],
		});
		addHints(context, checker.hints);
		const { jobs } = batch;
		const isOpen = Object.values(jobs).some((job) => job !== undefined);
		const output = isOpen
			? await suspend(
					context,
					items.map((done, itemIndex) => {
						const job = jobs[itemIndex];
						return job === undefined ? { done: { items: done } } : { job };
					}),
					run.tally,
					paidRequests.inWords,
				)
			: [finishRun(context, { items, open: [] }, run.tally, end).items.flat()];
		// It may not have been suspended: then its tasks are failed items.
		const hasFailed = isOpen && output[0]?.some(({ json }) => json.error !== undefined) === true;
		paidRequests.settle(hasFailed ? new Set(items.keys()) : failed);
		safe = true;
		return output;
	} finally {
		paidRequests.close();
		budget.settle(isPaid);
		run.end();
		await survival?.progress.close(safe);
	}
}

/** Reads and checks an item; nothing that is paid for is sent. @returns what to do once all are checked */
async function prepareItem<R extends ImageRequest>(
	batch: Batch<R>,
	itemIndex: number,
): Promise<Job> {
	const { run, creation, budget, checker, paidRequests } = batch;
	const settings = readItemSettings(run.context, itemIndex);
	const { mode, asyncFlag, checkLimits, dryRun } = settings;
	const asked = await creation.read(run, itemIndex);
	batch.asked[itemIndex] = { model: asked.model, prompt: asked.prompt };

	// Without any of these nobody needs to know what the gateway publishes of the model.
	const needsListing = checkLimits || dryRun || budget.isSet;
	const { request, violations, estimatedCost } = needsListing
		? await checker.check(asked, mode !== 'sync')
		: { request: asked, violations: [], estimatedCost: undefined };
	const plan = creation.plan(request, asyncFlag);
	if (dryRun) {
		const url = planUrl(plan, run.address.baseUrl);
		return async () => [dryRunItem(plan, url, violations, estimatedCost, itemIndex)];
	}
	if (violations.length > 0 && checkLimits) {
		throw new GatewayError({
			message: `Invalid parameters for model '${request.model}': ${violations.join('; ')}`,
			description: 'Nothing was sent for this item.',
		});
	}
	// What the listing makes of a request is no part of what the user asked for.
	const askedPlan = request === asked ? plan : creation.plan(asked, asyncFlag);
	const paidRequest = paidRequests.expect(itemIndex, askedPlan);
	batch.wanted[itemIndex] = { request: paidRequest, estimatedCost };
	const { model, prompt } = request;
	const facts = { model, prompt, estimatedCost };
	return async () => await createItem(batch, { itemIndex, settings, plan, paidRequest, facts });
}

/** Pays for an item, unless an earlier try has, and gets what was paid for. */
async function createItem<R extends ImageRequest>(
	batch: Batch<R>,
	{ itemIndex, settings, plan, paidRequest, facts }: PreparedItem,
): Promise<INodeExecutionData[]> {
	const { run, taskType, budget, checker, paidRequests, progress, windowMs } = batch;
	const { mode, target, maxWaitMs } = settings;
	const takenOver = paidRequests.has(paidRequest);
	const paid = await counted(
		run.tally,
		facts.estimatedCost,
		takenOver,
		async () =>
			await paidRequests
				.payOnce(paidRequest, plan, (body) => {
					budget.decided(itemIndex);
					const found = readPaidResponse(body, taskType, mode !== 'sync');
					return found && { ...found, facts };
				})
				.catch(async (error) => {
					budget.decided(itemIndex);
					return await Promise.reject(await checker.explain(error, facts.model));
				}),
	);
	if (paid.items !== undefined) return paired(paid.items, itemIndex);
	// Of what was paid for: this try may have asked for something else.
	const known = { ...facts, ...(paid.facts && withoutUndefined(paid.facts)) };
	batch.asked[itemIndex] = { model: known.model, prompt: known.prompt };
	const submitted = paid.task && taskItem(paid.task, known, itemIndex);
	if (submitted !== undefined && paid.images === undefined) progress?.add(submitted);
	if (mode === 'submit' && submitted !== undefined) return [submitted];
	const found = await collectImages(batch, paid, { facts: known, target, maxWaitMs, windowMs });
	if (Array.isArray(found)) return found;
	batch.jobs[itemIndex] = found;
	return [];
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
