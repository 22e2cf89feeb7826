import type { FormBody, FormFile } from '../../../gateway/protocol/requestPlan';

interface FilePart {
	name: string;
	type: string;
	size: number;
	stream: FormFile['open'];
}

type Part = [name: string, value: string | FilePart];

/**
 * A form that n8n's HTTP helper streams with a Content-Length, for one attempt. It has the methods
 * of FormData that the helper uses; a real FormData would need every file in memory.
 */
class StreamedForm {
	readonly [Symbol.toStringTag] = 'FormData';

	constructor(private readonly parts: Part[]) {}

	append(name: string, value: string): void {
		this.parts.push([name, value]);
	}

	entries(): IterableIterator<Part> {
		return this.parts.values();
	}

	[Symbol.iterator](): IterableIterator<Part> {
		return this.entries();
	}
}

/** The body of a request couldn't be created: nothing was sent. */
export class InvalidBodyError extends Error {
	override name = 'InvalidBodyError';
}

/**
 * Creates the body of a multipart request for one attempt (docs/protocol.md, "Endpoints").
 *
 * @returns `close` must be called when the attempt is over: it closes files that weren't read to
 *   their end
 * @throws InvalidBodyError if a file can't be read: each is opened before anything is sent
 */
export async function multipart({
	fields,
	files,
}: FormBody): Promise<{ body: FormData; close: () => void }> {
	const opened = await Promise.allSettled(files.map(async ({ open }) => await openPart(open())));
	const ready = opened.flatMap((file) => (file.status === 'fulfilled' ? file.value : []));
	const close = (): void => ready.forEach((file) => file.close());
	if (ready.length < files.length) {
		close();
		return await Promise.reject(new InvalidBodyError());
	}
	const fileParts = files.map(({ name, fileName, mimeType, size }, index): Part => {
		const stream = () => (ready[index] as OpenFile).bytes;
		return [name, { name: fileName, type: mimeType, size, stream }];
	});
	return { body: new StreamedForm([...fields, ...fileParts]) as unknown as FormData, close };
}

/** A file for the HTTP helper, which doesn't close it when the connection fails. */
interface OpenFile {
	bytes: AsyncIterable<Uint8Array>;
	close: () => void;
}

/** Opens a file by reading its first piece. */
async function openPart(file: AsyncIterable<Uint8Array>): Promise<OpenFile> {
	const pieces = file[Symbol.asyncIterator]();
	let isClosed = false;
	const close = (): void => {
		isClosed = true;
		pieces.return?.().catch(() => undefined);
	};
	const first = await pieces.next();
	const readPieces = async function* (): AsyncIterable<Uint8Array> {
		for (let piece = first; ; piece = await pieces.next()) {
			// A return would look like the end of the file, and the gateway would wait for the rest.
			if (isClosed) throw new Error('aborted');
			if (piece.done === true) return;
			yield piece.value;
		}
	};
	return { bytes: readPieces(), close };
}
