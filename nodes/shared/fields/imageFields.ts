import type { INodeProperties } from 'n8n-workflow';
import { listedModelHint } from './builderHints';
import type { PayingField } from './choices';

/** The model of an image node: chosen from the gateway's listing, or by name. */
export const modelField: PayingField = {
	displayName: 'Model',
	name: 'model',
	shapesRequest: true,
	type: 'resourceLocator',
	default: { mode: 'list', value: '' },
	required: true,
	builderHint: listedModelHint,
	description:
		"The model that generates the image. Prices in the list are in the gateway's own unit. A ratio multiplies a price that isn't listed.",
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
			placeholder: 'e.g. aurora-image-1',
			hint: 'Exact name of the model, as listed by the gateway',
		},
	],
};

/**
 * How a paid request is made: wait for it in one go, as a task, or only hand out the task.
 *
 * @param actions what the modes are called in n8n's nodes panel, which lists each as an action
 */
const modeFieldFor = (actions: ImageNodeTexts['actions']): INodeProperties => ({
	displayName: 'Mode',
	name: 'mode',
	type: 'options',
	noDataExpression: true,
	default: 'wait',
	description: 'How to wait for the image',
	options: [
		{
			name: 'Submit and Wait',
			value: 'wait',
			action: actions.wait,
			description:
				'Submit a task and poll until it finishes. Suits most jobs, and gateways without tasks.',
		},
		{
			name: 'Synchronous',
			value: 'sync',
			action: actions.sync,
			description:
				'Get the image in the response to one request. If it times out, you may be charged without an image.',
		},
		{
			name: 'Submit Only',
			value: 'submit',
			action: actions.submit,
			description: 'Return the task ID immediately, for Image Wait or Image Task',
		},
	],
});

/** The model's own parameters, as a form made from the listing. */
const modelParametersField: PayingField = {
	displayName: 'Model Parameters',
	name: 'modelParameters',
	shapesRequest: true,
	type: 'resourceMapper',
	noDataExpression: true,
	default: { mappingMode: 'defineBelow', value: null },
	description:
		"Model-specific settings. Fields left empty aren't sent. Changing the model clears them. To keep settings across models, use 'Parameters by Name' in the options.",
	typeOptions: {
		loadOptionsDependsOn: ['model.value'],
		resourceMapper: {
			resourceMapperMethod: 'getModelParameters',
			mode: 'add',
			valuesLabel: 'Model Parameters',
			fieldWords: { singular: 'parameter', plural: 'parameters' },
			addAllFields: false,
			multiKeyMatch: false,
			supportAutoMap: false,
			noFieldsError: 'The gateway publishes no parameters for this model',
			// An expression without data elsewhere in the node keeps the form from following the model.
			refreshStaleSchemaOnOpen: true,
			refreshIncompleteSchemaOnOpen: true,
		},
	},
};

/** An agent gets no binary data: n8n drops it. What is only about files is not shown in a tool. */
export const NOT_IN_TOOLS = { '@tool': [true] };

/**
 * Whether and under which name an image becomes binary data.
 *
 * @param modes the modes in which there is an image to download; undefined where there are no modes
 */
export function downloadFieldsFor(modes?: string[]): INodeProperties[] {
	const show = modes === undefined ? undefined : { mode: modes };
	const hide = NOT_IN_TOOLS;
	return [
		{
			displayName: 'Download',
			name: 'download',
			type: 'boolean',
			default: true,
			description: 'Whether to download the image as binary data',
			displayOptions: show === undefined ? { hide } : { show, hide },
		},
		{
			displayName: 'Put Output File in Field',
			name: 'binaryPropertyName',
			type: 'string',
			default: 'data',
			required: true,
			hint: 'The name of the output binary field to put the file in',
			displayOptions: { show: { ...show, download: [true] }, hide },
		},
	];
}

/** What the fields of Image Generation and Image Edit say differently. */
interface ImageNodeTexts {
	/** Of the prompt. */
	placeholder: string;
	description: string;
	actions: { wait: string; sync: string; submit: string };
}

/**
 * The fields of a node that creates images.
 *
 * @param sources fields that only this node has, below the prompt
 * @param options the options of the node
 */
export const imageNodeFields = (
	{ placeholder, description, actions }: ImageNodeTexts,
	sources: PayingField[],
	options: INodeProperties,
): PayingField[] => [
	modelField,
	{
		displayName: 'Prompt',
		name: 'prompt',
		shapesRequest: true,
		type: 'string',
		typeOptions: { rows: 3 },
		default: '',
		required: true,
		placeholder,
		description,
	},
	...sources,
	modeFieldFor(actions),
	modelParametersField,
	...downloadFieldsFor(['wait', 'sync']),
	options,
];

/** Which task is meant. */
export const taskFields: INodeProperties[] = [
	{
		displayName: 'Task ID',
		name: 'taskId',
		type: 'string',
		default: '={{ $json.taskId }}',
		required: true,
		placeholder: 'e.g. task_0a1b2c',
		description: "Task ID returned by 'Submit Only'",
	},
	{
		displayName: 'Task Type',
		name: 'taskType',
		type: 'options',
		default: 'auto',
		description: 'Type of the task. The gateway looks up the two types separately.',
		options: [
			{
				name: 'Automatic',
				value: 'auto',
				description: 'Use the type in the input item, or look up both types',
			},
			{ name: 'Edit', value: 'edit' },
			{ name: 'Generation', value: 'generation' },
		],
	},
];
