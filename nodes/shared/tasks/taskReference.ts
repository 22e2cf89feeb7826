import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import {
	type Bill,
	type Charged,
	pathPart,
	readCharged,
	type Task,
	TASK_TYPES,
} from '../../../gateway';
import { sourcesIn } from '../../../util/httpAddresses';
import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../../../util/json';
import { readOutputSettings } from '../images/imageItems';
import { orUndefined, tolerant } from '../parameters/orUndefined';
import { isEmpty, type ItemParameters } from '../parameters/itemParameters';
import { shownParameters } from '../parameters/requestFields';
import {
	detailsOf,
	failedUrls,
	fieldsOf,
	type ItemDetails,
	type ItemReport,
	meantImages,
	type MeantImage,
	type RequestFacts,
	soleIndex,
} from '../errors/itemReport';
import type { TaskOfItem } from './taskItem';

/**
 * Reads the task of an item from its parameters. With the task type "Automatic", the `taskType` in
 * the item's JSON is used, if there is one; `submittedAt` and `statusUrl` are always read from there.
 * Without an ID, the task of an item that has failed is meant: it comes from an error output.
 *
 * @throws NodeOperationError if there is no ID; GatewayError if the ID is invalid
 */
function readTaskReference(item: ItemParameters): Task {
	const fields = fieldsOf(item.input?.json);
	const { submittedAt: at, taskId: id, parameters } = fields;
	const taskId = readTaskId(item);
	const submittedAt = typeof at === 'string' ? at : undefined;
	const chosen = item.choice('taskType', 'Task Type', ['auto', ...TASK_TYPES]);
	const taskType = chosen === 'auto' ? taskTypeIn(fields) : chosen;
	// The item may be that of another task than the one chosen here.
	const { statusUrl, alsoNamed }: JsonObject = String(id) === taskId ? fields : {};
	const mentioned = [alsoNamed].flat().flatMap((text) => nonEmptyString(text) ?? []);
	const sent = sourcesIn(parameters);
	return { taskId, taskType, statusUrl: nonEmptyString(statusUrl), submittedAt, mentioned, sent };
}

export const taskTypeIn = ({ taskType }: IDataObject): Task['taskType'] =>
	TASK_TYPES.find((kind) => kind === taskType);

function readTaskId(item: ItemParameters): string {
	const id = fieldsOf(item.input?.json).taskId;
	const entered = item.optionalText('taskId', 'Task ID', ADVICE);
	// By default, the field reads the ID of an item. That of a failed one is in its details.
	const isOfItem = entered === undefined || entered === item.input?.json.taskId;
	const taskId = (isOfItem ? nonEmptyString(id) : entered)?.trim();
	if (taskId === undefined) throw item.error("'Task ID' is empty", adviceWithoutId(item));
	// What a person pastes from an error may be several IDs. That of the item is a gateway's own.
	const isOne = taskId.length <= LONGEST_ID && (String(id) === taskId || !/[\s,;]/.test(taskId));
	if (!isOne) throw item.invalid('Task ID', 'the ID of one task', taskId, ADVICE);
	pathPart(taskId, 'task ID', { taskId });
	return taskId;
}

/** In characters: more than an address can have. */
const LONGEST_ID = 2000;
const ADVICE = 'Connect a node that submits tasks, or enter one task ID for each item.';

function adviceWithoutId(item: ItemParameters): string {
	const { input } = item;
	const { dryRun, outcome, note } = fieldsOf(input?.json);
	if (dryRun === true) {
		return "The input item comes from a dry run: no task was submitted. Turn off 'Dry Run' in the node that submits.";
	}
	// As in the list of payments in the error of a failed batch.
	if (outcome === 'unknown') {
		return "The outcome of this request is unknown. Check the usage log in the gateway's console before you send it again.";
	}
	if (detailsOf(input?.json ?? {}) !== undefined) {
		return 'The input item has failed and names no task. Its other fields are those of its own input.';
	}
	if (input?.binary !== undefined) {
		return 'The input item has a file but no task ID. A gateway without tasks responds with the finished image: then there is nothing to wait for.';
	}
	if (typeof note === 'string')
		return 'Only a retry of the execution that has failed returns this result.';
	return ADVICE;
}

/** Reads the facts of a task's request from the input item, to pass them on. */
export function factsOfInput(item: ItemParameters): RequestFacts {
	const fields = fieldsOf(item.input?.json);
	const { model, prompt, parameters, estimatedCost, pricePerImage } = fields;
	return {
		model: nonEmptyString(model),
		prompt: nonEmptyString(prompt),
		parameters: isJsonObject(parameters) ? shownParameters(parameters) : undefined,
		estimatedCost: amount(estimatedCost),
		pricePerImage: amount(pricePerImage),
		...billOfInput(fields),
	};
}

