import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { deepCopy } from 'n8n-workflow';
import { pathPart } from '../../../gateway/protocol/requestPlan';
import { statusGroup } from '../../../gateway/protocol/status';
import type { TaskRef } from '../../../gateway/protocol/task';
import {
	finiteNumber,
	isJsonObject,
	nonEmptyString,
	withoutUndefined,
	type JsonObject,
} from '../../../gateway/util/json';
import type { ImageTarget } from '../images/imageItems';
import type { ItemParameters } from '../parameters/itemParameters';
import type { RequestFacts } from '../run/nodeErrors';

/** A task that was submitted earlier, as far as it is known. */
export interface SubmittedTask extends TaskRef {
	/** As the gateway spelled it last. */
	status?: string;
	/** ISO 8601. */
	submittedAt?: string;
}

/**
 * The task that an item names by its parameters; "automatic" is settled by the item's own
 * `taskType` where it has one. The item may also say when it was submitted.
 *
 * @throws NodeOperationError if there is no ID; GatewayError if no task can have it
 */
export function readTaskReference(item: ItemParameters): SubmittedTask {
	const { dryRun, taskType: known, submittedAt: at } = item.input?.json ?? {};
	const advice =
		dryRun === true
			? "The input item comes from a dry run: no task was submitted. Turn off 'Dry Run' in the node that submits."
			: 'Connect a node that submits tasks, or enter a task ID.';
	const taskId = item.text('taskId', 'Task ID', advice).trim();
	pathPart(taskId, 'task ID', { taskId });
	const submittedAt = typeof at === 'string' ? at : undefined;
	const chosen = item.choice('taskType', 'Task Type', ['auto', 'generation', 'edit']);
	if (chosen !== 'auto') return { taskId, taskType: chosen, submittedAt };
	const isKnown = known === 'generation' || known === 'edit';
	return { taskId, taskType: isKnown ? known : undefined, submittedAt };
}

/** What the input item knows of the task's origin and price, to be handed on. */
export function knownFacts({ input }: ItemParameters): RequestFacts {
	const json = input?.json ?? {};
	return {
		model: nonEmptyString(json.model),
		prompt: nonEmptyString(json.prompt),
		parameters: isJsonObject(json.parameters) ? shownParameters(json.parameters) : undefined,
		estimatedCost: amount(json.estimatedCost),
		pricePerImage: amount(json.pricePerImage),
	};
}

function amount(value: unknown): number | undefined {
	const number = finiteNumber(value);
	return number !== undefined && number >= 0 ? number : undefined;
}

/**
 * How long ago a task was submitted, in milliseconds, by the time that its item carries.
 *
 * @returns undefined if it carries none
 */
export function ageOf({ submittedAt = '' }: SubmittedTask): number | undefined {
	const at = Date.parse(submittedAt);
	return Number.isNaN(at) ? undefined : Date.now() - at;
}

/** What one task is known by: a generation and an edit may have one ID. */
export const taskKey = ({ taskId, taskType }: TaskRef): string => `${taskType ?? 'any'} ${taskId}`;

/** In characters, as JSON: longer values of a parameter would be stored with every image. */
const LONGEST_PARAMETER = 500;

/** More than any model has. */
const MOST_PARAMETERS = 100;

/** Fields of a request that an item tells of elsewhere, or that say nothing about the image. */
const NO_PARAMETERS = ['model', 'prompt', 'n', 'response_format', 'async'];

/** The parameters of a request as an item shows them; undefined without any. */
export function shownParameters(fields: JsonObject): IDataObject | undefined {
	const shown = Object.entries(fields)
		.slice(0, MOST_PARAMETERS)
		.filter(([name, value]) => {
			const text = JSON.stringify(value) ?? '';
			return !NO_PARAMETERS.includes(name) && text !== '' && text.length <= LONGEST_PARAMETER;
		});
	return shown.length === 0 ? undefined : (deepCopy(Object.fromEntries(shown)) as IDataObject);
}

/** A task that is not finished, in the form in which Image Wait and Image Task take it. */
export function taskItem(
	{ taskId, taskType, status, submittedAt }: SubmittedTask,
	facts: RequestFacts,
	{ itemIndex, inputFields }: Pick<ImageTarget, 'itemIndex' | 'inputFields'>,
): INodeExecutionData {
	const group = status === undefined ? undefined : statusGroup(status);
	const json = { taskId, taskType, status, statusGroup: group, submittedAt, ...facts };
	const own = withoutUndefined(json) as IDataObject;
	return { json: { ...inputFields, ...own }, pairedItem: { item: itemIndex } };
}
