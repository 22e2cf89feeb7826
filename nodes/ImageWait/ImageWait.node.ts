import type {
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import { testMediaGateway } from '../shared/methods/credentialTest';
import { downloadFieldsFor, taskFields } from '../shared/descriptions/imageFields';
import { optionAsField, optionsField } from '../shared/descriptions/optionFields';
import {
	hasSecondOutput,
	inRange,
	readOptions,
	readSwitch,
} from '../shared/parameters/optionValues';
import { finishRun, readRunEnd } from '../shared/images/runResult';
import { isTool } from '../shared/run/runContext';
import { addCost, emptyTally } from '../shared/run/tally';
import { runNode } from '../shared/run/runNode';
import { playRole } from '../shared/suspend/roles';
import { ROLES } from '../shared/suspend/subWorkflows';
import { survivalFields, WAITING_TOOLTIP } from '../shared/suspend/survivalFields';
import { assertCanSuspend, suspend } from '../shared/suspend/suspend';
import { readJob, taskKey, waitForJobs } from '../shared/images/waitJobs';

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
		subtitle: '={{ "up to " + $parameter["maxWait"] + " s" }}',
		description: 'Wait until image tasks on a media gateway have finished, and get their images',
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
			...downloadFieldsFor(),
			optionsField(
				['addSummary', 'concurrency', 'fileName', 'maxDownloadMb', 'requestsPerSecond', 'timeout'],
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
								name: 'Second Output',
								value: 'output',
								description:
									'Return the task through a second output, ready for another Image Wait',
							},
						],
					},
					...survivalFields(),
				],
			),
			{
				displayName: 'Role',
				name: 'role',
				type: 'hidden',
				default: 'wait',
				description: "Set by the node itself in the sub-executions of 'Survive Restarts'",
			},
		],
	};

	methods = { credentialTest: { testMediaGateway } };

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		const given = this.getNodeParameter('role', 0, 'wait');
		const role = ROLES.find((known) => known === given) ?? 'wait';
		if (role !== 'wait') return await playRole(this, role);
		return await runNode(this, async () => await waitForTasks(this));
	}
}

async function waitForTasks(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const options = readOptions(context, 0);
	const chosen = readSwitch(context, 'Survive Restarts', options.surviveRestarts, false, 0);
	const survives = chosen && !isTool(context);
	if (survives) assertCanSuspend(context);
	const windowMs = survives
		? inRange(context, 'parkAfter', options.parkAfter, 0) * 1000
		: Number.MAX_SAFE_INTEGER;
	const count = context.getInputData().length;
	const end = readRunEnd(context);
	const tally = emptyTally();
	const known = new Set<string>();
	const read = (itemIndex: number) => {
		const job = readJob(context, itemIndex);
		// Several items may name one task: it was made, and paid for, once.
		const key = taskKey(job.task);
		if (!known.has(key)) {
			known.add(key);
			tally.tasks += 1;
			addCost(tally, job.facts.estimatedCost);
		}
		return { job };
	};
	const entries = await waitForJobs(context, count, read, windowMs, tally);
	if (entries.some(({ done }) => done === undefined)) return await suspend(context, entries, tally);
	const found = entries.map(({ done }) => done?.items ?? []);
	const stillOpen = entries.flatMap(({ done }) => done?.open ?? []);
	const { items, open } = finishRun(context, { items: found, open: stillOpen }, tally, end);
	return hasSecondOutput(context) ? [items.flat(), open] : [items.flat()];
}

/**
 * The outputs, as the editor and the engine work them out of the parameters. It is turned into text
 * and run elsewhere: it can use nothing from outside.
 */
function outputsFor(parameters: { role?: string; options?: { onTimeout?: string } }) {
	const { role = 'wait' } = parameters;
	const names = {
		keep: ['Resume', 'Result', 'Failure'],
		watch: ['Check Again', 'Result', 'Failure'],
		progress: ['Tasks', 'Next'],
		result: ['Finished', 'Still Open'],
	}[role];
	if (names !== undefined) return names.map((displayName) => ({ type: 'main', displayName }));
	const onTimeout = String(parameters.options?.onTimeout).trim().toLowerCase();
	if (onTimeout !== 'output') return [{ type: 'main' }];
	return [
		{ type: 'main', displayName: 'Finished' },
		{ type: 'main', displayName: 'Still Open' },
	];
}