/**
 * The bill in an item of this package. One without the fields that only these have may come from a
 * table, in which a cost is anything.
 */
function billOfInput({ cost, costCurrency, submittedAt, charged }: IDataObject): Bill {
	const billed = submittedAt === undefined && charged === undefined ? undefined : amount(cost);
	if (billed === undefined) return {};
	return { cost: billed, costCurrency: nonEmptyString(costCurrency) };
}

/**
 * What is known of an item of Image Wait or Image Task before its task is polled: also where its
 * parameters can't be read, and where it comes from an error output.
 */
function detailsOfInput(item: ItemParameters): ItemDetails {
	const fields = fieldsOf(item.input?.json);
	const id = nonEmptyString(fields.taskId);
	const taskId = orUndefined(() => readTaskId(item)) ?? id;
	return {
		charged: chargeOfInput(item.input?.json ?? {}),
		taskId,
		taskType: taskTypeIn(fields),
		// The item may be that of another task than the one chosen.
		status: taskId === id ? nonEmptyString(fields.status) : undefined,
		statusUrl: taskId === id ? nonEmptyString(fields.statusUrl) : undefined,
		model: nonEmptyString(fields.model),
		prompt: nonEmptyString(fields.prompt),
		estimatedCost: amount(fields.estimatedCost),
		...billOfInput(fields),
		requestId: nonEmptyString(fields.requestId),
		url: taskId === undefined ? nonEmptyString(fields.url) : undefined,
		index: soleIndex(imagesOf(item, taskId)),
		outcome: detailsOf(item.input?.json ?? {})?.outcome === 'unknown' ? 'unknown' : undefined,
	};
}

/**
 * The images that a failed item is about, of all images of its task: the others came out beside it.
 *
 * @returns undefined for all images; so for another task, which the parameters may name
 */
export function imagesOf(item: ItemParameters, taskId?: string): MeantImage[] | undefined {
	const details = detailsOf(item.input?.json ?? {});
	return details !== undefined && details.taskId === taskId ? meantImages(details) : undefined;
}

/** Whether the request of an input item was charged: a task may have been, whatever becomes of it. */
export function chargeOfInput(json: IDataObject): Charged {
	const stated = json.dryRun === true ? 'no' : fieldsOf(json).charged;
	return readCharged(stated) ?? 'maybe';
}

/** The items of a node that gets tasks which were submitted earlier. */
export function reportOfTasks(context: IExecuteFunctions): ItemReport {
	const input = context.getInputData();
	const read = tolerant(context, detailsOfInput);
	const itemDetails = (itemIndex: number): ItemDetails => ({
		charged: chargeOfInput(input[itemIndex]?.json ?? {}),
		...read(itemIndex),
	});
	const chargeOf = (itemIndex: number): Charged => itemDetails(itemIndex).charged;
	return { count: input.length, isPaying: false, chargeOf, itemDetails };
}

/**
 * Reads the task of an item, from its parameters and its JSON. @throws NodeOperationError,
 * GatewayError
 */
export const readTask = (item: ItemParameters): TaskOfItem => ({
	task: readTaskReference(item),
	facts: factsOfInput(item),
	outputSettings: readOutputSettings(item),
});

/** The finished images of an input item. */
export interface ImagesOfItem extends Omit<TaskOfItem, 'task'> {
	images: Array<{ url: string }>;
}

/**
 * Reads the finished image that an item names in place of a task, like the list of payments in the
 * error of a failed batch, or those of a failed item. @returns undefined for other items
 */
export function readFinishedImages(item: ItemParameters): ImagesOfItem | undefined {
	const { json = {} } = item.input ?? {};
	const { url, taskId } = fieldsOf(json);
	// Beside them, columns of a person may have these names.
	const details = detailsOf(json);
	const urls = failedUrls(details ?? { url });
	// A table has a column for the ID, which is empty in the row of an image.
	if (urls.length === 0 || !isEmpty(taskId) || !isEmpty(item.value('taskId'))) return undefined;
	const wrong = urls.find((one) => !MAYBE_WEB.test(one));
	if (wrong !== undefined) {
		const advice = "Correct the field 'url' in the node before this one.";
		throw item.invalid('url', 'a web address', wrong, advice);
	}
	const facts = { ...factsOfInput(item), meant: details && meantImages(details) };
	const images = urls.map((one) => ({ url: one }));
	return { images, facts, outputSettings: readOutputSettings(item) };
}

/** An address of the web, without a scheme, or with the image itself. */
const MAYBE_WEB = /^\s*(?:(?:https?|data):|(?![a-z][\w+.-]{0,100}:))/i;

function amount(value: unknown): number | undefined {
	const number = finiteNumber(value);
	return number !== undefined && number >= 0 ? number : undefined;
}
