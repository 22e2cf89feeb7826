import type { IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
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
	const named = readNamedParameters(context, itemIndex);
	const form = readModelParameters(context, itemIndex);
	const responseFormat = nonEmptyString(options.responseFormat);
	refuseSecondFormat(context, responseFormat, named.response_format, itemIndex);
	const request = {
		model: readText(
			context,
			'model',
			'Model',
			itemIndex,
			'Choose a model from the list, or enter its name.',
		).trim(),
		prompt: readText(context, 'prompt', 'Prompt', itemIndex, promptAdvice),
		n: readCount(context, 'Number of Images', options.n, itemIndex),
		responseFormat,
		// What is set in the form of the model wins.
		modelParameters: { ...named, ...form },
		extraFields: readExtraFields(context, itemIndex),
	};
	refuseSecondCount(
		context,
		{
			"'Number of Images' in the options": request.n,
			'"n" in \'Model Parameters\'': form.n,
			'"n" in \'Parameters by Name\'': named.n,
			'"n" in \'Extra Fields\'': request.extraFields.n,
		},
		itemIndex,
	);
	return request;
}

/**
 * Each image is charged: where the number of images is set in two places, none of them is silently
 * the right one.
 *
 * @param places that set it; undefined where one does not
 * @throws NodeOperationError that names two places with different numbers
 */
function refuseSecondCount(
	context: IExecuteFunctions,
	places: Record<string, unknown>,
	itemIndex: number,
): void {
	const set = Object.entries(places).filter(
		([, value]) => value !== undefined && value !== null && value !== '',
	);
	const [first, ...others] = set;
	const other = others.find(([, value]) => !isSameNumber(value, first?.[1]));
	if (first === undefined || other === undefined) return;
	const [one, two] = [first, other].map(([place, value]) => `${shown(value)} by ${place}`);
	throw new NodeOperationError(
		context.getNode(),
		`The number of images is set twice: to ${one}, and to ${two}`,
		{ description: 'Set it in one place. Nothing was sent for this item.', itemIndex },
	);
}

/** @throws NodeOperationError where two places ask for two formats: one would be lost without a word */
function refuseSecondFormat(
	context: IExecuteFunctions,
	option: string | undefined,
	named: unknown,
	itemIndex: number,
): void {
	if (option === undefined || named === undefined || named === option) return;
	throw new NodeOperationError(
		context.getNode(),
		`The response format is set twice: to ${shown(option)} by 'Response Format' in the options, and to ${shown(named)} by 'Parameters by Name'`,
		{ description: 'Set it in one place. Nothing was sent for this item.', itemIndex },
	);
}

const shown = (value: unknown): string => String(JSON.stringify(value)).slice(0, 40);

const isSameNumber = (one: unknown, other: unknown): boolean =>
	one === other || (isScalar(one) && isScalar(other) && Number(one) === Number(other));

const isScalar = (value: unknown): boolean =>
	typeof value === 'string' || typeof value === 'number';

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
