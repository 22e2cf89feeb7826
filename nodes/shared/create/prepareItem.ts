import {
	planUrl,
	type ImageRequest,
	type RequestPlan,
} from '../../../gateway/protocol/requestPlan';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { readTarget, type ImageTarget } from '../images/imageItems';
import { SEND_ANYWAY, type Checked } from '../models/modelChecks';
import type { ItemParameters } from '../parameters/itemParameters';
import { copiedFields } from '../run/copiedFields';
import type { ExecuteItem } from '../run/itemRunner';
import { shownParameters } from '../tasks/taskReference';
import { MODES, type Batch, type PreparedItem } from './imageBatch';
import { dryRunItem } from './dryRun';
import { executeItem } from './executeItem';

type ItemSettings = Omit<PreparedItem, 'facts' | 'plan'>;

/** A checked request. */
interface PreparedRequest {
	/** The request as the item's parameters say, with its files. */
	given: ImageRequest;
	/** The same with what the model list corrects. */
	checked: Checked<ImageRequest>;
	plan: RequestPlan;
}

/**
 * Reads and checks an item; nothing that is paid for is sent. @returns what to do once all are
 * checked
 */
export async function prepareItem(batch: Batch, item: ItemParameters): Promise<ExecuteItem> {
	const { run, paymentLog } = batch;
	const { itemIndex } = item;
	const dryRun = item.options.switch('dryRun', 'Dry Run', false);
	// First, because the files and the model list that the payment was made with may be gone.
	const isPaid = !dryRun && paymentLog.claim(itemIndex, run.address.account);
	const settings = {
		itemIndex,
		mode: item.choice('mode', 'Mode', MODES),
		target: readTarget(item),
		maxWaitMs: item.options.milliseconds('maxWait'),
	};
	if (isPaid) return async () => await executeItem(batch, { ...settings, facts: {} });
	const request = await prepareRequest(batch, item, dryRun);
	return dryRun
		? executeDryRun(batch, request, {
				...settings.target,
				inputFields: copiedFields(item.input?.json ?? {}),
			})
		: executeRequest(batch, request, settings);
}

/** @throws NodeOperationError or GatewayError if a parameter, a file or the model doesn't fit */
async function prepareRequest(
	{ run, builder, budget, checker, paymentLog }: Batch,
	item: ItemParameters,
	dryRun: boolean,
): Promise<PreparedRequest> {
	const { options } = item;
	const chosenMode = item.choice('mode', 'Mode', MODES);
	const checkLimits = options.switch('checkLimits', 'Check Limits Before Sending', true);
	const draft = builder.read(item);
	const { model, prompt } = draft;
	paymentLog.note(item.itemIndex, { model, prompt });
	const isWaiting = chosenMode === 'wait' && checkLimits;
	const isSync = isWaiting ? await checker.isOnlySync(model) : chosenMode === 'sync';

	const needsListing = dryRun || checkLimits || budget.isSet;
	const check = async (request: ImageRequest): Promise<Checked<ImageRequest>> => {
		if (!needsListing) return { request, violations: [] };
		const checked = await checker.check(request, !isSync);
		if (checked.violations.length === 0 || !checkLimits || dryRun) return checked;
		throw new GatewayError({
			message: `Invalid parameters for model '${model}': ${checked.violations.join('; ')}`,
			description: SEND_ANYWAY,
		});
	};
	// Checked before files are downloaded for a request that is rejected anyway.
	if (draft.imageCount !== undefined) await check(draft);
	const given = (await builder.load?.(draft, item, run)) ?? draft;
	const checked = await check(given);
	const flag = isSync ? undefined : run.address.asyncFlag;
	return { given, checked, plan: builder.plan(checked.request, flag, run.address) };
}

function executeDryRun(
	{ run, budget }: Batch,
	{ checked, plan }: PreparedRequest,
	target: ImageTarget,
): ExecuteItem {
	const url = run.address.withoutKey(planUrl(plan, run.address.base));
	const unpriced = budget.unpriced(checked.request.model, checked)?.message ?? [];
	budget.expectDry(checked.estimatedCost);
	return async () => {
		const overBudget = budget.describeDry()?.violations ?? [];
		const violations = [...checked.violations, unpriced, overBudget].flat();
		return [dryRunItem(plan, url, { ...checked, violations }, target)];
	};
}

function executeRequest(
	batch: Batch,
	{ given, checked, plan }: PreparedRequest,
	settings: ItemSettings,
): ExecuteItem {
	const { run, builder, budget, paymentLog } = batch;
	const { itemIndex } = settings;
	const { request, estimatedCost, pricePerImage } = checked;
	// The identity of a payment depends neither on the mode, nor on what the credential says about the
	// gateway, nor on types that the model list corrects.
	paymentLog.expect(itemIndex, builder.plan(given), run.address.account);
	budget.expect(itemIndex, request.model, checked);
	const parameters = shownParameters(plan.body ?? Object.fromEntries(plan.form?.fields ?? []));
	const { model, prompt } = request;
	const facts = { model, prompt, parameters, estimatedCost, pricePerImage };
	return async () => await executeItem(batch, { ...settings, facts, plan });
}
