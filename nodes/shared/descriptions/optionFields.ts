import type { INodeProperties, INodePropertyCollection, INodePropertyOptions } from 'n8n-workflow';
import { NOT_IN_TOOLS } from './imageFields';

/** The options that a node may offer, each written once. */
const OPTIONS = {
	addSummary: {
		displayName: 'Add Summary',
		name: 'addSummary',
		type: 'boolean',
		default: false,
		description:
			'Whether to add what the run did as "summary" to the last item: images, tasks, estimated cost, requests over the rate limit that were repeated, failed items, and items that an earlier try has paid for',
	},
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
	budgetPeriod: {
		displayName: 'Budget Period',
		name: 'budgetPeriod',
		type: 'options',
		default: 'run',
		description:
			"How long the budget lasts. A day and a month are those of the workflow's time zone. They count what this node was estimated to spend, requests with an unknown outcome included. n8n remembers it for production executions, when they end: manual executions aren't counted afterwards, and a crash of n8n loses what that execution spent. Executions that overlap on several n8n workers (queue mode) don't see each other.",
		options: [
			{ name: 'Day', value: 'day' },
			{ name: 'Month', value: 'month' },
			{ name: 'Run', value: 'run' },
		],
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
	fileName: {
		displayName: 'File Name',
		name: 'fileName',
		type: 'string',
		default: '',
		placeholder: 'e.g. {date}-{item:3}-{prompt}',
		description:
			'Name of each downloaded image, without the extension. Placeholders: {item} and {index} (position of the input item, and of the image in it, from 0; {item:3} has three digits), {model}, {taskId}, {prompt} (its first words), {date}, {time}. Equal names get a number.',
		displayOptions: { hide: NOT_IN_TOOLS },
	},
	maxDownloadMb: {
		displayName: 'Max Download Size (MB)',
		name: 'maxDownloadMb',
		type: 'number',
		typeOptions: { minValue: 1, maxValue: 2048 },
		default: 100,
		description: 'An image larger than this is not downloaded; its address is still given',
		displayOptions: { hide: NOT_IN_TOOLS },
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
	parametersByName: {
		displayName: 'Parameters by Name',
		name: 'parametersByName',
		type: 'fixedCollection',
		typeOptions: { multipleValues: true },
		placeholder: 'Add Parameter',
		default: {},
		description:
			'Settings of a model that has no form: size, seed, negative prompt and so on. Model Parameters win over these, Extra Fields over both.',
		options: [
			{
				name: 'parameter',
				displayName: 'Parameter',
				values: [
					{
						displayName: 'Name',
						name: 'name',
						type: 'string',
						default: '',
						placeholder: 'e.g. seed',
						description: 'The name under which the model expects the parameter',
					},
					{
						displayName: 'Value',
						name: 'value',
						type: 'string',
						default: '',
						placeholder: 'e.g. 42',
						description:
							'Numbers, true and false are recognized. Quotes make a text of anything: "42". Empty values aren\'t sent. For lists and objects use an expression.',
					},
				],
			},
		],
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
