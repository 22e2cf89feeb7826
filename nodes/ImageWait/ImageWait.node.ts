import {
	type IExecuteFunctions,
	type INodeExecutionData,
	type INodeType,
	type INodeTypeDescription,
	NodeConnectionTypes,
} from 'n8n-workflow';
import { testMediaGateway } from '../shared/transport/credentialTest';
import { downloadField, taskFields } from '../shared/fields/imageFields';
import { optionAsField, optionsField } from '../shared/fields/optionFields';
import { withInputFieldsOfFailed } from '../shared/images/imageItems';
import { ItemParameters } from '../shared/parameters/itemParameters';
import { hasSecondOutput, readAddSummary, readLimits } from '../shared/parameters/optionValues';
import type { ItemReport } from '../shared/errors/itemReport';
import { finishRun } from '../shared/run/summary';
import { addHints, currencyOf, openRun } from '../shared/run/runContext';
import { runNode } from '../shared/run/runNode';
import { stepOf } from '../shared/suspend/steps';
import { resultOf } from '../shared/suspend/storedWaits';
import { readIsStored, suspend, WAITING_TOOLTIP } from '../shared/suspend/suspend';
import { reportOfTasks } from '../shared/tasks/taskReference';
import { readWaitOfItem, waitForTasks } from '../shared/tasks/waitForTasks';

export class ImageWait implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Image Wait',
		name: 'imageWait',
		icon: {
			light: 'file:../../icons/imageWait.svg',
			dark: 'file:../../icons/imageWait.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ "up to " + $parameter["maxWait"] + " s" }}',
		description: 'Wait until image tasks on a media gateway have finished, and get their images',
		builderHint: {
			searchHint:
				"Not charged. Waits for all tasks of its input together, so add no loop. Takes items of Media Gateway Image or Image Edit in mode 'submit' as they are. Not needed after mode 'sync' or 'wait'.",
		},
		defaults: { name: 'Wait for Image' },
		waitingNodeTooltip: WAITING_TOOLTIP,
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
					"How long to wait for a task to finish. After that, 'On Timeout' applies, and the task continues at the gateway.",
			},
			downloadField(),
			optionsField(
				[
					'addSummary',
					'binaryPropertyName',
					'concurrency',
					'fileName',
					'includeInputFields',
					'oneItemPerRequest',
					'requestsPerSecond',
					'surviveRestarts',
					'timeout',
				],
				[
					{
						displayName: 'On Timeout',
						name: 'onTimeout',
						type: 'options',
						default: 'error',
						description: "What to do with a task that is still open after 'Max Wait'",
						options: [
							{
								name: 'Error',
								value: 'error',
								description: 'Return an error that names the task',
							},
							{
								name: 'Still Open Output',
								value: 'output',
								description:
									"Return the task through the output 'Still Open', ready for another Image Wait",
							},
						],
					},
				],
			),
			{
				displayName: 'Step',
				name: 'step',
				type: 'hidden',
				default: 'wait',
				description: "Set by the node itself in the sub-executions of 'Survive Restarts'",
			},
		],
	};

	methods = { credentialTest: { testMediaGateway } };

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		const step = stepOf(this.getNodeParameter('step', 0, 'wait'));
		if (step !== undefined) return await step(this);
		const itemReport = reportOfTasks(this);
		return await runNode(this, async () => await waitForImages(this, itemReport), itemReport);
	}
}

async function waitForImages(
	context: IExecuteFunctions,
	itemReport: ItemReport,
): Promise<INodeExecutionData[][]> {
	const first = new ItemParameters(context, 0);
	const isStored = readIsStored(context, first);
	const addSummary = readAddSummary(first);
	const toOutput = hasSecondOutput(first);
	const pollIntervalMs = first.milliseconds('pollInterval');
	const run = await openRun(context, readLimits(first), { pollIntervalMs });
	const read = (itemIndex: number) => readWaitOfItem(new ItemParameters(context, itemIndex));
	try {
		const count = context.getInputData().length;
		const options = { toOutput, isStored, itemReport };
		const entries = await waitForTasks(run, count, read, options);
		addHints(context, run.hints);
		const rateLimitedRequests = run.rateLimitedRequests();
		const counts = { rateLimitedRequests, reused: [], currency: currencyOf(run) };
		const isOpen = entries.some(({ done }) => done === undefined);
		if (isOpen) return await suspend(context, entries, counts);
		const result = resultOf(entries, counts);
		const done = { ...result, items: withInputFieldsOfFailed(context, result.items) };
		const { items, open } = finishRun(context, done, addSummary, !isStored);
		return toOutput ? [items.flat(), open] : [items.flat()];
	} finally {
		run.gateway.end();
	}
}

/**
 * The outputs of the node by its parameters. Its source code becomes an expression, evaluated by
 * the editor and the engine, so it can't use anything from outside.
 */
function outputsFor(parameters: { step?: string; options?: { onTimeout?: string } }) {
	const { step = 'wait' } = parameters;
	const names = {
		supervise: ['Resume', 'Result', 'Failure'],
		check: ['Check Again', 'Result'],
		progress: ['Tasks', 'Next'],
		result: ['Finished', 'Still Open'],
	}[step];
	if (names !== undefined) return names.map((displayName) => ({ type: 'main', displayName }));
	const onTimeout = String(parameters.options?.onTimeout).trim().toLowerCase();
	// An expression, which isn't evaluated here, may return it too.
	if (onTimeout !== 'output' && !onTimeout.startsWith('=')) return [{ type: 'main' }];
	return [
		{ type: 'main', displayName: 'Finished' },
		{ type: 'main', displayName: 'Still Open' },
	];
}
