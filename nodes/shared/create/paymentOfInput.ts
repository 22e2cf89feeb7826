import type { IExecuteFunctions } from 'n8n-workflow';
import { readCharged, statusGroup, type TaskType } from '../../../gateway';
import { nonEmptyString } from '../../../util/json';
import { orUndefined } from '../parameters/orUndefined';
import { ItemParameters } from '../parameters/itemParameters';
import type { PaymentResult } from '../payments/payment';
import { detailsOf, failedUrls, meantImages, type RequestFacts } from '../errors/itemReport';
import { factsOfInput, taskTypeIn } from '../tasks/taskReference';

/**
 * The payment of a failed item that has come back from an error output: its task, also a failed one, its
 * image, or its unknown outcome. Only where it is about the request that the item makes now: another model, or
 * an edited prompt, is a new request.
 *
 * @param readFacts reads what the item sends now
 * @param taskType of the node's tasks; undefined for messages
 * @returns undefined if the item brings none: nothing was charged for it
 */
export const paymentOfInput =
	(context: IExecuteFunctions, readFacts: FactsReader, taskType?: TaskType) =>
	(itemIndex: number): PaymentResult | undefined =>
		orUndefined(() => readPayment(new ItemParameters(context, itemIndex), readFacts, taskType));

type FactsReader = (item: ItemParameters) => RequestFacts;

function readPayment(
	item: ItemParameters,
	readFacts: FactsReader,
	taskType?: TaskType,
): PaymentResult | undefined {
	const details = detailsOf(item.input?.json ?? {});
	const charged = readCharged(details?.charged);
	if (details === undefined || charged === undefined || charged === 'no') return undefined;
	const { model, prompt } = readFacts(item);
	const isSame = (own: unknown, wanted?: string) => nonEmptyString(own)?.trim() === wanted;
	if (model === undefined || !isSame(details.model, model)) return undefined;
	if (!isSame(details.prompt, prompt)) return undefined;
	if ((taskTypeIn(details) ?? taskType) !== taskType) return undefined;
	const { cost, costCurrency, ...facts } = factsOfInput(item);
	const requestId = nonEmptyString(details.requestId);
	const about = {
		facts: { ...facts, meant: meantImages(details) },
		cost,
		costCurrency,
		requestId,
		chargedByInput: charged,
	};
	const taskId = nonEmptyString(details.taskId);
	const statusUrl = nonEmptyString(details.statusUrl);
	const status = nonEmptyString(details.status);
	const task = taskId === undefined ? undefined : { taskId, taskType, statusUrl, status };
	const isUnknown = details.outcome === 'unknown';
	if (!isUnknown && statusGroup(status) === 'unsuccessful')
		return task && { ...about, kind: 'task', task, end: 'failed' };
	const images = failedUrls(details).map((url) => ({ url }));
	if (isUnknown || (task === undefined && images.length === 0)) {
		const message = nonEmptyString(item.input?.json.error) ?? 'The outcome is unknown';
		const problem = { message, description: CHECK_LOG, taskId, requestId };
		return { ...about, kind: 'unknown', problem };
	}
	if (task !== undefined && images.length === 0) return { ...about, kind: 'task', task };
	return { ...about, kind: 'images', task, images };
}

const CHECK_LOG = "Check the usage log in the gateway's console.";
