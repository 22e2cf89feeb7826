import type { INodeProperties, INodePropertyCollection, INodePropertyOptions } from 'n8n-workflow';
import type { TaskType } from '../../../gateway';
import type { PayingField } from './choices';

/** Hides fields that are only about files: an agent gets no binary data, because n8n drops it. */
export const NOT_IN_TOOLS = { '@tool': [true] };

/**
 * Shows options about waiting where there are tasks, and not in a tool, where they have no effect.
 */
const WITH_TASKS = { hide: { '/mode': ['sync'], ...NOT_IN_TOOLS } };

/**
 * An option that is a field of an image request. It is declared here alone: what the form shows,
 * what is read, sent and checked against the model's limits, and docs/options.md follow.
 */
export interface RequestOption extends PayingField {
	/** The field's name in the request. */
	sentAs: string;
	/**
	 * Set if its value changes the price: then 'Extra Fields' must not override it. A number is a
	 * count, from 1.
	 */
	changesPrice?: true;
	/** The only node that offers it, by the type of its tasks; both nodes if undefined. */
	only?: TaskType;
}

type Option = Omit<INodeProperties, 'name'> & Partial<RequestOption>;

/**
 * The options that a node may offer, by name, each written once. A switch that is off without its
 * option is on when it is added: whoever adds 'Dry Run' and executes must not pay. A number outside of
 * its range is an error and never corrected: a shorter wait or a smaller size than the user meant would
 * lose an image that is paid for.
 */
const OPTIONS = {
	addSummary: {
		displayName: 'Add Summary',
		type: 'boolean',
		default: true,
		description: `Whether to add a summary of the run to the last item, as "summary": images, tasks, cost (the gateway's bill, if it names one), estimated cost, images without a known price, requests retried after a rate limit, failed items, and items paid for by an earlier try. If all items have failed, it is in the "details" of the last one.`,
	},
	binaryPropertyName: {
		displayName: 'Put Output File in Field',
		type: 'string',
		default: 'data',
		hint: 'The name of the output binary field to put the file in',
		displayOptions: { show: { '/download': [true] }, hide: NOT_IN_TOOLS },
	},
	budget: {
		displayName: 'Budget',
		type: 'number',
		typeOptions: { minValue: 0 },
		default: 1,
		description:
			"Maximum cost of this node in one execution, in the unit of the gateway's prices. If the estimate is higher than what is left, nothing is sent. What has been spent counts by listed prices, whatever the gateway bills. Requires a model with a published fixed price.",
	},
	checkLimits: {
		displayName: 'Check Limits Before Sending',
		type: 'boolean',
		default: true,
		description:
			"Whether to check all items against the model's limits before sending any. Turn it off if the gateway's list is wrong.",
	},
	concurrency: {
		displayName: 'Concurrency',
		type: 'number',
		typeOptions: { minValue: 1, maxValue: 100 },
		default: 10,
		description:
			'Maximum number of requests at the same time. Lower it if the gateway limits how many may run at once.',
	},
	dryRun: {
		displayName: 'Dry Run',
		type: 'boolean',
		default: true,
		description:
			'Whether to return each request with its checks and estimated cost instead of sending it. Nothing is billed.',
	},
	extraFields: {
		displayName: 'Extra Fields',
		shapesRequest: true,
		type: 'json',
		default: '{}',
		placeholder: 'e.g. { "seed": 42 }',
		description:
			"JSON object to merge into the request: what 'Model Parameters' don't have, lists and objects, several fields from one expression, or settings that stay when the model changes. It overrides all other settings. A field set to null is left out of an image request.",
	},
	extraFiles: {
		shapesRequest: true,
		only: 'edit',
		displayName: 'Additional Files',
		type: 'fixedCollection',
		typeOptions: { multipleValues: true },
		placeholder: 'Add File',
		default: {},
		description: 'Additional files for the model, such as a style reference',
		options: [
			{
				name: 'file',
				displayName: 'File',
				values: [
					{
						displayName: 'Name in the Request',
						name: 'field',
						type: 'string',
						default: '',
						placeholder: 'e.g. style_reference',
						description: 'Name under which the model expects the file',
					},
					{
						displayName: 'Input Binary Field',
						name: 'binaryProperty',
						type: 'string',
						default: '',
						placeholder: 'e.g. reference',
						description: 'The name of the input binary field containing the file',
					},
				],
			},
		],
	},
	fileName: {
		displayName: 'File Name',
		type: 'string',
		default: '',
		placeholder: 'e.g. {{ $json.sku }}',
		description:
			'Name of each downloaded image, without the extension; by default the first words of the prompt and a short end that differs for each image. Use an expression, such as {{ $json.sku }} or {{ $now.toISODate() }}. Equal names of one run get a number.',
		displayOptions: { hide: NOT_IN_TOOLS },
	},
	includeInputFields: {
		displayName: 'Include Input Fields',
		type: 'boolean',
		// On without this option, which is there to turn it off.
		default: false,
		description:
			"Whether to add the fields of the input item to each output item, except those with the name of a field that image nodes return, such as 'url' or 'size'. They are added unless you turn this off.",
	},
	mask: {
		shapesRequest: true,
		only: 'edit',
		displayName: 'Mask',
		type: 'string',
		default: 'mask',
		placeholder: 'e.g. mask',
		description:
			'The name of the input binary field containing the mask, its web address, or the mask itself as Base64. It marks the part of the image to edit, usually by transparent pixels.',
	},
	maxWait: {
		displayName: 'Max Wait (Seconds)',
		type: 'number',
		typeOptions: { minValue: 1, maxValue: 604_800 },
		default: 600,
		description:
			'How long to wait for a task to finish. After that, the error names the task, which continues at the gateway.',
	},
	n: {
		sentAs: 'n',
		changesPrice: true,
		displayName: 'Number of Images',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 1,
		description:
			'Number of images that each request generates. Each one is charged. The maximum depends on the model.',
	},
	oneItemPerRequest: {
		displayName: 'One Item per Request',
		type: 'boolean',
		default: true,
		description:
			'Whether to return one item for each input item, with the addresses in "urls", what is known of each image in "images", and its files in "data", "data_1", and so on. Without it, each image is an item.',
		displayOptions: { hide: { '/mode': ['submit'] } },
	},
	pollInterval: {
		displayName: 'Poll Interval (Seconds)',
		type: 'number',
		typeOptions: { minValue: 1, maxValue: 3600 },
		default: 3,
		description:
			'Approximate time between status checks, from a third of this value for a young task to five thirds for 250 tasks or more',
	},
	requestsPerSecond: {
		displayName: 'Requests per Second',
		type: 'number',
		typeOptions: { minValue: 0, maxValue: 10_000 },
		default: 0,
		description:
			"Maximum number of requests to start per second. 0 finds the gateway's rate limit automatically. Set it if other programs share that limit.",
	},
	responseFormat: {
		sentAs: 'response_format',
		displayName: 'Response Format',
		type: 'options',
		default: 'url',
		description: 'How the gateway returns the image',
		options: [
			{ name: 'In the Response (Base64)', value: 'b64_json' },
			{ name: 'URL', value: 'url' },
		],
	},
	streamResponse: {
		displayName: 'Stream Response',
		type: 'boolean',
		default: true,
		description:
			"Whether to ask for the image as a stream, whose line stays open: some proxies cut a silent one after a minute, and the image is lost, but charged. 'Timeout' is then the time without a byte. Only some gateways stream images.",
		displayOptions: { show: { '/mode': ['sync'] } },
	},
	surviveRestarts: {
		displayName: 'Survive Restarts',
		type: 'boolean',
		default: true,
		description:
			"Whether waiting survives a restart or crash of n8n. The execution is stored in the database, and its output has no hint with the cost: use 'Add Summary' instead. Requires n8n 2 and a saved workflow.",
		hint: 'Even a quick task takes about a minute.',
		displayOptions: WITH_TASKS,
	},
	timeout: {
		displayName: 'Timeout (Seconds)',
		type: 'number',
		typeOptions: { minValue: 1, maxValue: 3600 },
		default: 300,
		description:
			"How long one request may take, or a streamed response may be silent. A paid request that takes longer has an unknown outcome. It isn't sent again, unless the gateway knows it by the credential's Idempotency Header.",
	},
} satisfies Record<string, Option>;

