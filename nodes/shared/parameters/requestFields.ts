import { deepCopy, type IDataObject, type NodeOperationError } from 'n8n-workflow';
import { jsonText, type JsonObject } from '../../../util/json';
import { quote } from '../../../util/text';
import { isEmpty, isOff, shown, type ItemParameters, type ValueReader } from './itemParameters';

/*
 * Several parameters can set the same field of a request: a field of the node, 'Model Parameters' and
 * 'Extra Fields', which override all others. The value that is checked and
 * priced must be the one that is sent, so a field is either read from where it is set, or refused
 * there.
 */

/** By name, fields that a parameter must not set, and what to do instead. */
export type Forbidden = Record<string, string>;

/** Whether a response is streamed decides how long it is waited for, which is an option's to say. */
export const NO_STREAM: Forbidden = {
	stream:
		"To stream an image, remove it, set 'Mode' to 'Synchronous', and add the option 'Stream Response'.",
};

/** @returns the error for the first field that a parameter must not set. @param source its label */
export function forbiddenField(
	item: ValueReader,
	source: string,
	fields: JsonObject,
	forbidden: Forbidden,
): NodeOperationError | undefined {
	const isSet = (name: string): boolean =>
		Object.hasOwn(fields, name) && !(name === 'stream' && isOff(fields.stream));
	const found = Object.entries(forbidden).find(([name]) => isSet(name));
	return found && item.refusal(`'${source}' must not set '${found[0]}'`, found[1]);
}

/**
 * @throws NodeOperationError for the first field that a parameter must not set. @param source its
 *   label
 */
export function refuseFields(...check: Parameters<typeof forbiddenField>): void {
	const error = forbiddenField(...check);
	if (error !== undefined) throw error;
}

/** Whether JSON can represent a value; functions, NaN, cycles and many levels would be lost. */
function isJson(value: unknown): boolean {
	const text = jsonText(value, (_, part) => {
		const isNumber = typeof part !== 'number' || Number.isFinite(part);
		if (isNumber && typeof part !== 'function' && typeof part !== 'symbol') return part;
		throw new Error();
	});
	return text !== false;
}

/**
 * The fields of a parameter, whose values expressions may have set.
 *
 * @param source the parameter's label
 * @throws NodeOperationError that names the first field that a request would lose or replace by null
 */
export function sendable(item: ValueReader, source: string, fields: JsonObject): JsonObject {
	const [name, value] = Object.entries(fields).find(([, entry]) => !isJson(entry)) ?? [];
	if (name === undefined) return fields;
	throw item.refusal(
		`The value of '${quote(name)}' in '${source}' can't be sent`,
		`It is ${shown(value)}, which JSON can't represent, or not completely.`,
	);
}

/**
 * Refuses a setting that has different values in two places, because neither is clearly the one
 * that the user means.
 *
 * @param what name of the setting in the message
 * @param values by place, its value; empty where it isn't set
 * @throws NodeOperationError that names two of the places
 */
export function refuseSecond(
	item: ValueReader,
	what: string,
	values: Record<string, unknown>,
): void {
	const [first, ...others] = Object.entries(values).filter(([, value]) => !isEmpty(value));
	// The number 2 and the text "2" are the same.
	const plain = (value: unknown): string => String(JSON.stringify(value)).replaceAll('"', '');
	const other = others.find(([, value]) => plain(value) !== plain(first?.[1]));
	if (first === undefined || other === undefined) return;
	const [one, two] = [first, other].map(([name, value]) => `${quoted(value)} by ${name}`);
	throw item.refusal(`The ${what} is set twice: to ${one}, and to ${two}`, 'Set it in one place.');
}

const quoted = (value: unknown): string => String(JSON.stringify(value)).slice(0, 40);

/**
 * The option "Extra Fields". @throws NodeOperationError if it is no JSON object, or asks for a
 * stream
 */
export function readExtraFields({ options }: ItemParameters): JsonObject {
	const fields = options.json('extraFields', 'Extra Fields');
	refuseFields(options, 'Extra Fields', fields, NO_STREAM);
	return sendable(options, 'Extra Fields', fields);
}

/** Reads a field of the node from 'Extra Fields' where they set it, else from the node. */
export const readerOf = (
	item: ItemParameters,
	extraFields: JsonObject,
	name: string,
): ValueReader => (Object.hasOwn(extraFields, name) ? item.within(extraFields) : item);

/** The longest parameter that is shown, in characters of JSON: it is stored with every image. */
const LONGEST_PARAMETER = 500;

/** The most parameters that are shown: more than any model has. */
const MOST_PARAMETERS = 100;

/** Fields of a request that items show under other names, or that don't affect the image. */
const NO_PARAMETERS = ['model', 'prompt', 'n', 'response_format', 'async'];

/** The parameters of a request as items show them; undefined if there are none. */
export function shownParameters(fields: JsonObject): IDataObject | undefined {
	const shown = Object.entries(fields)
		.slice(0, MOST_PARAMETERS)
		.filter(([name, value]) => {
			const text = JSON.stringify(value) ?? '';
			return !NO_PARAMETERS.includes(name) && text !== '' && text.length <= LONGEST_PARAMETER;
		});
	return shown.length === 0 ? undefined : (deepCopy(Object.fromEntries(shown)) as IDataObject);
}
