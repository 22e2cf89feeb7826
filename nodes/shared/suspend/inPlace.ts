import type { IDataObject, INodeExecutionData } from 'n8n-workflow';

/**
 * Puts each failed item at the position of its own input item. After a suspension n8n pairs items by
 * position, and merges the columns of the input item into what leaves by the error output: at
 * another position these would be the columns, and the task ID, of another item. The two kinds keep
 * their order, and they leave by different outputs, so nobody sees what stood between them.
 *
 * @param items the output items of each input item
 * @returns all of them; several failed ones of one input item as one, which names the others
 */
export function inPlace(items: INodeExecutionData[][]): INodeExecutionData[] {
	const good = items.map((list) => list.filter((item) => !isFailed(item)));
	const failed = items.map((list) => combined(list.filter(isFailed)));
	const rest = good.flat();
	const output: INodeExecutionData[] = [];
	// Input items without any output leave gaps, which move the rest up: better there than nowhere.
	for (let position = 0; position < failed.length || rest.length > 0; position += 1) {
		const next = failed[position] ?? rest.shift();
		if (next !== undefined) output.push(next);
	}
	return output;
}

const isFailed = ({ json }: INodeExecutionData): boolean => json.error !== undefined;

function combined([first, ...others]: INodeExecutionData[]): INodeExecutionData | undefined {
	if (first === undefined || others.length === 0) return first;
	const { details, ...json } = first.json;
	const more = others.map((other) => ({
		error: other.json.error,
		...(other.json.details as IDataObject),
	}));
	return { ...first, json: { ...json, details: { ...(details as IDataObject), more } } };
}

/** n8n shows it as the name of a node, in the error of an expression that follows the link. */
const NO_LINK = '(n8n keeps no links of several images for each task while an execution is stored)';

/**
 * After a suspension n8n links each item to the input item at its own position. That is right for one
 * image for each task; the other items are linked to nothing, so that an expression such as
 * `$('Prompts').item` fails there rather than give the values of another input item.
 *
 * @param items in their final order, each paired with its input item
 * @param errorOutput whether failed items leave by an output of their own: n8n follows their links
 *   itself, and would fail
 */
export function linked(items: INodeExecutionData[], errorOutput: boolean): INodeExecutionData[] {
	return items.map((item, position) => {
		const { pairedItem } = item;
		if (errorOutput && isFailed(item)) return item;
		if (typeof pairedItem !== 'object' || Array.isArray(pairedItem)) return item;
		if (pairedItem.item === position) return item;
		return { ...item, pairedItem: { ...pairedItem, sourceOverwrite: { previousNode: NO_LINK } } };
	});
}
