import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { finiteNumber, nonEmptyString, type JsonObject } from '../../../gateway/util/json';
import { withoutUndefined, type TaskType } from '../../../gateway/protocol/requestPlan';
import { statusGroup } from '../../../gateway/protocol/status';
import { readImages, readTaskId } from '../../../gateway/protocol/task';
import type { Paid } from '../run/paid';

/**
 * What was bought: images, or a task that makes them. Where a task was asked for, its ID is enough:
 * without it what was paid for would be out of reach.
 */
export function readPaidResponse(
	body: JsonObject,
	taskType: TaskType,
	asynchronous: boolean,
): Paid | undefined {
	const images = readImages(body);
	if (images.length > 0) return { images, created: finiteNumber(body.created) };
	const taskId = readTaskId(body);
	const status = nonEmptyString(body.status)?.trim();
	if (taskId === undefined || (status === undefined && !asynchronous)) return undefined;
	const submittedAt = new Date().toISOString();
	return { task: { taskId, taskType, status: status ?? 'queued', submittedAt } };
}

/** What `submit` hands out: Image Wait and Image Task take it with no expression to write. */
export function taskItem(
	task: NonNullable<Paid['task']>,
	facts: { model: string; prompt: string; estimatedCost?: number },
	itemIndex: number,
): INodeExecutionData {
	const { taskId, taskType, status, submittedAt } = task;
	const item = {
		taskId,
		taskType,
		status,
		statusGroup: statusGroup(status),
		submittedAt,
		...facts,
	};
	return { json: withoutUndefined(item) as IDataObject, pairedItem: { item: itemIndex } };
}
