import type { IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { isJsonObject, nonEmptyString, parseJson } from '../../gateway/util/json';
import {
	emptyTurn,
	readTurns,
	type MessageRequest,
	type Turn,
} from '../../gateway/messages/message';
import { readMessageSettings } from '../shared/parameters/messageSettings';
import {
	readChoice,
	readExtraFields,
	readOptions,
	readText,
} from '../shared/parameters/optionValues';
import { readParameter } from '../shared/parameters/reader';

/** Where the user set none. */
const MAX_TOKENS = 4096;

/**
 * What an item asks of the message endpoint.
 *
 * @throws NodeOperationError that names the parameter to correct
 */
export function readMessageRequest(context: IExecuteFunctions, itemIndex: number): MessageRequest {
	const { history, system } = readOptions(context, itemIndex);
	return {
		...readMessageSettings(context, itemIndex, MAX_TOKENS),
		messages: [...readHistory(context, history, itemIndex), ...readInput(context, itemIndex)],
		system: nonEmptyString(system),
		extraFields: readExtraFields(context, itemIndex),
	};
}

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
			'Enter a message for the model.',
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
	const refuse = (problem: string, advice: string) =>
		new NodeOperationError(context.getNode(), `'${name}' is invalid: ${problem}`, {
			description: `${advice} Nothing was sent.`,
			itemIndex,
		});
	if (typeof turns === 'string' || turns.length < fewest) {
		const problem = typeof turns === 'string' ? turns : 'it is empty';
		throw refuse(problem, 'Example: [{ "role": "user", "content": "Hello" }].');
	}
	// A history goes back as it came: what the model left empty is the gateway's to judge.
	const empty = fewest === 0 ? undefined : emptyTurn(turns);
	if (empty === undefined) return turns;
	throw refuse(`Message ${empty} is empty`, 'Enter its content, or remove the message.');
}
