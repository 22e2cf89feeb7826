import {
	type IDataObject,
	type IExecuteFunctions,
	type INodeExecutionData,
	type INodeType,
	type INodeTypeDescription,
	NodeConnectionTypes,
} from 'n8n-workflow';
import { withoutUndefined } from '../../util/json';
import { withoutInlineImages } from '../../util/inlineImages';
import { laterBill, taskError, type TaskState } from '../../gateway';
import { testMediaGateway } from '../shared/transport/credentialTest';
import { downloadField, taskFields } from '../shared/fields/imageFields';
import { optionsField } from '../shared/fields/optionFields';
import { withInputFieldsOfFailed, type OutputSettings } from '../shared/images/imageItems';
import type { ItemReport, RequestFacts } from '../shared/errors/itemReport';
import { isFailed } from '../shared/errors/nodeErrors';
import { runItems } from '../shared/run/itemRunner';
import { runNode } from '../shared/run/runNode';
import { ItemParameters } from '../shared/parameters/itemParameters';
import { readLimits } from '../shared/parameters/optionValues';
import { addHints, openRun, type Run } from '../shared/run/runContext';
import { withUniqueFileNames } from '../shared/run/summary';
import { taskItem } from '../shared/tasks/taskItem';
import { reportOfTasks, readTask } from '../shared/tasks/taskReference';
import { finishedItems } from '../shared/tasks/waitForTasks';

export class ImageTask implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Image Task',
		name: 'imageTask',
		icon: {
			light: 'file:../../icons/imageTask.svg',
			dark: 'file:../../icons/imageTask.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle:
			'={{ $parameter["taskType"] === "auto" ? "generation or edit" : $parameter["taskType"] }}',
		description:
			'Get the status of an image task on a media gateway, and its images once it has finished',
		builderHint: {
			searchHint:
				"Not charged. Checks each task once. To wait until tasks finish, use Image Wait instead of a loop. Takes items of Media Gateway Image or Image Edit in mode 'submit' as they are.",
		},
		defaults: { name: 'Get Image Task' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: [
			...taskFields,
			downloadField(),
			optionsField([
				'binaryPropertyName',
				'concurrency',
				'fileName',
				'includeInputFields',
				'requestsPerSecond',
				'timeout',
			]),
		],
	};

	methods = { credentialTest: { testMediaGateway } };

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		const items = reportOfTasks(this);
		return await runNode(this, async () => await queryTasks(this, items), items);
	}
}

async function queryTasks(
	context: IExecuteFunctions,
	knownItems: ItemReport,
): Promise<INodeExecutionData[][]> {
	const first = new ItemParameters(context, 0);
	const run = await openRun(context, readLimits(first));
	try {
		const items = await runItems(run, context.getInputData().length, {
			itemReport: knownItems,
			prepare: (itemIndex) => {
				const item = new ItemParameters(context, itemIndex);
				const { task, facts, outputSettings } = readTask(item);
				run.gateway.announce([task]);
				return async () => {
					const state = await run.gateway.getStatus(task);
					return [await stateItem(run, state, facts, outputSettings)];
				};
			},
		});
		const open = items.flat().filter(({ json }) => json.finished === false).length;
		if (open > 0) run.hints.add(`Tasks still open: ${open}. Image Wait waits for them.`);
		addHints(context, run.hints);
		return [withUniqueFileNames(withInputFieldsOfFailed(context, items)).flat()];
	} finally {
		run.gateway.end();
	}
}

/**
 * The item of a task: with its images where it has succeeded, as Image Wait returns them in one item.
 *
 * @throws GatewayError for a completed task without an image; one that has failed is a result
 */
async function stateItem(
	run: Run,
	state: TaskState,
	facts: RequestFacts,
	outputSettings: OutputSettings,
): Promise<INodeExecutionData> {
	const { statusUrl, group, response } = state;
	const succeeded = group === 'success';
	const error = taskError(state);
	if (succeeded && error !== undefined) throw error;
	const inOne = { facts, outputSettings: { ...outputSettings, isOneItem: true } };
	const item = succeeded
		? (await finishedItems(run, state, inOne))[0]!
		: taskItem({ task: state, facts: { ...facts, ...laterBill(state, facts) }, outputSettings });
	if (isFailed(item)) return item;
	const ofTask = withoutUndefined({
		statusUrl,
		statusGroup: group,
		finished: succeeded || group === 'unsuccessful',
		succeeded,
		images: succeeded ? undefined : [],
		error: error?.message,
		// For an agent, which pays for each word, the response would only repeat the rest.
		response: run.isTool ? undefined : withoutInlineImages(response),
	}) as IDataObject;
	return { ...item, json: { ...item.json, ...ofTask } };
}
