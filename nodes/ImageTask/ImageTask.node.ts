import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import { withoutInlineImages } from '../../gateway/util/inlineImages';
import { withoutUndefined } from '../../gateway/protocol/requestPlan';
import { isFinished } from '../../gateway/protocol/status';
import { type TaskState } from '../../gateway/protocol/task';
import { taskError } from '../../gateway/errors/taskErrors';
import { testMediaGateway } from '../shared/methods/credentialTest';
import { downloadFieldsFor, taskFields } from '../shared/descriptions/imageFields';
import { optionsField } from '../shared/descriptions/optionFields';
import {
	imageBinaries,
	readTarget,
	shownImage,
	type ImageFacts,
	type ImageTarget,
} from '../shared/images/imageItems';
import { runItems } from '../shared/run/itemRunner';
import { readLimits } from '../shared/parameters/optionValues';
import { openRun, type Run } from '../shared/run/runContext';
import { runNode } from '../shared/run/runNode';
import { queryTask } from '../shared/images/pollTasks';
import { hasFileNames, withUniqueFileNames } from '../shared/images/fileNames';
import { ageOf, knownFacts, readTaskReference } from '../shared/images/taskReference';

export class ImageTask implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Image Task',
		name: 'imageTask',
		icon: {
			light: 'file:../../icons/mediaGateway.svg',
			dark: 'file:../../icons/mediaGateway.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle:
			'={{ $parameter["taskType"] === "auto" ? "generation or edit" : $parameter["taskType"] }}',
		description:
			'Get the status of an image task on a media gateway, and its images once it has finished',
		defaults: { name: 'Get Image Task' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: [
			...taskFields,
			...downloadFieldsFor(),
			optionsField(['concurrency', 'fileName', 'maxDownloadMb', 'requestsPerSecond', 'timeout']),
		],
	};

	methods = { credentialTest: { testMediaGateway } };

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		return await runNode(this, async () => await queryTasks(this));
	}
}

async function queryTasks(context: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const run = await openRun(context, readLimits(context));
	try {
		const facts: ImageFacts[] = [];
		const items = await runItems(run, context.getInputData().length, {
			knownOf: (itemIndex) => facts[itemIndex],
			prepare: (itemIndex) => {
				const task = readTaskReference(context, itemIndex);
				const target = readTarget(context, itemIndex);
				const ageMs = ageOf(context.getInputData()[itemIndex]?.json.submittedAt);
				const known = knownFacts(context, itemIndex);
				facts[itemIndex] = known;
				return async () => [await taskItem(run, await queryTask(run, task, ageMs), known, target)];
			},
		});
		return [(hasFileNames(context) ? withUniqueFileNames(items) : items).flat()];
	} finally {
		run.end();
	}
}

async function taskItem(
	run: Run,
	state: TaskState,
	known: ImageFacts,
	target: ImageTarget,
): Promise<INodeExecutionData> {
	const error = taskError(state);
	// That a task failed is a result; that a finished one has nothing to show is an error.
	if (error !== undefined && state.group === 'success') throw error;
	const { taskId, taskType, status, group, images, response } = state;
	const binary =
		group === 'success'
			? await imageBinaries(run, images, { ...known, taskId }, target)
			: undefined;
	return {
		json: withoutUndefined({
			taskId,
			taskType,
			status,
			statusGroup: group,
			model: known.model,
			prompt: known.prompt,
			estimatedCost: known.estimatedCost,
			finished: isFinished(group),
			succeeded: group === 'success',
			images: group === 'success' ? images.map(shownImage) : [],
			error: error?.message,
			// An agent pays for every word that it reads, and has read these already.
			response: run.isTool ? undefined : withoutInlineImages(response),
		}) as IDataObject,
		...(binary === undefined ? {} : { binary }),
		pairedItem: { item: target.itemIndex },
	};
}
