import { crc32 } from 'node:zlib';

/** An ancillary, private chunk, not safe to copy: every decoder skips it. */
const chunkType = Buffer.from('paDd');
const zeros = Buffer.alloc(64 * 1024);
const endChunkBytes = 12;
const chunkFrameBytes = 12;

let lastChecksum = { length: -1, value: 0 };

/** Bytes that have to be added to a PNG so that it has the wished size; 0 if it has them already. */
export function paddingOf(png: Buffer, wished: number | undefined): number {
	if (wished === undefined) return 0;
	return wished - png.length >= chunkFrameBytes ? wished - png.length : 0;
}

/** The PNG with a chunk of zeros before its end, in pieces: however large, it takes no memory. */
export function* padded(png: Buffer, bytes: number): Generator<Buffer> {
	const length = bytes - chunkFrameBytes;
	const head = Buffer.alloc(4);
	head.writeUInt32BE(length);
	yield Buffer.concat([png.subarray(0, png.length - endChunkBytes), head, chunkType]);
	yield* blocks(length);
	const tail = Buffer.alloc(4);
	tail.writeUInt32BE(checksum(length));
	yield Buffer.concat([tail, png.subarray(png.length - endChunkBytes)]);
}

function* blocks(length: number): Generator<Buffer> {
	for (let left = length; left > 0; left -= zeros.length) yield zeros.subarray(0, left);
}

function checksum(length: number): number {
	if (lastChecksum.length !== length) {
		let value = crc32(chunkType);
		for (const block of blocks(length)) value = crc32(block, value);
		lastChecksum = { length, value };
	}
	return lastChecksum.value;
}