/** The field that two nodes have beside their options. */
export const simplifyField: PayingField = {
	displayName: 'Simplify',
	name: 'simplify',
	type: 'boolean',
	default: true,
	description: 'Whether to return a simplified version of the response instead of the raw data',
};

export type OptionName = keyof typeof OPTIONS;

/** An option as it is declared. */
export const optionOf = (name: OptionName): Option => OPTIONS[name];

/** An option as n8n's editor shows it; in some nodes it is a field outside of the options. */
export const optionAsField = (name: OptionName): PayingField => ({ ...optionOf(name), name });

/** The options of a node that creates images, by the type of its tasks. */
export const imageOptions = (taskType: TaskType): OptionName[] =>
	(Object.keys(OPTIONS) as OptionName[]).filter((name) => {
		const { only = taskType } = optionOf(name);
		return only === taskType;
	});

const isRequestOption = (option: PayingField): option is RequestOption =>
	option.sentAs !== undefined;

const requestOptionsOf = (taskType: TaskType): RequestOption[] =>
	imageOptions(taskType).map(optionAsField).filter(isRequestOption);

/** Those of them that are fields of the request. */
export const REQUEST_OPTIONS: Record<TaskType, RequestOption[]> = {
	generation: requestOptionsOf('generation'),
	edit: requestOptionsOf('edit'),
};

/**
 * All options in the order in which the editor offers them: those that most workflows set first. The
 * last two lines are for few: what counts for a slow or shared gateway, then what is there to turn
 * something off, or for single models. The editor doesn't sort them.
 */
export const BY_USE = [
	...['system', 'history', 'outputJson', 'effort', 'temperature'],
	...['n', 'mask', 'fileName', 'budget', 'dryRun', 'maxWait', 'oneItemPerRequest', 'addSummary'],
	...['surviveRestarts', 'extraFields', 'extraFiles', 'responseFormat'],
	...['promptCaching', 'format', 'timeout'],
	...['concurrency', 'requestsPerSecond', 'pollInterval'],
	...[
		'checkLimits',
		'includeInputFields',
		'onTimeout',
		'streamResponse',
		'display',
		'topK',
		'topP',
		'binaryPropertyName',
	],
];

/**
 * The `options` of a node.
 *
 * @param names of `OPTIONS`, in any order
 * @param own options of this node alone
 */
export function optionsField(names: OptionName[], own: PayingField[] = []): INodeProperties {
	const rankOf = ({ name }: PayingField): number =>
		BY_USE.includes(name) ? BY_USE.indexOf(name) : BY_USE.length;
	const options = [...names.map(optionAsField), ...own].sort(
		(one, other) => rankOf(one) - rankOf(other),
	);
	return {
		displayName: 'Options',
		name: 'options',
		type: 'collection',
		placeholder: 'Add option',
		default: {},
		options: options as Array<INodeProperties & INodePropertyOptions & INodePropertyCollection>,
	};
}
