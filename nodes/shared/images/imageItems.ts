import type { IBinaryData, IBinaryKeyData, IDataObject, INodeExecutionData } from 'n8n-workflow';
import { deepCopy } from 'n8n-workflow';
import { fillFileName } from '../../../gateway/util/fileName';
import { finiteNumber, withoutUndefined } from '../../../gateway/util/json';
import { rounded } from '../../../gateway/validation/pricing';
import { isInline, type ImageResult, type TaskRef } from '../../../gateway/protocol/task';
import { downloadImage } from '../transport/download';
import { failedItem, type RequestFacts } from '../run/nodeErrors';
import { costOf } from '../run/tally';
import type { ItemParameters } from '../parameters/itemParameters';
import type { Run } from '../run/runContext';

/** What is known about the images of one item. */
export interface ImageFacts extends RequestFacts, Partial<TaskRef> {
	/** Unix seconds. */
	created?: number;
	status?: string;
}

/**
 * What one image of a request costs. Shares differ by a millionth where the cost can't be divided
 * evenly, so that they add up to it.
 *
 * @param index of the image among `count`
 */
function costShare(cost: number | undefined, index: number, count: number): number | undefined {
	if (cost === undefined) return undefined;
	const upTo = (images: number): number => rounded((cost * images) / count);
	return rounded(upTo(index + 1) - upTo(index));
}

/** Where the images of one item go. */
export interface ImageTarget {
	itemIndex: number;
	download: boolean;
	binaryPropertyName: string;
	maxMb: number;
	/** Fields of the input item that each output item gets, too. */
	inputFields?: IDataObject;
	/** How the files are called; undefined: as their addresses suggest. */
	naming?: FileNaming;
}

/** How the files of an item are called. It can be stored with what is waited for. */
interface FileNaming {
	template: string;
	/** When the item was read, in the time zone of the workflow. */
	date: string;
	time: string;
}

/** Reads where the images of an item go from its parameters. */
export function readTarget(item: ItemParameters): ImageTarget {
	return {
		itemIndex: item.itemIndex,
		download: item.switch('download', 'Download', true),
		binaryPropertyName: readOutputField(item),
		maxMb: item.options.number('maxDownloadMb'),
		inputFields: readInputFields(item),
		naming: readFileNaming(item),
	};
}

/**
 * Fields of an input item that are not handed on: `error`, which n8n takes for a failed item, and what
 * would tell of this node's request where that has none.
 */
const NOT_HANDED_ON = [
	'error',
	'parameters',
	'estimatedCost',
	'pricePerImage',
	'taskId',
	'taskType',
];

/** The input item's fields, where they are wanted. */
function readInputFields(item: ItemParameters): IDataObject | undefined {
	if (!item.options.switch('includeInputFields', 'Include Input Fields', false)) return undefined;
	const fields = Object.entries(item.input?.json ?? {});
	const wanted = fields.filter(([name]) => !NOT_HANDED_ON.includes(name));
	return withoutUndefined(deepCopy(Object.fromEntries(wanted))) as IDataObject;
}

/** @throws NodeOperationError if an expression gives something that no field can be called */
function readOutputField(item: ItemParameters): string {
	const value = item.value('binaryPropertyName', 'data');
	const isName = typeof value === 'string' || finiteNumber(value) !== undefined;
	if (isName) return String(value).trim() || 'data';
	throw item.error(
		"'Put Output File in Field' must be the name of a field",
		'Enter a name, usually "data". Nothing was sent.',
	);
}

/** Nobody types a longer one; what is behind it would be stored with every task. */
const LONGEST_TEMPLATE = 1000;

/**
 * The option "File Name" of an item.
 *
 * @returns undefined where it is not set: then files are called as their addresses suggest
 * @throws NodeOperationError if it is no text
 */
