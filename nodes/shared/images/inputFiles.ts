import { createHash } from 'crypto';
import {
	detectImageType,
	extensionFor,
	FIRST_BYTES,
	safeMimeType,
} from '../../../gateway/protocol/imageType';
import type { FormFile } from '../../../gateway/protocol/requestPlan';
import { safeFileStem } from '../../../gateway/util/fileName';
import { isJsonObject, nonEmptyString } from '../../../gateway/util/json';
import { quote } from '../../../gateway/util/text';
import { isEmpty, textIn, type ItemParameters } from '../parameters/itemParameters';
import { problemOf } from '../run/nodeErrors';
import type { Run } from '../run/runContext';
import type { ByteStream } from '../transport/responseBody';

/** A file of an item. */
export interface ItemFile {
	/** Its binary data. */
	binary: unknown;
	/** Its name in errors. */
	label: string;
}

/** A file that is sent as part of a request. */
export interface Upload extends ItemFile {
	/** The name of its part in the form. */
	part: string;
	/** Whether it must be an image. */
	imageOnly: boolean;
}

const A_FIELD = 'Enter the name of an input binary field, usually "data".';

/**
 * The files in a parameter: names of binary fields, separated by commas or as a list.
 *
 * @throws NodeOperationError if there is none, or the item has no such field
 */
export function filesFrom(item: ItemParameters, given: unknown, label: string): ItemFile[] {
	const fields = [given].flat().flatMap((entry): string[] => {
		if (isEmpty(entry)) return [];
		const text = textIn(entry);
		if (text === undefined) {
			throw item.invalid(label, 'the name of a binary field', entry, A_FIELD);
		}
		return text.split(',').map((field) => field.trim());
	});
	const named = fields.filter((field) => field !== '');
	// An expression may leave nothing but commas.
	if (named.length === 0) throw item.refusal(`'${label}' is empty`, A_FIELD);
	return named.map((field) => fileFrom(item, field, label));
}

/** The file in a binary field. @throws NodeOperationError if the item has no such field */
export function fileFrom(item: ItemParameters, field: string, label: string): ItemFile {
	return { binary: item.file(field, label), label: `The binary field "${field}"` };
}

/**
 * Opens a binary file as a part of a form. Its MIME type is detected, because gateways reject
 * `application/octet-stream`, which n8n often has. Its bytes are streamed from n8n's binary data
 * store. Its name and type come from other nodes: characters that could begin another header are
 * removed.
 *
 * @throws NodeOperationError if it is empty, or isn't an image although it must be one
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
		if (id === undefined) return yield bytes;
		const stream = await helpers.getBinaryStream(id).catch((error: unknown) => {
			throw item.refusal(
				`${label} can't be read: ${quote(problemOf(error).message)}`,
				'n8n deletes files together with the execution that created them.',
			);
		});
		yield* stream as unknown as ByteStream;
	};
	const { size, start, digest } = await inspect(run, open);
	const detected = detectImageType(start);
	if (size === 0) {
		throw item.refusal(`${label} is an empty file`, 'Check the node that creates the file.');
	}
	const mimeType = detected ?? safeMimeType(known.mimeType) ?? 'application/octet-stream';
	const givenName = nonEmptyString(known.fileName)?.slice(-LONGEST_FILE_NAME);
	if (imageOnly && detected === undefined) {
		throw item.refusal(
			`${label} is not an image`,
			`It is "${givenName ?? 'a file'}" ${whatIsIn(start, mimeType)}. Use an image, such as PNG, JPEG or WebP.`,
		);
	}
	const fileName = fileNameFor(givenName ?? '', mimeType);
	return { name: part, fileName, mimeType, size, digest, open };
}

/** The content of a file that isn't an image, for the error. Its type may say that it is one. */
function whatIsIn(start: Uint8Array, mimeType: string): string {
	if (!mimeType.startsWith('image/')) return `of the type ${mimeType}`;
	// Text has no control characters other than tabs and line ends.
	const isText = !start.some((byte) => byte < 9 || (byte > 13 && byte < 32));
	return isText ? 'and contains text' : `and contains no data of the type ${mimeType}`;
}

/** The longest file name, in characters: more than any file system allows. */
const LONGEST_FILE_NAME = 500;

/** The name of a file in the request, with the extension of its real type. */
function fileNameFor(given: string, mimeType: string): string {
	const stem = safeFileStem(given.replace(/\.[A-Za-z0-9]{1,5}$/, '')) || 'image';
	const extension = mimeType.startsWith('image/')
		? extensionFor(mimeType)
		: (/\.([A-Za-z0-9]{1,5})$/.exec(given)?.[1] ?? 'bin');
	return `${stem}.${extension}`;
}

/**
 * Reads a file: its size in bytes, its first bytes, and its SHA-256, by which the same request is
 * recognized.
 */
async function inspect(
	{ fileReads }: Run,
	open: () => AsyncIterable<Uint8Array>,
): Promise<{ size: number; start: Uint8Array; digest: string }> {
	return await fileReads.run(async () => {
		const hash = createHash('sha256');
		let start: Uint8Array | undefined;
		let size = 0;
		for await (const chunk of open()) {
			start ??= chunk.subarray(0, FIRST_BYTES);
			size += chunk.length;
			hash.update(chunk);
		}
		return { size, start: start ?? new Uint8Array(), digest: hash.digest('hex') };
	});
}
