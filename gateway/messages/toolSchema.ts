import { wireName, type WireNames } from './wireNames';
import { isJsonObject, jsonText, nonEmptyString, type JsonObject } from '../../util/json';

/** The properties of an object, and the names of those it must have. */
interface Shape {
	properties: Map<string, unknown>;
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
		properties: Object.fromEntries(shape.properties),
		required: [...shape.required],
	};
}

/** The shape of the objects that a schema accepts; undefined if it accepts none. */
function shapeOf(schema: unknown, reading: Reading): Shape | undefined {
	// Such a part says nothing about an object.
	if (!isJsonObject(schema) || reading.partsLeft <= 0)
		return { properties: new Map(), required: new Set() };
	if (!mayBeObject(schema)) return undefined;
	reading.partsLeft -= 1;
	const { properties, required } = schema;
	const shapes: Array<Shape | undefined> = [
		{
			properties: new Map(Object.entries(isJsonObject(properties) ? properties : {})),
			required: new Set(listIn(required)),
		},
		...listIn(schema.allOf).map((part) => shapeOf(part, reading)),
		shapeOf(referenced(schema.$ref, reading.root), reading),
		...[schema.anyOf, schema.oneOf].map((parts) => alternatives(listIn(parts), reading)),
	];
	const known = shapes.filter((shape) => shape !== undefined);
	if (known.length < shapes.length) return undefined;
	return {
		properties: joined(known, 'allOf'),
		required: new Set(known.flatMap((shape) => [...shape.required])),
	};
}

/** The shape of the objects that one of several schemas accepts. */
function alternatives(parts: unknown[], reading: Reading): Shape | undefined {
	const shapes = parts.map((part) => shapeOf(part, reading)).filter((shape) => shape !== undefined);
	const [first, ...others] = shapes;
	if (first === undefined) return parts.length === 0 ? shapeOf(undefined, reading) : undefined;
	const inAll = [...first.required].filter((name) => others.every((one) => one.required.has(name)));
	return { properties: joined(shapes, 'anyOf'), required: new Set(inAll) };
}

/** The properties of several shapes. The schemas of one name are combined, each of them once. */
function joined(shapes: Shape[], keyword: 'allOf' | 'anyOf'): Map<string, unknown> {
	const byName = new Map<string, Map<unknown, unknown>>();
	for (const [name, schema] of shapes.flatMap(({ properties }) => [...properties])) {
		const schemas = byName.get(name) ?? new Map<unknown, unknown>();
		byName.set(name, schemas.set(jsonText(schema), schema));
	}
	return new Map(
		[...byName].map(([name, schemas]) => {
			const list = [...schemas.values()];
			return [name, list.length === 1 ? list[0] : { [keyword]: list }] as const;
		}),
	);
}

/** Whether a schema by itself, without the parts that it combines, accepts objects. */
const mayBeObject = ({ type }: JsonObject): boolean =>
	type === undefined || [type].flat().includes('object');

const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The part of a schema at an address such as `#/$defs/name`. */
function referenced(address: unknown, root: JsonObject): unknown {
	const [start, ...path] = nonEmptyString(address)?.split('/') ?? [];
	if (start !== '#') return undefined;
	return path.reduce<unknown>(
		(part, name) => (isJsonObject(part) && Object.hasOwn(part, name) ? part[name] : undefined),
		root,
	);
}

/** Keywords whose value is a schema or a list of them, and those whose values are schemas by name. */
const OF_SCHEMAS = [
	'items',
	'prefixItems',
	'additionalProperties',
	'anyOf',
	'oneOf',
	'allOf',
	'not',
];
const BY_NAME = ['$defs', 'definitions', 'patternProperties', 'dependentSchemas'];

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
	const rename = (name: unknown): unknown => {
		if (typeof name !== 'string') return name;
		const other = wireName(name, 'property');
		if (other !== name) names.set(other, name);
		return other;
	};
	const mapped = (value: JsonObject, nameOf = (name: string): unknown => name): JsonObject =>
		Object.fromEntries(
			Object.entries(value).map(([name, part]) => [String(nameOf(name)), plain(part)]),
		);
	const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
		if (keyword === 'required') return [keyword, listIn(value).map(rename)];
		if (keyword === '$ref') return [keyword, plainAddress(value, rename)];
		if (keyword === 'items' && Array.isArray(value)) {
			return [keyword, value.length === 0 ? {} : { anyOf: value.map(plain) }];
		}
		if (isJsonObject(value) && keyword === 'properties') return [keyword, mapped(value, rename)];
		if (isJsonObject(value) && BY_NAME.includes(keyword)) return [keyword, mapped(value)];
		return [keyword, OF_SCHEMAS.includes(keyword) ? plain(value) : value];
	});
	return Object.fromEntries(entries) as T;
}

/** Far deeper than a tool's input. */
const DEEPEST = 50;

/** An address such as `#/properties/name` with the changed names of properties. */
const plainAddress = (address: unknown, rename: (name: string) => unknown): unknown =>
	typeof address === 'string'
		? address.replace(/(\/properties\/)([^/]+)/g, (_, start: string, name: string) =>
				start.concat(String(rename(name))),
			)
		: address;
