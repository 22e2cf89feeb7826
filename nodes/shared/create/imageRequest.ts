import type { NodeOperationError } from 'n8n-workflow';
import type { ImageRequest, TaskType } from '../../../gateway';
import { isJsonObject, type JsonObject } from '../../../util/json';
import { quote } from '../../../util/text';
import { readTypedValue } from '../../../util/typedValue';
import { FIELDS_OF_NODE } from '../fields/imageFields';
import { REQUEST_OPTIONS, type RequestOption } from '../fields/optionFields';
import type { RequestFacts } from '../run/requestFacts';
import { attempt } from '../parameters/attempt';
import {
	isEmpty,
	textIn,
	type ItemParameters,
	type ValueReader,
} from '../parameters/itemParameters';
import {
	NO_STREAM,
	readerOf,
	readExtraFields,
	refuseFields,
	refuseSecond,
	sendable,
	withoutFields,
	type Forbidden,
} from '../parameters/requestFields';

const SENT_BY_NODE: Forbidden = { ...FIELDS_OF_NODE, ...NO_STREAM };

/**
 * The request of an item of Image Generation or Image Edit.
 *
 * @param promptAdvice what to do if the prompt is empty
 * @throws NodeOperationError that names the parameter to correct
 */
export function readRequest(
	item: ItemParameters,
	taskType: TaskType,
	promptAdvice: string,
): ImageRequest {
	const form = readModelParameters(item);
	const named = readNamedParameters(item);
	const extraFields = readExtraFields(item);
	refuseFields(item, 'Model Parameters', form, SENT_BY_NODE);
	refuseFields(item, 'Parameters by Name', named, SENT_BY_NODE);
	return {
		model: readerOf(item, extraFields, 'model')
			.text('model', 'Model', 'Choose a model from the list, or enter its name.')
			.trim(),
		prompt: readPrompt(item, extraFields, promptAdvice),
		fields: readRequestOptions(item.options, taskType, { form, named, extraFields }),
		// The form of the model overrides the parameters by name.
		modelParameters: { ...named, ...form },
		extraFields: withoutFields(extraFields, ['model', 'prompt']),
	};
}

/** The model and the prompt of an item, also of a message, as far as they can be read, for its error. */
export function readRequestFacts(item: ItemParameters): RequestFacts {
	const extraFields = attempt(() => readExtraFields(item)) ?? {};
	const read = (name: string): string | undefined =>
		attempt(() => readerOf(item, extraFields, name).optionalText(name, name)?.trim());
	return { model: read('model'), prompt: read('prompt') };
}

/** @returns undefined if 'Extra Fields' leave it out: models that enlarge images, say, take none */
function readPrompt(
	item: ItemParameters,
	extraFields: JsonObject,
	advice: string,
): string | undefined {
	if (extraFields.prompt === null) return undefined;
	return readerOf(item, extraFields, 'prompt').text('prompt', 'Prompt', advice);
}

/**
 * The options that are sent with the request (`REQUEST_OPTIONS`), by their names in it.
 *
 * @throws NodeOperationError if one is set to another value elsewhere. 'Extra Fields' override the
 *   options, but not one that is charged: then the user may not know how much is paid.
 */
function readRequestOptions(
	options: ValueReader,
	taskType: TaskType,
	{ form, named, extraFields }: Record<'form' | 'named' | 'extraFields', JsonObject>,
): JsonObject {
	const fields: JsonObject = {};
	for (const option of REQUEST_OPTIONS[taskType]) {
		const { displayName, sentAs, changesPrice } = option;
		const value = readOption(options, option);
		refuseSecond(options, displayName.toLowerCase(), {
			[`'${displayName}' in the options`]: value,
			[`"${sentAs}" in 'Model Parameters'`]: form[sentAs],
			[`"${sentAs}" in 'Parameters by Name'`]: named[sentAs],
			[`"${sentAs}" in 'Extra Fields'`]: changesPrice ? extraFields[sentAs] : undefined,
		});
		fields[sentAs] = value;
	}
	return fields;
}

