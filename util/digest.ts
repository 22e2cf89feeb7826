import { createHash } from 'crypto';
import { isJsonObject, isLongerThan, jsonText } from './json';

/**
 * The SHA-256 of a value as JSON, in hexadecimal digits; the same for objects whose fields have
 * another order. Empty for a value without JSON, such as a circular one.
 */
export function digestOf(value: unknown): string {
	const text = jsonText(value, inOrder) || '';
	return text && createHash('sha256').update(text).digest('hex');
}

/** In bytes: what is read in a turn takes some milliseconds. */
export const PIECE = 2 ** 20;

/** In characters: what is digested in a turn of its own. */
const LARGE = 100_000;

/** `digestOf` for a value of any size. */
export type Digest = (value: unknown) => Promise<string>;

/**
 * Digests large values one after another, or they would be one long turn.
 *
 * @param turn lets other work go first
 */
export function createDigest(turn: () => Promise<void>): Digest {
	let last: Promise<unknown> = Promise.resolve();
	return async (value) => {
		if (!isLongerThan(value, LARGE)) return digestOf(value);
		const digest = last.then(turn).then(() => digestOf(value));
		last = digest.catch(() => undefined);
		return await digest;
	};
}

/** The pieces of bytes in memory. */
export function* inPieces(bytes: Uint8Array): Generator<Uint8Array> {
	for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

function inOrder(_: string, part: unknown): unknown {
	if (!isJsonObject(part)) return part;
	const names = Object.keys(part).sort();
	return Object.fromEntries(names.map((name) => [name, part[name]]));
}
