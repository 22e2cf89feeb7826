import {
	type IBinaryData,
	type IDataObject,
	type IExecuteFunctions,
	type INodeExecutionData,
	deepCopy,
} from 'n8n-workflow';
import { digestOf } from '../../../util/digest';
import { imageFileName } from '../../../util/imageType';
import { defaultFileStem, portableStem } from '../../../util/fileName';
import {
	type Bill,
	GatewayError,
	type ImageSource,
	isInline,
	type ResultFacts,
	type ResultFile,
	rounded,
	type Task,
	withDetails,
} from '../../../gateway';
import { withoutUndefined } from '../../../util/json';
import { capital } from '../../../util/text';
import { storeImage } from './download';
import { copiedFields } from '../run/copiedFields';
import { detailsOf, type MeantImage, type RequestFacts } from '../errors/itemReport';
import { rowName } from '../errors/rowNames';
import { failedItem, isFailed } from '../errors/nodeErrors';
import { joinImages } from './joinImages';
import { costOf, sumOfBills } from '../run/totals';
import { orUndefined } from '../parameters/orUndefined';
import { ItemParameters } from '../parameters/itemParameters';
import type { Run } from '../run/runContext';

/** The facts about the images of one item. */
type ImageFacts = RequestFacts & ResultFacts & Partial<Task>;

/**
 * The cost of one image of a request. The costs of all images add up to that of the request, so
 * they may differ by a millionth.
 *
 * @param index the position of the image among `count`
 */
function costShare(cost: number | undefined, index: number, count: number): number | undefined {
	if (cost === undefined) return undefined;
	const upTo = (images: number): number => rounded((cost * images) / count);
	return rounded(upTo(index + 1) - upTo(index));
}

/** The bill of one image, likewise. */
const billShare = ({ cost, costCurrency }: RequestFacts, index: number, count: number): Bill =>
	cost === undefined ? {} : { cost: costShare(cost, index, count), costCurrency };

/**
 * The part of a task's result that an item is about, with its share of the bill. If the gateway no longer
 * has one of these images, it is the whole result: in doubt, all that was paid for comes out.
 *
 * @returns the result, and the facts of the item, which are about its images
 */
export function partOf<Result extends ResultFacts & { images: ResultFile[] }>(
	result: Result,
	facts: RequestFacts,
): { part: Result; facts: RequestFacts } {
	const { images } = result;
	const { meant } = facts;
	if (meant === undefined) return { part: result, facts };
	const isPart = meant.length <= images.length;
	const places = isPart ? [...new Set(meant.map((one) => placeOf(one, images)))] : [];
	const own = places.flatMap((place) => images[place] ?? []);
	if (own.length < meant.length) return { part: result, facts: { ...facts, meant: undefined } };
	const [bill] = sumOfBills(places.map((place) => billShare(result, place, images.length)));
	const usage = meant.some(({ hasUsage }) => hasUsage) ? result.usage : undefined;
	return { part: { ...result, ...bill, usage, images: own }, facts };
}

/** The place of an image: its address tells it, where no other has the same, and else its index. */
function placeOf({ index, url = '' }: MeantImage, images: ResultFile[]): number {
	for (const known of [(address: string) => address, withoutQuery]) {
		const places = images.flatMap((one, place) => (known(one.url) === known(url) ? place : []));
		if (places.length === 1) return places[0]!;
	}
	return index;
}

/** In the query, a gateway may sign an address anew each time. */
const withoutQuery = (address: string): string => address.split('?', 1)[0]!;

/** The output settings of an item: where its images go. */
export interface OutputSettings {
	itemIndex: number;
	download: boolean;
	binaryPropertyName: string;
	/** Fields of the input item that are copied to each output item. */
	inputFields?: IDataObject;
	/** The option 'One Item per Request'; undefined: an item for each image. */
	isOneItem?: boolean;
	/** The option 'File Name', safe on every file system; empty: names follow from the prompts. */
	fileName: string;
}

/** Reads the output settings of an item from its parameters. */
export function readOutputSettings(item: ItemParameters): OutputSettings {
	return {
		itemIndex: item.itemIndex,
		download: item.switch('download', 'Download', true),
		binaryPropertyName:
			item.options.optionalText('binaryPropertyName', 'Put Output File in Field')?.trim() ?? 'data',
		inputFields: readInputFields(item),
		isOneItem: item.options.switch('oneItemPerRequest', 'One Item per Request', false) || undefined,
		fileName: portableStem(item.options.optionalText('fileName', 'File Name') ?? ''),
	};
}