/** The value of an option, by the kind of its field; undefined where it is empty. */
function readOption(
	options: ValueReader,
	{ name, displayName, type, changesPrice, options: choices = [] }: RequestOption,
): unknown {
	if (isEmpty(options.value(name))) return undefined;
	if (type === 'number' && changesPrice) return options.count(name, displayName);
	if (type === 'number') return options.optionalNumber(name, displayName);
	if (type === 'boolean') return options.switch(name, displayName, false);
	if (type !== 'options') return options.optionalText(name, displayName);
	const values = choices.map((choice) => ('value' in choice ? String(choice.value) : ''));
	return options.optionalChoice(name, displayName, values);
}

/**
 * The parameters in the model's form, by name. Values are sent unchanged, without the model list;
 * empty fields are not sent.
 */
function readModelParameters(item: ItemParameters): JsonObject {
	const form = item.value('modelParameters');
	const value = isJsonObject(form) ? form.value : undefined;
	if (!isJsonObject(value)) return {};
	const filled = Object.entries(value).filter(([, entry]) => !isEmpty(entry));
	return sendable(item, 'Model Parameters', Object.fromEntries(filled));
}

/** The option's label. */
const BY_NAME = 'Parameters by Name';
/** In characters, and in rows: more than any model accepts. */
const LONGEST_NAME = 200;
const MOST_ROWS = 200;

/**
 * The option "Parameters by Name": rows of a name and a value. Text that looks like a number, true
 * or false becomes one (`readTypedValue`); other values of expressions are sent unchanged. Rows
 * without a value are left out, like empty fields of the model's form.
 *
 * @throws NodeOperationError that names the row: its name is missing, used twice, or not valid
 */
function readNamedParameters(item: ItemParameters): JsonObject {
	const parameters = new Map<string, unknown>();
	rowsOf(item).forEach(({ name: given, value: typed }, index) => {
		const value = typeof typed === 'string' ? readTypedValue(typed) : (typed ?? undefined);
		const name = textIn(given ?? '')?.trim();
		if (name === '' && value === undefined) return;
		const refuse = (message: string): NodeOperationError =>
			item.refusal(message, `Row ${index + 1} of '${BY_NAME}'.`);
		if (name === '') throw refuse(`A parameter in '${BY_NAME}' has no name`);
		if (name === undefined) throw refuse(`A name in '${BY_NAME}' must be text`);
		if (!isSendable(name)) {
			throw refuse(`"${quote(name).slice(0, 100)}" can't be the name of a parameter`);
		}
		if (parameters.has(name)) throw refuse(`'${name}' is in '${BY_NAME}' more than once`);
		if (name === 'n') item.within({ n: value }).count('n', `n' in '${BY_NAME}`);
		parameters.set(name, value);
	});
	const named = [...parameters].filter(([, value]) => value !== undefined);
	return sendable(item, BY_NAME, Object.fromEntries(named));
}

function rowsOf(item: ItemParameters): JsonObject[] {
	const given = item.options.value('parametersByName');
	if (isEmpty(given)) return [];
	const rows = isJsonObject(given) ? (given.parameter ?? []) : given;
	if (Array.isArray(rows) && rows.length <= MOST_ROWS && rows.every(isJsonObject)) return rows;
	throw item.refusal(
		`'${BY_NAME}' is not a list of names and values`,
		`Add a row for each parameter, ${MOST_ROWS} at most.`,
	);
}

/** Names with a meaning in JavaScript objects would be lost. */
const RESERVED = ['__proto__', 'constructor', 'prototype'];

const isSendable = (name: string): boolean =>
	name.length <= LONGEST_NAME && !RESERVED.includes(name) && !/[\p{Cc}\p{Cf}\p{Cs}]/u.test(name);
