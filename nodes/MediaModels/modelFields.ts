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
		hint: "No API key is sent. The credential only provides the gateway's address.",
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
				description: 'Get all models available on the gateway',
				action: 'Get many models',
			},
		],
	},
	{
		...modelField,
		description: 'The model to get',
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
		description: 'Return only models that match these filters',
		displayOptions: { show: { operation: ['getMany'] } },
		options: [
			{
				displayName: 'Generation Mode',
				name: 'generationMode',
				type: 'options',
				default: 'async',
				description: 'Request mode that the model supports',
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
				description: 'Type of media that the model generates',
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
				description: "What the model does, in the gateway's own terms",
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
					'JSON returns one item for each model. JSONC returns the original text with its comments.',
				options: [
					{ name: 'JSON', value: 'json' },
					{ name: 'JSONC (With Comments)', value: 'jsonc' },
				],
			},
		],
	),
];