/** The option 'Include Input Fields'. An agent knows the input of its tool, and pays for each word. */
function readInputFields(item: ItemParameters, kept?: string[]): IDataObject | undefined {
	const isOn = item.options.switch('includeInputFields', 'Include Input Fields', !item.isTool);
	return isOn ? copiedFields(item.input?.json ?? {}, kept) : undefined;
}

/**
 * Adds the fields of the input items to failed items that stay in the regular output. In an error
 * output, the engine accepts no other fields beside the error, and adds those of the input itself.
 *
 * @param items the output items of each input item
 */
export function withInputFieldsOfFailed(
	context: IExecuteFunctions,
	items: INodeExecutionData[][],
): INodeExecutionData[][] {
	if (context.getNode().onError !== 'continueRegularOutput') return items;
	return items.map((list, itemIndex) => {
		if (!list.some(isFailed)) return list;
		// The option itself may be why the item has failed.
		const item = new ItemParameters(context, itemIndex);
		// The table of a person has it in one column, whether a row has failed or not.
		const fields = orUndefined(() => readInputFields(item, ['prompt']));
		if (fields === undefined) return list;
		return list.map((one) => {
			if (!isFailed(one)) return one;
			const { prompt = fields.prompt } = detailsOf(one.json) ?? {};
			const own = prompt === undefined ? fields : { ...fields, prompt };
			return { ...one, json: { ...own, ...one.json } };
		});
	});
}

/**
 * The output items of an item's images, in the gateway's order: one for each image, or one for all.
 * If On Error is set to continue, an image that can't be downloaded becomes a failed item, and the
 * others are kept.
 */
export async function resultItems(
	run: Run,
	images: ResultFile[],
	facts: ImageFacts,
	outputSettings: OutputSettings,
): Promise<INodeExecutionData[]> {
	const items = await itemPerImage(run, images, facts, outputSettings);
	return arranged(run, items, facts, outputSettings);
}

/** An item for each image, without the fields of the input. */
export async function itemPerImage(
	run: Run,
	images: ResultFile[],
	facts: ImageFacts,
	outputSettings: OutputSettings,
): Promise<INodeExecutionData[]> {
	const { isTool } = run;
	const { model, created, taskId, taskType, status, prompt, requestId } = facts;
	const task = { status, taskId, taskType };
	const usage = isTool ? undefined : facts.usage;
	const fileOf = fileGetter(run, facts, outputSettings);
	const cost = costOf(facts, images.length);
	const meant = facts.meant?.length === images.length ? facts.meant : [];
	const itemOf = async (image: ResultFile, at: number): Promise<INodeExecutionData> => {
		const index = meant[at]?.index ?? at;
		const estimatedCost = costShare(cost, at, images.length);
		const bill = billShare(facts, at, images.length);
		try {
			const file = await fileOf(image, index);
			const shown = shownImage(image);
			const hasNoAddress = shown.url === undefined;
			if (hasNoAddress && !outputSettings.download && !isTool) run.hints.add(INLINE_HINT);
			return {
				json: withoutUndefined({
					prompt,
					model,
					parameters: isTool ? undefined : facts.parameters && deepCopy(facts.parameters),
					...bill,
					estimatedCost,
					usage,
					...task,
					created,
					...shown,
					note: isTool && hasNoAddress ? NOTE_FOR_AGENT : undefined,
					index,
				}) as IDataObject,
				...(file === undefined ? {} : { binary: { [outputSettings.binaryPropertyName]: file } }),
				pairedItem: { item: outputSettings.itemIndex },
			};
		} catch (error) {
			const failure = error instanceof GatewayError ? withDetails(error, task) : error;
			if (!run.continuesOnFail) throw failure;
			const about = { model, prompt, estimatedCost, usage, ...bill, ...task, requestId, index };
			return failedItem(run.node, failure, outputSettings.itemIndex, { charged: 'yes', ...about });
		}
	};
	return withUsageOnce(await Promise.all(images.map(itemOf)));
}

/**
 * The items of a request with its usage on one of them, so that sums are right: the first that hasn't
 * failed, or else the first one.
 */
