import type { IBinaryData, IExecuteFunctions, INode, INodeExecutionData } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { isJsonObject, parseJson, type JsonObject } from '../../../gateway/util/json';
import { quote } from '../../../gateway/util/text';
import { optionOf, type OptionName } from '../fields/optionFields';

/** The values that a number may have, both ends included. */
interface Range {
	label: string;
	lowest?: number;
	highest?: number;
	isWhole?: boolean;
}

/** Whether a parameter is empty, which means its default. */
export const isEmpty = (value: unknown): boolean =>
	value === undefined || value === null || value === '';

const ON = ['true', '1', 'yes', 'on'];
const OFF = ['false', '0', 'no', 'off'];
const wordOf = (value: unknown): string => String(value).slice(0, 20).trim().toLowerCase();

/** Whether a boolean field of a request is false, written in any way, or empty. */
export function isOff(value: unknown): boolean {
	if (typeof value === 'object') return value === null;
	return isEmpty(value) || OFF.includes(wordOf(value)) || wordOf(value) === '';
}

/** An invalid value as errors show it. */
export const shown = (value: unknown): string => {
	if (isEmpty(value)) return 'empty';
	if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'an object';
	const text = String(value);
	return text.length > 40 ? `${text.slice(0, 40)}…` : text;
};

/** The description of the error for an invalid value. */
const refused = (value: unknown): string => `It is ${shown(value)}. Nothing was sent.`;

/** A number, also as text; NaN for anything else: `Number` also converts lists and booleans. */
export const numberIn = (value: unknown): number =>
	typeof value === 'string' || typeof value === 'number' ? Number(value) : NaN;

const rangeText = ({ lowest = -Infinity, highest = Infinity, isWhole }: Range): string => {
	const kind = isWhole ? 'a whole number' : 'a number';
	if (lowest === -Infinity) return kind;
	return highest === Infinity
		? `${kind} of at least ${lowest}`
		: `${kind} from ${lowest} to ${highest}`;
};

/**
 * Reads values of one item by name: its parameters, or those of a collection such as its options.
 * An expression may return anything, so each method says what it accepts. All of them throw a
 * NodeOperationError with the parameter's label and the item's index.
 */
export class ValueReader {
	constructor(
		private readonly node: INode,
		readonly itemIndex: number,
		private readonly values: JsonObject = {},
	) {}

	/** The raw value. @param fallback used only if the value isn't set at all */
	value(name: string, fallback?: unknown): unknown {
		return Object.hasOwn(this.values, name) ? this.values[name] : fallback;
	}

	/** A reader of other values of this item. */
	within(values: JsonObject): ValueReader {
		return new ValueReader(this.node, this.itemIndex, values);
	}

	/** The error for an invalid parameter. @param description what to do */
	error(message: string, description?: string): NodeOperationError {
		return new NodeOperationError(this.node, message, { description, itemIndex: this.itemIndex });
	}

	/**
	 * Whether a value is there, even if it is empty. In a collection, the user has added its option.
	 */
	has(name: string): boolean {
		return Object.hasOwn(this.values, name);
	}

	/** A required text, or a resource locator with one. @param advice what to do if it is empty */
	text(name: string, label: string, advice: string): string {
		const text = this.optionalText(name, label);
		if (text !== undefined) return text;
		throw this.error(`'${label}' is empty`, advice);
	}

	/** An optional text, or a resource locator with one; undefined if it is empty. */
	optionalText(name: string, label: string): string | undefined {
		const given = this.value(name);
		const value = isJsonObject(given) && 'mode' in given ? given.value : given;
		if (isEmpty(value)) return undefined;
		const text = typeof value === 'number' ? String(value) : value;
		if (typeof text !== 'string') throw this.error(`'${label}' must be text`, refused(value));
		return text.trim() === '' ? undefined : text;
	}

	/** A number within the range that it is declared with; its default if it is empty. */
	number(name: OptionName): number {
		const { displayName: label, typeOptions = {}, default: fallback } = optionOf(name);
		const { minValue: lowest, maxValue: highest } = typeOptions;
		return this.numberWithin(name, { label, lowest, highest }) ?? Number(fallback);
	}

	/** A number of seconds, as milliseconds. */
	milliseconds(name: OptionName): number {
		return this.number(name) * 1000;
	}

	/** A number without a range; undefined if it is empty. */
	optionalNumber(name: string, label: string): number | undefined {
		return this.numberWithin(name, { label });
	}

	/** A whole number from 1 to `highest`; undefined if it is empty. */
	count(name: string, label: string, highest = 1000): number | undefined {
		return this.numberWithin(name, { label, lowest: 1, highest, isWhole: true });
	}

	private numberWithin(name: string, range: Range): number | undefined {
		const value = this.value(name);
		if (isEmpty(value)) return undefined;
		const number = numberIn(value);
		const { label, lowest = -Infinity, highest = Infinity, isWhole = false } = range;
		const isValid = Number.isFinite(number) && number >= lowest && number <= highest;
		if (isValid && (!isWhole || Number.isInteger(number))) return number;
		throw this.error(`'${label}' must be ${rangeText(range)}`, refused(value));
	}

