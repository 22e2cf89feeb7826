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

function inOrder(_: string, part: unknown): unknown {
	if (!isJsonObject(part)) return part;
	const names = Object.keys(part).sort();
	return Object.fromEntries(names.map((name) => [name, part[name]]));
}