function withUsageOnce(items: INodeExecutionData[]): INodeExecutionData[] {
	const holder = items.find((item) => !isFailed(item)) ?? items[0];
	for (const item of items) {
		if (item !== holder) delete (detailsOf(item.json) ?? item.json).usage;
	}
	return items;
}

/**
 * The items of an item's images, arranged as its settings say. A hint tells of images that are missing in
 * an item of several, which isn't a failed one.
 */
function arranged(
	run: Pick<Run, 'hints'>,
	items: INodeExecutionData[],
	facts: RequestFacts,
	outputSettings: OutputSettings,
): INodeExecutionData[] {
	const { itemIndex, inputFields, binaryPropertyName, isOneItem } = outputSettings;
	const failed = items.filter(isFailed).length;
	if (isOneItem && failed > 0 && failed < items.length) {
		run.hints.add(
			`${capital(rowName(itemIndex, facts.prompt))}: ${failed} of ${items.length} images couldn't be downloaded. "images" has their addresses and errors.`,
		);
	}
	const cost = costOf(facts, items.length);
	const list = isOneItem ? [joinImages(items, binaryPropertyName, cost)] : items;
	if (inputFields === undefined) return list;
	return list.map((item) =>
		isFailed(item) ? item : { ...item, json: { ...deepCopy(inputFields), ...item.json } },
	);
}

const INLINE_HINT =
	"'Download' is off, but the gateway sent the image itself: it is in the output as a file and has no address. If the gateway can, set 'Response Format' to 'URL' in the node that requests the image.";

/** It can't change the node's options, and the next call would be charged as well. */
const NOTE_FOR_AGENT =
	"The image was made and charged. The response contained the image itself, so there is no address to give to anybody: don't make it again.";

/** An image in JSON, with what the response says about it, and without megabytes of Base64. */
function shownImage(image: ResultFile): Partial<ResultFile> {
	if (!isInline(image)) return image;
	const { address, ...shown } = image;
	return { ...shown, url: address };
}

/**
 * Creates the download of an item's images. There is none with 'Download' off, or for an agent, to
 * which n8n passes no binary data. An inline image is always stored: it was paid for, and has no
 * address.
 */
function fileGetter(
	run: Run,
	facts: ImageFacts,
	outputSettings: OutputSettings,
): (image: ResultFile, index: number) => Promise<IBinaryData | undefined> {
	const { download, fileName: chosen } = outputSettings;
	return async (image, index) => {
		if (!isInline(image) && (!download || run.isTool)) return undefined;
		const { url } = image;
		const name = chosen === '' ? defaultName(facts, url, index) : { stem: chosen };
		return await storeImage(run, { url, name, item: outputSettings.itemIndex });
	};
}

/** The digits that tell files apart: with ten thousand images of a name, two are alike in 1 of 90 cases. */
const DIGITS_OF_END = 8;

/**
 * The default name of an image's file. Its end tells it from other images of the same prompt, also
 * those of other executions, and is the same when the image is downloaded again: its task's ID stays,
 * and, without a task, the recorded address or the bytes.
 */
function defaultName(facts: ImageFacts, url: string, index: number): ImageSource['name'] {
	const { taskType, taskId } = facts;
	// A generation and an edit may have the same ID.
	const source = taskId === undefined ? url : [taskType, taskId, index];
	const end = digestOf(source).slice(0, DIGITS_OF_END);
	return { stem: defaultFileStem(facts), end };
}

/**
 * The output items of recorded inline images, with the input fields, the binary field and the file
 * names of this try. They were recorded with their default names.
 */
export function withOutputSettings(
	run: Pick<Run, 'hints'>,
	items: INodeExecutionData[],
	facts: ImageFacts,
	outputSettings: OutputSettings,
): INodeExecutionData[] {
	const { binaryPropertyName, itemIndex, fileName: chosen } = outputSettings;
	const copies = items.map((item) => {
		if (isFailed(item)) return item;
		const [file] = Object.values(item.binary ?? {});
		const fileName =
			chosen === '' ? file?.fileName : imageFileName('', file?.mimeType ?? '', { stem: chosen });
		return {
			json: deepCopy(item.json),
			...(file && { binary: { [binaryPropertyName]: { ...file, fileName } } }),
			pairedItem: { item: itemIndex },
		};
	});
	return arranged(run, copies, facts, outputSettings);
}
