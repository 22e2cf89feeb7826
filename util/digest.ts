import { createHash } from 'crypto';
import { isJsonObject, jsonText } from './json';

/**
 * The SHA-256 of a value as JSON, in hexadecimal digits; the same for objects whose fields have
 * another order. Empty for a value without JSON, such as a circular one.
 */
export function digestOf(value: unknown): string {
	const text = jsonText(value, inOrder) || '';
	return text && createHash('sha256').update(text).digest('hex');
}

/** In bytes: what is digested in a turn takes some milliseconds. */
export const PIECE = 2 ** 20;

/** The same for a large value. @param turn lets other work go first */
export async function digestInTurns(value: unknown, turn: () => Promise<void>): Promise<string> {
	await turn();
	const bytes = Buffer.from(jsonText(value, inOrder) || '');
	const hash = createHash('sha256');
	for (const piece of inPieces(bytes)) {
		hash.update(piece);
		await turn();
	}
	return bytes.length === 0 ? '' : hash.digest('hex');
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
