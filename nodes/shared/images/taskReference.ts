import type { IExecuteFunctions } from 'n8n-workflow';
import { finiteNumber, nonEmptyString } from '../../../gateway/util/json';
import { pathPart } from '../../../gateway/protocol/requestPlan';
import type { ImageFacts } from './imageItems';
import { readChoice, readText } from '../parameters/optionValues';
import { readParameter } from '../parameters/reader';
import type { TaskReference } from './pollTasks';

/**
 * The task that an item names by its parameters; "automatic" is settled by the item's own
 * `taskType` where it has one.
 *
 * @throws NodeOperationError if there is no ID; GatewayError if no task can have it
 */
export function readTaskReference(context: IExecuteFunctions, itemIndex: number): TaskReference {
	const json = context.getInputData()[itemIndex]?.json;
	const taskId = readText(
		context,
		'taskId',
		'Task ID',
		itemIndex,
		json?.dryRun === true
			? "The input item comes from a dry run: no task was submitted. Turn off 'Dry Run' in the node that submits."
			: 'Connect a node that submits tasks, or enter a task ID.',
	).trim();
	pathPart(taskId, 'task ID', { taskId });
	const given = readParameter(context, 'taskType', itemIndex, 'auto');
	const chosen = readChoice(context, 'Task Type', given, TASK_TYPES, itemIndex);
	if (chosen !== 'auto') return { taskId, taskType: chosen };
	const known = json?.taskType;
	return { taskId, taskType: known === 'generation' || known === 'edit' ? known : 'auto' };
}

const TASK_TYPES = ['auto', 'generation', 'edit'] as const;

/** What the input item knows of the task's origin and price, to be handed on. */
export function knownFacts(context: IExecuteFunctions, itemIndex: number): ImageFacts {
	const json = context.getInputData()[itemIndex]?.json ?? {};
	const cost = finiteNumber(json.estimatedCost);
	return {
		model: nonEmptyString(json.model),
		prompt: nonEmptyString(json.prompt),
		estimatedCost: cost !== undefined && cost >= 0 ? cost : undefined,
	};
}

/**
 * How long ago a task was submitted, in milliseconds, by the time that its item carries.
 *
 * @returns undefined if it carries none
 */
export function ageOf(submittedAt: unknown): number | undefined {
	const at = typeof submittedAt === 'string' ? Date.parse(submittedAt) : NaN;
	return Number.isNaN(at) ? undefined : Date.now() - at;
}
