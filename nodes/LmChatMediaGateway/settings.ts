import type { IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import type { ChatSettings } from '../../gateway/chat';
import { nonEmptyString } from '../../gateway/json';
import type { Thinking } from '../../gateway/message';
import { readCount, readJsonObject, readOptions, readText } from '../shared/options';

const MOST_TOKENS = 10_000_000;

/**
 * What holds for all messages of the model.
 *
 * @throws NodeOperationError that names the parameter to correct
 */
export function readSettings(context: IExecuteFunctions, itemIndex: number): ChatSettings {
	const options = readOptions(context, itemIndex);
	const thinking = context.getNodeParameter('thinking', itemIndex, 'default') as Thinking;
	const count = (name: string, parameter: string): number | undefined =>
		readCount(
			context,
			name,
			context.getNodeParameter(parameter, itemIndex, undefined),
			itemIndex,
			MOST_TOKENS,
		);
	const number = (name: string, value: unknown): number | undefined => {
		if (value === undefined || value === null || value === '') return undefined;
		if (Number.isFinite(Number(value))) return Number(value);
		throw new NodeOperationError(context.getNode(), `"${name}" is not a number`, { itemIndex });
	};
	return {
		model: readText(
			context,
			'model',
			'Model',
			itemIndex,
			"Enter the name of a model from the gateway's model catalogue.",
		).trim(),
		maxTokens: count('Max Tokens', 'maxTokens') ?? 4096,
		thinking,
		budgetTokens: thinking === 'enabled' ? count('Budget (Tokens)', 'budgetTokens') : undefined,
		display: nonEmptyString(options.display),
		effort: nonEmptyString(options.effort),
		temperature: number('Temperature', options.temperature),
		topP: number('Top P', options.topP),
		topK: number('Top K', options.topK),
		extraFields: readJsonObject(context, 'Extra Fields', options.extraFields, itemIndex),
	};
}
