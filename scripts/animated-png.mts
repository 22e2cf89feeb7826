/** Puts frames together as an animated PNG, which browsers show wherever they show an image. */
import { createCanvas, loadImage, type Image } from '@napi-rs/canvas';
import { crc32 } from 'node:zlib';

export interface Frame {
	/** A PNG; all of one size. */
	png: Buffer;
	/** Milliseconds for which it is seen. */
	ms: number;
}

interface Box {
	x: number;
	y: number;
	width: number;
	height: number;
}

interface Part extends Box {
	ms: number;
	/** Compressed pixels: RGBA, 8 bits each. */
	data: Buffer;
}

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/**
 * An animated PNG (PNG specification, third edition, 11.3.6). Of each frame only what has changed is
 * stored; a frame in which nothing has changed makes the one before last longer.
 *
 * @param still a PNG of the same size, which is seen where nothing moves: not one of the frames
 * @returns the file; it is played without end
 */
export async function animatedPng(frames: readonly Frame[], still: Buffer): Promise<Buffer> {
	const parts: Part[] = [];
	let before: Uint8ClampedArray | undefined;
	for (const { png, ms } of frames) {
		const image = await loadImage(png);
		const pixels = pixelsOf(image);
		const box = before === undefined ? wholeOf(image) : changedBox(before, pixels, image);
		if (box === undefined) {
			parts.at(-1)!.ms += ms;
			continue;
		}
		parts.push({ ...box, ms, data: dataOf(encode(image, box, before, pixels), 'IDAT') });
		before = pixels;
	}
	let sequence = 0;
	const body = parts.flatMap((part, index) => [
		chunk('fcTL', frameControl(part, sequence++, index === 0)),
		chunk('fdAT', Buffer.concat([uint32(sequence++), part.data])),
	]);
	const image = await loadImage(still);
	const shown = encode(image, wholeOf(image), undefined, pixelsOf(image));
	return Buffer.concat([
		SIGNATURE,
		chunk('IHDR', dataOf(shown, 'IHDR')),
		chunk('acTL', Buffer.concat([uint32(parts.length), uint32(0)])),
		// Without a frame control before it, it is no part of the animation.
		chunk('IDAT', dataOf(shown, 'IDAT')),
		...body,
		chunk('IEND', Buffer.alloc(0)),
	]);
}

function pixelsOf(image: Image): Uint8ClampedArray {
	const context = createCanvas(image.width, image.height).getContext('2d');
	context.drawImage(image, 0, 0);
	return context.getImageData(0, 0, image.width, image.height).data;
}

const wholeOf = ({ width, height }: Image): Box => ({ x: 0, y: 0, width, height });

/** The smallest box that holds every changed pixel; undefined if there is none. */
function changedBox(
	before: Uint8ClampedArray,
	after: Uint8ClampedArray,
	{ width, height }: Image,
): Box | undefined {
	const [one, other] = [before, after].map((bytes) => new Uint32Array(bytes.buffer));
	let [left, top, right, bottom] = [width, height, -1, -1];
	for (let y = 0; y < height; y++) {
		for (let x = 0; x < width; x++) {
			if (one![y * width + x] === other![y * width + x]) continue;
			[left, right] = [Math.min(left, x), Math.max(right, x)];
			[top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
		}
	}
	if (right < 0) return undefined;
	return { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

/** The box as a PNG in which what has not changed is transparent: that compresses to nearly nothing. */
function encode(
	image: Image,
	box: Box,
	before: Uint8ClampedArray | undefined,
	after: Uint8ClampedArray,
): Buffer {
	const canvas = createCanvas(box.width, box.height);
	const context = canvas.getContext('2d');
	const data = context.createImageData(box.width, box.height);
	const [target, now] = [data.data, after].map((bytes) => new Uint32Array(bytes.buffer));
	const old = before === undefined ? undefined : new Uint32Array(before.buffer);
	for (let y = 0; y < box.height; y++) {
		for (let x = 0; x < box.width; x++) {
			const at = (box.y + y) * image.width + box.x + x;
			if (old?.[at] !== now![at]) target![y * box.width + x] = now![at]!;
		}
	}
	context.putImageData(data, 0, 0);
	return canvas.encodeSync('png');
}

/** What all chunks of a type hold. */
function dataOf(png: Buffer, type: string): Buffer {
	const found = [];
	for (let at = SIGNATURE.length; at < png.length; ) {
		const length = png.readUInt32BE(at);
		if (png.toString('latin1', at + 4, at + 8) === type) {
			found.push(png.subarray(at + 8, at + 8 + length));
		}
		at += length + 12;
	}
	return Buffer.concat(found);
}

/** Blended over what is there; the first frame replaces it. */
function frameControl(part: Part, sequence: number, first: boolean): Buffer {
	const delay = Buffer.alloc(6);
	delay.writeUInt16BE(Math.min(65_535, part.ms), 0);
	delay.writeUInt16BE(1000, 2);
	delay.writeUInt8(first ? 0 : 1, 5);
	const { width, height, x, y } = part;
	return Buffer.concat([...[sequence, width, height, x, y].map(uint32), delay]);
}

function uint32(value: number): Buffer {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32BE(value >>> 0);
	return bytes;
}

function chunk(type: string, data: Buffer): Buffer {
	const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
	return Buffer.concat([uint32(data.length), named, uint32(crc32(named))]);
}
