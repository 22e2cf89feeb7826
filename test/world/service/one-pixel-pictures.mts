/** Pictures that cost nothing to make: one pixel, and behind the end of the file its own name. */
import { TINY_PNG } from '../../../harness/tiny-png.mjs';

export function pictureOf(path: string): Buffer {
	return Buffer.concat([TINY_PNG, Buffer.from(path)]);
}

/** Which picture these bytes are; undefined if they are none of this gateway's, or not all of it. */
export function pathIn(bytes: Buffer): string | undefined {
	const start = bytes.subarray(0, TINY_PNG.length);
	return start.equals(TINY_PNG) ? bytes.subarray(TINY_PNG.length).toString() : undefined;
}
