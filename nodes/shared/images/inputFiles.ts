import { createHash } from 'crypto';
import {
	detectImageType,
	extensionFor,
	FIRST_BYTES,
	safeMimeType,
} from '../../../gateway/protocol/imageType';
import type { FormFile } from '../../../gateway/protocol/requestPlan';
import { safeFileStem } from '../../../gateway/util/fileName';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../../gateway/util/json';
import type { ItemParameters } from '../parameters/itemParameters';
import type { Run } from '../run/runContext';
import type { ByteStream } from '../transport/responseBody';

/** A file of n8n that becomes a part of a request. */
export interface Upload {
	/** As `binaryFrom` gives it. */
	binary: unknown;
	/** As the user calls it, for an error. */
	label: string;
	/** Name of the part in a form. */
	part: string;
	/** Whether only an image will do. */
	imageOnly: boolean;
}

/** What a parameter names: a field of the item, or by an expression the binary data itself. */
export type FileRef = string | JsonObject;

/** An image that a parameter names. */
export type Image = Pick<Upload, 'binary' | 'label'>;

/**
 * The files that a parameter names: one, several separated by commas, or a list.
 *
 * @throws NodeOperationError if it names none
 */
export function readFileRefs(item: ItemParameters, given: unknown, label: string): FileRef[] {
	const files = [given].flat().flatMap((entry): FileRef[] => {
		const file = fileNamedBy(entry) ?? '';
		if (typeof file !== 'string') return [file];
		const fields = file.split(',').map((field) => field.trim());
		return fields.filter((field) => field !== '');
	});
	// Nothing but commas, as an expression may leave them.
	if (files.length === 0) {
		throw item.error(
			`'${label}' is empty`,
			'Enter the name of the input binary field that contains the image, usually "data".',
		);
	}
	return files;
}

/** The images that a parameter names; in place of a field that isn't there, the item's only one. */
export function imagesFromFields(
	item: ItemParameters,
	{ hints }: Run,
	given: unknown,
	label: string,
): Image[] {
	const named = readFileRefs(item, given, label);
	const only = named.length === 1 ? onlyImage(item) : undefined;
	return named.map((file) => {
		const isThere = typeof file !== 'string' || item.input?.binary?.[file] !== undefined;
		const chosen = isThere ? file : (only ?? file);
		if (chosen !== file) {
			const missing = `There is no binary field "${String(file).slice(0, 100)}"`;
			hints.add(`${missing}. The item's only image was used: "${String(chosen).slice(0, 100)}".`);
		}
		return { binary: binaryFrom(item, chosen), label: labelOf(chosen, label) };
	});
}

const isImage = (file: unknown): boolean =>
	isJsonObject(file) && nonEmptyString(file.mimeType)?.startsWith('image/') === true;

/** The name of the binary field with the item's only image: n8n makes field names of labels. */
function onlyImage({ input }: ItemParameters): string | undefined {
	const files = Object.entries(input?.binary ?? {});
	const [only, ...others] = files.filter(([, file]: [string, unknown]) => isImage(file));
	return others.length === 0 ? only?.[0] : undefined;
}

/** What a parameter names; undefined where it is empty. */
export function fileNamedBy(value: unknown): FileRef | undefined {
	if (isJsonObject(value)) return value;
	return typeof value === 'number' ? String(value) : nonEmptyString(value)?.trim();
}

/** What errors call a file. */
export const labelOf = (file: FileRef, parameter: string): string =>
	typeof file === 'string' ? `The binary field "${file}"` : `The file in '${parameter}'`;

/**
 * The file that a parameter means: a field of the item by its name, or, by an expression, the binary
 * data itself, as n8n's own nodes allow.
 *
 * @throws NodeOperationError if there is no such file
 */
