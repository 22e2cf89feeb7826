import type { NodeOperationError } from 'n8n-workflow';
import type { GenerationRequest } from '../../../gateway/protocol/requestPlan';
import { isJsonObject, type JsonObject } from '../../../gateway/util/json';
import { quote } from '../../../gateway/util/text';
import { readTypedValue } from '../../../gateway/util/typedValue';
import { isEmpty, isOff, type ItemParameters, type ValueReader } from './itemParameters';

/*
 * A field of a request can be set by several parameters: by a field of the node, by 'Model
 * Parameters', by 'Parameters by Name' and by 'Extra Fields', which override all others. What is
 * checked, priced and told must be what is sent, so a field is either read from where it is set, or
 * refused there.
 */

/** Fields that a parameter must not set, by name: how the error names each, and what to do instead. */
export type Refusals = Record<string, { named: string; advice: string }>;

/** A response in pieces can't be read, and is paid for. */
export const NO_STREAM: Refusals = {
	stream: {
		named: '"stream"',
		advice:
			'This node can\'t read a streamed response, but you would be charged for it. Remove "stream".',
	},
};

/** @returns the error for the first field that a parameter must not set. @param source its label */
export function refusedField(
	item: ValueReader,
	source: string,
	fields: JsonObject,
	refusals: Refusals,
): NodeOperationError | undefined {
	const isSet = (name: string): boolean =>
		Object.hasOwn(fields, name) && !(name === 'stream' && isOff(fields.stream));
	const [, refusal] = Object.entries(refusals).find(([name]) => isSet(name)) ?? [];
	return (
		refusal &&
		item.error(`'${source}' must not set ${refusal.named}`, `${refusal.advice} Nothing was sent.`)
	);
}

/** @throws NodeOperationError for the first field that a parameter must not set. @param source its label */
export function refuseFields(...check: Parameters<typeof refusedField>): void {
	const error = refusedField(...check);
	if (error !== undefined) throw error;
}

/**
 * Refuses a setting for which two parameters have different values: each image is charged, and none
 * of the places is silently the right one.
 *
 * @param what the setting, for the message
 * @param places the value in each place that may set it; empty where it doesn't
 * @throws NodeOperationError that names two of the places
 */
export function refuseSecond(
	item: ValueReader,
	what: string,
	places: Record<string, unknown>,
): void {
	const [first, ...others] = Object.entries(places).filter(([, value]) => !isEmpty(value));
	// Numbers may be given as texts, which JSON puts into quotes.
	const plain = (value: unknown): string => String(JSON.stringify(value)).replaceAll('"', '');
	const other = others.find(([, value]) => plain(value) !== plain(first?.[1]));
	if (first === undefined || other === undefined) return;
	const [one, two] = [first, other].map(([place, value]) => `${shown(value)} by ${place}`);
	throw item.error(
		`The ${what} is set twice: to ${one}, and to ${two}`,
		'Set it in one place. Nothing was sent for this item.',
	);
}

const shown = (value: unknown): string => String(JSON.stringify(value)).slice(0, 40);

/** The option "Extra Fields". @throws NodeOperationError if it is no JSON object, or asks for a stream */
export function readExtraFields({ options }: ItemParameters): JsonObject {
	const fields = options.json('extraFields', 'Extra Fields');
	refuseFields(options, 'Extra Fields', fields, NO_STREAM);
	return fields;
}

/** Reads a field of the node from 'Extra Fields' where they set it, else from the node. */
export const readerOf = (
	item: ItemParameters,
	extraFields: JsonObject,
	name: string,
): ValueReader => (Object.hasOwn(extraFields, name) ? item.within(extraFields) : item);

/** Extra Fields without those that were read in place of a field of the node. */
export const withoutFields = (fields: JsonObject, names: readonly string[]): JsonObject =>
	Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

/** Fields of the node: set elsewhere as well, one of the two would be lost without a word. */
const FIELDS_OF_NODE: Refusals = {
	async: { named: "'async': use the field 'Mode'", advice: "Remove 'async'." },
	model: { named: "'model': use the field 'Model'", advice: "Remove 'model'." },
	prompt: { named: "'prompt': use the field 'Prompt'", advice: "Remove 'prompt'." },
	...NO_STREAM,
};

/**
 * What generation and edit have in common, from the parameters of an item.
 *
 * @param promptAdvice what to write, where the prompt is empty
 * @throws NodeOperationError that names the parameter to correct
 */
