import type { INodeProperties } from 'n8n-workflow';
import { optionsField } from '../shared/descriptions/optionFields';
import {
	messageModelField,
	modelOptions,
	thinkingFields,
} from '../shared/descriptions/messageFields';

/** The parameters of the Message node. */
export const messageFields: INodeProperties[] = [
	messageModelField,
	{
		displayName: 'Input',
		name: 'input',
		type: 'options',
		noDataExpression: true,
		default: 'prompt',
		description: 'In which form the conversation is given',
		options: [
			{ name: 'JSON', value: 'json', description: 'A list of messages, as the gateway takes it' },
			{ name: 'Messages', value: 'messages', description: 'One field for each message' },
			{ name: 'Prompt', value: 'prompt', description: 'A single text from the user' },
		],
	},
	{
		displayName: 'Prompt',
		name: 'prompt',
		type: 'string',
		typeOptions: { rows: 4 },
		default: '',
		required: true,
		placeholder: 'e.g. Describe this product in two sentences',
		description: 'What the model is to do',
		displayOptions: { show: { input: ['prompt'] } },
	},
	{
		displayName: 'Messages',
		name: 'messages',
		type: 'fixedCollection',
		typeOptions: { multipleValues: true, sortable: true },
		placeholder: 'Add Message',
		default: { message: [{ role: 'user', content: '' }] },
		description: 'The conversation in order; the last one is answered',
		displayOptions: { show: { input: ['messages'] } },
		options: [
			{
				name: 'message',
				displayName: 'Message',
				values: [
					{
						displayName: 'Role',
						name: 'role',
						type: 'options',
						default: 'user',
						description: 'Who says it',
						options: [
							{ name: 'Assistant', value: 'assistant' },
							{ name: 'User', value: 'user' },
						],
					},
					{
						displayName: 'Content',
						name: 'content',
						type: 'string',
						typeOptions: { rows: 2 },
						default: '',
						placeholder: 'e.g. Make it shorter',
						description: 'What is said',
					},
				],
			},
		],
	},
	{
		displayName: 'Messages (JSON)',
		name: 'messagesJson',
		type: 'json',
		default: '[{ "role": "user", "content": "" }]',
		required: true,
		placeholder: 'e.g. [{ "role": "user", "content": "Hello" }]',
		description:
			'List of messages with role and content; the content is a text or a list of blocks',
		displayOptions: { show: { input: ['json'] } },
	},
	{
		displayName: 'Max Tokens',
		name: 'maxTokens',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 4096,
		required: true,
		description:
			'The most tokens that the answer may take, thinking included. 1 makes the smallest call that shows whether key and model work.',
	},
	...thinkingFields,
	{
		displayName: 'Simplify',
		name: 'simplify',
		type: 'boolean',
		default: true,
		description: 'Whether to return a simplified version of the response instead of the raw data',
	},
	optionsField(
		['concurrency', 'extraFields', 'requestsPerSecond', 'timeout'],
		[
			...modelOptions,
			{
				displayName: 'History',
				name: 'history',
				type: 'json',
				default: '',
				placeholder: 'e.g. {{ $json.messages }}',
				description:
					'The conversation so far: the "messages" of an earlier Message node. Thinking blocks go back unchanged.',
			},
			{
				displayName: 'System Prompt',
				name: 'system',
				type: 'string',
				typeOptions: { rows: 3 },
				default: '',
				placeholder: 'e.g. You write for a toy shop',
				description: 'Instructions that hold for the whole conversation',
			},
		],
	),
];
