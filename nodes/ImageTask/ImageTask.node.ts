import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import { withoutUndefined } from '../../util/json';
import { withoutInlineImages } from '../../util/inlineImages';
import {
	GatewayError,
	isInline,
	taskError,
	taskKey,
	type TaskState,
	withDetails,
} from '../../gateway';
import { laterBill } from '../../util/bill';
import { testMediaGateway } from '../shared/transport/credentialTest';
import { downloadFields, taskFields } from '../shared/fields/imageFields';
import { optionsField } from '../shared/fields/optionFields';
import {
	imageBinaries,
	shownImage,
	withInputFieldsOfFailed,
	type ImageTarget,
} from '../shared/images/imageItems';
import type { KnownItems } from '../shared/run/knownItems';
import { failedItem } from '../shared/run/nodeErrors';
import { runItems } from '../shared/run/itemRunner';
import { runNode } from '../shared/run/runNode';
import { ItemParameters } from '../shared/parameters/itemParameters';
import { readLimits } from '../shared/parameters/optionValues';
import { addHints, openRun, type Run } from '../shared/run/runContext';
import type { RequestFacts } from '../shared/run/requestFacts';
import { costOf } from '../shared/run/tally';
import { withUniqueFileNames } from '../shared/run/summary';
import { knownTaskItems, readTask } from '../shared/tasks/taskReference';

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
				"Not charged. Checks each task once. To wait until tasks finish, use Image Wait instead of a loop. Takes items of Image Generation or Image Edit in mode 'submit' as they are.",
		},
		defaults: { name: 'Get Image Task' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: [
			...taskFields,
			...downloadFields(),
			optionsField([
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
		const items = knownTaskItems(this);
		return await runNode(this, async () => await queryTasks(this, items), items);
	}
}

async function queryTasks(
	context: IExecuteFunctions,
	knownItems: KnownItems,
): Promise<INodeExecutionData[][]> {
	const first = new ItemParameters(context, 0);
	const run = await openRun(context, readLimits(first));
	try {
		/**
		 * By task, its items that haven't got its state yet. It is queried once for all of them, and let
		 * go after the last one: images may be in it.
		 */
		const queries = new Map<string, { itemsLeft: number; state?: Promise<TaskState> }>();
		const items = await runItems(run, context.getInputData().length, {
			known: knownItems,
			prepare: (itemIndex) => {
				const item = new ItemParameters(context, itemIndex);
				const { task, facts, target } = readTask(item);
				run.gateway.expect([task]);
				const key = taskKey(task);
				const query = queries.get(key) ?? { itemsLeft: 0 };
				queries.set(key, query);
				query.itemsLeft += 1;
				return async () => {
					const state = (query.state ??= run.gateway.look(task));
					query.itemsLeft -= 1;
					if (query.itemsLeft === 0) query.state = undefined;
					return await stateItems(run, await state, facts, target);
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
 * The item of a task. If On Error is set to continue, each image that can't be downloaded becomes a
 * failed item beside it.
 */
async function stateItems(
	run: Run,
	state: TaskState,
	facts: RequestFacts,
	target: ImageTarget,
): Promise<INodeExecutionData[]> {
	const error = taskError(state);
	// A failed task is a result; a completed one without an image is an error.
	if (error !== undefined && state.group === 'success') throw error;
	const { taskId, taskType, statusUrl, status, group, images, usage, response } = state;
	const shown = group === 'success' ? images : [];
	const bill = laterBill(state, facts);
	const estimatedCost = costOf(facts, shown.length);
	const { binary, errors } = await imageBinaries(run, shown, { ...facts, taskId }, target);
	const isNone = errors.length > 0 && errors.length === shown.length;
	const failed = errors.map((reason, index) => {
		const about = withOthers(reason, state);
		if (!run.continuesOnFail) throw about;
		// Only once for a task, so that sums are right.
		const costs = isNone && index === 0 ? { estimatedCost, ...bill } : NO_COST;
		const told = { ...facts, charged: 'yes', ...costs, requestId: state.requestId } as const;
		return failedItem(run.node, about, target.itemIndex, told);
	});
	if (isNone) return failed;
	const item: INodeExecutionData = {
		json: {
			...target.inputFields,
			...(withoutUndefined({
				taskId,
				taskType,
				statusUrl,
				status,
				statusGroup: group,
				...facts,
				...bill,
				estimatedCost,
				finished: group === 'success' || group === 'unsuccessful',
				succeeded: group === 'success',
				images: shown.map((image) => withoutUndefined({ ...shownImage(image) })),
				usage: run.isTool ? undefined : usage,
				error: error?.message,
				// For an agent, which pays for each word, the response would only repeat the rest.
				response: run.isTool ? undefined : withoutInlineImages(response),
			}) as IDataObject),
		},
		...(binary === undefined ? {} : { binary }),
		pairedItem: { item: target.itemIndex },
	};
	return [item, ...failed];
}

/** For all but one of several items of a request: sums would be too high. */
const NO_COST = { estimatedCost: undefined, cost: undefined, costCurrency: undefined };

/** The error of an image that can't be downloaded, with its task and the task's other images. */
function withOthers(error: unknown, { taskId, taskType, status, images }: TaskState): unknown {
	if (!(error instanceof GatewayError)) return error;
	const { description, url } = error.problem;
	const others = images.filter((image) => !isInline(image) && image.url !== url);
	const listed = others.map((image) => image.url).join(' ');
	const more = others.length === 0 ? '' : ` The task's other images: ${listed}`;
	return withDetails(error, { taskId, taskType, status, description: description + more });
}
