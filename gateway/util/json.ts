/** A JSON object as it came over the wire: every field has still to be looked at. */
export type JsonObject = Record<string, unknown>;

/** Whether a value is a JSON object (no array, not null). */
export function isJsonObject(value: unknown): value is JsonObject {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is a string with something in it, else undefined. */
export function nonEmptyString(value: unknown): string | undefined {
	return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** The value if it is a finite number, else undefined. */
export function finiteNumber(value: unknown): number | undefined {
	return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** A value as JSON, or undefined where JSON has no text for it; false for circles, and integers of any length. */
export function jsonText(value: unknown): string | undefined | false {
	try {
		return JSON.stringify(value);
	} catch {
		return false;
	}
}

/** More levels than any document has, and far fewer than fill the stack of who walks through it. */
const MOST_LEVELS = 128;

/**
 * The JSON in a text, or undefined if it is none. In time that grows with the length of the text.
 *
 * Whole numbers that a number of JavaScript cannot hold come as text with all their digits: an ID
 * of 19 digits would be rounded to that of somebody else. What is nested more than 128 levels deep
 * counts as no JSON, because whoever writes, copies or stores it later would run out of stack.
 */
export function parseJson(given: string): unknown {
	// A reader may ignore a byte order mark before JSON (RFC 8259, section 8.1).
	const text = given.startsWith('\ufeff') ? given.slice(1) : given;
	const value = readJson(text);
	const isOfPython = value === undefined && /^\s*[[{]/.test(text) && /NaN|Infinity/.test(text);
	return isOfPython ? readJson(withoutNaN(text)) : value;
}

/** Python writes `NaN` and `Infinity` for numbers that JSON does not have: they come as null. */
const withoutNaN = (text: string): string =>
	betweenStrings(text, (part) => part.replace(/\bNaN\b|-?\bInfinity\b/g, 'null'));

function readJson(text: string): unknown {
	try {
		const value: unknown = JSON.parse(text);
		if (isTooDeep(text, value)) return undefined;
		// Safe are all numbers of 15 digits; the longer ones are rare enough to read the text twice.
		return /\d{16}/.test(text) ? JSON.parse(withLongIntegersAsText(text)) : value;
	} catch {
		return undefined;
	}
}

function isTooDeep(text: string, value: unknown): boolean {
	// Each level takes two brackets.
	if (text.length <= 2 * MOST_LEVELS) return false;
	let level = [value].filter(isContainer);
	for (let depth = 1; level.length > 0; depth += 1) {
		if (depth > MOST_LEVELS) return true;
		level = level.flatMap((container) => Object.values(container).filter(isContainer));
	}
	return false;
}

const isContainer = (value: unknown): value is object =>
	typeof value === 'object' && value !== null;

/** @param text is JSON, so that what stands outside its strings needs no further check */
const withLongIntegersAsText = (text: string): string =>
	betweenStrings(text, (part) => part.replace(/-?\d[\d.eE+-]*/g, textIfLong));

/** JSON in which what stands outside of strings was changed. */
function betweenStrings(text: string, change: (part: string) => string): string {
	const pieces: string[] = [];
	for (let at = 0; at < text.length; ) {
		const quote = text.indexOf('"', at);
		const start = quote < 0 ? text.length : quote;
		const end = quote < 0 ? text.length : endOfString(text, quote);
		pieces.push(change(text.slice(at, start)));
		pieces.push(text.slice(start, end));
		at = end;
	}
	return pieces.join('');
}

function textIfLong(number: string): string {
	const isInteger = /^-?\d+$/.test(number);
	return isInteger && !Number.isSafeInteger(Number(number)) ? `"${number}"` : number;
}

/** @returns the place behind the closing quote of the string that begins at `from` */
function endOfString(text: string, from: number): number {
	for (let quote = text.indexOf('"', from + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
		let backslashes = 0;
		while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
		if (backslashes % 2 === 0) return quote + 1;
	}
	return text.length;
}

/** Fields of a body without those that are undefined: what is not set is not sent. */
export function withoutUndefined(fields: JsonObject): JsonObject {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
