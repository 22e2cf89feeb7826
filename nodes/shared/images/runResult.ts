import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { readOptions, readSwitch } from '../parameters/optionValues';
import { isTool } from '../run/runContext';
import { summaryInWords, summaryOf, type Summary, type Tally } from '../run/tally';
import { hasFileNames, withUniqueFileNames } from './fileNames';

/** What a run hands out, by input item; what is still open leaves by an output of its own. */
export interface RunOutput {
	items: INodeExecutionData[][];
	open: INodeExecutionData[];
}

/** What the user wants done with all items of a run. It can be stored. */
export interface RunEnd {
	uniqueNames: boolean;
	addSummary: boolean;
}

/** @throws NodeOperationError if an option says neither yes nor no */
export function readRunEnd(context: IExecuteFunctions): RunEnd {
	const { addSummary } = readOptions(context, 0);
	return {
		uniqueNames: hasFileNames(context),
		addSummary: readSwitch(context, 'Add Summary', addSummary, false, 0),
	};
}

/** n8n 2.41 could no longer read executions of 300 files with 300 kB each. */
const MANY_MEGABYTES = 25;

/** The size of the files that n8n keeps in the items themselves, in bytes. */
function bytesInside(items: INodeExecutionData[][]): number {
	const files = items.flatMap((list) => list.flatMap(({ binary = {} }) => Object.values(binary)));
	const inside = files.filter(({ id }) => id === undefined);
	// Base64 takes four characters for three bytes.
	return inside.reduce((sum, { data }) => sum + (data.length * 3) / 4, 0);
}

/**
 * The last step of a run: no two files have one name, and the user is told what the run did. That is
 * a hint at the node's output, or a line in n8n's log where n8n shows no hint: for an agent's tool, in
 * a sub-execution, and in versions without hints.
 *
 * @param subExecutionOf the name of the user's node, where this is not it
 */
export function finishRun(
	context: IExecuteFunctions,
	{ items: given, open }: RunOutput,
	tally: Tally,
	{ uniqueNames, addSummary }: RunEnd,
	subExecutionOf?: string,
): RunOutput {
	const items = uniqueNames ? withUniqueFileNames(given) : given;
	const summary = summaryOf(tally, items);
	const message = summaryInWords(summary);
	// A dry run has done nothing.
	const isWorthIt = Object.values(summary).some((count) => count > 0);
	const isShown = subExecutionOf === undefined && !isTool(context);
	const tell = (text: string, type: 'info' | 'warning'): void => {
		if (isShown && context.addExecutionHints !== undefined) {
			context.addExecutionHints({ message: text, type, location: 'outputPane' });
		} else {
			const level = type === 'info' ? 'info' : 'warn';
			const name = subExecutionOf ?? context.getNode().name;
			context.logger?.[level](`Media Gateway, "${name}": ${text}`);
		}
	};
	if (isWorthIt) tell(message, 'info');
	const megabytes = Math.round(bytesInside(items) / 1e6);
	if (megabytes >= MANY_MEGABYTES) {
		tell(
			`n8n stores these images inside the execution, where their ${megabytes} MB slow it down. Set N8N_DEFAULT_BINARY_DATA_MODE to 'filesystem', or turn off 'Download'.`,
			'warning',
		);
	}
	return addSummary ? withSummary({ items, open }, summary) : { items, open };
}

/**
 * The same items with the summary as `summary` on the last one that has not failed. A failed item
 * may hold nothing but its error and `details`: where there is no other, it is in there.
 */
function withSummary({ items, open }: RunOutput, summary: Summary): RunOutput {
	const value = { ...summary } as unknown as IDataObject;
	const isGood = ({ json }: INodeExecutionData): boolean => json.error === undefined;
	const row = items.findLastIndex((list) => list.some(isGood));
	if (row >= 0) {
		const at = items[row]?.findLastIndex(isGood) ?? 0;
		return { items: withChanged(items, row, at, (json) => ({ ...json, summary: value })), open };
	}
	if (open.length > 0) {
		const [changed = []] = withChanged([open], 0, open.length - 1, (json) => ({
			...json,
			summary: value,
		}));
		return { items, open: changed };
	}
	const failed = items.findLastIndex((list) => list.length > 0);
	const last = (items[failed]?.length ?? 0) - 1;
	const intoDetails = (json: IDataObject): IDataObject => ({
		...json,
		details: { ...(json.details as IDataObject | undefined), summary: value },
	});
	return { items: withChanged(items, failed, last, intoDetails), open };
}

function withChanged(
	items: INodeExecutionData[][],
	row: number,
	at: number,
	change: (json: IDataObject) => IDataObject,
): INodeExecutionData[][] {
	return items.map((list, place) =>
		place !== row
			? list
			: list.map((item, index) => (index === at ? { ...item, json: change(item.json) } : item)),
	);
}
