import { wireName, type WireNames } from './wireNames';
import { isJsonObject, jsonText, nonEmptyString, type JsonObject } from '../../util/json';

/** The properties of an object, and the names of those it must have. */
interface Shape {
	properties: Array<[name: string, schema: unknown]>;
	required: Set<unknown>;
}

/** A schema that is being read, and how many more parts of it are read. */
interface Reading {
	root: JsonObject;
	partsLeft: number;
}

/** Far more than a tool has: references can multiply the parts of a schema. */
const MOST_PARTS = 500;

const COMBINING = ['anyOf', 'oneOf', 'allOf', '$ref'];

/** Keywords that hold for the given schema, and not for the properties of its parts. */
const LEFT_OUT = [...COMBINING, 'additionalProperties', 'unevaluatedProperties', 'discriminator'];

/**
 * The schema of a tool's input as the endpoint takes it: an object without alternatives at the top,
 * which unions have. It accepts all that the given one accepts; the tool checks its input itself.
 * Undefined if the input can't be an object.
 */
export function objectSchema(schema: unknown): JsonObject | undefined {
	if (!isJsonObject(schema)) return { type: 'object' };
	const isPlain = !COMBINING.some((keyword) => Object.hasOwn(schema, keyword));
	if (isPlain) return mayBeObject(schema) ? { ...schema, type: 'object' } : undefined;
	const shape = shapeOf(schema, { root: schema, partsLeft: MOST_PARTS });
	if (shape === undefined) return undefined;
	const rest = Object.entries(schema).filter(([name]) => !LEFT_OUT.includes(name));
	return {
		...Object.fromEntries(rest),
		type: 'object',
		properties: byName(shape.properties),
		required: [...shape.required],
	};
}

/** The shape of the objects that a schema accepts; undefined if it accepts none. */
function shapeOf(schema: unknown, reading: Reading): Shape | undefined {
	// Such a part says nothing about an object.
	if (!isJsonObject(schema) || reading.partsLeft <= 0)
		return { properties: [], required: new Set() };
	if (!mayBeObject(schema)) return undefined;
	reading.partsLeft -= 1;
	const { properties, required } = schema;
	const read = (part: unknown): Shape | undefined => shapeOf(part, reading);
	const alternatives = [schema.anyOf, schema.oneOf].map(listIn).filter(({ length }) => length > 0);
	const shapes = [
		{
			properties: Object.entries(isJsonObject(properties) ? properties : {}),
			required: new Set(listIn(required)),
		},
		...[...listIn(schema.allOf), referenced(schema.$ref, reading.root)].map(read),
		...alternatives.map((parts) => eitherOf(parts.map(read))),
	];
	const readable = shapes.filter((shape) => shape !== undefined);
	if (readable.length < shapes.length) return undefined;
	return {
		properties: readable.flatMap((shape) => shape.properties),
		required: new Set(readable.flatMap((shape) => [...shape.required])),
	};
}

/** The shape of the objects that one of several schemas accepts. */
function eitherOf(shapes: Array<Shape | undefined>): Shape | undefined {
	const readable = shapes.filter((shape) => shape !== undefined);
	const [first, ...others] = readable;
	return (
		first && {
			properties: readable.flatMap(({ properties }) => properties),
			required: new Set(
				[...first.required].filter((name) => others.every(({ required }) => required.has(name))),
			),
		}
	);
}

/** Properties by name, with each schema of a name as an alternative. */
function byName(properties: Shape['properties']): JsonObject {
	const schemas = new Map<string, Map<unknown, unknown>>();
	for (const [name, schema] of properties) {
		schemas.set(name, (schemas.get(name) ?? new Map()).set(jsonText(schema), schema));
	}
	const entries = [...schemas].map(([name, byText]) => {
		const list = [...byText.values()];
		return [name, list.length === 1 ? list[0] : { anyOf: list }] as const;
	});
	return Object.fromEntries(entries);
}

/** Whether a schema by itself, without the parts that it combines, accepts objects. */
const mayBeObject = ({ type }: JsonObject): boolean =>
	type === undefined || [type].flat().includes('object');

const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The part of a schema that a reference names, such as `#/$defs/name`. */
function referenced(ref: unknown, root: JsonObject): unknown {
	const [start, ...path] = nonEmptyString(ref)?.split('/') ?? [];
	if (start !== '#') return undefined;
	return path.reduce<unknown>(
		(part, name) => (isJsonObject(part) && Object.hasOwn(part, name) ? part[name] : undefined),
		root,
	);
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
	const entries = Object.entries(schema).map(([keyword, value]) => [
		keyword,
		OF_VALUES.includes(keyword) ? value : plainValue(keyword, value),
	]);
	return Object.fromEntries(entries) as T;
}
