import type { INodeProperties } from 'n8n-workflow';
import { modelField } from '../shared/descriptions/imageFields';
import { optionsField } from '../shared/descriptions/optionFields';

/** The parameters of the Models node. */
export const mediaModelsFields: INodeProperties[] = [
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		default: 'getMany',
		hint: 'No API key is sent: the credential only says where the gateway is',
		options: [
			{
				name: 'Get',
				value: 'get',
				description: 'Get one model by its exact name',
				action: 'Get model',
			},
			{
				name: 'Get Many',
				value: 'getMany',
				description: 'Get all models that are open on the gateway',
				action: 'Get many models',
			},
		],
	},
	{
		...modelField,
		description: 'The model to look up. Workflows that hold its name as a text still work.',
		displayOptions: { show: { operation: ['get'] } },
	},
	{
		displayName: 'Return All',
		name: 'returnAll',
		type: 'boolean',
		default: false,
		description: 'Whether to return all results or only up to a given limit',
		displayOptions: { show: { operation: ['getMany'] } },
	},
	{
		displayName: 'Limit',
		name: 'limit',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 50,
		description: 'Max number of results to return',
		displayOptions: { show: { operation: ['getMany'], returnAll: [false] } },
	},
	{
		displayName: 'Filters',
		name: 'filters',
		type: 'collection',
		placeholder: 'Add filter',
		default: {},
		description: 'Only models that the gateway describes so',
		displayOptions: { show: { operation: ['getMany'] } },
		options: [
			{
				displayName: 'Generation Mode',
				name: 'generationMode',
				type: 'options',
				default: 'async',
				description: 'How the model can be called',
				options: [
					{ name: 'Asynchronous', value: 'async' },
					{ name: 'Synchronous', value: 'sync' },
				],
			},
			{
				displayName: 'Media Type',
				name: 'mediaType',
				type: 'options',
				default: 'image',
				description: 'What the model makes',
				options: [
					{ name: 'Image', value: 'image' },
					{ name: 'Video', value: 'video' },
				],
			},
			{
				displayName: 'Mode',
				name: 'mode',
				type: 'string',
				default: 'text_to_image',
				placeholder: 'e.g. image_edit',
				description: 'What the model does, as the gateway calls it',
			},
		],
	},
	optionsField(
		['timeout'],
		[
			{
				displayName: 'Format',
				name: 'format',
				type: 'options',
				default: 'json',
				description:
					'JSON gives one item for each model; JSONC gives the commented text as it came',
				options: [
					{ name: 'JSON', value: 'json' },
					{ name: 'JSONC (With Comments)', value: 'jsonc' },
				],
			},
		],
	),
];
