import {
	type IDataObject,
	type INode,
	type INodeExecutionData,
	type JsonObject,
	NodeApiError,
	NodeOperationError,
	WAIT_FOR_SUB_EXECUTION,
} from 'n8n-workflow';
import { withoutDataUrls } from '../../../util/inlineImages';
import { isJsonObject, withoutUndefined } from '../../../util/json';
import { capital, counted, escapeHtml, quote, LONGEST_EXCERPT } from '../../../util/text';
import { type Charged, GatewayError, hasCode, mostCharged, type Problem } from '../../../gateway';
import {
	FREE_ITEMS,
	type ItemDetails,
	type ItemReport,
	type UnreturnedPayment,
} from './itemReport';
import { rowName } from './rowNames';
import { withPlaces } from './settingPlaces';

/**
 * The text of an error. The engine takes an error with the word "canceled" for a Stop by the user.
 */
const shown = (text: string): string => withoutDataUrls(text).replaceAll('canceled', 'Canceled');

/** The problem behind any error; n8n's own errors keep their texts. */
export function problemOf(error: unknown): Problem {
	let problem: Problem = { message: String(error), description: '' };
	if (error instanceof GatewayError) ({ problem } = error);
	else if (error instanceof NodeOperationError || error instanceof NodeApiError) {
		const { message, description, context } = error;
		// Details that `nodeError` has added.
		const details = isJsonObject(context.details) ? (context.details as Partial<Problem>) : {};
		problem = { message, description: String(description ?? ''), ...details };
	} else if (error instanceof Error) problem.message = error.message;
	const { message, url, response } = problem;
	return {
		...problem,
		message: shown(message),
		description: shown(withPlaces(problem)),
		settings: undefined,
		url: url?.startsWith('data:') === true ? undefined : url,
		response: response && withoutDataUrls(response).slice(0, LONGEST_EXCERPT),
	};
}

/** What an error itself tells about the charge. */
const chargedBy = (error: unknown): Charged =>
	error instanceof GatewayError ? error.charged : new GatewayError(problemOf(error)).charged;

/** The details of an error: what it says itself, and what is known of its item. */
function detailsFor(error: unknown, ofItem: ItemDetails): JsonObject {
	const other = { message: undefined, description: undefined, isAnswered: undefined };
	const own = { ...problemOf(error), ...other };
	const charged = mostCharged([ofItem.charged, chargedBy(error)]);
	const free = { estimatedCost: undefined, cost: undefined, costCurrency: undefined };
	return withoutUndefined({
		...ofItem,
		// The input has it, under its own name.
		row: undefined,
		...(charged === 'no' ? free : {}),
		charged,
		...withoutUndefined(own),
		outcome: outcomeOf(error) ?? ofItem.outcome,
	}) as JsonObject;
}

/**
 * The output item of a failed input item, if On Error is set to continue. The engine takes it for
 * an error only if its JSON has no keys other than `error`, `message` and `details`.
 */
export function failedItem(
	node: INode,
	error: unknown,
	itemIndex: number,
	ofItem: ItemDetails,
): INodeExecutionData {
	const { message, description } = problemOf(error);
	const advice = description === '' ? {} : { description };
	const details = { ...detailsFor(error, ofItem), ...advice } as IDataObject;
	return {
		json: { error: message, [keyOfDetails(node)]: details },
		pairedItem: { item: itemIndex },
	};
}

/** Whether an output item is that of a failed input item. A response may have `error: null`. */
export const isFailed = ({ json }: INodeExecutionData): boolean => typeof json.error === 'string';

/** The indexes of the input items that failed. @param output the output items of each */
export const failedItems = (output: INodeExecutionData[][]): Set<number> =>
	new Set(output.flatMap((items, itemIndex) => (items.some(isFailed) ? [itemIndex] : [])));

/**
 * The key of an error's details. n8n 1.x recognizes failed items by `error` and `message` only:
 * with `details` the item would leave by the first output, as a success.
 */
