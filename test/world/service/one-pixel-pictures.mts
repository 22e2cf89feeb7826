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

/** What is edited: one of three files. */
export const FILES = ['file 0', 'file 1', 'file 2'];

export const nameOfFile = (bytes: Buffer): string | undefined => pathIn(bytes);

/** @param number from 0; it goes round */
export function fileOf(number: number): Buffer {
	return pictureOf(FILES[number % FILES.length]!);
}

/** The file at `/sources/1/one.png`: only its bytes tell it from another. */
export function fileAt(path: string): Buffer | undefined {
	const number = /^\/sources\/(\d)\/one\.png$/.exec(path)?.[1];
	return number === undefined ? undefined : fileOf(Number(number));
}

/** What servers say that a picture is: whoever believes them is wrong about half of them. */
const TYPES = ['image/png', 'application/octet-stream', 'image/jpeg', 'image/png; charset=utf-8'];

export function typeOf(path: string): string {
	const digits = path.replace(/\D/g, '');
	return TYPES[(Number(digits.slice(-3)) * 7) % TYPES.length]!;
}

/** How a picture stands in a response. */
export function entryFor(url: string, inline: boolean): { url: string } | { b64_json: string } {
	return inline ? { b64_json: base64Of(url) } : { url };
}

/** A picture as text, by its address. */
export function base64Of(url: string): string {
	return pictureOf(url.slice(url.indexOf('/pictures/'))).toString('base64');
}
