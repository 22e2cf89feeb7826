import type {
	IBinaryKeyData,
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
} from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { finiteNumber } from '../../../gateway/util/json';
import { withoutUndefined, type TaskType } from '../../../gateway/protocol/requestPlan';
import { rounded } from '../../../gateway/validation/pricing';
import { isInline, type ImageResult } from '../../../gateway/protocol/task';
import { downloadImage, type ImageName } from '../transport/download';
import { failedItem } from '../run/nodeErrors';
import { inRange, readOptions, readSwitch } from '../parameters/optionValues';
import { readParameter } from '../parameters/reader';
import type { Run } from '../run/runContext';
import { chosenStem, readFileNaming, type FileNaming } from './fileNames';

/** What is known about the images of one item. */
export interface ImageFacts {
	model?: string;
	/** Unix seconds. */
	created?: number;
	taskId?: string;
	taskType?: TaskType;
	status?: string;
	prompt?: string;
	/** In the gateway's currency. */
	estimatedCost?: number;
}

/** What one image of several costs: the items add up to what the request costs. */
export function costShare(cost: number | undefined, images: number): number | undefined {
	return cost === undefined ? undefined : rounded(cost / images);
}

/** Where the images of one item go. */
export interface ImageTarget {
	itemIndex: number;
	download: boolean;
	binaryPropertyName: string;
	maxMb: number;
	naming?: FileNaming;
}

/** Reads where the images of an item go from its parameters. */
export function readTarget(context: IExecuteFunctions, itemIndex: number): ImageTarget {
	return {
		itemIndex,
		download: readSwitch(
			context,
			'Download',
			readParameter(context, 'download', itemIndex, true),
			true,
			itemIndex,
		),
		binaryPropertyName: readOutputField(context, itemIndex),
		maxMb: inRange(
			context,
			'maxDownloadMb',
			readOptions(context, itemIndex).maxDownloadMb,
			itemIndex,
		),
		naming: readFileNaming(context, itemIndex),
	};
}

/** @throws NodeOperationError if an expression gives something that no field can be called */
function readOutputField(context: IExecuteFunctions, itemIndex: number): string {
	const value = readParameter(context, 'binaryPropertyName', itemIndex, 'data');
	const isName = typeof value === 'string' || finiteNumber(value) !== undefined;
	if (isName) return String(value).trim() || 'data';
	throw new NodeOperationError(
		context.getNode(),
		"'Put Output File in Field' must be the name of a field",
		{ description: 'Enter a name, usually "data". Nothing was sent.', itemIndex },
	);
}

/**
 * One item for each image, in the gateway's order (design, section 3). Where the node goes on after
 * errors, an image that cannot be downloaded does not take the others with it.
 */
export async function imageItems(
	run: Run,
	images: ImageResult[],
	facts: ImageFacts,
	target: ImageTarget,
): Promise<INodeExecutionData[]> {
	const goOn = run.context.continueOnFail();
	return await Promise.all(
		images.map(async ({ url }, index) => {
			try {
				return await imageItem(run, url, index, facts, target);
			} catch (error) {
				if (goOn) return failedItem(run.context.getNode(), error, target.itemIndex, facts);
				return await Promise.reject(error);
			}
		}),
	);
}

/** An image as it stands in JSON, where megabytes of Base64 help neither a person nor an agent. */
export function shownImage({ url }: ImageResult): { url?: string; note?: string } {
	if (!isInline({ url })) return { url };
	return {
		note: "The response contained the image itself. Set 'Response Format' to 'URL' to get an address.",
	};
}

/**
 * An agent's tool result holds no binary data: it gets the address. What has none is kept all the
 * same: it is paid for, and nothing else leads to it.
 */
const isDownloaded = (run: Run, { download }: ImageTarget, url: string): boolean =>
	(download && !run.isTool) || isInline({ url });

async function imageItem(
	run: Run,
	url: string,
	index: number,
	facts: ImageFacts,
	target: ImageTarget,
): Promise<INodeExecutionData> {
	const binary = isDownloaded(run, target, url)
		? {
				[target.binaryPropertyName]: await downloadImage(
					run,
					url,
					target.maxMb,
					nameOf(facts, index, target),
				),
			}
		: undefined;
	return {
		json: withoutUndefined({
			...(isInline({ url }) && !run.isTool ? {} : shownImage({ url })),
			index,
			...facts,
		}) as IDataObject,
		...(binary === undefined ? {} : { binary }),
		pairedItem: { item: target.itemIndex },
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
	const stored = await Promise.all(
		images.map(async ({ url }, index) => {
			if (!isDownloaded(run, target, url)) return [];
			const { binaryPropertyName: name, maxMb } = target;
			const data = await downloadImage(run, url, maxMb, nameOf(facts, index, target));
			return [[index === 0 ? name : `${name}_${index}`, data] as const];
		}),
	);
	const found = stored.flat();
	return found.length === 0 ? undefined : Object.fromEntries(found);
}

function nameOf(
	{ taskId, model, prompt }: ImageFacts,
	index: number,
	{ naming, itemIndex: item }: ImageTarget,
): ImageName {
	return {
		fallback: `${taskId ?? model ?? 'image'}-${index}`,
		chosen: chosenStem(naming, { item, index, model, taskId, prompt }),
	};
}
