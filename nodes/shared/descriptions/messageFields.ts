import type { INodeProperties } from 'n8n-workflow';

/**
 * The model of the message endpoint: free text, because no listing has it (specification, 2.8: images
 * and videos). Names that worked before are not offered: a gateway may have closed them, and another
 * account may not have them.
 */
export const messageModelField: INodeProperties = {
	displayName: 'Model',
	name: 'model',
	type: 'string',
	default: '',
	required: true,
	placeholder: 'e.g. reason-large',
	hint: "Copy the name from the gateway's documentation or console: its public listing has no message models",
	description:
		'Exact name of a message model. On some models "-thinking" or "-nothinking" at the end switches thinking.',
};

/** The switch for thinking (specification, 2.6 and 4.4). */
export const thinkingFields: INodeProperties[] = [
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
		description: 'From what share of the likeliest words is chosen. The newest models refuse it.',
	},
];
