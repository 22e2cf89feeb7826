import type { FormBody, FormFile } from '../../../gateway/protocol/requestPlan';

interface FilePart {
	name: string;
	type: string;
	size: number;
	stream: FormFile['open'];
}

type Part = [name: string, value: string | FilePart];

/**
 * A form that n8n's HTTP helper streams with a Content-Length. It looks like the platform's
 * FormData, which is all that the helper asks for; a real one would have to hold every file in
 * memory. It serves one attempt.
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

/** The body of a request could not be made: nothing was sent. */
export class InvalidBodyError extends Error {
	override name = 'InvalidBodyError';
}

/**
 * Makes the body of a multipart request (docs/protocol.md, "Endpoints"); anew for each attempt.
 *
 * @returns `close` is to be called when the attempt is over: it closes the files that were not read
 *   to their end
 * @throws InvalidBodyError where a file can't be read: each is opened before anything is sent
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
 * Reads a file for the HTTP helper, which forgets it half-read when the connection fails: it would
 * stay open until chance collects it.
 */
class FileReader implements AsyncIterableIterator<Uint8Array> {
	private readonly chunks: AsyncIterator<Uint8Array>;

	private closed = false;

	/** Read before the request begins. */
	private first?: IteratorResult<Uint8Array>;

	constructor(file: AsyncIterable<Uint8Array>) {
		this.chunks = file[Symbol.asyncIterator]();
	}

	/** Reads the first piece, which `next` then gives out. */
	async open(): Promise<void> {
		this.first = await this.chunks.next();
	}

	async next(): Promise<IteratorResult<Uint8Array>> {
		// An end would look like a whole file, and leave a connection on which the rest is awaited.
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
