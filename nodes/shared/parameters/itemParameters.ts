import type { IBinaryData, IExecuteFunctions, INode, INodeExecutionData } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { isJsonObject, numberOf, parseJson, type JsonObject } from '../../../util/json';
import { quote } from '../../../util/text';
import { optionOf, type OptionName } from '../fields/optionFields';
import { isTool } from '../run/runContext';

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
const wordOf = (value: unknown): string => shown(value).toLowerCase();

/** Whether a boolean field of a request is false, written in any way, or empty. */
export const isOff = (value: unknown): boolean => ['empty', ...OFF].includes(wordOf(value));

/** What JavaScript makes of an object in a text: the value was an object, so it is none of a text. */
const LOST_OBJECT = '[object Object]';

/** Whether a value of an expression is a date of JavaScript or of n8n: objects of JSON can't do this. */
const isDate = (value: object): boolean => 'toJSON' in value && typeof value.toJSON === 'function';

/** An invalid value as errors show it. */
export function shown(value: unknown): string {
	if (Array.isArray(value)) return 'a list';
	if (typeof value === 'object' && value !== null) return isDate(value) ? 'a date' : 'an object';
	const text = String(value ?? '').trim();
	if (text === '') return 'empty';
	if (text === LOST_OBJECT) return 'an object';
	return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** The value if it can be sent as text; undefined for anything else, such as NaN or a list. */
export function textIn(value: unknown): string | undefined {
	const text = Number.isFinite(value) ? String(value) : value;
	return typeof text === 'string' && text.trim() !== LOST_OBJECT ? text : undefined;
}

/** A number, also as text; NaN for anything else: `Number` also converts lists and booleans. */
export const numberIn = (value: unknown): number => numberOf(textIn(value));

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
		protected readonly node: INode,
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

	/** An error about this item. @param description what to do */
	error(message: string, description: string): NodeOperationError {
		return new NodeOperationError(this.node, message, { description, itemIndex: this.itemIndex });
	}

	/** The error for an invalid parameter, found before the request. @param advice what to do */
	refusal(message: string, advice: string): NodeOperationError {
		return this.error(message, `${advice} Nothing was sent.`);
	}

	/** The error for a value that a parameter can't have. @param advice what to do, if it isn't plain */
	invalid(label: string, expected: string, value: unknown, advice = ''): NodeOperationError {
		const found = `It is ${shown(value)}. ${advice}`;
		return this.refusal(`'${label}' must be ${expected}`, found.trim());
	}

	/**
	 * Whether a value is there, even if it is empty. In a collection, the user has added its option.
	 */
	has(name: string): boolean {
		return Object.hasOwn(this.values, name);
	}

	/** A required text, or a resource locator with one. @param advice what to do if it is empty */
	text(name: string, label: string, advice: string): string {
		const text = this.optionalText(name, label, advice);
		if (text !== undefined) return text;
		throw this.refusal(`'${label}' is empty`, advice);
	}

	/** An optional text, or a resource locator with one; undefined if it is empty. */
	optionalText(name: string, label: string, advice?: string): string | undefined {
		const given = this.value(name);
		const value = isJsonObject(given) && 'mode' in given ? given.value : given;
		if (isEmpty(value)) return undefined;
		const text = textIn(value);
		if (text === undefined) {
			throw this.invalid(label, 'text', value, name === 'prompt' ? JSON_PROMPT : advice);
		}
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
		throw this.invalid(label, rangeText(range), value);
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
		if (isEmpty(value) && !this.has(name)) return fallback;
		if (ON.includes(wordOf(value))) return true;
		if (OFF.includes(wordOf(value))) return false;
		throw this.invalid(label, 'true or false', value);
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
		const choice = choices.find((one) => one.toLowerCase() === wordOf(value));
		if (choice !== undefined) return choice;
		throw this.invalid(label, `one of ${choices.join(', ')}`, value);
	}

	/** A JSON object, as text or from an expression; {} if it is empty. */
	json(name: string, label: string): JsonObject {
		const value = this.value(name);
		if (isEmpty(value)) return {};
		const parsed = typeof value === 'string' ? parseJson(value) : value;
		if (isJsonObject(parsed) && !isDate(parsed)) return parsed;
		throw this.invalid(label, 'a JSON object', value, 'Example: { "seed": 42 }.');
	}
}

