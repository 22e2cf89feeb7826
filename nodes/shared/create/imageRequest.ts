import type { ImageRequest, TaskType } from '../../../gateway';
import { isJsonObject, withoutFields, type JsonObject } from '../../../util/json';
import { FIELDS_OF_NODE } from '../fields/imageFields';
import { REQUEST_OPTIONS, type RequestOption } from '../fields/optionFields';
import type { RequestFacts } from '../errors/itemReport';
import { firstColumn } from '../errors/rowNames';
import { orUndefined } from '../parameters/orUndefined';
import { isEmpty, type ItemParameters, type ValueReader } from '../parameters/itemParameters';
import {
	NO_STREAM,
	readerOf,
	readExtraFields,
	refuseFields,
	refuseSecond,
	sendable,
	type Forbidden,
} from '../parameters/requestFields';

const SENT_BY_NODE: Forbidden = { ...FIELDS_OF_NODE, ...NO_STREAM };

/**
 * The request of an item of Image or Image Edit.
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
	const extraFields = readExtraFields(item);
	refuseFields(item, 'Model Parameters', form, SENT_BY_NODE);
	return {
		model: readerOf(item, extraFields, 'model')
			.text('model', 'Model', 'Choose a model from the list, or enter its name.')
			.trim(),
		prompt: readPrompt(item, extraFields, promptAdvice),
		fields: readRequestOptions(item.options, taskType, { form, extraFields }),
		modelParameters: form,
		extraFields: withoutFields(extraFields, ['model', 'prompt']),
	};
}

/** The model and the prompt of an item, also of a message, as far as they can be read, for its error. */
export function readRequestFacts(item: ItemParameters): RequestFacts {
	const extraFields = orUndefined(() => readExtraFields(item)) ?? {};
	const read = (name: string): string | undefined =>
		orUndefined(() => readerOf(item, extraFields, name).optionalText(name, name)?.trim());
	const prompt = read('prompt');
	return { model: read('model'), prompt, row: prompt ? undefined : firstColumn(item.input?.json) };
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
	{ form, extraFields }: Record<'form' | 'extraFields', JsonObject>,
): JsonObject {
	const fields: JsonObject = {};
	for (const option of REQUEST_OPTIONS[taskType]) {
		const { displayName, sentAs, changesPrice } = option;
		const value = readOption(options, option);
		refuseSecond(options, displayName.toLowerCase(), {
			[`'${displayName}' in the options`]: value,
			[`"${sentAs}" in 'Model Parameters'`]: form[sentAs],
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
