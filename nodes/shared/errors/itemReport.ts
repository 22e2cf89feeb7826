import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { type Bill, type Charged, readCharged, statusGroup, type Task } from '../../../gateway';
import { finiteNumber, isJsonObject, nonEmptyString, type JsonObject } from '../../../util/json';

/**
 * What items and errors show of a request for images, or of a message: model, prompt, parameters, price,
 * bill.
 */
export type RequestFacts = Bill & {
	model?: string;
	prompt?: string;
	/** A column of the item's row by which a person knows it, if there is no prompt. */
	row?: string;
	/** The other parameters that were sent, to reproduce the image. */
	parameters?: IDataObject;
	/** The estimated cost of all requested images, in the unit of the gateway's list. */
	estimatedCost?: number;
	/**
	 * The price of an image, if the model has one: the cost then follows from the returned images.
	 */
	pricePerImage?: number;
	/** The images that are meant, where the others of their request are already there. */
	meant?: MeantImage[];
};

/** An image of a request, as a failed item names it. */
export interface MeantImage {
	/** Its index among the images of its request. */
	index: number;
	/** Its address, which may have expired. */
	url?: string;
	/** Whether it is the one that has the usage of its request. */
	hasUsage: boolean;
}

/** What is known of an item from its input and its payment, before and apart from its error. */
export interface ItemDetails
	extends Pick<
			RequestFacts,
			'model' | 'prompt' | 'row' | 'estimatedCost' | 'cost' | 'costCurrency'
		>,
		Partial<Pick<Task, 'taskId' | 'taskType' | 'status' | 'statusUrl'>> {
	charged: Charged;
	/** The address of a finished image. */
	url?: string;
	/** Its index among the images of its request. */
	index?: number;
	/** What the request used up, as the gateway counts it. */
	usage?: JsonObject;
	/** The number of the request that was paid for. */
	requestId?: string;
	/** Whether what the item is about may have been charged without a result, which an error later leaves so. */
	outcome?: 'unknown';
}

/**
 * A payment whose result hasn't been returned: a task, an image, or a request of unknown outcome.
 */
export type UnreturnedPayment = Pick<
	ItemDetails,
	'taskId' | 'taskType' | 'statusUrl' | 'url' | 'requestId'
> & {
	/** The index of the input item. */
	item: number;
	/** What was paid for, if no address leads to it: a retry of the execution returns it. */
	note?: string;
	/** Set for a request that may have been charged; then `taskId` is an ID in its response. */
	outcome?: 'unknown';
};

/** An item's error together with its recorded result. */
export interface Recovered {
	/** The error, which also names what an earlier try has paid for. */
	error: unknown;
	/** Recorded output items to return in place of the error, as no address or ID leads to them. */
	items?: INodeExecutionData[];
}

/**
 * The items of a node, as they are known from before the credential and the parameters are read. All
 * that fails takes its details from here, wherever it fails.
 */
export interface ItemReport {
	/** The number of input items. */
	readonly count: number;
	/** Whether what the node sends is charged; to get a task isn't, whatever the task has cost. */
	readonly isPaying: boolean;
	/** Whether an item was charged, as in its details. */
	chargeOf(itemIndex: number): Charged;
	/** Never throws. */
	itemDetails(itemIndex: number): ItemDetails;
	/** The payments whose results haven't been returned, for the error that ends a run. */
	listUnreturned?(): UnreturnedPayment[];
	/** How a person gets these results without paying again. */
	readonly recoveryAdvice?: string;
	/** @param error of an item, which may have failed before this try has looked up its payment */
	recover?(error: unknown, itemIndex: number): Recovered;
	/**
	 * The node returns its items.
	 *
	 * @param failed indexes of the input items that failed
	 */
	markReturned?(failed: Set<number>): void;
}

/** The items of a node whose requests are never charged. */
export const FREE_ITEMS: ItemReport = {
	count: 0,
	isPaying: false,
	chargeOf: () => 'no',
	itemDetails: () => ({ charged: 'no' }),
};

/**
 * What an agent reads before the error of its tool. It may know nothing else of it, and calls a tool
 * that has failed again.
 */
const FOR_AGENT: Record<Charged, string> = {
	no: 'This call was not charged, and may be repeated once its cause is removed.',
	maybe: 'This call may have been charged: do not repeat it.',
	yes: 'This call was charged: do not repeat it.',
};

/** The error of a tool as one text, because newer agents read nothing else of it. */
export function agentText(charged: Charged, message: string, description = ''): string {
	const end = description === '' || /[.!?]$/.test(message) ? '' : '.';
	return `${FOR_AGENT[charged]} ${message}${end} ${description}`.trim();
}

/**
 * The details of a failed item of this package, which n8n 1.x has under `message`; other nodes and
 * triggers have objects of these names, too.
 */
export function detailsOf({ error, details, message }: IDataObject): IDataObject | undefined {
	if (error === undefined) return undefined;
	const isOwn = (found: unknown) => isJsonObject(found) && readCharged(found.charged) !== undefined;
	return [details, message].find(isOwn) as IDataObject | undefined;
}

/** What a failed item says of each image that it is about: after a suspension the others are in `more`. */
const failedImages = (details: IDataObject): IDataObject[] =>
	[details, details.more].flat().filter(isJsonObject) as IDataObject[];

/** The addresses of the images that a failed item is about. */
export const failedUrls = (details: IDataObject): string[] =>
	failedImages(details)
		.flatMap(({ url, urls }) => (Array.isArray(urls) ? urls : [url]))
		.flatMap((one) => nonEmptyString(one) ?? []);

/**
 * The images that a failed item is about, of all images of its request.
 *
 * @returns undefined for all of them: so if one has no index, or not its own
 */
export function meantImages(details: IDataObject): MeantImage[] | undefined {
	const images = failedImages(details);
	const meant = images.flatMap(({ index: given, url, usage }): MeantImage[] => {
		const index = finiteNumber(given);
		if (index === undefined) return [];
		return [{ index, url: nonEmptyString(url), hasUsage: usage !== undefined }];
	});
	return new Set(meant.map(({ index }) => index)).size === images.length ? meant : undefined;
}

/** The index of the one image that is meant. */
export const soleIndex = ([first, ...others]: MeantImage[] = []): number | undefined =>
	others.length === 0 ? first?.index : undefined;

/**
 * What an item says of its task. A failed one says it in its details: the engine adds the fields of its
 * input, which may be about another task. Where what has failed had no task, such as a message, that of
 * the input counts only with a status that is known to be open; any other task may be the source of what
 * has failed.
 */
export function fieldsOf(json: IDataObject = {}): IDataObject {
	const details = detailsOf(json);
	if (details === undefined) return json;
	if (details.taskId !== undefined) {
		return details.taskId === json.taskId ? { ...json, ...details } : details;
	}
	const isOpen =
		json.taskId !== undefined && ['waiting', 'working'].includes(statusGroup(json.status));
	return isOpen ? json : details;
}
