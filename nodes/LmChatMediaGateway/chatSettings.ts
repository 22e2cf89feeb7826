import type { IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import type { ChatSettings } from '../../gateway/messages/chat';
import { nonEmptyString, type JsonObject } from '../../gateway/util/json';
import type { Thinking } from '../../gateway/messages/message';
import {
	readChoice,
	readCount,
	readJsonObject,
	readOptions,
	readText,
} from '../shared/parameters/optionValues';

const MOST_TOKENS = 10_000_000;
const THINKING: [Thinking, ...Thinking[]] = ['default', 'adaptive', 'disabled', 'enabled'];

/**
 * What holds for all messages of the model.
 *
 * @throws NodeOperationError that names the parameter to correct
 */
export function readSettings(context: IExecuteFunctions, itemIndex: number): ChatSettings {
	const options = readOptions(context, itemIndex);
	const chosen = context.getNodeParameter('thinking', itemIndex, 'default');
	const thinking = readChoice(context, 'Thinking', chosen, THINKING, itemIndex);
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
		extraFields: readChatFields(context, options.extraFields, itemIndex),
	};
}

/** Fields that belong to the agent, or change the form of the response, and what to do instead. */
const NOT_EXTRA: Record<string, string> = {
	stream:
		'The agent or chain decides whether the response is streamed. Remove "stream", or set it to false to get each response in one piece.',
	messages: 'The agent or chain writes the messages. Put instructions into its own fields.',
	tools:
		'The tools are those that are connected to the agent: it could not call others. Remove "tools".',
	n: 'Only one answer can be read, and each is charged. Remove "n".',
};

const OFF = ['', 'false', '0', 'no', 'off'];

/**
 * The extra fields, without those by which a paid response could not be read, or a conversation not
 * be continued. `stream` that is off and `n` that is 1 change nothing.
 *
 * @throws NodeOperationError that names the field to remove
 */
function readChatFields(context: IExecuteFunctions, value: unknown, itemIndex: number): JsonObject {
	const fields = { ...readJsonObject(context, 'Extra Fields', value, itemIndex) };
	const text = (name: string): string =>
		String(fields[name] ?? '')
			.slice(0, 20)
			.trim()
			.toLowerCase();
	if ('stream' in fields && OFF.includes(text('stream'))) fields.stream = false;
	const isHarmless = (name: string): boolean =>
		(name === 'stream' && fields.stream === false) || (name === 'n' && text('n') === '1');
	const refused = Object.keys(NOT_EXTRA).find(
		(name) => Object.hasOwn(fields, name) && !isHarmless(name),
	);
	if (refused === undefined) return fields;
	throw new NodeOperationError(context.getNode(), `"Extra Fields" must not set "${refused}"`, {
		description: `${NOT_EXTRA[refused]} Nothing was sent.`,
		itemIndex,
		// Shown as it is, instead of as the cause of an error of the agent.
		functionality: 'configuration-node',
	});
}
