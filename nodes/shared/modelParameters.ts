import type { IExecuteFunctions } from 'n8n-workflow';
import { isJsonObject, type JsonObject } from '../../gateway/json';

/**
 * The parameters that the user set in the model's form, under their own names. It needs no listing:
 * a value that is there is sent as it is, one that was left empty is not sent.
 */
export function readModelParameters(context: IExecuteFunctions, itemIndex: number): JsonObject {
	const form = context.getNodeParameter('modelParameters', itemIndex, {}) as unknown;
	const value = isJsonObject(form) ? form.value : undefined;
	if (!isJsonObject(value)) return {};
	return Object.fromEntries(
		Object.entries(value).filter(([, set]) => set !== undefined && set !== null && set !== ''),
	);
}
