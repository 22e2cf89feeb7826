import type { INodeProperties } from 'n8n-workflow';
import { messageFields } from '../Message/fields';
import { optionsField } from '../shared/fields';

/** Fields of the Message node that mean the same here. */
function shared(names: string[], fields: INodeProperties[] = messageFields): INodeProperties[] {
	return fields.filter(({ name }) => names.includes(name));
}

const messageOptions = messageFields.find(({ name }) => name === 'options')?.options;

/** The parameters of the chat model. */
export const chatModelFields: INodeProperties[] = [
	...shared(['model']),
	{
		displayName: 'Max Tokens',
		name: 'maxTokens',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 4096,
		required: true,
		description: 'The most tokens that one answer may take, thinking and tool calls included',
	},
	...shared(['thinking', 'legacyNotice', 'budgetTokens']),
	optionsField(
		['extraFields', 'timeout'],
		shared(
			['display', 'effort', 'temperature', 'topK', 'topP'],
			(messageOptions ?? []) as INodeProperties[],
		),
	),
];
