import type { INodeProperties } from 'n8n-workflow';
import { optionsField } from '../shared/fields';

/** The parameters of the Message node. */
export const messageFields: INodeProperties[] = [
	{
		displayName: 'Model',
		name: 'model',
		type: 'string',
		default: '',
		required: true,
		placeholder: 'e.g. reason-large',
		description:
			'Name of a model in the catalogue of the gateway. On some models "-thinking" or "-nothinking" at the end switches thinking.',
	},
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
		default: 1024,
		required: true,
		description:
			'The most tokens that the answer may take, thinking included. 1 makes the smallest call that shows whether key and model work.',
	},
	{
		displayName: 'Thinking',
		name: 'thinking',
		type: 'options',
		default: 'default',
		description: 'Whether the model thinks before it answers. Thinking takes time and is charged.',
		options: [
			{
				name: 'Adaptive',
				value: 'adaptive',
				description: 'The model decides when and how deeply it thinks',
			},
			{ name: 'Disabled', value: 'disabled', description: 'The answer comes directly' },
			{
				name: 'Enabled with Budget (Legacy)',
				value: 'enabled',
				description: 'The older form with a token budget; newer models refuse it',
			},
			{
				name: 'Model Default',
				value: 'default',
				description: 'Nothing is sent: the model, or the suffix of its name, decides',
			},
		],
	},
	{
		displayName:
			'Newer models refuse the legacy form. Use "Adaptive" together with the option "Effort" where the model takes it.',
		name: 'legacyNotice',
		type: 'notice',
		default: '',
		displayOptions: { show: { thinking: ['enabled'] } },
	},
	{
		displayName: 'Budget (Tokens)',
		name: 'budgetTokens',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 1024,
		description: 'How many tokens the thinking may take; less than Max Tokens',
		displayOptions: { show: { thinking: ['enabled'] } },
	},
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
			{
				displayName: 'Display Thinking',
				name: 'display',
				type: 'options',
				default: 'summarized',
				description: 'Whether the thinking can be read. It is charged in either case.',
				options: [
					{ name: 'Omitted', value: 'omitted' },
					{ name: 'Summarized', value: 'summarized' },
				],
				displayOptions: { show: { '/thinking': ['adaptive', 'enabled'] } },
			},
			{
				displayName: 'Effort',
				name: 'effort',
				type: 'options',
				default: 'high',
				description: 'How much the model puts into thinking and answering',
				options: [
					{ name: 'High', value: 'high', description: 'Standard depth, commonly the default' },
					{ name: 'Low', value: 'low', description: 'Less thinking, speed first' },
					{ name: 'Max', value: 'max', description: 'Maximum depth, longer and slower' },
					{
						name: 'Medium',
						value: 'medium',
						description: 'Moderate thinking; simple questions may skip it',
					},
					{
						name: 'Extra High',
						value: 'xhigh',
						description: 'Deeper, for code, agents and many steps; not on all models',
					},
				].sort((one, other) => one.name.localeCompare(other.name)),
			},
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
			{
				displayName: 'Temperature',
				name: 'temperature',
				type: 'number',
				typeOptions: { minValue: 0, numberPrecision: 2 },
				default: 1,
				description: 'How much chance there is in the answer. The newest models refuse it.',
			},
			{
				displayName: 'Top K',
				name: 'topK',
				type: 'number',
				typeOptions: { minValue: 0 },
				default: 40,
				description: 'From how many of the likeliest words is chosen. The newest models refuse it.',
			},
			{
				displayName: 'Top P',
				name: 'topP',
				type: 'number',
				typeOptions: { minValue: 0, maxValue: 1, numberPrecision: 2 },
				default: 0.9,
				description:
					'From what share of the likeliest words is chosen. The newest models refuse it.',
			},
		],
	),
];
