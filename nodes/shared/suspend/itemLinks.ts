import type { IDataObject, INodeExecutionData, IPairedItemData } from 'n8n-workflow';
import { isFailed } from '../errors/nodeErrors';
import { withoutLink } from '../run/n8nEngine';

/*
 * The links of the items that n8n passes on after a suspension (docs/decisions/item-links.md).
 */

/**
 * Puts each failed item at the position of its own input item. After a suspension, n8n links items
 * by position, and merges the fields of the linked input item into items of the error output: at
 * another position these would be the fields, and the task ID, of another item. Failed and
 * successful items keep their order, and go to different outputs.
 *
 * @param items the output items of each input item
 * @returns all items; several failed ones of an input item become one, with the others in its
 *   details
 */
export function inPlace(items: INodeExecutionData[][]): INodeExecutionData[] {
	const failed = items.map((list) => combined(list.filter(isFailed)));
	const rest = items.flat().filter((item) => !isFailed(item));
	const output: INodeExecutionData[] = [];
	// For input items without output there are gaps, which the following successful items fill.
	for (let position = 0; position < failed.length || rest.length > 0; position += 1) {
		const next = failed[position] ?? rest.shift();
		if (next !== undefined) output.push(next);
	}
	return output;
}

function combined([first, ...others]: INodeExecutionData[]): INodeExecutionData | undefined {
	if (first === undefined || others.length === 0) return first;
	const { details, ...rest } = first.json;
	const more = others.map(({ json }) => ({ error: json.error, ...(json.details as IDataObject) }));
	return { ...first, json: { ...rest, details: { ...(details as IDataObject), more } } };
}

/**
 * The reason in the error of an expression that follows the link, where n8n shows it as a node's
 * name.
 */
const NO_LINK = '(n8n keeps no link of this item while an execution is stored)';

/**
 * The same items without wrong links. After a suspension, n8n links each item to the input item at
 * its own position, which is correct for one image per task. The other items get no link, so that
 * an expression such as `$('Prompts').item` fails instead of returning the values of another input
 * item.
 *
 * @param items the items in their final order, each paired with its input item
 * @param errorOutput whether failed items go to an error output: n8n itself follows their links,
 *   and would fail
 */
export function linked(items: INodeExecutionData[], errorOutput: boolean): INodeExecutionData[] {
	return items.map((item, position) => {
		const isLinked = (item.pairedItem as IPairedItemData).item === position;
		return isLinked || (errorOutput && isFailed(item)) ? item : withoutLink(item, NO_LINK);
	});
}

/** The same items of a second output, which n8n would link to an input that isn't there. */
export const unlinked = (items: INodeExecutionData[]): INodeExecutionData[] =>
	items.map((item) => withoutLink(item, NO_LINK));
