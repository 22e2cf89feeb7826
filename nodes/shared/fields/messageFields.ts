import type { INodeProperties } from 'n8n-workflow';
import { messageModelHint } from './builderHints';

/**
 * The model of the message endpoint. The list has the names of all models of the account
 * (docs/protocol.md, "Names of models"), because no list says which ones take messages.
 */
export const messageModelField: INodeProperties = {
	displayName: 'Model',
	name: 'model',
	type: 'resourceLocator',
	default: { mode: 'list', value: '' },
	required: true,
	builderHint: messageModelHint,
	description:
		'The message model. On some models "-thinking" or "-nothinking" at the end of the name turns thinking on or off.',
	modes: [
		{
			displayName: 'From List',
			name: 'list',
			type: 'list',
			placeholder: 'Select a model…',
			typeOptions: { searchListMethod: 'searchModels', searchable: true },
		},
		{
			displayName: 'By Name',
			name: 'name',
			type: 'string',
			placeholder: "e.g. the name in the gateway's console",
			hint: "Exact name of a message model, from the gateway's documentation or console",
		},
	],
};

/**
 * The length of a response, and the switch for thinking (docs/protocol.md, "Messages").
 *
 * @param description of the length
 */
export const lengthFields = (description: string): INodeProperties[] => [
	{
		displayName: 'Max Tokens',
		name: 'maxTokens',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 4096,
		required: true,
		description,
	},
	{
		displayName: 'Thinking',
		name: 'thinking',
		type: 'options',
		default: 'default',
		description: 'Whether the model thinks before it responds. Thinking takes time and is charged.',
		options: [
			{
				name: 'Adaptive',
				value: 'adaptive',
				description: 'The model decides when and how much to think',
			},
			{ name: 'Disabled', value: 'disabled', description: 'The model responds directly' },
			{
				name: 'Enabled with Budget (Legacy)',
				value: 'enabled',
				description: 'The older form with a token budget. Newer models reject it.',
			},
			{
				name: 'Model Default',
				value: 'default',
				description: 'Send no setting. The model, or the suffix of its name, decides.',
			},
		],
	},
	{
		displayName: 'Budget (Tokens)',
		name: 'budgetTokens',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 1024,
		description: 'Maximum number of tokens for thinking. Must be less than Max Tokens.',
		displayOptions: { show: { thinking: ['enabled'] } },
	},
];

/** Options that a model may or may not take. */
export const modelOptions: INodeProperties[] = [
	{
		displayName: 'Display Thinking',
		name: 'display',
		type: 'options',
		default: 'summarized',
		description: 'Whether to return the thinking as a summary. It is charged in either case.',
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
		description: 'How much effort the model puts into thinking and responding',
		options: [
			{ name: 'High', value: 'high', description: 'Standard depth, usually the default' },
			{ name: 'Low', value: 'low', description: 'Less thinking, fastest' },
			{ name: 'Max', value: 'max', description: 'Maximum depth, slowest' },
			{
				name: 'Medium',
				value: 'medium',
				description: 'Moderate thinking. Simple questions may skip it.',
			},
			{
				name: 'Extra High',
				value: 'xhigh',
				description: 'More depth, for coding and agents. Not available on all models.',
			},
		].sort((one, other) => one.name.localeCompare(other.name)),
	},
	{
		displayName: 'Temperature',
		name: 'temperature',
		type: 'number',
		typeOptions: { minValue: 0, numberPrecision: 2 },
		default: 1,
		description: 'Sampling temperature. Higher values are more random. Newer models reject it.',
	},
	{
		displayName: 'Top K',
		name: 'topK',
		type: 'number',
		typeOptions: { minValue: 0 },
		default: 40,
		description: 'Number of most likely tokens to sample from. Newer models reject it.',
	},
	{
		displayName: 'Top P',
		name: 'topP',
		type: 'number',
		typeOptions: { minValue: 0, maxValue: 1, numberPrecision: 2 },
		default: 0.9,
		description: 'Cumulative probability of the tokens to sample from. Newer models reject it.',
	},
];
