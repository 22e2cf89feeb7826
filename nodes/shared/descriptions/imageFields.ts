import type { INodeProperties, INodePropertyCollection, INodePropertyOptions } from 'n8n-workflow';

/** The model of an image node: chosen from the gateway's listing, or by name. */
export const modelField: INodeProperties = {
	displayName: 'Model',
	name: 'model',
	type: 'resourceLocator',
	default: { mode: 'list', value: '' },
	required: true,
	description: 'The image model that makes the picture',
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
			hint: 'Exactly as the model is called in the catalogue of the gateway',
		},
	],
};

/** How a paid request is made: wait for it in one go, as a task, or only hand out the task. */
export const modeField: INodeProperties = {
	displayName: 'Mode',
	name: 'mode',
	type: 'options',
	noDataExpression: true,
	default: 'sync',
	description: 'How the image is waited for',
	options: [
		{
			name: 'Synchronous',
			value: 'sync',
			description: 'One request that is answered by the finished image. For short jobs.',
		},
		{
			name: 'Submit and Wait',
			value: 'wait',
			description:
				'Submits a task and asks for it until it is finished. For long jobs and batches.',
		},
		{
			name: 'Submit Only',
			value: 'submit',
			description: 'Hands out the task ID at once, for Image Wait or Image Task later on',
		},
	],
};

/** What each mode means for the money, where the mode is chosen. */
export const modeNotices: INodeProperties[] = [
	{
		displayName:
			'If this request times out, nobody knows whether the picture was made and charged. For anything that takes long, use "Submit and Wait".',
		name: 'syncNotice',
		type: 'notice',
		default: '',
		displayOptions: { show: { mode: ['sync'] } },
	},
	{
		displayName:
			'Each item is a task that is charged. If n8n crashes or the run is stopped while this node runs, the task IDs are lost, unless the option "Survive Restarts" is on.',
		name: 'waitNotice',
		type: 'notice',
		default: '',
		displayOptions: { show: { mode: ['wait'] } },
	},
	{
		displayName:
			'Each item is a task that is charged. After a crash or a stop, n8n keeps the task IDs only if "Save execution progress" is on in the settings of the workflow.',
		name: 'taskNotice',
		type: 'notice',
		default: '',
		displayOptions: { show: { mode: ['submit'] } },
	},
];

/** The model's own parameters, as a form made from the listing. */
export const modelParametersField: INodeProperties = {
	displayName: 'Model Parameters',
	name: 'modelParameters',
	type: 'resourceMapper',
	noDataExpression: true,
	default: { mappingMode: 'defineBelow', value: null },
	description:
		'Size, quality and whatever else the chosen model takes. What is left out is not sent.',
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
			noFieldsError: 'The gateway publishes no parameters for this model.',
			// An expression without data elsewhere in the node keeps the form from following the model.
			refreshStaleSchemaOnOpen: true,
			refreshIncompleteSchemaOnOpen: true,
		},
	},
};

/**
 * Whether and under which name the picture becomes binary data.
 *
 * @param modes the modes in which there is a picture to download; undefined where there are no modes
 */
export function downloadFieldsFor(modes?: string[]): INodeProperties[] {
	const show = modes === undefined ? undefined : { mode: modes };
	return [
		{
			displayName: 'Download',
			name: 'download',
			type: 'boolean',
			default: true,
			description:
				'Whether to fetch the finished image as binary data, so that it is seen in the output',
			...(show === undefined ? {} : { displayOptions: { show } }),
		},
		{
			displayName: 'Put Output File in Field',
			name: 'binaryPropertyName',
			type: 'string',
			default: 'data',
			required: true,
			hint: 'The name of the output binary field to put the file in',
			displayOptions: { show: { ...show, download: [true] } },
		},
	];
}

