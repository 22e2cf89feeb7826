import type { FormBody, FormFile } from '../../../gateway/protocol/requestPlan';

interface FilePart {
	name: string;
	type: string;
	size: number;
	stream: FormFile['open'];
}

type Part = [name: string, value: string | FilePart];

/**
 * A form that n8n's HTTP helper streams with a Content-Length, for one attempt. It has the methods of
 * FormData that the helper uses; a real FormData would need every file in memory.
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
 * @returns `close` must be called when the attempt is over: it closes files that weren't read to their
 *   end
 * @throws InvalidBodyError if a file can't be read: each is opened before anything is sent
 */
export async function multipart({
	fields,
	files,
}: FormBody): Promise<{ body: FormData; close: () => void }> {
	const readers = files.map(({ open }) => new FileReader(open()));
	const close = (): void => readers.forEach((reader) => reader.close());
	const fileParts = files.map(({ name, fileName, mimeType, size }, index): Part => {
		const stream = () => readers[index] as FileReader;
		return [name, { name: fileName, type: mimeType, size, stream }];
	});
	try {
		await Promise.all(readers.map(async (reader) => await reader.open()));
	} catch {
		close();
		return await Promise.reject(new InvalidBodyError());
	}
	return { body: new StreamedForm([...fields, ...fileParts]) as unknown as FormData, close };
}

/**
 * Reads a file for the HTTP helper. The helper doesn't close a file when the connection fails, so it
 * would stay open.
 */
class FileReader implements AsyncIterableIterator<Uint8Array> {
	private readonly chunks: AsyncIterator<Uint8Array>;

	private closed = false;

	/** The first piece, which is read before the request begins. */
	private first?: IteratorResult<Uint8Array>;

	constructor(file: AsyncIterable<Uint8Array>) {
		this.chunks = file[Symbol.asyncIterator]();
	}

	/** Reads the first piece, which `next` returns later. */
	async open(): Promise<void> {
		this.first = await this.chunks.next();
	}

	async next(): Promise<IteratorResult<Uint8Array>> {
		// `done` would look like the end of the file, and the gateway would wait for the rest.
		if (this.closed) return await Promise.reject(new Error('aborted'));
		const { first } = this;
		this.first = undefined;
		return first ?? (await this.chunks.next());
	}

	async return(): Promise<IteratorResult<Uint8Array>> {
		await this.chunks.return?.();
		return { done: true, value: undefined };
	}

	close(): void {
		this.closed = true;
		this.return().catch(() => undefined);
	}

	[Symbol.asyncIterator](): this {
		return this;
	}
}
