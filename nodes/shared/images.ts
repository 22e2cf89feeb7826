import type {
	IBinaryKeyData,
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
} from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { finiteNumber } from '../../gateway/json';
import { withoutUndefined, type TaskType } from '../../gateway/plan';
import type { ImageResult } from '../../gateway/task';
import { downloadImage } from './download';
import { failedItem } from './errors';
import { inRange, readOptions } from './options';
import { readParameter } from './parameters';
import type { Run } from './run';

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

/** Where the images of one item go. */
export interface ImageTarget {
	itemIndex: number;
	download: boolean;
	binaryPropertyName: string;
	maxMb: number;
}

/** Reads where the images of an item go from its parameters. */
export function readTarget(context: IExecuteFunctions, itemIndex: number): ImageTarget {
	return {
		itemIndex,
		download: readParameter(context, 'download', itemIndex, true) === true,
		binaryPropertyName: readOutputField(context, itemIndex),
		maxMb: inRange(
			context,
			'maxDownloadMb',
			readOptions(context, itemIndex).maxDownloadMb,
			itemIndex,
		),
	};
}

/** @throws NodeOperationError if an expression gives something that no field can be called */
function readOutputField(context: IExecuteFunctions, itemIndex: number): string {
	const value = readParameter(context, 'binaryPropertyName', itemIndex, 'data');
	const isName = typeof value === 'string' || finiteNumber(value) !== undefined;
	if (isName) return String(value).trim() || 'data';
	throw new NodeOperationError(
		context.getNode(),
		'"Put Output File in Field" is not the name of a field',
		{ description: 'Enter a text, usually "data". Nothing was sent.', itemIndex },
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
				if (goOn) return failedItem(run.context.getNode(), error, target.itemIndex);
				return await Promise.reject(error);
			}
		}),
	);
}

/** An agent's tool result holds no binary data: it gets the address. */
const isDownloaded = (run: Run, { download }: ImageTarget): boolean => download && !run.isTool;

async function imageItem(
	run: Run,
	url: string,
	index: number,
	facts: ImageFacts,
	target: ImageTarget,
): Promise<INodeExecutionData> {
	const binary = isDownloaded(run, target)
		? {
				[target.binaryPropertyName]: await downloadImage(
					run,
					url,
					target.maxMb,
					fileStem(facts, index),
				),
			}
		: undefined;
	// An image that came inside the answer has no address but its own bytes.
	const shownUrl = binary !== undefined && url.startsWith('data:') ? undefined : url;
	return {
		json: withoutUndefined({ url: shownUrl, index, ...facts }) as IDataObject,
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
	if (!isDownloaded(run, target) || images.length === 0) return undefined;
	const stored = await Promise.all(
		images.map(
			async ({ url }, index) => await downloadImage(run, url, target.maxMb, fileStem(facts, index)),
		),
	);
	return Object.fromEntries(
		stored.map((data, index) => [
			index === 0 ? target.binaryPropertyName : `${target.binaryPropertyName}_${index}`,
			data,
		]),
	);
}

const fileStem = ({ taskId, model }: ImageFacts, index: number): string =>
	`${taskId ?? model ?? 'image'}-${index}`;
