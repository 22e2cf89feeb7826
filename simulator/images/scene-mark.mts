import { crc32 } from 'node:zlib';

/** What a picture was painted from. */
export interface Scene {
	prompt: string;
	index: number;
	width: number;
	height: number;
}

/** An ancillary, private chunk, which every decoder skips. */
const chunkType = Buffer.from('scNe');
/** The signature and the chunk IHDR, which is always the first one. */
const headBytes = 33;
const longestScene = 20_000;

/**
 * The PNG with a mark of what it shows, so that an edit knows the picture again, also one of an earlier
 * start or of another process.
 */
export function withScene(png: Buffer, { prompt, index, width, height }: Scene): Buffer {
	const scene: Scene = { prompt: prompt.slice(0, longestScene / 10), index, width, height };
	const content = Buffer.concat([chunkType, Buffer.from(JSON.stringify(scene))]);
	const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
	length.writeUInt32BE(content.length - chunkType.length);
	checksum.writeUInt32BE(crc32(content));
	const mark = Buffer.concat([length, content, checksum]);
	return Buffer.concat([png.subarray(0, headBytes), mark, png.subarray(headBytes)]);
}

/** The scene that a picture is marked with; undefined for a picture of anyone else. */
export function sceneIn(png: Buffer | undefined): Scene | undefined {
	if (png === undefined || png.length < headBytes + 8) return undefined;
	const length = png.readUInt32BE(headBytes);
	const start = headBytes + 8;
	if (!png.subarray(headBytes + 4, start).equals(chunkType) || length > longestScene)
		return undefined;
	try {
		const scene = JSON.parse(png.subarray(start, start + length).toString()) as Scene;
		const numbers = [scene.index, scene.width, scene.height];
		return typeof scene.prompt === 'string' && numbers.every(Number.isFinite) ? scene : undefined;
	} catch {
		return undefined;
	}
}
