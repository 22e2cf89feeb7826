import type { IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import type { MessageRequest, Thinking } from '../../../gateway/messages/message';
import { nonEmptyString } from '../../../gateway/util/json';
import { readChoice, readCount, readOptions, readText } from './optionValues';
import { readParameter } from './reader';

/** What the Message node and the chat model set alike (specification, 2.6). */
export type MessageSettings = Omit<MessageRequest, 'messages' | 'system' | 'extraFields'>;

const MOST_TOKENS = 10_000_000;
const BUDGET_TOKENS = 1024;
const THINKING: [Thinking, ...Thinking[]] = ['default', 'adaptive', 'disabled', 'enabled'];

/**
 * Model, length, thinking and sampling. An empty field is not sent.
 *
 * @param maxTokens where the user set none
 * @throws NodeOperationError that names the parameter to correct
 */
export function readMessageSettings(
	context: IExecuteFunctions,
	itemIndex: number,
	maxTokens: number,
): MessageSettings {
	const options = readOptions(context, itemIndex);
	const tokens = (name: string, parameter: string, fallback: number): number => {
		const value = readParameter(context, parameter, itemIndex, fallback);
		return readCount(context, name, value, itemIndex, MOST_TOKENS) ?? fallback;
	};
	const chosen = readParameter(context, 'thinking', itemIndex, 'default');
	const thinking = readChoice(context, 'Thinking', chosen, THINKING, itemIndex);
	return {
		model: readText(
			context,
			'model',
			'Model',
			itemIndex,
			"Enter the name of a message model from the gateway's documentation or console.",
		).trim(),
		maxTokens: tokens('Max Tokens', 'maxTokens', maxTokens),
		thinking,
		budgetTokens:
			thinking === 'enabled' ? tokens('Budget (Tokens)', 'budgetTokens', BUDGET_TOKENS) : undefined,
		display: nonEmptyString(options.display),
		effort: nonEmptyString(options.effort),
		temperature: readNumber(context, 'Temperature', options.temperature, itemIndex),
		topP: readNumber(context, 'Top P', options.topP, itemIndex),
		topK: readNumber(context, 'Top K', options.topK, itemIndex),
	};
}

/** A sampling value; undefined where the field is empty. */
function readNumber(
	context: IExecuteFunctions,
	name: string,
	value: unknown,
	itemIndex: number,
): number | undefined {
	if (value === undefined || value === null || value === '') return undefined;
	const number = Number(value);
	if (Number.isFinite(number)) return number;
	throw new NodeOperationError(context.getNode(), `'${name}' must be a number`, { itemIndex });
}
