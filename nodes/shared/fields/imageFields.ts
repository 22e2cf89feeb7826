import type { IDisplayOptions, INodeProperties } from 'n8n-workflow';
import type { TaskType } from '../../../gateway';
import type { PayingField } from './choices';
import { imageOptions, NOT_IN_TOOLS, optionsField } from './optionFields';

/**
 * Fields of an image request that the node itself sends, and what sets them: another value elsewhere
 * would silently be ignored.
 */
export const FIELDS_OF_NODE = {
	async: "Remove it, and use the field 'Mode'.",
	model: "Remove it, and use the field 'Model'.",
	prompt: "Remove it, and use the field 'Prompt'.",
};

/** The model of an image node: chosen from the gateway's listing, or by name. */
export const modelField: PayingField = {
	displayName: 'Model',
	name: 'model',
	shapesRequest: true,
	type: 'resourceLocator',
	default: { mode: 'list', value: '' },
	required: true,
	builderHint: {
		propertyHint:
			"Use mode 'list' with a model that the gateway lists, or with an empty value for the user to choose one. Never invent a name.",
	},
	description: 'The model that generates the image',
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
 * How a paid request is made: as a task that is polled, as one synchronous request, or as a task
 * whose ID is returned.
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

/** The model's own parameters, as a form made from the listing, or the usual ones. */
const modelParametersField: PayingField = {
	displayName: 'Model Parameters',
	name: 'modelParameters',
	shapesRequest: true,
	type: 'resourceMapper',
	noDataExpression: true,
	default: { mappingMode: 'defineBelow', value: null },
	description:
		"Settings of the model, such as its size or quality. Fields left empty aren't sent. Changing the model clears them. To keep settings across models, use 'Extra Fields' in the options.",
	typeOptions: {
		loadOptionsDependsOn: ['model.value'],
		resourceMapper: {
			resourceMapperMethod: 'getModelParameters',
			mode: 'add',
			valuesLabel: 'Model Parameters',
			fieldWords: { singular: 'parameter', plural: 'parameters' },
			addAllFields: true,
			multiKeyMatch: false,
			supportAutoMap: false,
			noFieldsError: 'The gateway publishes no parameters for this model',
			// An expression without data elsewhere in the node keeps the form from following the model.
			refreshStaleSchemaOnOpen: true,
			refreshIncompleteSchemaOnOpen: true,
		},
	},
};

/** Where there is no image to download. */
const SUBMIT_ONLY = { mode: ['submit'], ...NOT_IN_TOOLS };

/**
 * Whether an image becomes binary data.
 *
 * @param hide where the field is not shown; n8n 1 stops at a parameter that the node doesn't have
 */
export const downloadField = (hide: IDisplayOptions['hide'] = NOT_IN_TOOLS): INodeProperties => ({
	displayName: 'Download',
	name: 'download',
	type: 'boolean',
	default: true,
	description: 'Whether to download the image as binary data',
	displayOptions: { hide },
});

/** What n8n's Assistant is told of both nodes. It may run one for real, so the cost comes first. */
export const IMAGE_NODES_HINT = [
	"Every item is a paid request, also in a test run: to test a workflow, set the option 'dryRun' to true, which checks everything and sends nothing.",
	"Mode 'wait', the default, takes all items at once, so add no loop and no Wait node.",
	"To limit the cost, set the option 'budget'.",
].join(' ');

/** What the fields of Image and Image Edit say differently. */
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
 */
export const imageNodeFields = (
	taskType: TaskType,
	{ placeholder, description, actions }: ImageNodeTexts,
	sources: PayingField[] = [],
): PayingField[] => [
	modelField,
	{
		displayName: 'Prompt',
		name: 'prompt',
		shapesRequest: true,
		type: 'string',
		typeOptions: { rows: 3 },
		default: '',
		placeholder,
		description,
	},
	...sources,
	modeFieldFor(actions),
	modelParametersField,
	downloadField(SUBMIT_ONLY),
	optionsField(imageOptions(taskType)),
];

/** The task to check or to wait for. */
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