function keyOfDetails({ onError }: INode): 'details' | 'message' {
	const isOld = WAIT_FOR_SUB_EXECUTION === undefined;
	return isOld && onError === 'continueErrorOutput' ? 'message' : 'details';
}

const outcomeOf = (error: unknown): 'unknown' | undefined =>
	hasCode(error, 'outcomeUnknown') ? 'unknown' : undefined;

const TASKS =
	"Image tasks that have finished or are still running. Image Wait gets their images, as in the example 'Collect these tasks':";
const IMAGES = 'Finished images:';
const STORED = 'Results that a retry of this execution returns:';
const UNCLEAR =
	"Requests that may have been charged. Check the usage log in the gateway's console:";

/** The heading and the line of a payment. */
function headingAndText(payment: UnreturnedPayment): [heading: string, text: string] {
	const { outcome, taskId, taskType = 'image', url, note } = payment;
	if (outcome === 'unknown') {
		const id = taskId === undefined ? '' : `; its response contains the ID ${quote(taskId)}`;
		return [UNCLEAR, `the outcome of the request is unknown${id}`];
	}
	if (taskId !== undefined) return [TASKS, `${taskType} task ${taskId}`];
	return url === undefined ? [STORED, note ?? ''] : [IMAGES, url];
}

/** How a person knows an input item. */
type NameOfRow = (itemIndex: number) => string;

/** The names of input items by what is known of them. */
export const rowNamesOf =
	(itemReport: Pick<ItemReport, 'itemDetails'> | undefined): NameOfRow =>
	(itemIndex) => {
		const { prompt, row } = itemReport?.itemDetails(itemIndex) ?? {};
		return rowName(itemIndex, prompt || row);
	};

/**
 * The same payments as lines for a person, under a heading for each kind; empty if there are none.
 */
export function describeUnreturned(
	payments: UnreturnedPayment[],
	nameOf: NameOfRow = rowName,
): string {
	const lines = payments.map((payment) => ({ item: payment.item, line: headingAndText(payment) }));
	return [TASKS, IMAGES, STORED, UNCLEAR]
		.flatMap((heading) => {
			const own = lines.filter(({ line: [kind] }) => kind === heading);
			const listed = own.map(({ item, line: [, text] }) => `${nameOf(item)}: ${text}`);
			return listed.length === 0 ? [] : [heading, ...listed];
		})
		.join('\n');
}

/** A payment as a short line, for a person who reads many. */
const shortLine = (payment: UnreturnedPayment, nameOf: NameOfRow): string =>
	`${capital(nameOf(payment.item))}: ${headingAndText(payment)[1]}`;

/** What was paid for and not returned, in a sentence or two; the IDs are in the error's lines. */
function describePaid(paid: UnreturnedPayment[], recoveryAdvice: string): string {
	if (paid.length === 0) return '';
	const unclear = paid.filter(({ outcome }) => outcome === 'unknown').length;
	const safe = paid.length - unclear;
	const texts = [
		safe === 0
			? ''
			: `${counted(safe, 'paid request')} ${safe === 1 ? 'is' : 'are'} recorded with this execution. ${recoveryAdvice}`,
		unclear === 0
			? ''
			: `${counted(unclear, 'request')} may have been charged, and a retry sends ${unclear === 1 ? 'it' : 'them'} again: check the usage log in the gateway's console first.`,
	];
	return texts
		.map((text) => text.trim())
		.filter((text) => text !== '')
		.join(' ');
}

/**
 * The error that ends the node. An error that was already made for the user stays as it is, apart
 * from the word that the engine takes for a Stop.
 *
 * @param itemReport what is known of the items
 */
