/** A JSON object from outside, whose fields can have any type. */
export type JsonObject = Record<string, unknown>;

/** Whether a value is a JSON object (no array, not null). */
export function isJsonObject(value: unknown): value is JsonObject {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is a string that isn't blank; undefined otherwise. */
export function nonEmptyString(value: unknown): string | undefined {
	return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** The value if it is a finite number; undefined otherwise. */
export function finiteNumber(value: unknown): number | undefined {
	return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** A number or the number that a text is; NaN for anything else, of which `Number` may throw. */
export const numberOf = (value: unknown): number =>
	typeof value === 'number' || typeof value === 'string' ? Number(value) : NaN;

/**
 * A value as JSON text; undefined for a value that JSON can't represent, false for a circular value
 * and for BigInt.
 *
 * @param replacer as for `JSON.stringify`
 */
export function jsonText(
	value: unknown,
	replacer?: (name: string, part: unknown) => unknown,
): string | undefined | false {
	try {
		return JSON.stringify(value, replacer);
	} catch {
		return false;
	}
}

/** Whether a value has more characters of text than so many, however deep; without its JSON. */
export function isLongerThan(value: unknown, most: number): boolean {
	let left = most;
	const parts: unknown[] = [value];
	for (let at = 0; at < parts.length && left >= 0; at += 1) {
		const part = parts[at];
		left -= typeof part === 'string' ? part.length + 1 : 1;
		if (typeof part !== 'object' || part === null) continue;
		for (const [name, own] of Object.entries(part)) {
			left -= name.length;
			if (left < 0) break;
			parts.push(own);
		}
	}
	return left < 0;
}

/** More levels than any document has, and far fewer than fill the stack. */
const MOST_LEVELS = 128;

/**
 * Parses JSON in linear time; undefined if the text isn't valid.
 *
 * Integers that a number can't hold become text with all digits: rounded, a 19-digit ID would be
 * another one. JSON with more than 128 levels isn't accepted, because later code would run out of
 * stack.
 */
export function parseJson(given: string): unknown {
	// RFC 8259, section 8.1, allows to ignore a byte order mark.
	const text = given.startsWith('\ufeff') ? given.slice(1) : given;
	const value = readJson(text);
	const isOfPython = value === undefined && /^\s*[[{]/.test(text) && /NaN|Infinity/.test(text);
	return isOfPython ? readJson(withoutNaN(text)) : value;
}

/** JSON in which `NaN` and `Infinity`, which Python writes, are replaced by null. */
const withoutNaN = (text: string): string =>
	betweenStrings(text, (part) => part.replace(/\bNaN\b|-?\bInfinity\b/g, 'null'));

function readJson(text: string): unknown {
	try {
		const value: unknown = JSON.parse(text);
		// Each level has two brackets.
		if (text.length > 2 * MOST_LEVELS && isTooDeep(value)) return undefined;
		// Numbers with 15 digits are safe; longer ones are rare enough to parse the text twice.
		return /\d{16}/.test(text) ? JSON.parse(withLongIntegersAsText(text)) : value;
	} catch {
		return undefined;
	}
}

function isTooDeep(value: unknown, levels = MOST_LEVELS): boolean {
	if (typeof value !== 'object' || value === null) return false;
	return levels === 0 || Object.values(value).some((part) => isTooDeep(part, levels - 1));
}

/**
 * Turns integers beyond the safe range into text.
 *
 * @param text valid JSON, so that the parts outside strings need no further check
 */
const withLongIntegersAsText = (text: string): string =>
	betweenStrings(text, (part) => part.replace(/-?\d[\d.eE+-]*/g, textIfLong));

/** Changes JSON outside of its strings. Takes linear time. */
function betweenStrings(text: string, change: (part: string) => string): string {
	let isString = false;
	return text.replace(/\\.|"|[^\\"]+/gs, (part) => {
		if (part === '"') isString = !isString;
		return isString ? part : change(part);
	});
}

function textIfLong(number: string): string {
	const isInteger = /^-?\d+$/.test(number);
	return isInteger && !Number.isSafeInteger(Number(number)) ? `"${number}"` : number;
}

/** A copy of the fields with other values. @param change gets each value, and its name */
export const mapValues = <Value, Other>(
	fields: Record<string, Value>,
	change: (value: Value, name: string) => Other,
): Record<string, Other> =>
	Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, change(value, name)]));

/** A copy of the fields without those of some names. */
export const withoutFields = (fields: JsonObject, names: readonly string[]): JsonObject =>
	Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

/** A copy of the fields without undefined ones: a field that isn't set isn't sent. */
export function withoutUndefined(fields: JsonObject): JsonObject {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
