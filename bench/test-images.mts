const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const PIECE = 64 * 1024;

/** A file that begins as a PNG does and has the wished size, which is a few pieces at least. */
export function testImage(bytes: number): Buffer {
	return Buffer.concat([...imageInPieces(bytes)]);
}

/** The same in pieces: however large, it takes no memory. */
export function* imageInPieces(bytes: number): Generator<Buffer> {
	const first = Buffer.alloc(PIECE);
	first.set(SIGNATURE);
	yield first;
	const zeros = Buffer.alloc(PIECE);
	for (let left = bytes - PIECE; left > 0; left -= PIECE) yield zeros.subarray(0, left);
}
