import type { IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { isJsonObject, nonEmptyString, parseJson } from '../../gateway/util/json';
import {
	readTurns,
	type MessageRequest,
	type Thinking,
	type Turn,
} from '../../gateway/messages/message';
import {
	readChoice,
	readCount,
	readExtraFields,
	readOptions,
	readText,
} from '../shared/parameters/optionValues';
import { readParameter } from '../shared/parameters/reader';

/**
 * What an item asks of the message endpoint.
 *
 * @throws NodeOperationError that names the parameter to correct
 */
export function readMessageRequest(context: IExecuteFunctions, itemIndex: number): MessageRequest {
	const options = readOptions(context, itemIndex);
	const thinking = readChoice(
		context,
		'Thinking',
		readParameter(context, 'thinking', itemIndex, 'default'),
		THINKING,
		itemIndex,
	);
	const maxTokens = readCount(
		context,
		'Max Tokens',
		readParameter(context, 'maxTokens', itemIndex, 1024),
		itemIndex,
		MOST_TOKENS,
	);
	const number = (name: string, value: unknown): number | undefined =>
		readNumber(context, name, value, itemIndex);
	return {
		model: readText(
			context,
			'model',
			'Model',
			itemIndex,
			"Enter the name of a model from the gateway's model catalogue.",
		).trim(),
		maxTokens: maxTokens ?? 1024,
		messages: [
			...readHistory(context, options.history, itemIndex),
			...readInput(context, itemIndex),
		],
		thinking,
		budgetTokens:
			thinking === 'enabled'
				? readCount(
						context,
						'Budget (Tokens)',
						readParameter(context, 'budgetTokens', itemIndex, 1024),
						itemIndex,
						MOST_TOKENS,
					)
				: undefined,
		display: nonEmptyString(options.display),
		effort: nonEmptyString(options.effort),
		system: nonEmptyString(options.system),
		temperature: number('Temperature', options.temperature),
		topP: number('Top P', options.topP),
		topK: number('Top K', options.topK),
		extraFields: readExtraFields(context, itemIndex),
	};
}

const MOST_TOKENS = 10_000_000;
const THINKING: [Thinking, ...Thinking[]] = ['default', 'adaptive', 'disabled', 'enabled'];
const INPUTS = ['prompt', 'messages', 'json'] as const;

function readInput(context: IExecuteFunctions, itemIndex: number): Turn[] {
	const chosen = readParameter(context, 'input', itemIndex, 'prompt');
	const input = readChoice(context, 'Input', chosen, INPUTS, itemIndex);
	if (input === 'prompt') {
		const content = readText(
			context,
			'prompt',
			'Prompt',
			itemIndex,
			'Say what the model is to do.',
		);
		return [{ role: 'user', content }];
	}
	if (input === 'json') {
		const typed = readParameter(context, 'messagesJson', itemIndex, '[]');
		return turnsFrom(context, 'Messages (JSON)', typed, itemIndex, 1);
	}
	const listed = readParameter(context, 'messages', itemIndex, {});
	const rows = isJsonObject(listed) && Array.isArray(listed.message) ? listed.message : [];
	const turns = rows.filter(isJsonObject).map(({ role, content }) => ({ role, content }));
	return turnsFrom(context, 'Messages', turns, itemIndex, 1);
}

/** The conversation before: empty where none was given. */
function readHistory(context: IExecuteFunctions, value: unknown, itemIndex: number): Turn[] {
	if (value === undefined || value === null || value === '') return [];
	return turnsFrom(context, 'History', value, itemIndex, 0);
}

function turnsFrom(
	context: IExecuteFunctions,
	name: string,
	value: unknown,
	itemIndex: number,
	fewest: number,
): Turn[] {
	const turns = readTurns(typeof value === 'string' ? parseJson(value) : value);
	if (typeof turns !== 'string' && turns.length >= fewest) return turns;
	const problem = typeof turns === 'string' ? turns : 'It is empty';
	throw new NodeOperationError(context.getNode(), `"${name}" cannot be used: ${problem}`, {
		description: 'It looks like this: [{ "role": "user", "content": "Hello" }]. Nothing was sent.',
		itemIndex,
	});
}

/** A sampling value that the user set; an empty field is not sent. */
function readNumber(
	context: IExecuteFunctions,
	name: string,
	value: unknown,
	itemIndex: number,
): number | undefined {
	if (value === undefined || value === null || value === '') return undefined;
	const number = Number(value);
	if (Number.isFinite(number)) return number;
	throw new NodeOperationError(context.getNode(), `"${name}" is not a number`, { itemIndex });
}
