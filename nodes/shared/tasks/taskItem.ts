import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { statusGroup, type Task } from '../../../gateway';
import { withoutUndefined } from '../../../util/json';
import type { RequestFacts } from '../errors/itemReport';
import type { OutputSettings } from '../images/imageItems';

/** A task of an input item. */
export interface TaskOfItem {
	task: Task;
	facts: RequestFacts;
	outputSettings: OutputSettings;
}

/** The output item of an unfinished task, from which Image Wait and Image Task can continue. */
export function taskItem({
	task: { taskId, taskType, statusUrl, status, submittedAt, mentioned = [] },
	facts,
	outputSettings: { itemIndex, inputFields },
}: TaskOfItem): INodeExecutionData {
	const group = status === undefined ? undefined : statusGroup(status);
	const alsoNamed = mentioned.length === 0 ? undefined : [...mentioned];
	const own = { taskId, taskType, statusUrl, status, statusGroup: group, submittedAt, alsoNamed };
	const json = withoutUndefined({ ...own, ...facts, meant: undefined }) as IDataObject;
	return { json: { ...inputFields, ...json }, pairedItem: { item: itemIndex } };
}
