import { type FormFile, IMAGE_FIELD } from '../../gateway';
import { isJsonObject, nonEmptyString } from '../../util/json';
import {
	fileFrom,
	fileNamedBy,
	openFile,
	openImageRefs,
	readImageRefs,
	type FileRef,
	type ImageField,
} from '../shared/images/inputFiles';
import type { ImageRef } from '../shared/images/imageRefs';
import type { ItemParameters } from '../shared/parameters/itemParameters';
import type { Run } from '../shared/run/runContext';

/**
 * The files of an edit in the order of the form: the images, the mask, then the additional files.
 *
 * @throws NodeOperationError if one is missing, empty or not an image; GatewayError if a download
 *   fails
 */
export async function readFiles(item: ItemParameters, run: Run): Promise<FormFile[]> {
	const additional = readAdditionalFiles(item);
	const sources = readSources(item);
	const maskRefs = item.options.has('mask') ? readMask(item) : [];
	const imageField = { part: IMAGE_FIELD, label: IMAGES.label, orOnly: true };
	const images = await openImages(item, run, sources, imageField);
	const masks = await openImages(item, run, maskRefs, { part: 'mask', label: MASK.label });
	const others = additional.map(async ({ part, file }) => {
		const upload = { ...fileFrom(item, file, 'Additional Files'), part, imageOnly: false };
		return await openFile(item, run, upload);
	});
	return [...images, ...masks, ...(await Promise.all(others))];
}

/** Opens images; one at an address is downloaded for a form, and named by its address in JSON. */
async function openImages(
	item: ItemParameters,
	run: Run,
	refs: ImageRef[],
	{ part, ...opening }: { part: string; label: string; orOnly?: boolean },
): Promise<FormFile[]> {
	const { imageApi } = run.gateway.account;
	const id = refs.find((ref) => ref.kind === 'id');
	if (id !== undefined && imageApi !== 'images') throw noFileIds(item, id.id);
	const isSentAsIs = (ref: ImageRef) =>
		ref.kind === 'id' || (ref.kind === 'address' && imageApi !== 'form');
	const toOpen = refs.filter((ref) => !isSentAsIs(ref));
	const images = await openImageRefs(item, run, toOpen, opening);
	const opened = await Promise.all(
		images.map(async (image) => await openFile(item, run, { ...image, part, imageOnly: true })),
	);
	return refs.flatMap((ref) => {
		if (ref.kind === 'id') return { ...withoutBytes(part, ref.id), fileId: ref.id };
		const isAddress = ref.kind === 'address' && isSentAsIs(ref);
		return isAddress ? { ...withoutBytes(part, ref.url), url: ref.url } : opened.splice(0, 1);
	});
}

const noFileIds = (item: ItemParameters, id: string): Error =>
	item.refusal(
		`"${id}" is no binary field of the item, and this edit takes no file IDs`,
		"Enter the name of a binary field. If it is the ID of a file at the gateway, set 'Image API' under 'Gateway Settings' of the credential to 'OpenAI, Edits as JSON with a List of Images'.",
	);

/** A file that is named by its address or ID. */
const withoutBytes = (name: string, digest: string): FormFile => ({
	name,
	fileName: '',
	mimeType: '',
	size: 0,
	digest,
	open: async function* () {
		yield new Uint8Array();
	},
});

const IMAGES: ImageField = { label: 'Images', takes: 'all' };

const readSources = (item: ItemParameters): ImageRef[] =>
	readImageRefs(item, item.value('images'), IMAGES);

/** The number of images to edit. @throws NodeOperationError if there are none */
export const countImages = (item: ItemParameters): number => readSources(item).length;

const MASK: ImageField = { label: 'Mask', takes: 'all' };

/** The option "Mask". @throws NodeOperationError unless it is one image */
function readMask(item: ItemParameters): ImageRef[] {
	const refs = readImageRefs(item, item.options.value('mask'), MASK);
	if (refs.length === 1) return refs;
	throw item.refusal(`'Mask' names ${refs.length} images`, 'A request has one mask.');
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
