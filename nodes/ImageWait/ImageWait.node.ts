import type {
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import { testMediaGateway } from '../shared/methods/credentialTest';
import {
	downloadFieldsFor,
	optionAsField,
	optionsField,
	taskFields,
} from '../shared/descriptions/imageFields';
import { inRange, readChoice, readOptions, readSwitch } from '../shared/parameters/optionValues';
import { isTool } from '../shared/run/runContext';
import { runNode } from '../shared/run/runNode';
import { assertCanPark, continueParked, park } from './park';
import { readJob, waitForJobs } from './waiting';

export class ImageWait implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Image Wait',
		name: 'imageWait',
		icon: {
			light: 'file:../../icons/mediaGateway.svg',
			dark: 'file:../../icons/mediaGateway.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ "at most " + $parameter["maxWait"] + " s" }}',
		description: 'Wait until image tasks on a media gateway have finished, and get their images',
		defaults: { name: 'Wait for Image' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: `={{(${outputsFor})($parameter)}}`,
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: [
			...taskFields,
			optionAsField('pollInterval'),
			{
				...optionAsField('maxWait'),
				description:
					'How long a task is waited for. What happens then is set by "On Timeout"; the task goes on at the gateway.',
			},
			...downloadFieldsFor(),
			optionsField(
				['concurrency', 'maxDownloadMb', 'requestsPerSecond', 'timeout'],
				[
					{
						displayName: 'On Timeout',
						name: 'onTimeout',
						type: 'options',
						default: 'error',
						description: 'What happens with a task that is still open after "Max Wait"',
						options: [
							{
								name: 'Error',
								value: 'error',
								description: 'It is an error that names the task',
							},
							{
								name: 'Second Output',
								value: 'output',
								description: 'It leaves by an output of its own, ready to be waited for again',
							},
						],
						displayOptions: { hide: { surviveRestarts: [true] } },
					},
					{
						displayName: 'Park After (Seconds)',
						name: 'parkAfter',
						type: 'number',
						typeOptions: { minValue: 0, maxValue: 3600 },
						default: 60,
						description:
							'With "Survive Restarts": how long is waited in memory before the execution is parked in the database of n8n',
					},
					{
						displayName: 'Survive Restarts',
						name: 'surviveRestarts',
						type: 'boolean',
						default: false,
						description:
							'Whether long waits are parked in the database of n8n, so that a restart or a crash loses nothing. Needs n8n 2 and a saved workflow. Parked tasks are asked for about once a minute. In queue mode a killed worker loses what only waits in memory: set "Park After" to 0 there.',
					},
				],
			),
			{
				displayName: 'Role',
				name: 'role',
				type: 'hidden',
				default: 'wait',
				description: 'Set by the node itself while it is parked',
			},
		],
	};

	methods = { credentialTest: { testMediaGateway } };

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		if (this.getNodeParameter('role', 0, 'wait') === 'park') {
			// What fails leaves by the second output: the first leads back to this node.
			return await runNode(this, async () => await continueParked(this), 1);
		}
		return await runNode(this, async () => await waitForTasks(this));
	}
}

async function waitForTasks(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const options = readOptions(context, 0);
	const chosen = readSwitch(context, 'Survive Restarts', options.surviveRestarts, false, 0);
	const survives = chosen && !isTool(context);
	if (survives) assertCanPark(context);
	const windowMs = survives
		? inRange(context, 'parkAfter', options.parkAfter, 0) * 1000
		: Number.MAX_SAFE_INTEGER;
	const ends = readChoice(context, 'On Timeout', options.onTimeout, ['error', 'output'], 0);
	// What is parked has one output: there an open task is an error.
	const toOutput = ends === 'output' && !survives;
	const waited = await waitForJobs(
		context,
		context.getInputData().length,
		(itemIndex) => readJob(context, itemIndex),
		{ windowMs, toOutput },
	);
	if (waited.unfinished.size > 0) return [await park(context, waited)];
	const items = waited.output.flat();
	return toOutput ? [items, waited.stillOpen] : [items];
}

/**
 * The outputs, as the editor and the engine work them out of the parameters. It is turned into text
 * and run elsewhere: it can use nothing from outside.
 */
function outputsFor(parameters: { role?: string; options?: { onTimeout?: string } }) {
	if (parameters.role === 'park') {
		return [
			{ type: 'main', displayName: 'Check Again' },
			{ type: 'main', displayName: 'Done' },
		];
	}
	const onTimeout = String(parameters.options?.onTimeout).trim().toLowerCase();
	if (onTimeout !== 'output') return [{ type: 'main' }];
	return [
		{ type: 'main', displayName: 'Finished' },
		{ type: 'main', displayName: 'Still Open' },
	];
}
