import type { Bill } from '../../../gateway';
import type { IBinaryData, IDataObject, INodeExecutionData } from 'n8n-workflow';
import { isJsonObject, withoutUndefined } from '../../../util/json';
import { detailsOf } from '../errors/itemReport';
import { isFailed } from '../errors/nodeErrors';
import { OUTPUT_FIELDS } from '../run/outputFields';
import { sumOfBills } from '../run/totals';

/** Fields that each image has of its own; the others are those of the request. */
const OF_IMAGE = Object.keys(OUTPUT_FIELDS).filter((name) => OUTPUT_FIELDS[name]?.from === 'image');

/** The binary field of an image by its position: the first has the chosen name, others a number. */
const fieldOf = (name: string, index: number): string => (index === 0 ? name : `${name}_${index}`);

/**
 * The items of a request's images as one. An image that couldn't be
 * downloaded has an `error` among the images, so that the item stays one of the regular output.
 *
 * @param items in the order of the images, one at least
 * @param binaryPropertyName the binary field of the first image
 * @param estimatedCost that of the request
 * @returns the failed item of the first image, with the addresses of all, if none was downloaded
 */
export function joinImages(
	items: INodeExecutionData[],
	binaryPropertyName: string,
	estimatedCost: number | undefined,
): INodeExecutionData {
	const images = items.map(imageOf);
	const urls = images.flatMap(({ url }) => (typeof url === 'string' ? [url] : []));
	const finished = items.filter((item) => !isFailed(item));
	const [first] = finished;
	if (first === undefined) return failedTogether(items, urls, estimatedCost);
	const files = items.flatMap(({ binary = {} }, index) =>
		Object.values(binary).map((file): [string, IBinaryData] => [
			fieldOf(binaryPropertyName, index),
			file,
		]),
	);
	// The first image's fields win, which alone has the usage.
	const shared = Object.assign({}, ...finished.map(({ json }) => json).reverse()) as IDataObject;
	for (const name of OF_IMAGE) delete shared[name];
	// Each image, also one that couldn't be downloaded, has its share.
	const [bill] = sumOfBills(items.map(({ json }): Bill => detailsOf(json) ?? json));
	return {
		json: { ...shared, ...withoutUndefined({ ...bill, estimatedCost }), urls, images },
		pairedItem: first.pairedItem,
		...(files.length === 0 ? {} : { binary: Object.fromEntries(files) }),
	};
}

/** An image as `images` lists it. */
function imageOf(item: INodeExecutionData): IDataObject {
	const { json } = item;
	const { url, error } = isFailed(item) ? { url: detailsOf(json)?.url, error: json.error } : json;
	const own = Object.fromEntries(OF_IMAGE.map((name) => [name, json[name]]));
	// Its place in the list is its index.
	return withoutUndefined({ ...own, url, error, index: undefined }) as IDataObject;
}

/**
 * The failed item of all images: its details name the addresses of all, if there are several, and the
 * cost of the whole request, and no one by its index.
 */
function failedTogether(
	[item = { json: {} }, ...others]: INodeExecutionData[],
	urls: string[],
	estimatedCost: number | undefined,
): INodeExecutionData {
	const key = isJsonObject(item.json.details) ? 'details' : 'message';
	const details = detailsOf(item.json) ?? {};
	const own = { ...details, index: others.length > 0 ? undefined : details.index };
	const added = withoutUndefined({ estimatedCost, urls: urls.length < 2 ? undefined : urls });
	return { ...item, json: { ...item.json, [key]: withoutUndefined({ ...own, ...added }) } };
}