/** The options that a node may offer, each written once. */
const OPTIONS = {
	asyncFlag: {
		displayName: 'Asynchronous Flag',
		name: 'asyncFlag',
		type: 'options',
		default: 'query',
		description:
			'How the gateway is told to answer with a task. Only for "Submit and Wait" and "Submit Only".',
		options: [
			{ name: 'Body Field', value: 'body' },
			{ name: 'Header X-Async', value: 'header' },
			{ name: 'URL Parameter', value: 'query' },
		],
	},
	budget: {
		displayName: 'Budget',
		name: 'budget',
		type: 'number',
		typeOptions: { minValue: 0, numberPrecision: 4 },
		default: 0,
		description:
			"The most that one run may cost, in the gateway's currency. A batch whose estimate is higher is not begun. 0 means no limit. Works with models that publish a fixed price.",
	},
	checkLimits: {
		displayName: 'Check Limits Before Sending',
		name: 'checkLimits',
		type: 'boolean',
		default: true,
		description:
			'Whether to hold every item against the limits that the gateway publishes for the model, before the first one is paid for',
	},
	concurrency: {
		displayName: 'Concurrency',
		name: 'concurrency',
		type: 'number',
		typeOptions: { minValue: 1, maxValue: 100 },
		default: 10,
		description: 'How many requests may be under way at the same time',
	},
	dryRun: {
		displayName: 'Dry Run',
		name: 'dryRun',
		type: 'boolean',
		default: false,
		description:
			'Whether to send nothing, and to put out the request that would be sent, what the checks say, and the estimated cost',
	},
	extraFields: {
		displayName: 'Extra Fields',
		name: 'extraFields',
		type: 'json',
		default: '{}',
		placeholder: 'e.g. { "seed": 42 }',
		description: 'JSON object that is merged into the request as it is, over everything else',
	},
	maxDownloadMb: {
		displayName: 'Max Download Size (MB)',
		name: 'maxDownloadMb',
		type: 'number',
		typeOptions: { minValue: 1, maxValue: 2048 },
		default: 100,
		description: 'An image larger than this is not downloaded; its address is still given',
	},
	maxWait: {
		displayName: 'Max Wait (Seconds)',
		name: 'maxWait',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 600,
		description:
			'How long a task is waited for. After that the error names the task, which goes on at the gateway.',
	},
	n: {
		displayName: 'Number of Images',
		name: 'n',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 1,
		description:
			'How many images one request makes. Each one is charged; how many are possible depends on the model.',
	},
	pollInterval: {
		displayName: 'Poll Interval (Seconds)',
		name: 'pollInterval',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 3,
		description:
			'About how often a task is asked for: pauses are from two thirds of it, for a few tasks, to five thirds, for a thousand',
	},
	requestsPerSecond: {
		displayName: 'Requests per Second',
		name: 'requestsPerSecond',
		type: 'number',
		typeOptions: { minValue: 0, maxValue: 10_000 },
		default: 0,
		description:
			'The most requests that may start in a second. 0 means as many as the gateway takes.',
	},
	responseFormat: {
		displayName: 'Response Format',
		name: 'responseFormat',
		type: 'options',
		default: 'url',
		description: 'How the gateway hands out the finished image',
		options: [
			{ name: 'Inside the Answer (Base64)', value: 'b64_json' },
			{ name: 'URL', value: 'url' },
		],
	},
	timeout: {
		displayName: 'Timeout (Seconds)',
		name: 'timeout',
		type: 'number',
		typeOptions: { minValue: 1, maxValue: 3600 },
		default: 300,
		description:
			'How long one request may take. A paid request that takes longer has an unknown outcome and is not sent again.',
	},
} satisfies Record<string, INodeProperties>;

export type OptionName = keyof typeof OPTIONS;

/** An option of other nodes, where it is a parameter of its own. */
export function optionAsField(name: OptionName): INodeProperties {
	return OPTIONS[name];
}

/**
 * The `options` of a node.
 *
 * @param names which of the options it offers, in any order
 * @param own options that only this node has
 */
export function optionsField(names: OptionName[], own: INodeProperties[] = []): INodeProperties {
	const offered: INodeProperties[] = [...names.map((name) => OPTIONS[name]), ...own];
	return {
		displayName: 'Options',
		name: 'options',
		type: 'collection',
		placeholder: 'Add option',
		default: {},
		options: offered.sort((one, other) =>
			one.displayName.localeCompare(other.displayName),
		) as Array<INodeProperties & INodePropertyOptions & INodePropertyCollection>,
	};
}

/** Which task is meant. */
export const taskFields: INodeProperties[] = [
	{
		displayName: 'Task ID',
		name: 'taskId',
		type: 'string',
		default: '={{ $json.taskId }}',
		required: true,
		placeholder: 'e.g. task_0a1b2c',
		description: 'The ID that submitting gave out. What "Submit Only" hands out is taken as it is.',
	},
	{
		displayName: 'Task Type',
		name: 'taskType',
		type: 'options',
		default: 'auto',
		description: 'What was submitted: the gateway keeps the two kinds apart',
		options: [
			{
				name: 'Automatic',
				value: 'auto',
				description: 'As the input item says, else found out by asking for both',
			},
			{ name: 'Edit', value: 'edit' },
			{ name: 'Generation', value: 'generation' },
		],
	},
];
