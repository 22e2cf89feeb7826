import type { INodeProperties } from 'n8n-workflow';
import { optionsField } from '../shared/descriptions/optionFields';
import {
	messageModelField,
	modelOptions,
	thinkingFields,
} from '../shared/descriptions/messageFields';

/** The parameters of the chat model. */
export const chatModelFields: INodeProperties[] = [
	messageModelField,
	{
		displayName: 'Max Tokens',
		name: 'maxTokens',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 4096,
		required: true,
		description: 'Maximum number of tokens in one response, including thinking and tool calls',
	},
	...thinkingFields,
	optionsField(['extraFields', 'timeout'], modelOptions),
];
