import type { FormBody, FormFile } from '../protocol/requestPlan';
import { jsonText, type JsonObject } from '../../util/json';

interface FilePart {
	name: string;
	type: string;
	size: number;
	stream: FormFile['open'];
}

type Part = readonly [name: string, value: string | FilePart];

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
	const { ready, close } = await openAll(files);
	const fileParts = files.map(({ name, fileName, mimeType, size }, index): Part => {
		const stream = () => (ready[index] as OpenFile).bytes;
		return [name, { name: fileName, type: mimeType, size, stream }];
	});
	return { body: new StreamedForm([...fields, ...fileParts]) as unknown as FormData, close };
}

/**
 * Opens files in their order; `close` closes those that weren't read to their end.
 *
 * @throws InvalidBodyError if one can't be read
 */
async function openAll(files: FormFile[]): Promise<{ ready: OpenFile[]; close: () => void }> {
	const opened = await Promise.allSettled(files.map(async ({ open }) => await openPart(open())));
	const ready = opened.flatMap((file) => (file.status === 'fulfilled' ? file.value : []));
	const close = (): void => ready.forEach((file) => file.close());
	if (ready.length === files.length) return { ready, close };
	close();
	throw new InvalidBodyError();
}

/** A text, or bytes that become Base64. */
type Piece = string | { size: number; bytes: OpenFile['bytes'] };

/**
 * JSON that n8n's HTTP helper streams with a Content-Length, for one attempt. It has the members of
 * Blob that the helper uses; a text would need each file in memory, a third larger, more than once.
 */
class StreamedJson {
	readonly [Symbol.toStringTag] = 'Blob';

	readonly type = 'application/json';

	readonly size: number;

	constructor(private readonly pieces: Piece[]) {
		const lengths = pieces.map((piece) =>
			typeof piece === 'string' ? Buffer.byteLength(piece) : 4 * Math.ceil(piece.size / 3),
		);
		this.size = lengths.reduce((sum, length) => sum + length, 0);
	}

	async *stream(): AsyncIterable<Uint8Array> {
		for (const piece of this.pieces) {
			if (typeof piece === 'string') yield Buffer.from(piece);
			else yield* inBase64(piece.bytes);
		}
	}
}

async function* inBase64(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
	let rest = Buffer.alloc(0);
	for await (const chunk of bytes) {
		const all = Buffer.concat([rest, chunk]);
		const whole = all.length - (all.length % 3);
		rest = all.subarray(whole);
		if (whole > 0) yield Buffer.from(all.toString('base64', 0, whole));
	}
	if (rest.length > 0) yield Buffer.from(rest.toString('base64'));
}

/** What stands before the bytes of a file: its field, or the start of a `data:` URL. */
const BEFORE_BYTES = ['"data":"', ';base64,'];

/**
 * Creates the JSON body of a request for one attempt, with the Base64 of its files in place of their
 * digests. In a text, the quotes around a digest have backslashes.
 *
 * @returns `close` as for `multipart`
 * @throws InvalidBodyError if a file can't be read
 */
export async function jsonWithFiles(
	fields: JsonObject,
	files: FormFile[],
): Promise<{ body: Blob; close: () => void }> {
	const text = jsonText(fields);
	if (typeof text !== 'string') throw new InvalidBodyError();
	const { ready, close } = await openAll(files);
	const taken = new Set<number>();
	const placed = files.flatMap(({ digest, size }, index) => {
		const at = BEFORE_BYTES.flatMap((before) => placesOf(before, digest, text));
		const start = at.find((one) => !taken.has(one));
		// Additional fields may have replaced the messages, and some files are sent as their addresses.
		if (start === undefined) return [];
		taken.add(start);
		return [{ start, end: start + digest.length, size, bytes: (ready[index] as OpenFile).bytes }];
	});
	let end = 0;
	const pieces = placed
		.sort((one, other) => one.start - other.start)
		.flatMap((file): Piece[] => {
			const before = text.slice(end, file.start);
			end = file.end;
			return [before, file];
		});
	const body = new StreamedJson([...pieces, text.slice(end)]);
	return { body: body as unknown as Blob, close };
}

/** Where a digest stands in a text, behind what stands before the bytes of a file. */
function placesOf(before: string, digest: string, text: string): number[] {
	const places: number[] = [];
	const mark = `${before}${digest}"`;
	for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) {
		places.push(at + before.length);
	}
	return places;
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
