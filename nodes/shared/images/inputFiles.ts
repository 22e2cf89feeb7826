import { createHash } from 'crypto';
import {
	detectImageType,
	detectPdf,
	extensionFor,
	FIRST_BYTES,
	isText,
	safeMimeType,
} from '../../../util/imageType';
import type { FormFile } from '../../../gateway';
import { inPieces, PIECE } from '../../../util/digest';
import { parseUrl } from '../../../util/parseUrl';
import { safeFileStem } from '../../../util/fileName';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../../util/json';
import { quote } from '../../../util/text';
import { textIn, type ItemParameters } from '../parameters/itemParameters';
import { problemOf } from '../errors/nodeErrors';
import type { Run } from '../run/runContext';
import type { ByteStream } from '../../../util/byteStream';
import { downloadSource } from './download';
import { imageRefsIn, type ImageRef } from './imageRefs';

/** A file of an item. */
interface ItemFile {
	/** Its binary data. */
	binary: unknown;
	/** Its name in errors. */
	label: string;
}

/** A file that is sent as part of a request. */
interface Upload extends ItemFile {
	/** The name of its part in the form. */
	part: string;
	/** Whether it must be an image. */
	imageOnly: boolean;
	/** Whether it may be a PDF document instead. */
	orPdf?: boolean;
}

/** A file in a parameter: the name of a binary field, or binary data from an expression. */
export type FileRef = string | JsonObject;

const A_FILE = 'the name of a binary field, or a file';
const FILE_ADVICE =
	'Enter the name of an input binary field, usually "data", or an expression that returns the file itself, e.g. {{ $binary.data }}.';
const ADDRESS_ADVICE = 'Begin it with https:// or http://, or give the image itself in Base64.';

/** What a parameter for images takes, and what its errors say about it. */
const TAKES = {
	both: {
		kinds: ['field', 'file', 'address', 'inline'],
		expected: 'the name of a binary field, or a web address',
		advice: `${FILE_ADVICE} ${ADDRESS_ADVICE}`,
	},
	all: {
		kinds: ['field', 'file', 'address', 'inline', 'id'],
		expected: 'the name of a binary field, a web address, or the ID of a file',
		advice: `${FILE_ADVICE} ${ADDRESS_ADVICE}`,
	},
};

/** A parameter for images. */
export interface ImageField {
	label: string;
	takes: keyof typeof TAKES;
}

/**
 * Reads the images that a parameter names (`imageRefsIn`), without opening them.
 *
 * @throws NodeOperationError if there is none, or another kind than the parameter takes
 */
export function readImageRefs(
	item: ItemParameters,
	given: unknown,
	{ label, takes }: ImageField,
): ImageRef[] {
	const { kinds, expected, advice } = TAKES[takes];
	const fields = Object.keys(item.files());
	const refs = imageRefsIn(given, fields, takes === 'all');
	// An expression may leave nothing but commas.
	if (refs.length === 0) throw item.refusal(`'${label}' is empty`, advice);
	const isNoAddress = (ref: ImageRef): boolean =>
		ref.kind === 'address'
			? parseUrl(ref.url) === undefined
			: ref.kind === 'field' && !fields.includes(ref.field) && LIKE_ADDRESS.test(ref.field);
	const wrong = refs.find((ref) => !kinds.includes(ref.kind) || isNoAddress(ref));
	if (wrong !== undefined) throw item.invalid(label, expected, shownRef(wrong), advice);
	return refs;
}

/** A path, or an address of another kind or without https: nobody gives a binary field such a name. */
const LIKE_ADDRESS = /^([a-z]+:\/)?\/|^www\.|^[\w-]+(\.[\w-]+)+(:\d+)?\//i;

/** What a reference to an image is made of beside its kind, for an error. */
function shownRef({ kind, ...named }: ImageRef): unknown {
	const [value] = Object.values<unknown>(named);
	return kind === 'inline' ? 'an image in Base64' : value;
}

/**
 * The images that a parameter names. An image at an address is downloaded.
 *
 * @param opening `orOnly`: whether the item's only image is used if the only field doesn't exist
 * @throws NodeOperationError if one is missing; GatewayError if a download fails
 */
export async function openImageRefs(
	item: ItemParameters,
	run: Run,
	refs: ImageRef[],
	opening: { label: string; orOnly?: boolean },
): Promise<ItemFile[]> {
	const { label, orOnly = false } = opening;
	const fieldOf = (field: string): string =>
		orOnly && refs.length === 1 ? fieldOrOnlyImage(item, run, field) : field;
	return await Promise.all(
		refs.map(async (ref): Promise<ItemFile> => {
			if (ref.kind === 'address') {
				return {
					binary: await downloadSource(run, ref.url),
					label: `The image at '${label}'`,
				};
			}
			if (ref.kind === 'inline') {
				const { mimeType, base64: data } = ref;
				return { binary: { data, mimeType }, label: `The image in '${label}'` };
			}
			if (ref.kind === 'file') return fileFrom(item, ref.file, label);
			return fileFrom(item, fieldOf(ref.kind === 'field' ? ref.field : ''), label);
		}),
	);
}

