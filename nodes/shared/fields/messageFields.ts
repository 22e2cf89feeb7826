import type { PayingField } from './choices';
import { modelField } from './imageFields';
import { optionAsField } from './optionFields';

/**
 * The model of the message endpoint. The list has the names of all models of the account
 * (docs/protocol.md, "Names of models"), because no list says which ones take messages.
 */
export const messageModelField: PayingField = {
	...modelField,
	builderHint: {
		propertyHint:
			"Use mode 'name' with the name that the user gives, or mode 'list' with an empty value for the user to choose one. Never invent a name.",
	},
	description:
		'The message model. The list also has models that take no messages. On some models "-thinking" or "-nothinking" at the end of the name turns thinking on or off.',
};

/**
 * The length of a response, and the switch for thinking (docs/protocol.md, "Messages").
 *
 * @param description of the length
 */
export const lengthFields = (description: string): PayingField[] => [
	{
		displayName: 'Max Tokens',
		name: 'maxTokens',
		shapesRequest: true,
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 4096,
		required: true,
		description,
	},
	{
		displayName: 'Thinking',
		name: 'thinking',
		shapesRequest: true,
		type: 'options',
		default: 'default',
		description:
			'Whether the model thinks before it responds. Thinking takes time and is charged. Keep it the same within a conversation: a change may lose what the gateway has cached of the prompt.',
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
		shapesRequest: true,
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 1024,
		description: 'Maximum number of tokens for thinking. Must be less than Max Tokens.',
		displayOptions: { show: { thinking: ['enabled'] } },
	},
];

/** The option that both nodes have beside those of the model. */
export const extraMessageFields: PayingField = {
	...optionAsField('extraFields'),
	description:
		'JSON object to merge into the request. It overrides all other settings; an object, such as "thinking", changes only the fields that it has, unless its "type" is another one.',
};

/** The timeout of the chat model, whose responses may be streamed. */
export const streamTimeout: PayingField = {
	...optionAsField('timeout'),
	description:
		"How long a response may take, or if it is streamed, the longest time without a part of it. A response that takes longer may have been charged and isn't sent again. With a high Max Tokens, such as 64,000, a response that isn't streamed may need more than 300.",
};

/** Options that a model may or may not take. */
export const modelOptions: PayingField[] = [
	{
		displayName: 'Display Thinking',
		name: 'display',
		shapesRequest: true,
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
		shapesRequest: true,
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
		displayName: 'Prompt Caching',
		name: 'promptCaching',
		type: 'options',
		default: 'disabled',
		description:
			'How long the gateway may keep the system prompt, the tools and the conversation, to read them again at a lower price. Writing them costs more. Not every gateway passes this on.',
		options: [
			{ name: 'Disabled', value: 'disabled' },
			{ name: '5 Minutes', value: '5m' },
			{ name: '1 Hour', value: '1h' },
		],
	},
	{
		displayName: 'Temperature',
		name: 'temperature',
		shapesRequest: true,
		type: 'number',
		typeOptions: { minValue: 0, numberPrecision: 2 },
		default: 1,
		description: 'Sampling temperature. Higher values are more random. Newer models reject it.',
	},
	{
		displayName: 'Top K',
		name: 'topK',
		shapesRequest: true,
		type: 'number',
		typeOptions: { minValue: 0 },
		default: 40,
		description: 'Number of most likely tokens to sample from. Newer models reject it.',
	},
	{
		displayName: 'Top P',
		name: 'topP',
		shapesRequest: true,
		type: 'number',
		typeOptions: { minValue: 0, maxValue: 1, numberPrecision: 2 },
		default: 0.9,
		description: 'Cumulative probability of the tokens to sample from. Newer models reject it.',
	},
];