/** What to do with a prompt that is an object or a list. */
const JSON_PROMPT = 'For a prompt in JSON, use JSON.stringify( … ) in the expression.';

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

	/** Whether an AI agent has called the node. */
	get isTool(): boolean {
		return isTool(this.context);
	}

	/**
	 * The parameter "Options". Each option is evaluated when it is read: the expression of one that
	 * fails for this item must not keep the run from reading another one, which is for all items.
	 *
	 * @throws NodeOperationError if it is no object
	 */
	get options(): ValueReader {
		const raw = this.raw('options') ?? {};
		if (!isJsonObject(raw)) throw this.invalid('Options', 'a JSON object', raw);
		this.collection ??= new OptionReader(this.node, this, raw);
		return this.collection;
	}

	/**
	 * @param fallback used if the parameter isn't set, but not if an expression returns null; always
	 *   the same for one parameter
	 * @returns the same object for all items if the parameter has no expression: don't change it
	 */
	override value(name: string, fallback: unknown = null): unknown {
		const readers = parameterReaders.get(this.context) ?? new Map();
		parameterReaders.set(this.context, readers);
		const read = readers.get(name) ?? this.parameterReader(name, fallback);
		readers.set(name, read);
		return read(this);
	}

	/**
	 * The files of the input item by their fields. With the workflow setting that keeps files in the
	 * JSON, n8n moves them to `_files` there.
	 */
	files(): Record<string, IBinaryData> {
		const { json, binary } = this.input ?? {};
		const inJson = isJsonObject(json?._files) ? json._files : {};
		const moved = Object.entries(inJson).filter(([, file]) => isJsonObject(file));
		return { ...(Object.fromEntries(moved) as Record<string, IBinaryData>), ...binary };
	}

	/**
	 * The file in a field of the input item.
	 *
	 * @param field its name, or `_files.` and its name, as n8n shows a file in the JSON
	 * @param label of the parameter that names the field
	 * @throws NodeOperationError that names the item's fields
	 */
	file(field: string, label: string): IBinaryData {
		const files = this.files();
		const at = Object.hasOwn(files, field) ? field : field.replace(/^_files\./, '');
		const file = Object.hasOwn(files, at) ? files[at] : undefined;
		if (file !== undefined) return file;
		const fields = Object.keys(files).slice(0, MOST_NAMED);
		const found =
			fields.length === 0
				? 'It has no files: check the node before this one.'
				: `Its binary fields: ${fields.map((name) => quote(name)).join(', ')}.`;
		const name = shown(quote(field));
		throw this.refusal(`The item has no binary field '${name}'`, `'${label}' names it. ${found}`);
	}

	/** A parameter with its expressions. */
	private raw(name: string): unknown {
		return this.context.getNodeParameter(name, this.itemIndex, null, { rawExpressions: true });
	}

	/** The function that reads a parameter, for this and every other item. */
	private parameterReader(name: string, fallback: unknown): ReadParameter {
		const { context } = this;
		const evaluate = (item: ItemParameters): unknown =>
			context.getNodeParameter(name, item.itemIndex, fallback);
		const raw = this.raw(name);
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

/** Reads the options of an item, one at a time. */
class OptionReader extends ValueReader {
	/** @param raw the options with their expressions */
	constructor(
		node: INode,
		private readonly item: ItemParameters,
		raw: JsonObject,
	) {
		super(node, item.itemIndex, raw);
	}

	override value(name: string, fallback?: unknown): unknown {
		return this.has(name) ? this.item.value(`options.${name}`) : fallback;
	}
}
