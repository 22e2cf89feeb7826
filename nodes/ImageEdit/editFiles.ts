import type { FormFile, ImageRequest } from '../../gateway/protocol/requestPlan';
import { isJsonObject, nonEmptyString } from '../../gateway/util/json';
import { downloadImage } from '../shared/images/download';
import {
	fileFrom,
	fileNamedBy,
	imagesFromFields,
	openFile,
	readFileRefs,
	type FileRef,
	type ItemFile,
	type Upload,
} from '../shared/images/inputFiles';
import type { ItemParameters } from '../shared/parameters/itemParameters';
import type { Run } from '../shared/run/runContext';

/**
 * The files of an edit in the order of the form: the images, the mask, then the additional files.
 *
 * @throws NodeOperationError if one is missing, empty or not an image; GatewayError if a download
 *   fails
 */
export async function readFiles(
	item: ItemParameters,
	run: Run,
	request: ImageRequest,
): Promise<FormFile[]> {
	const part = item.options.choice('imageFieldName', 'Image Field Name', ['image', 'image[]']);
	const additional = readAdditionalFiles(item);
	const hasMask = item.options.has('mask');
	const parts = additional.map((file) => file.part);
	refuseSameNames(item, request, hasMask ? ['mask', ...parts] : parts);
	const images = isFromUrls(item)
		? await imagesFromUrls(item, run)
		: imagesFromFields(item, run, ...imageField(item));
	const masks = hasMask ? [await readMask(item, run)] : [];
	const uploads: Upload[] = [
		...images.map((image) => ({ ...image, part, imageOnly: true })),
		...masks.map((mask) => ({ ...mask, part: 'mask', imageOnly: true })),
		...additional.map(({ part: own, file }) => ({
			...fileFrom(item, file, 'Additional Files'),
			part: own,
			imageOnly: false,
		})),
	];
	return await Promise.all(uploads.map(async (upload) => await openFile(item, run, upload)));
}

/**
 * Refuses two form fields with the same name, of which a gateway reads only one: a parameter called
 * like the image, a second mask, or an additional file called like a parameter or the image.
 *
 * @throws NodeOperationError that names the field
 */
function refuseSameNames(item: ItemParameters, request: ImageRequest, files: string[]): void {
	const { fields, modelParameters, extraFields } = request;
	// An option that isn't set has its name reserved all the same.
	const texts = { ...modelParameters, ...fields, ...extraFields };
	const names = ['image', 'image[]', ...files];
	const twice = names.find((name, index) => {
		const isText = ['model', 'prompt', 'async'].includes(name) || Object.hasOwn(texts, name);
		const isOne = ['image', 'image[]', 'mask'].includes(name);
		return isText || (isOne && names.indexOf(name) < index);
	});
	if (twice === undefined) return;
	throw item.refusal(
		`Two fields of the request have the name '${twice}'`,
		"Set the mask in one place, and give a parameter or a file under 'Additional Files' a name of its own. Several images to edit belong in 'Input Binary Field', separated by commas.",
	);
}

const isFromUrls = (item: ItemParameters): boolean =>
	item.choice('imageSource', 'Image Source', ['binary', 'url']) === 'url';

const imageField = (item: ItemParameters): [given: unknown, label: string] => [
	item.value('imageBinaryProperty'),
	'Input Binary Field',
];

/** The number of images to edit. @throws NodeOperationError if there are none */
export function countImages(item: ItemParameters): number {
	return (isFromUrls(item) ? readUrls(item) : readFileRefs(item, ...imageField(item))).length;
}

const isWebAddress = (value: unknown): value is string =>
	typeof value === 'string' && /^(https?:\/\/|data:image\/)/i.test(value);

/** More than any model accepts. All of them are downloaded before the request is sent. */
const MOST_URLS = 100;

function readUrls(item: ItemParameters): string[] {
	const given = item.value('imageUrl');
	const advice = 'Enter the web address of the image to edit.';
	const entries: unknown[] = Array.isArray(given)
		? given
		: [item.text('imageUrl', 'Image URL', advice)];
	const urls = entries.flatMap((entry) => nonEmptyString(entry)?.trim().split(/\s+/) ?? [entry]);
	if (urls.length > MOST_URLS) {
		throw item.refusal(
			`'Image URL' has ${urls.length} addresses`,
			`At most ${MOST_URLS} are possible.`,
		);
	}
	if (urls.length > 0 && urls.every(isWebAddress)) return urls;
	const wrong = urls.find((url) => !isWebAddress(url));
	throw item.invalid('Image URL', 'a web address', wrong, 'Begin it with https:// or http://.');
}

async function imagesFromUrls(item: ItemParameters, run: Run): Promise<ItemFile[]> {
	return await Promise.all(
		readUrls(item).map(async (url) => await imageFromUrl(item, run, url, 'Image URL')),
	);
}

async function imageFromUrl(
	item: ItemParameters,
	run: Run,
	url: string,
	parameter: string,
): Promise<ItemFile> {
	const maxMb = item.options.number('maxDownloadMb');
	return {
		binary: await downloadImage(run, { url, maxMb, name: { fallback: 'image' }, isInput: true }),
		label: `The image at '${parameter}'`,
	};
}

/** The option "Mask": a binary field of the item, or a web address. */
async function readMask(item: ItemParameters, run: Run): Promise<ItemFile> {
	const given = item.options.value('mask');
	const advice = 'Enter the name of the input binary field containing the mask.';
	const mask = isJsonObject(given) ? given : item.options.text('mask', 'Mask', advice).trim();
	if (isWebAddress(mask)) return await imageFromUrl(item, run, mask, 'Mask');
	return fileFrom(item, mask, 'Mask');
}

/** The option "Additional Files": the form field and the binary field of each file. */
function readAdditionalFiles(item: ItemParameters): Array<{ part: string; file: FileRef }> {
	const option = item.options.value('extraFiles');
	const entries = isJsonObject(option) && Array.isArray(option.file) ? option.file : [];
	if (entries.length === 0 && item.options.has('extraFiles')) {
		throw item.refusal("'Additional Files' has no file", 'Add a file, or remove the option.');
	}
	return entries.filter(isJsonObject).map((entry) => {
		const part = nonEmptyString(entry.field)?.trim();
		const file = fileNamedBy(entry.binaryProperty);
		if (part !== undefined && file !== undefined) return { part, file };
		throw item.refusal(
			"One of the 'Additional Files' has no name in the request or no binary field",
			'Fill in both.',
		);
	});
}
