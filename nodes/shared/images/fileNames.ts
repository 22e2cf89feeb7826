import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { fillFileName, UniqueNames } from '../../../gateway/util/fileName';
import { finiteNumber } from '../../../gateway/util/json';
import { readOptions } from '../parameters/optionValues';
import { localTime } from '../run/localTime';

/** How the files of an item are called. It can be stored with what is waited for. */
export interface FileNaming {
	template: string;
	/** When the item was read, in the time zone of the workflow. */
	date: string;
	time: string;
}

/** Nobody types a longer one; what is behind it would be stored with every task. */
const LONGEST_TEMPLATE = 1000;

/**
 * The option "File Name" of an item.
 *
 * @returns undefined where it is not set: then files are called as their addresses suggest
 * @throws NodeOperationError if it is no text
 */
export function readFileNaming(
	context: IExecuteFunctions,
	itemIndex: number,
): FileNaming | undefined {
	const { fileName } = readOptions(context, itemIndex);
	if (fileName === undefined || fileName === null) return undefined;
	if (typeof fileName !== 'string' && finiteNumber(fileName) === undefined) {
		throw new NodeOperationError(context.getNode(), "'File Name' must be text", {
			description: 'Enter a name with placeholders, e.g. {item:3}-{prompt}. Nothing was sent.',
			itemIndex,
		});
	}
	const template = String(fileName).slice(0, LONGEST_TEMPLATE);
	if (template.trim() === '') return undefined;
	const { date, time } = localTime(context, new Date(Date.now()));
	return { template, date, time };
}

/** What the file of an image is called, without extension; undefined where nothing is left. */
export function chosenStem(
	naming: FileNaming | undefined,
	image: { item: number; index: number; model?: string; taskId?: string; prompt?: string },
): string | undefined {
	if (naming === undefined) return undefined;
	const { template, date, time } = naming;
	return fillFileName(template, { ...image, date, time }) || undefined;
}

/** Whether the user has set "File Name", be it for some of the items only. */
export function hasFileNames(context: IExecuteFunctions): boolean {
	const raw = context.getNodeParameter('options', 0, {}, { rawExpressions: true });
	if (typeof raw === 'string') return true;
	const { fileName } = (raw ?? {}) as { fileName?: unknown };
	return fileName !== undefined && fileName !== '';
}

/**
 * The same items, of which no two have files of one name. By position and not in the order in which
 * the images arrived, so that the same run gives the same names.
 *
 * @param items the output items of each input item
 */
export function withUniqueFileNames(items: INodeExecutionData[][]): INodeExecutionData[][] {
	const names = new UniqueNames();
	return items.map((list) =>
		list.map((item) => {
			if (item.binary === undefined) return item;
			const files = Object.entries(item.binary).map(([field, data]) => {
				const { fileName } = data;
				if (fileName === undefined) return [field, data] as const;
				return [field, { ...data, fileName: names.claim(fileName) }] as const;
			});
			return { ...item, binary: Object.fromEntries(files) };
		}),
	);
}