export function binaryFrom(item: ItemParameters, value: FileRef): unknown {
	if (typeof value === 'string') return item.file(value);
	if (nonEmptyString(value.id) !== undefined || typeof value.data === 'string') return value;
	// `$binary` gives everything of a file but its bytes, where they lie in memory.
	const files = Object.values(item.input?.binary ?? {});
	const known = Object.entries(value);
	const own = files.find((file) =>
		known.every(([name, part]) => (file as unknown as JsonObject)[name] === part),
	);
	if (known.length > 0 && own !== undefined) return own;
	throw item.error(
		"The expression doesn't return a file",
		'Enter the name of an input binary field, or use an expression that returns the binary data itself, e.g. {{ $binary.data }}. Nothing was sent.',
	);
}

/**
 * A file of n8n's binary store as a part of a form, with its real MIME type: gateways refuse
 * `application/octet-stream`, and n8n does not always know better. It is streamed from the disk
 * where it lies there. Other nodes say what a file is called and of what type it is: nothing of it
 * is taken over that could begin a header of its own.
 *
 * @throws NodeOperationError if it is empty, or no image where there must be one
 */
export async function openFile(
	item: ItemParameters,
	run: Run,
	{ binary, label, part, imageOnly }: Upload,
): Promise<FormFile> {
	const { helpers } = run;
	const known = isJsonObject(binary) ? binary : {};
	const id = nonEmptyString(known.id);
	const bytes = Buffer.from(nonEmptyString(known.data) ?? '', 'base64');
	const open = async function* (): AsyncIterable<Uint8Array> {
		if (id === undefined) yield bytes;
		else yield* (await helpers.getBinaryStream(id)) as unknown as ByteStream;
	};
	const size = id === undefined ? bytes.length : (await helpers.getBinaryMetadata(id)).fileSize;
	const { start, digest } = await inspect(run, open);
	const detected = detectImageType(start);
	if (size === 0) {
		throw item.error(
			`${label} is an empty file`,
			'Check the node that creates the file. Nothing was sent.',
		);
	}
	const mimeType = detected ?? safeMimeType(known.mimeType) ?? 'application/octet-stream';
	const givenName = nonEmptyString(known.fileName)?.slice(-LONGEST_FILE_NAME);
	if (imageOnly && detected === undefined) {
		throw item.error(
			`${label} is not an image`,
			`It is "${givenName ?? 'a file'}" ${whatIsIn(start, mimeType)}. Use an image, such as PNG, JPEG or WebP. Nothing was sent.`,
		);
	}
	const fileName = fileNameFor(givenName ?? '', mimeType);
	return { name: part, fileName, mimeType, size, digest, open };
}

/** What a file is that is no image, though its type may say so. */
function whatIsIn(start: Uint8Array, mimeType: string): string {
	if (!mimeType.startsWith('image/')) return `of the type ${mimeType}`;
	// Control characters, but for tabs and line ends, stand in no text.
	const isText = !start.some((byte) => byte < 9 || (byte > 13 && byte < 32));
	return isText ? 'and contains text' : `and contains no data of the type ${mimeType}`;
}

/** More than any file system allows. */
const LONGEST_FILE_NAME = 500;

/** The file's own name where it has one, with an extension that fits what it is. */
function fileNameFor(given: string, mimeType: string): string {
	const stem = safeFileStem(given.replace(/\.[A-Za-z0-9]{1,5}$/, '')) || 'image';
	const extension = mimeType.startsWith('image/')
		? extensionFor(mimeType)
		: (/\.([A-Za-z0-9]{1,5})$/.exec(given)?.[1] ?? 'bin');
	return `${stem}.${extension}`;
}

/** How a file begins, and its SHA-256 in hexadecimal digits, which tells it from every other one. */
async function inspect(
	{ fileReads }: Run,
	open: () => AsyncIterable<Uint8Array>,
): Promise<{ start: Uint8Array; digest: string }> {
	return await fileReads.run(async () => {
		const hash = createHash('sha256');
		let start: Uint8Array | undefined;
		for await (const chunk of open()) {
			start ??= chunk.subarray(0, FIRST_BYTES);
			hash.update(chunk);
		}
		return { start: start ?? new Uint8Array(), digest: hash.digest('hex') };
	});
}