	/**
	 * A boolean. The texts "false" and "true" of an expression count as booleans, because a setting
	 * that costs money must not depend on the type.
	 *
	 * @param fallback used if it is empty, but not for an option that was added: whoever adds
	 *   'Dry Run' must not pay because an expression returns nothing
	 */
	switch(name: string, label: string, fallback: boolean): boolean {
		const value = this.value(name);
		if (typeof value === 'boolean') return value;
		if (isEmpty(value) && !this.has(name)) return fallback;
		if (ON.includes(wordOf(value))) return true;
		if (OFF.includes(wordOf(value))) return false;
		throw this.error(`'${label}' must be true or false`, refused(value));
	}

	/** One of the given values, in upper or lower case; the first one if it is empty. */
	choice<T extends string>(name: string, label: string, choices: readonly [T, ...T[]]): T {
		return this.optionalChoice(name, label, choices) ?? choices[0];
	}

	/** One of the given values, in upper or lower case; undefined if it is empty. */
	optionalChoice<T extends string>(
		name: string,
		label: string,
		choices: readonly T[],
	): T | undefined {
		const value = this.value(name);
		if (isEmpty(value)) return undefined;
		const word = typeof value === 'string' ? value.slice(0, 40).trim().toLowerCase() : undefined;
		const choice = choices.find((known) => known.toLowerCase() === word);
		if (choice !== undefined) return choice;
		throw this.error(`'${label}' must be one of ${choices.join(', ')}`, refused(value));
	}

	/** A JSON object, as text or from an expression; {} if it is empty. */
	json(name: string, label: string): JsonObject {
		const value = this.value(name);
		if (isEmpty(value)) return {};
		const parsed = typeof value === 'string' ? parseJson(value) : value;
		if (isJsonObject(parsed)) return parsed;
		throw this.error(`'${label}' must be a JSON object`, 'Example: { "seed": 42 }');
	}
}

/** The most fields that an error lists. */
const MOST_NAMED = 20;

const FIELD_OF_ITEM = /^=\{\{ *\$json\.([A-Za-z_]\w*) *\}\}$/;

type ReadParameter = (item: ItemParameters) => unknown;

/** By the context of a run and the parameter's name, the function that reads it for an item. */
const parameterReaders = new WeakMap<IExecuteFunctions, Map<string, ReadParameter>>();

/**
 * Reads the parameters of one input item, and its options.
 *
 * Evaluating every parameter for every item takes n8n longer than all other work on the item, so
 * only parameters that depend on the item are evaluated again.
 */
export class ItemParameters extends ValueReader {
	private collection?: ValueReader;

	constructor(
		private readonly context: IExecuteFunctions,
		itemIndex: number,
	) {
		super(context.getNode(), itemIndex);
	}

	/** The input item itself; undefined in a sub-node, whose root node has the items. */
	get input(): INodeExecutionData | undefined {
		return this.context.getInputData()[this.itemIndex];
	}

	/** The workflow's time zone, e.g. Europe/Berlin. */
	get timeZone(): string {
		return this.context.getTimezone();
	}

	/** The parameter "Options". @throws NodeOperationError if it is no object */
	get options(): ValueReader {
		const options = this.value('options') ?? {};
		if (!isJsonObject(options)) throw this.error("'Options' must be a JSON object");
		this.collection ??= this.within(options);
		return this.collection;
	}

	/**
	 * @param fallback used if the parameter isn't set, but not if an expression returns null; always
	 *   the same for one parameter
	 * @returns the same object for all items if the parameter has no expression: don't change it
	 */
	override value(name: string, fallback: unknown = null): unknown {
		const known = parameterReaders.get(this.context) ?? new Map();
		parameterReaders.set(this.context, known);
		const read = known.get(name) ?? this.readerOf(name, fallback);
		known.set(name, read);
		return read(this);
	}

	/**
	 * The file in a field of the input item. @throws NodeOperationError that names the item's fields
	 */
	file(field: string): IBinaryData {
		const files = this.input?.binary ?? {};
		// Its own: every object has a "constructor".
		if (Object.hasOwn(files, field)) {
			return this.context.helpers.assertBinaryData(this.itemIndex, field);
		}
		const fields = Object.keys(files).slice(0, MOST_NAMED);
		const found =
			fields.length === 0
				? 'It has no files: check the node before this one.'
				: `Its binary fields: ${fields.map((name) => quote(name)).join(', ')}.`;
		const message = `The item has no binary field '${quote(field)}'`;
		throw this.error(message, `${found} Nothing was sent.`);
	}

	/** The function that reads a parameter, for this and every other item. */
	private readerOf(name: string, fallback: unknown): ReadParameter {
		const { context, itemIndex } = this;
		const evaluate = (item: ItemParameters): unknown =>
			context.getNodeParameter(name, item.itemIndex, fallback);
		const raw = context.getNodeParameter(name, itemIndex, null, { rawExpressions: true });
		// An expression is a text that begins with an equals sign, at any depth.
		if (!/"=/.test(JSON.stringify(raw) ?? '')) {
			const value = evaluate(this);
			return () => value;
		}
		// Most expressions are one field of the item, which is read without evaluating.
		const field = typeof raw === 'string' ? FIELD_OF_ITEM.exec(raw)?.[1] : undefined;
		if (field === undefined) return evaluate;
		return (item) => {
			const { json } = item.input ?? {};
			if (json !== undefined && !Object.hasOwn(json, field)) return undefined;
			const value = json?.[field];
			// Evaluated, so that the caller doesn't get the input item's own object.
			return json === undefined || typeof value === 'object' ? evaluate(item) : value;
		};
	}
}
