import { wireName, type WireNames } from './wireNames';
import { isJsonObject, jsonText, mapValues, type JsonObject } from '../../util/json';

/** Keywords that hold for the properties beside the parts of a schema, and not for those of the parts. */
const OF_GIVEN = ['additionalProperties', 'unevaluatedProperties', 'discriminator'];

/**
 * The schema of a tool's input as the endpoint takes it: an object without alternatives at the top,
 * which unions have. Their properties are read one level deep; it accepts all that the given one
 * accepts, and the tool checks its input itself. Undefined if the input can't be an object.
 */
export function objectSchema(schema: unknown): JsonObject | undefined {
	if (!isJsonObject(schema)) return { type: 'object' };
	if (!mayBeObject(schema)) return undefined;
	const { anyOf, oneOf, allOf, ...rest } = schema;
	const alternatives = [anyOf, oneOf].map(partsIn);
	const all = partsIn(allOf);
	const objects = alternatives.map((parts) => parts.filter(mayBeObject));
	const isNone = objects.some(({ length }, at) => length === 0 && alternatives[at]?.length !== 0);
	if (isNone || !all.every(mayBeObject)) return undefined;
	const parts = [...all, ...objects.flat()];
	if (parts.length === 0) return { ...rest, type: 'object' };
	const kept = Object.entries(rest).filter(([keyword]) => !OF_GIVEN.includes(keyword));
	return {
		...Object.fromEntries(kept),
		type: 'object',
		properties: propertiesOf([rest, ...parts]),
		required: [
			...new Set([...[rest, ...all].flatMap(requiredIn), ...objects.flatMap(requiredInAll)]),
		],
	};
}

const partsIn = (parts: unknown): JsonObject[] =>
	Array.isArray(parts) ? parts.filter(isJsonObject) : [];

/** Whether a schema by itself, without the parts that it combines, accepts objects. */
const mayBeObject = ({ type }: JsonObject): boolean =>
	type === undefined || [type].flat().includes('object');

const requiredIn = ({ required }: JsonObject): unknown[] =>
	Array.isArray(required) ? required : [];

const requiredInAll = ([first = {}, ...others]: JsonObject[]): unknown[] =>
	requiredIn(first).filter((name) => others.every((other) => requiredIn(other).includes(name)));

/** The properties of several schemas by name, with each schema of a name as an alternative. */
function propertiesOf(schemas: JsonObject[]): JsonObject {
	const byName = new Map<string, Map<string, unknown>>();
	for (const { properties } of schemas) {
		for (const [name, schema] of Object.entries(isJsonObject(properties) ? properties : {})) {
			byName.set(name, (byName.get(name) ?? new Map()).set(jsonText(schema), schema));
		}
	}
	const entries = [...byName].map(([name, byText]) => {
		const list = [...byText.values()];
		return [name, list.length === 1 ? list[0] : { anyOf: list }] as const;
	});
	return Object.fromEntries(entries);
}

/** Keywords whose value is no schema, nor has any in it. */
const OF_VALUES = ['enum', 'const', 'default', 'examples'];

/** Far deeper than a tool's input. */
const DEEPEST = 100;

/**
 * A schema as the endpoint takes it: without the names of properties that it refuses, and without
 * lists of items one by one, whose alternatives hold for all of them.
 *
 * @param names gets the names that are changed
 */
export function plainSchema<T>(schema: T, names: WireNames, depth = 0): T {
	if (depth > DEEPEST) return schema;
	const plain = (part: unknown): unknown => plainSchema(part, names, depth + 1);
	if (Array.isArray(schema)) return schema.map(plain) as T;
	if (!isJsonObject(schema)) return schema;
	const rename = (name: unknown): string => {
		const own = String(name);
		const other = wireName(own, 'property');
		if (other !== own) names.set(other, own);
		return other;
	};
	const plainValue = (keyword: string, value: unknown): unknown => {
		if (keyword === 'required' && Array.isArray(value)) return value.map(rename);
		if (keyword === '$ref') {
			return String(value).replace(/(?<=\/properties\/)[^/]+/g, (name) => rename(name));
		}
		if (keyword === 'items' && Array.isArray(value)) {
			return value.length === 0 ? {} : { anyOf: value.map(plain) };
		}
		if (keyword !== 'properties' || !isJsonObject(value)) return plain(value);
		const renamed = Object.entries(value).map(([name, part]) => [rename(name), plain(part)]);
		return Object.fromEntries(renamed);
	};
	return mapValues(schema, (value, keyword) =>
		OF_VALUES.includes(keyword) ? value : plainValue(keyword, value),
	) as T;
}
