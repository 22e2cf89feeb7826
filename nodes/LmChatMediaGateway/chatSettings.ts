import type { IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import type { ChatSettings } from '../../gateway/messages/chat';
import type { JsonObject } from '../../gateway/util/json';
import { readMessageSettings } from '../shared/parameters/messageSettings';
import { isOff, readJsonObject, readOptions } from '../shared/parameters/optionValues';

/** Where the user set none. */
const MAX_TOKENS = 4096;

/**
 * What holds for all messages of the model.
 *
 * @throws NodeOperationError that names the parameter to correct
 */
export function readSettings(context: IExecuteFunctions, itemIndex: number): ChatSettings {
	const { extraFields } = readOptions(context, itemIndex);
	return {
		...readMessageSettings(context, itemIndex, MAX_TOKENS),
		extraFields: readChatFields(context, extraFields, itemIndex),
	};
}

/** Fields that belong to the agent, or change the form of the response, and what to do instead. */
const NOT_EXTRA: Record<string, string> = {
	stream:
		'The agent or chain decides whether the response is streamed. Remove "stream", or set it to false to get each response in one piece.',
	messages: 'The agent or chain writes the messages. Enter instructions in its own fields.',
	tools: 'The agent can call only the tools connected to it. Remove "tools".',
	n: 'Only one response can be read, and each one is charged. Remove "n".',
};

/**
 * The extra fields, without those by which a paid response could not be read, or a conversation not
 * be continued. `stream` that is off and `n` that is 1 change nothing.
 *
 * @throws NodeOperationError that names the field to remove
 */
function readChatFields(context: IExecuteFunctions, value: unknown, itemIndex: number): JsonObject {
	const fields = { ...readJsonObject(context, 'Extra Fields', value, itemIndex) };
	if (Object.hasOwn(fields, 'stream') && isOff(fields.stream)) fields.stream = false;
	const isHarmless = (name: string): boolean =>
		(name === 'stream' && fields.stream === false) ||
		(name === 'n' && String(fields.n).slice(0, 20).trim() === '1');
	const refused = Object.keys(NOT_EXTRA).find(
		(name) => Object.hasOwn(fields, name) && !isHarmless(name),
	);
	if (refused === undefined) return fields;
	throw new NodeOperationError(context.getNode(), `'Extra Fields' must not set "${refused}"`, {
		description: `${NOT_EXTRA[refused]} Nothing was sent.`,
		itemIndex,
		// Shown as it is, instead of as the cause of an error of the agent.
		functionality: 'configuration-node',
	});
}
