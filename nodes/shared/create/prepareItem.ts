import {
	GatewayError,
	type ImageRequest,
	type Order,
	type TaskType,
	usualPlan,
} from '../../../gateway';
import { unchecked, type Checked } from '../../../gateway/models';
import { readOutputSettings, type OutputSettings } from '../images/imageItems';
import { SEND_ANYWAY, type Checker } from '../models/modelChecks';
import type { ItemParameters } from '../parameters/itemParameters';
import type { Identity } from '../payments/identity';
import type { PaidJob } from '../payments/payingNode';
import type { PaidImages } from '../payments/payment';
import type { PaymentLog } from '../payments/paymentLog';
import type { RequestFacts } from '../errors/itemReport';
import type { Run } from '../run/runContext';
import type { SubmittedTasks } from '../suspend/submittedTasks';
import { shownParameters } from '../parameters/requestFields';
import type { TaskWait } from '../tasks/waitEntries';
import type { Budget } from './budget';

/** How a node makes the request of an item: its fields and its files. */
export interface RequestBuilder {
	taskType: TaskType;
	/** Reads the request from the item's parameters. */
	read: (item: ItemParameters) => ImageRequest;
	/** Adds the files to upload; may download them, and sends nothing that is charged. */
	load?: (request: ImageRequest, item: ItemParameters, run: Run) => Promise<ImageRequest>;
}

/** What all items of an execution share. */
export interface Batch {
	run: Run;
	builder: RequestBuilder;
	budget: Budget;
	checker: Checker;
	paymentLog: PaymentLog<PaidImages>;
	/** How all items wait: the field takes no expression. */
	mode: (typeof MODES)[number];
	/** With Survive Restarts, where accepted tasks are stored; those that are still open aren't waited for in memory then. */
	submittedTasks?: SubmittedTasks;
	/** By task ID, the first item that the gateway gave it to. */
	itemOfTask: Map<string, number>;
	/** By item, the wait for a task that is still open when the execution is suspended. */
	waits: Array<TaskWait | undefined>;
}

export const MODES = ['wait', 'sync', 'submit'] as const;

/** What an item does once all items are prepared. */
export type Job = DryRunJob | ImageJob;

/** Shows the checked request. */
export interface DryRunJob {
	kind: 'dryRun';
	checked: Checked<ImageRequest>;
	order: Order;
	outputSettings: OutputSettings;
}

/** An order with the facts that its payment is recorded with, and its images come out with. */
interface OrderWithFacts extends Order {
	facts: RequestFacts;
}

/** Returns the images of an item. */
export interface ImageJob extends PaidJob<OrderWithFacts> {
	kind: 'images';
	outputSettings: OutputSettings;
	maxWaitMs: number;
}

/** A checked request. */
interface PreparedRequest {
	/** The request as the item's parameters say, with its files. */
	given: ImageRequest;
	/** The same with what the model list corrects. */
	checked: Checked<ImageRequest>;
	order: Order;
}

/**
 * Reads and checks an item; nothing that is paid for is sent. @returns what to do once all are
 * checked
 */
export async function prepareItem(batch: Batch, item: ItemParameters): Promise<Job> {
	const { budget, paymentLog } = batch;
	const { assignment } = paymentLog;
	const { itemIndex } = item;
	const isDry = item.options.switch('dryRun', 'Dry Run', false);
	// First, because the files and the model list that the payment was made with may be gone.
	const { gateway } = batch.run;
	const identity = isDry
		? undefined
		: await assignment.identify(itemIndex, gateway.account.id, gateway.digest);
	const settings = {
		itemIndex,
		outputSettings: readOutputSettings(item),
		maxWaitMs: item.options.milliseconds('maxWait'),
	};
	const earlier = identity && assignment.findOwnEarlier(identity);
	if (earlier !== undefined) return { kind: 'images', ...settings, source: { earlier } };
	const request = await prepareRequest(batch, item, isDry);
	const { checked, order } = request;
	if (identity === undefined) {
		budget.expectDry(checked.estimatedCost);
		return { kind: 'dryRun', checked, order, outputSettings: settings.outputSettings };
	}
	const facts = await expectPayment(batch, identity, request);
	return { kind: 'images', ...settings, source: { order: { ...order, facts } } };
}

/** @throws NodeOperationError or GatewayError if a parameter, a file or the model doesn't fit */
async function prepareRequest(
	{ run, builder, budget, checker, paymentLog, mode }: Batch,
	item: ItemParameters,
	isDry: boolean,
): Promise<PreparedRequest> {
	const { options } = item;
	const checkLimits = options.switch('checkLimits', 'Check Limits Before Sending', true);
	const draft = builder.read(item);
	const { model, prompt } = draft;
	paymentLog.assignment.facts.set(item.itemIndex, { model, prompt });
	const mayTurnSync = mode === 'wait' && checkLimits;
	const hasNoTasks = mode === 'wait' && run.gateway.account.imageApi === 'openRouter';
	const isSync =
		mode === 'sync' || hasNoTasks || (mayTurnSync && (await checker.isOnlySync(model)));

	const needsListing = isDry || checkLimits || budget.isSet;
	const check = async (request: ImageRequest): Promise<Checked<ImageRequest>> => {
		if (!needsListing) return unchecked(request);
		const checked = await checker.check(request, !isSync);
		if (checked.violations.length === 0 || !checkLimits || isDry) return checked;
		throw new GatewayError({
			message: `Invalid parameters for model '${model}': ${checked.violations.join('; ')}`,
			description: SEND_ANYWAY,
		});
	};
	// Checked before files are downloaded for a request that is rejected anyway.
	if (draft.imageCount !== undefined) await check(draft);
	const given = (await builder.load?.(draft, item, run)) ?? draft;
	const checked = await check(given);
	const isChosen = options.switch('streamResponse', 'Stream Response', false);
	const order = run.gateway.order(builder.taskType, checked.request, {
		asynchronous: !isSync,
		stream: isChosen && mode === 'sync',
	});
	const plan = { ...order.plan, item: item.itemIndex };
	return { given, checked, order: { ...order, plan, requested: checked.requested } };
}

/** Tells the log of payments and the budget of a request that is to be sent. @returns its facts */
async function expectPayment(
	{ run, builder, budget, paymentLog }: Batch,
	identity: Identity,
	{ given, checked, order }: PreparedRequest,
): Promise<RequestFacts> {
	const { itemIndex } = identity;
	const { assignment } = paymentLog;
	const { request, estimatedCost, pricePerImage } = checked;
	// The identity of a payment depends neither on the mode, nor on what the credential says about the
	// gateway, nor on types that the model list corrects.
	const usual = usualPlan(builder.taskType, given);
	identity.requestDigest = await run.gateway.requestDigest(usual);
	budget.expect(itemIndex, request.model, checked);
	const parameters = shownParameters(order.fields);
	const { model, prompt } = request;
	const facts = { model, prompt, parameters, estimatedCost, pricePerImage };
	assignment.facts.set(itemIndex, facts);
	return facts;
}
