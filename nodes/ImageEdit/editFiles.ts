import { type FormFile, IMAGE_FIELD, type ImageRequest } from '../../gateway';
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
export async function readFiles(
	item: ItemParameters,
	run: Run,
	request: ImageRequest,
): Promise<FormFile[]> {
	const additional = readAdditionalFiles(item);
	const hasMask = item.options.has('mask');
	const parts = additional.map((file) => file.part);
	const { imageFieldName, imageApi } = run.gateway.account;
	const ofImage = new Set([IMAGE_FIELD, 'image[]', imageFieldName]);
	refuseSameNames(item, request, [...ofImage], hasMask ? ['mask', ...parts] : parts);
	const [sources, maskRefs] = [readSources(item), hasMask ? readMask(item) : []];
	if (imageApi === 'openRouter' && sources.length > MOST_REFERENCES) {
		throw item.refusal(
			`'Images' names ${sources.length} images, and a request takes at most ${MOST_REFERENCES}`,
			'Name fewer images.',
		);
	}
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

/** The most images of a request in OpenRouter's Image API (docs/protocol.md). */
const MOST_REFERENCES = 16;

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

/**
 * Refuses two form fields with the same name, of which a gateway reads only one: a parameter called
 * like the image, a second mask, or an additional file called like a parameter or the image.
 *
 * @param ofImage the names that are kept for the image
 * @param files the names of the mask and the additional files
 * @throws NodeOperationError that names the field
 */
function refuseSameNames(
	item: ItemParameters,
	request: ImageRequest,
	ofImage: string[],
	files: string[],
): void {
	const { fields, modelParameters, extraFields } = request;
	// An option that isn't set has its name reserved all the same.
	const texts = { ...modelParameters, ...fields, ...extraFields };
	const names = [...ofImage, ...files];
	const twice = names.find((name, index) => {
		const isText = ['model', 'prompt', 'async'].includes(name) || Object.hasOwn(texts, name);
		const isOne = [...ofImage, 'mask'].includes(name);
		return isText || (isOne && names.indexOf(name) < index);
	});
	if (twice === undefined) return;
	throw item.refusal(
		`Two fields of the request have the name '${twice}'`,
		"Set the mask in one place, and give a parameter or a file under 'Additional Files' a name of its own. Several images to edit belong in 'Images', separated by commas.",
	);
}

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
