import type { FormBody, FormFile } from '../../gateway/plan';

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

/** The body of one attempt of a multipart request. */
export interface MultipartBody {
	body: FormData;
	/** To be called when the attempt is over: closes the files that were not read to their end. */
	close: () => void;
}

/** Makes the body of a multipart request (specification, 4.2); anew for each attempt. */
export function multipart({ fields, files }: FormBody): MultipartBody {
	const reading = new Set<FileReader>();
	const fileParts = files.map(({ name, fileName, mimeType, size, open }): Part => {
		const stream = () => {
			const reader = new FileReader(open());
			reading.add(reader);
			return reader;
		};
		return [name, { name: fileName, type: mimeType, size, stream }];
	});
	return {
		body: new StreamedForm([...fields, ...fileParts]) as unknown as FormData,
		close: () => reading.forEach((reader) => reader.close()),
	};
}

/**
 * Reads a file for the HTTP helper, which forgets it half-read when the connection fails: it would
 * stay open until chance collects it.
 */
class FileReader implements AsyncIterableIterator<Uint8Array> {
	private readonly chunks: AsyncIterator<Uint8Array>;

	private closed = false;

	constructor(file: AsyncIterable<Uint8Array>) {
		this.chunks = file[Symbol.asyncIterator]();
	}

	async next(): Promise<IteratorResult<Uint8Array>> {
		// An end would look like a whole file, and leave a connection on which the rest is awaited.
		if (this.closed) return await Promise.reject(new Error('aborted'));
		return await this.chunks.next();
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
