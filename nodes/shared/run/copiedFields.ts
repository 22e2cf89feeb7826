import type { IDataObject } from 'n8n-workflow';
import { deepCopy } from 'n8n-workflow';
import { withoutUndefined } from '../../../util/json';

/**
 * Fields of an input item that aren't copied: those that the image nodes return, which would seem to
 * be about this node's request. A test compares them with docs/names.json.
 */
// prettier-ignore
const NOT_COPIED = new Set([
	'alsoNamed', 'checks', 'cost', 'costCurrency', 'created', 'details', 'dryRun', 'error', 'estimatedCost', 'finished', 'images', 'index', 'model',
	'outputFormat', 'parameters', 'pricePerImage', 'prompt', 'quality', 'request', 'response', 'revisedPrompt', 'size',
	'status', 'statusGroup', 'statusUrl', 'submittedAt', 'succeeded', 'summary', 'taskId', 'taskType', 'url', 'urls', 'usage',
	'verdict',
]);

/** A copy of the fields of an input item that its output items may have. */
export function copiedFields(json: IDataObject): IDataObject {
	const wanted = Object.entries(json).filter(([name]) => !NOT_COPIED.has(name));
	return withoutUndefined(deepCopy(Object.fromEntries(wanted))) as IDataObject;
}