/** The binary field of an item; if it doesn't exist, that of the item's only image, with a hint. */
function fieldOrOnlyImage(item: ItemParameters, { hints }: Run, field: string): string {
	const only = Object.hasOwn(item.files(), field) ? undefined : onlyImage(item);
	if (only === undefined) return field;
	const missing = `There is no binary field "${field.slice(0, 100)}"`;
	hints.add(`${missing}. The item's only image was used: "${only.slice(0, 100)}".`);
	return only;
}

const isImage = (file: unknown): boolean =>
	isJsonObject(file) && nonEmptyString(file.mimeType)?.startsWith('image/') === true;

/**
 * The binary field of the item's only image. Users don't know its name if n8n made it from a label.
 */
function onlyImage(item: ItemParameters): string | undefined {
	const [only, ...others] = Object.entries(item.files()).filter(([, file]) => isImage(file));
	return others.length === 0 ? only?.[0] : undefined;
}

/** The file in a parameter; undefined if it names none. */
export function fileNamedBy(value: unknown): FileRef | undefined {
	return isJsonObject(value) ? value : textIn(value)?.trim();
}

/**
 * The file in a parameter. n8n's own nodes also accept binary data from an expression.
 *
 * @throws NodeOperationError if there is no such file
 */
export function fileFrom(item: ItemParameters, file: FileRef, parameter: string): ItemFile {
	if (typeof file === 'string') {
		return { binary: item.file(file, parameter), label: `The binary field "${file}"` };
	}
	const label = `The file in '${parameter}'`;
	if (nonEmptyString(file.id) !== undefined || typeof file.data === 'string') {
		return { binary: file, label };
	}
	// `$binary` has all fields of a file except its bytes, if they are in memory.
	const files = Object.values(item.files());
	const fields = Object.entries(file);
	const own = files.find((binary) => {
		const parts: JsonObject = { ...binary };
		return fields.every(([name, part]) => parts[name] === part);
	});
	if (fields.length > 0 && own !== undefined) return { binary: own, label };
	throw item.invalid(parameter, A_FILE, file, FILE_ADVICE);
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
	{ binary, label, part, imageOnly, orPdf = false }: Upload,
): Promise<FormFile> {
	const { helpers } = run;
	const file = isJsonObject(binary) ? binary : {};
	const id = nonEmptyString(file.id);
	const open = async function* (): AsyncIterable<Uint8Array> {
		if (id === undefined) {
			return yield* inPieces(Buffer.from(nonEmptyString(file.data) ?? '', 'base64'));
		}
		const stream = await helpers.getBinaryStream(id).catch((error: unknown) => {
			throw item.refusal(
				`${label} can't be read: ${quote(problemOf(error).message)}`,
				'n8n deletes files together with the execution that created them.',
			);
		});
		yield* stream as ByteStream;
	};
	const { size, start, digest } = await inspect(run, open);
	const detected = detectImageType(start) ?? (orPdf ? detectPdf(start) : undefined);
	if (size === 0) {
		throw item.refusal(`${label} is an empty file`, 'Check the node that creates the file.');
	}
	const mimeType = detected ?? safeMimeType(file.mimeType) ?? 'application/octet-stream';
	const givenName = nonEmptyString(file.fileName)?.slice(-LONGEST_FILE_NAME);
	if (imageOnly && detected === undefined) {
		throw item.refusal(
			`${label} is not an image`,
			`It is "${givenName ?? 'a file'}" ${whatIsIn(start, mimeType)}. Use an image, such as PNG, JPEG or WebP${orPdf ? ', or a PDF document' : ''}.`,
		);
	}
	const fileName = fileNameFor(givenName ?? '', mimeType);
	return { name: part, fileName, mimeType, size, digest, open };
}

/** The content of a file that isn't an image, for the error. Its type may say that it is one. */
function whatIsIn(start: Uint8Array, mimeType: string): string {
	if (!mimeType.startsWith('image/')) return `of the type ${mimeType}`;
	return isText(start) ? 'and contains text' : `and contains no data of the type ${mimeType}`;
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
	{ fileReads, gateway }: Run,
	open: () => AsyncIterable<Uint8Array>,
): Promise<{ size: number; start: Uint8Array; digest: string }> {
	return await fileReads.run(async () => {
		const hash = createHash('sha256');
		let start: Uint8Array | undefined;
		let [size, turns] = [0, 1];
		for await (const chunk of open()) {
			start ??= chunk.subarray(0, FIRST_BYTES);
			size += chunk.length;
			hash.update(chunk);
			if (size < turns * PIECE) continue;
			turns += 1;
			await gateway.yieldToOthers();
		}
		return { size, start: start ?? new Uint8Array(), digest: hash.digest('hex') };
	});
}