function readFileNaming(item: ItemParameters): FileNaming | undefined {
	const fileName = item.options.value('fileName');
	if (fileName === undefined || fileName === null) return undefined;
	if (typeof fileName !== 'string' && finiteNumber(fileName) === undefined) {
		throw item.error(
			"'File Name' must be text",
			'Enter a name with placeholders, e.g. {item:3}-{prompt}. Nothing was sent.',
		);
	}
	const template = String(fileName).slice(0, LONGEST_TEMPLATE);
	if (template.trim() === '') return undefined;
	// The form of Sweden sorts: 2027-01-31 23:59:59.
	const now = new Date(Date.now()).toLocaleString('sv-SE', { timeZone: item.timeZone });
	const [date = '', time = ''] = now.replaceAll(':', '-').split(' ');
	return { template, date, time };
}

/**
 * One item for each image, in the gateway's order; their estimated costs add up to that of the
 * request. Where the node goes on after errors, an image that cannot be downloaded does not take the
 * others with it.
 */
export async function imageItems(
	run: Run,
	images: ImageResult[],
	facts: ImageFacts,
	target: ImageTarget,
): Promise<INodeExecutionData[]> {
	const { isTool } = run;
	const { model, created, taskId, taskType, status, prompt } = facts;
	const fileOf = fileGetter(run, facts, target);
	const cost = costOf(facts, images.length);
	const itemOf = async (image: ImageResult, index: number): Promise<INodeExecutionData> => {
		try {
			const file = await fileOf(image, index);
			const shown = isInline(image) && !isTool ? {} : shownImage(image);
			return {
				json: {
					...target.inputFields,
					...(withoutUndefined({
						prompt,
						model,
						parameters: isTool ? undefined : facts.parameters,
						estimatedCost: costShare(cost, index, images.length),
						status,
						taskId,
						taskType,
						created,
						...shown,
						index,
					}) as IDataObject),
				},
				...(file === undefined ? {} : { binary: { [target.binaryPropertyName]: file } }),
				pairedItem: { item: target.itemIndex },
			};
		} catch (error) {
			if (run.continuesOnFail) return failedItem(run.node, error, target.itemIndex, facts);
			return await Promise.reject(error);
		}
	};
	return await Promise.all(images.map(itemOf));
}

/** An image as it stands in JSON, where megabytes of Base64 help neither a person nor an agent. */
export function shownImage({ url }: ImageResult): { url?: string; note?: string } {
	if (!isInline({ url })) return { url };
	return {
		note: "The response contained the image itself. Set 'Response Format' to 'URL' to get an address.",
	};
}

/**
 * Gets the file of each image, where one is wanted. An agent's tool result holds no binary data: it
 * gets the address. An image without an address is kept all the same: it is paid for, and nothing else
 * leads to it.
 */
function fileGetter(
	run: Run,
	{ taskId, model, prompt }: ImageFacts,
	{ itemIndex: item, download, maxMb, naming }: ImageTarget,
): (image: ImageResult, index: number) => Promise<IBinaryData | undefined> {
	return async (image, index) => {
		if (!isInline(image) && (!download || run.isTool)) return undefined;
		const facts = { item: item + 1, index: index + 1, model, taskId, prompt };
		const fallback = `${taskId ?? model ?? 'image'}-${index}`;
		const chosen = naming && fillFileName(naming.template, { ...naming, ...facts });
		const name = { fallback, chosen };
		return await downloadImage(run, { url: image.url, maxMb, name });
	};
}

/**
 * All images of an item as its binary data: the first under the chosen name, the others with a
 * number behind it.
 */
export async function imageBinaries(
	run: Run,
	images: ImageResult[],
	facts: ImageFacts,
	target: ImageTarget,
): Promise<IBinaryKeyData | undefined> {
	const { binaryPropertyName: name } = target;
	const files = await Promise.all(images.map(fileGetter(run, facts, target)));
	const found = files.flatMap((file, index) =>
		file === undefined ? [] : [[index === 0 ? name : `${name}_${index}`, file] as const],
	);
	return found.length === 0 ? undefined : Object.fromEntries(found);
}
