import { createHash } from 'crypto';
import type { IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import {
	detectImageType,
	extensionFor,
	FIRST_BYTES,
	safeFileStem,
	safeMimeType,
} from '../../../gateway/protocol/imageType';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../../gateway/util/json';
import type { FormFile } from '../../../gateway/protocol/requestPlan';
import { createLimiter } from './parallelLimit';
import type { ByteStream } from './responseBody';

interface Upload {
	/** Name of the part in the form. */
	part: string;
	/** As the user calls it, for an error. */
	label: string;
	/** Whether only an image will do. */
	imageOnly: boolean;
}

/**
 * The file that a parameter means: a field of the item by its name, or, by an expression, the binary
 * data itself, as n8n's own nodes allow.
 *
 * @throws NodeOperationError if there is no such file
 */
export function binaryFrom(
	context: IExecuteFunctions,
	value: string | JsonObject,
	itemIndex: number,
): unknown {
	if (typeof value === 'string') return context.helpers.assertBinaryData(itemIndex, value);
	if (nonEmptyString(value.id) !== undefined || typeof value.data === 'string') return value;
	// `$binary` gives everything of a file but its bytes, where they lie in memory.
	const files = Object.values(context.getInputData()[itemIndex]?.binary ?? {});
	const known = Object.entries(value);
	const own = files.find(
		(file) =>
			known.length > 0 &&
			known.every(([name, known]) => (file as unknown as JsonObject)[name] === known),
	);
	if (own !== undefined) return own;
	throw new NodeOperationError(context.getNode(), "The expression doesn't return a file", {
		description:
			'Enter the name of an input binary field, or use an expression that returns the binary data itself, e.g. {{ $binary.data }}. Nothing was sent.',
		itemIndex,
	});
}

/**
 * A file of n8n's binary store as a part of a form, with its real MIME type: gateways refuse
 * `application/octet-stream`, and n8n does not always know better. It is streamed from the disk
 * where it lies there. Other nodes say what a file is called and of what type it is: nothing of it
 * is taken over that could begin a header of its own.
 *
 * @param binary as `binaryFrom` gives it
 * @throws NodeOperationError if it is empty, or no image where there must be one
 */
export async function uploadFrom(
	context: IExecuteFunctions,
	binary: unknown,
	{ part, label, imageOnly }: Upload,
	itemIndex: number,
): Promise<FormFile> {
	const known = isJsonObject(binary) ? binary : {};
	const source = await openSource(context, known);
	const detected = detectImageType(source.start);
	if (source.size === 0) {
		throw new NodeOperationError(context.getNode(), `${label} is an empty file`, {
			description: 'Check the node that creates the file. Nothing was sent.',
			itemIndex,
		});
	}
	const mimeType = detected ?? safeMimeType(known.mimeType) ?? 'application/octet-stream';
	const givenName = nonEmptyString(known.fileName)?.slice(-LONGEST_FILE_NAME);
	if (imageOnly && detected === undefined) {
		throw new NodeOperationError(context.getNode(), `${label} is not an image`, {
			description: `It is "${givenName ?? 'a file'}" of the type ${mimeType}. Use an image, such as PNG, JPEG or WebP. Nothing was sent.`,
			itemIndex,
		});
	}
	return {
		name: part,
		fileName: fileNameFor(givenName ?? '', mimeType),
		mimeType,
		size: source.size,
		digest: source.digest,
		open: source.open,
	};
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

interface Source {
	start: Uint8Array;
	/** The SHA-256 of the contents, in hexadecimal digits. */
	digest: string;
	size: number;
	open: () => AsyncIterable<Uint8Array>;
}

async function openSource(context: IExecuteFunctions, binary: JsonObject): Promise<Source> {
	const id = nonEmptyString(binary.id);
	if (id === undefined) {
		const bytes = Buffer.from(nonEmptyString(binary.data) ?? '', 'base64');
		const open = async function* (): AsyncIterable<Uint8Array> {
			yield bytes;
		};
		return { ...(await inspect(context, open)), size: bytes.length, open };
	}
	const { helpers } = context;
	const { fileSize } = await helpers.getBinaryMetadata(id);
	const open = async function* (): AsyncIterable<Uint8Array> {
		yield* (await helpers.getBinaryStream(id)) as unknown as ByteStream;
	};
	return { ...(await inspect(context, open)), size: fileSize, open };
}

/** All items are looked at before the first one is sent: not all their files at once. */
const MOST_OPEN = 8;
/** Of each run: a store that does not give out the files of one must not hold up all others. */
const limiters = new WeakMap<IExecuteFunctions, ReturnType<typeof createLimiter>>();

/** How a file begins, and the digest that tells it from every other one. */
async function inspect(
	context: IExecuteFunctions,
	open: () => AsyncIterable<Uint8Array>,
): Promise<Pick<Source, 'start' | 'digest'>> {
	const inTurn = limiters.get(context) ?? createLimiter(MOST_OPEN);
	limiters.set(context, inTurn);
	return await inTurn(async () => {
		const hash = createHash('sha256');
		let start: Uint8Array | undefined;
		for await (const chunk of open()) {
			start ??= chunk.subarray(0, FIRST_BYTES);
			hash.update(chunk);
		}
		return { start: start ?? new Uint8Array(), digest: hash.digest('hex') };
	});
}
