import type { FormFile } from '../../gateway';
import { addressBlock, bytesBlock, isRefusedImage } from '../../gateway/messages';
import type { JsonObject } from '../../util/json';
import { SVG } from '../../util/imageType';
import { quote } from '../../util/text';
import { MB } from '../../util/megabyte';
import type { ImageRef } from '../shared/images/imageRefs';
import { openFile, openImageRefs, readImageRefs } from '../shared/images/inputFiles';
import { isEmpty, type ItemParameters } from '../shared/parameters/itemParameters';
import type { Run } from '../shared/run/runContext';

/** An image or a document of a message. */
interface MessageFile {
	/** Its block, with the digest of its bytes in their place. */
	block: JsonObject;
	/** Its bytes, which are read as they are sent; undefined for one at an address. */
	file?: FormFile;
}

/** The limit for all files of a message: what gateways accept. */
const MOST_MB = 20;

const LABEL = 'Images';

/**
 * The files in the field "Images" in order: binary fields of the item, and web addresses, which the
 * gateway loads. None if an expression gives none for this item.
 *
 * @throws NodeOperationError if one is missing, empty, or neither an image nor a PDF document, or if
 *   they are too large
 */
export async function readMessageFiles(item: ItemParameters, run: Run): Promise<MessageFile[]> {
	const given = item.value('images');
	// n8n itself refuses a field that is fixed and empty.
	if (isEmpty(given) || (Array.isArray(given) && given.length === 0)) {
		run.hints.add(`Where '${LABEL}' is empty, the message was sent without an image.`);
		return [];
	}
	const refs = readImageRefs(item, given, { label: LABEL, takes: 'both' });
	const orOnly = refs.length === 1;
	const files = await Promise.all(
		refs.map(async (ref): Promise<MessageFile> => {
			if (ref.kind === 'address') return { block: addressBlock(ref.url) };
			return await readFile(item, run, ref, orOnly);
		}),
	);
	const sizeMb = files.reduce((sum, { file }) => sum + (file?.size ?? 0), 0) / MB;
	if (sizeMb <= MOST_MB) return files;
	throw item.refusal(
		`The images in 'Images' have ${sizeMb.toFixed(1)} MB; allowed: at most ${MOST_MB} MB`,
		'Use smaller or fewer images, or their web addresses.',
	);
}

async function readFile(
	item: ItemParameters,
	run: Run,
	ref: ImageRef,
	orOnly: boolean,
): Promise<MessageFile> {
	const opening = { label: LABEL, orOnly };
	const [image = { binary: {}, label: LABEL }] = await openImageRefs(item, run, [ref], opening);
	const upload = { ...image, part: '', imageOnly: true, orPdf: true };
	const file = await openFile(item, run, upload);
	if (isRefusedImage(file.mimeType)) {
		throw item.refusal(
			`${image.label} has the type ${file.mimeType}, which models don't take`,
			`It is "${quote(file.fileName)}". Convert it to PNG or JPEG, e.g. with the Edit Image node.`,
		);
	}
	if (file.mimeType === SVG) return { block: { type: 'text', text: String(await bytesOf(file)) } };
	return { block: bytesBlock(file.mimeType, file.digest), file };
}

async function bytesOf({ open }: FormFile): Promise<Buffer> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of open()) chunks.push(chunk);
	return Buffer.concat(chunks);
}
