import { createHash } from 'crypto';
import type { IBinaryData, IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { detectImageType, extensionFor, safeFileStem } from '../../gateway/imageFile';
import type { FormFile } from '../../gateway/plan';
import { createLimiter } from './limiter';
import type { ByteStream } from './stream';

/** Enough to tell every image format that is known. */
const FIRST_BYTES = 512;

interface Upload {
	/** Name of the part in the form. */
	part: string;
	/** As the user calls it, for an error. */
	label: string;
	/** Whether only an image will do. */
	imageOnly: boolean;
}

/**
 * A file of n8n's binary store as a part of a form, with its real MIME type: gateways refuse
 * `application/octet-stream`, and n8n does not always know better. It is streamed from the disk
 * where it lies there.
 *
 * @throws NodeOperationError if it is empty, or no image where there must be one
 */
export async function uploadFrom(
	context: IExecuteFunctions,
	binary: IBinaryData,
	{ part, label, imageOnly }: Upload,
	itemIndex: number,
): Promise<FormFile> {
	const source = await openSource(context, binary);
	const detected = detectImageType(source.start);
	if (source.size === 0) {
		throw new NodeOperationError(context.getNode(), `${label} is an empty file`, {
			description: 'Check the node that makes the file. Nothing was sent.',
			itemIndex,
		});
	}
	if (imageOnly && detected === undefined) {
		throw new NodeOperationError(context.getNode(), `${label} is no image`, {
			description: `It is "${binary.fileName ?? 'a file'}" of the type ${binary.mimeType}. PNG, JPEG, WebP and the like can be edited. Nothing was sent.`,
			itemIndex,
		});
	}
	const mimeType = detected ?? binary.mimeType;
	return {
		name: part,
		fileName: fileNameFor(binary, mimeType),
		mimeType,
		size: source.size,
		digest: source.digest,
		open: source.open,
	};
}

/** The file's own name where it has one, with an extension that fits what it is. */
function fileNameFor(binary: IBinaryData, mimeType: string): string {
	const stem = safeFileStem((binary.fileName ?? '').replace(/\.[A-Za-z0-9]{1,5}$/, '')) || 'image';
	const extension = mimeType.startsWith('image/')
		? extensionFor(mimeType)
		: (/\.([A-Za-z0-9]{1,5})$/.exec(binary.fileName ?? '')?.[1] ?? 'bin');
	return `${stem}.${extension}`;
}

interface Source {
	start: Uint8Array;
	/** The SHA-256 of the contents, in hexadecimal digits. */
	digest: string;
	size: number;
	open: () => AsyncIterable<Uint8Array>;
}

async function openSource({ helpers }: IExecuteFunctions, binary: IBinaryData): Promise<Source> {
	const { id } = binary;
	if (id === undefined) {
		const bytes = Buffer.from(binary.data, 'base64');
		const open = async function* (): AsyncIterable<Uint8Array> {
			yield bytes;
		};
		return { ...(await inspect(open)), size: bytes.length, open };
	}
	const { fileSize } = await helpers.getBinaryMetadata(id);
	const open = async function* (): AsyncIterable<Uint8Array> {
		yield* (await helpers.getBinaryStream(id)) as unknown as ByteStream;
	};
	return { ...(await inspect(open)), size: fileSize, open };
}

/** All items are looked at before the first one is sent: not all their files at once. */
const MOST_OPEN = 8;
const inTurn = createLimiter(MOST_OPEN);

/** How a file begins, and the digest that tells it from every other one. */
async function inspect(
	open: () => AsyncIterable<Uint8Array>,
): Promise<Pick<Source, 'start' | 'digest'>> {
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
