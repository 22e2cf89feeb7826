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