export function finalError(
	node: INode,
	error: unknown,
	itemReport: ItemReport = FREE_ITEMS,
): NodeApiError | NodeOperationError {
	const isMade = error instanceof NodeApiError || error instanceof NodeOperationError;
	// Only errors made by `nodeError` have details, and list what was paid for.
	if (!isMade) return nodeError(node, error, { itemReport });
	if (error.context.details === undefined) {
		return nodeError(node, error, { itemReport, itemIndex: error.context.itemIndex as number });
	}
	error.message = shown(error.message);
	return error;
}

/** Where an error comes from. */
interface ErrorSource {
	/** Undefined if it is about the whole run. */
	itemIndex?: number;
	itemReport?: ItemReport;
	/** A line for each item that has failed, if there are several. */
	lines?: string[];
}

/** The most lines of failed items below the error's text; `messages` has more of them. */
const MOST_SHOWN = 5;

/**
 * The error that ends the node. The reason is its title; below it the advice and, in a sentence or
 * two, what was paid for. The editor shows the list of that, which may have hundreds of lines, under
 * 'Error details'; an error workflow reads it as data, in `context.details.paid`.
 */
export function nodeError(
	node: INode,
	error: unknown,
	{ itemIndex, itemReport, lines = [] }: ErrorSource = {},
): NodeApiError | NodeOperationError {
	const { message, description, httpCode, ...details } = problemOf(error);
	const paid = itemReport?.listUnreturned?.() ?? [];
	const some = lines.slice(0, MOST_SHOWN);
	const more = lines.length > some.length ? ["'Error details' below lists the others."] : [];
	const isBatch = (itemReport?.count ?? 0) > 1;
	const isOneOfMany = itemIndex !== undefined && isBatch;
	const nameOf = rowNamesOf(itemReport);
	const who = isOneOfMany && lines.length === 0 ? `It was ${nameOf(itemIndex)}. ` : '';
	// The editor shows it beside the node's name.
	const number = isOneOfMany ? `n8n counts from 0: [item ${itemIndex}].` : '';
	const what = `${description} ${who}${number}`.trim();
	const spent = describePaid(paid, itemReport?.recoveryAdvice ?? '');
	// In a batch most of it may be paid for, which counts more than what the failed item says.
	const texts = [...(isBatch ? [spent, what] : [what, spent]), ...some, ...more];
	const below = paid.length === 0 ? '' : " See 'Error details' below.";
	const advice = texts.filter((text) => text !== '').join('\n') + below;
	// The editor renders the description as HTML, in which a line break is a space, and part of an
	// address may be read as a character. Logs and workflows get the plain text.
	const html = escapeHtml(advice).replaceAll('%%', '&#37;&#37;').replaceAll('\n', '<br>');
	const options = { description: advice, itemIndex };
	const data = { message, ...withoutUndefined(details) } as JsonObject;
	const made =
		error instanceof GatewayError
			? new NodeApiError(node, data, { ...options, message, httpCode: httpCode?.toString() })
			: new NodeOperationError(node, message, options);
	// n8n replaces texts that contain an error code, or belong to a status code, with its own.
	made.message = message;
	made.description = advice;
	made.messages = [...lines, ...paid.map((payment) => shortLine(payment, nameOf))];
	const own =
		itemReport === undefined
			? { ...details, httpCode, outcome: outcomeOf(error) }
			: detailsFor(error, detailsOfRun(itemReport, itemIndex));
	Object.assign(made.context, {
		details: withoutUndefined({ ...own, paid: paid.length === 0 ? undefined : paid }),
		...(html === advice ? {} : { descriptionTemplate: html }),
	});
	return made;
}

/** The details of the item that ends a run, with the charge of all items. */
function detailsOfRun(itemReport: ItemReport, itemIndex?: number): ItemDetails {
	const only = itemReport.count === 1 ? 0 : undefined;
	const own = itemIndex ?? only;
	const charges = Array.from({ length: itemReport.count }, (_, index) =>
		itemReport.chargeOf(index),
	);
	return {
		...(own === undefined ? {} : itemReport.itemDetails(own)),
		charged: mostCharged(charges),
	};
}