export function readRequest(item: ItemParameters, promptAdvice: string): GenerationRequest {
	const { options } = item;
	const form = readModelParameters(item);
	const named = readNamedParameters(item);
	const extraFields = readExtraFields(item);
	refuseFields(item, 'Model Parameters', form, FIELDS_OF_NODE);
	refuseFields(item, 'Parameters by Name', named, FIELDS_OF_NODE);
	const n = options.count('n', 'Number of Images');
	refuseSecond(item, 'number of images', {
		"'Number of Images' in the options": n,
		'"n" in \'Model Parameters\'': form.n,
		'"n" in \'Parameters by Name\'': named.n,
		'"n" in \'Extra Fields\'': extraFields.n,
	});
	const responseFormat = options.optionalText('responseFormat');
	refuseSecond(item, 'response format', {
		"'Response Format' in the options": responseFormat,
		"'Model Parameters'": form.response_format,
		"'Parameters by Name'": named.response_format,
	});
	return {
		model: readerOf(item, extraFields, 'model')
			.text('model', 'Model', 'Choose a model from the list, or enter its name.')
			.trim(),
		prompt: readerOf(item, extraFields, 'prompt').text('prompt', 'Prompt', promptAdvice),
		n,
		responseFormat,
		// What is set in the form of the model wins.
		modelParameters: { ...named, ...form },
		extraFields: withoutFields(extraFields, ['model', 'prompt']),
	};
}

/**
 * The parameters that the user set in the model's form, under their own names. It needs no listing:
 * a value that is there is sent as it is, one that was left empty is not sent.
 */
function readModelParameters(item: ItemParameters): JsonObject {
	const form = item.value('modelParameters');
	const value = isJsonObject(form) ? form.value : undefined;
	if (!isJsonObject(value)) return {};
	return Object.fromEntries(Object.entries(value).filter(([, entry]) => !isEmpty(entry)));
}

/** As the editor shows it. */
const BY_NAME = 'Parameters by Name';
/** In characters, and in rows: more than any model takes. */
const LONGEST_NAME = 200;
const MOST_ROWS = 200;

/**
 * The option "Parameters by Name": rows of name and value. A text is read as what it looks like
 * (`readTypedValue`); what an expression gives as something other than text is sent as it is. Rows
 * without a value are left out, like empty fields of the model's form.
 *
 * @throws NodeOperationError that names the row: no name, one that is there twice, one that cannot be
 *   sent
 */
function readNamedParameters(item: ItemParameters): JsonObject {
	const parameters = new Map<string, unknown>();
	rowsOf(item).forEach(({ name: given, value: typed }, index) => {
		const value = typeof typed === 'string' ? readTypedValue(typed) : (typed ?? undefined);
		const isNamed = ['string', 'number', 'boolean', 'bigint'].includes(typeof given);
		const isBlank = isNamed ? String(given).trim() === '' : (given ?? '') === '';
		if (isBlank && value === undefined) return;
		const refuse = (message: string): NodeOperationError =>
			item.error(message, `Row ${index + 1} of '${BY_NAME}'. Nothing was sent for this item.`);
		if (isBlank) throw refuse(`A parameter in '${BY_NAME}' has no name`);
		if (!isNamed) throw refuse(`A name in '${BY_NAME}' must be text`);
		const name = String(given).trim();
		if (!isSendable(name)) {
			throw refuse(`"${quote(name).slice(0, 100)}" can't be the name of a parameter`);
		}
		if (parameters.has(name)) throw refuse(`'${name}' is in '${BY_NAME}' more than once`);
		if (!isJson(value)) throw refuse(`The value of '${name}' in '${BY_NAME}' can't be sent`);
		if (name === 'n') item.within({ n: value }).count('n', `n' in '${BY_NAME}`);
		parameters.set(name, value);
	});
	return Object.fromEntries([...parameters].filter(([, value]) => value !== undefined));
}

function rowsOf(item: ItemParameters): JsonObject[] {
	const given = item.options.value('parametersByName');
	if (isEmpty(given)) return [];
	const rows = isJsonObject(given) ? (given.parameter ?? []) : given;
	if (Array.isArray(rows) && rows.length <= MOST_ROWS && rows.every(isJsonObject)) return rows;
	throw item.error(
		`'${BY_NAME}' is not a list of names and values`,
		`Add a row for each parameter, ${MOST_ROWS} at most. Nothing was sent for this item.`,
	);
}

/** Whether JSON can hold all of a value; what it cannot hold would be left out or changed. */
function isJson(value: unknown): boolean {
	try {
		JSON.stringify(value, (_, part: unknown) => {
			const isLost = typeof part === 'number' && !Number.isFinite(part);
			if (isLost || typeof part === 'function' || typeof part === 'symbol') throw new Error();
			return part;
		});
		return true;
	} catch {
		// Also a circle, or more levels than there is stack.
		return false;
	}
}

/** Names that JavaScript keeps for itself would be lost on the way. */
const KEPT = ['__proto__', 'constructor', 'prototype'];

const isSendable = (name: string): boolean =>
	name.length <= LONGEST_NAME && !KEPT.includes(name) && !/[\p{Cc}\p{Cf}\p{Cs}]/u.test(name);
