/** The part of Node.js's Readable that is used here; a community node can't import the type. */
export interface ByteStream
	extends AsyncIterable<Uint8Array>,
		Pick<NodeJS.ReadableStream, 'on' | 'once' | 'pause' | 'resume' | 'unshift'> {
	readonly destroyed: boolean;
	read(): Uint8Array | null;
	destroy(reason?: Error): unknown;
}

export function isByteStream(value: unknown): value is ByteStream {
	return (
		typeof value === 'object' &&
		value !== null &&
		'read' in value &&
		'destroy' in value &&
		Symbol.asyncIterator in value
	);
}
