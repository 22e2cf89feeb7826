import type { IExecuteFunctions } from 'n8n-workflow';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../../gateway/util/json';
import type { GenerationRequest } from '../../../gateway/protocol/requestPlan';
import { readCount, readExtraFields, readOptions, readText, refuseStream } from './optionValues';
import { readNamedParameters } from './namedParameters';
import { readParameter } from './reader';

/**
 * What generation and edit have in common, from the parameters of an item.
 *
 * @param promptAdvice what to write, where the prompt is empty
 * @throws NodeOperationError that names the parameter to correct
 */
export function readRequest(
	context: IExecuteFunctions,
	itemIndex: number,
	promptAdvice: string,
): GenerationRequest {
	const options = readOptions(context, itemIndex);
	return {
		model: readText(
			context,
			'model',
			'Model',
			itemIndex,
			'Choose a model from the list, or enter its name.',
		).trim(),
		prompt: readText(context, 'prompt', 'Prompt', itemIndex, promptAdvice),
		n: readCount(context, 'Number of Images', options.n, itemIndex),
		responseFormat: nonEmptyString(options.responseFormat),
		// What is set in the form of the model wins.
		modelParameters: {
			...readNamedParameters(context, itemIndex),
			...readModelParameters(context, itemIndex),
		},
		extraFields: readExtraFields(context, itemIndex),
	};
}

/**
 * The parameters that the user set in the model's form, under their own names. It needs no listing:
 * a value that is there is sent as it is, one that was left empty is not sent.
 */
function readModelParameters(context: IExecuteFunctions, itemIndex: number): JsonObject {
	const form = readParameter(context, 'modelParameters', itemIndex, {});
	const value = isJsonObject(form) ? form.value : undefined;
	if (!isJsonObject(value)) return {};
	const set = Object.entries(value).filter(
		([, entry]) => entry !== undefined && entry !== null && entry !== '',
	);
	const parameters = Object.fromEntries(set);
	refuseStream(context, 'Model Parameters', parameters, itemIndex);
	return parameters;
}
