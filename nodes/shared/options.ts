import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { isJsonObject, parseJson, type JsonObject } from '../../gateway/json';
import { readParameter } from './parameters';
import type { RunLimits } from './run';

interface Range {
	/** As the user sees it. */
	name: string;
	fallback: number;
	lowest: number;
	highest: number;
}

/** The numbers among the options: what is left out, and what is sensible. Seconds and MB. */
const RANGES = {
	concurrency: { name: 'Concurrency', fallback: 10, lowest: 1, highest: 100 },
	requestsPerSecond: { name: 'Requests per Second', fallback: 0, lowest: 0, highest: 10_000 },
	timeout: { name: 'Timeout', fallback: 300, lowest: 1, highest: 3600 },
	pollInterval: { name: 'Poll Interval', fallback: 3, lowest: 1, highest: 3600 },
	maxWait: { name: 'Max Wait', fallback: 600, lowest: 1, highest: 604_800 },
	parkAfter: { name: 'Park After', fallback: 60, lowest: 0, highest: 3600 },
	budget: { name: 'Budget', fallback: 0, lowest: 0, highest: Number.MAX_SAFE_INTEGER },
	maxDownloadMb: { name: 'Max Download Size (MB)', fallback: 100, lowest: 0.001, highest: 2048 },
} satisfies Record<string, Range>;

export type NumberOption = keyof typeof RANGES;

/**
 * A number as the user gave it, brought into its range.
 *
 * @throws NodeOperationError if it is no number at all
 */
export function inRange(
	context: IExecuteFunctions,
	option: NumberOption,
	value: unknown,
	itemIndex: number,
): number {
	const { name, fallback, lowest, highest } = RANGES[option];
	if (value === undefined || value === null || value === '') return fallback;
	const number = Number(value);
	if (Number.isNaN(number)) {
		throw new NodeOperationError(context.getNode(), `"${name}" is not a number`, {
			description: `It can be from ${lowest} to ${highest}.`,
			itemIndex,
		});
	}
	return Math.min(highest, Math.max(lowest, number));
}

/** The options of an item, with every number in its range. */
export function readOptions(context: IExecuteFunctions, itemIndex: number): IDataObject {
	return readParameter(context, 'options', itemIndex, {}) as IDataObject;
}

/** 0 sets no limit; a pace at which a run would never end is none that anybody means. */
const slowestPace = (perSecond: number): number | undefined =>
	perSecond === 0 ? undefined : Math.max(0.01, perSecond);

/** The limits of the whole run: they are read from the first item. */
export function readLimits(context: IExecuteFunctions): RunLimits {
	const options = readOptions(context, 0);
	const read = (option: NumberOption): number => inRange(context, option, options[option], 0);
	return {
		concurrency: Math.floor(read('concurrency')),
		requestsPerSecond: slowestPace(read('requestsPerSecond')),
		timeoutMs: read('timeout') * 1000,
	};
}

/**
 * The most that a run may cost, in the gateway's currency; 0 sets no limit. A negative sum is
 * refused: brought into its range it would be no limit at all.
 *
 * @throws NodeOperationError if it is negative or no number
 */
export function readBudget(context: IExecuteFunctions, value: unknown): number {
	if (Number(value ?? 0) < 0) {
		throw new NodeOperationError(context.getNode(), '"Budget" must not be negative');
	}
	return inRange(context, 'budget', value, 0);
}

/**
 * A count that is paid for: it is refused rather than corrected.
 *
 * @throws NodeOperationError if it is no whole number from 1 to `highest`
 */
export function readCount(
	context: IExecuteFunctions,
	name: string,
	value: unknown,
	itemIndex: number,
	highest = 1000,
): number | undefined {
	if (value === undefined || value === null || value === '') return undefined;
	const count = Number(value);
	if (Number.isInteger(count) && count >= 1 && count <= highest) return count;
	const range = `a whole number from 1 to ${highest}`;
	throw new NodeOperationError(context.getNode(), `"${name}" must be ${range}`, {
		description: `It is ${String(value).slice(0, 40)}. Nothing was sent.`,
		itemIndex,
	});
}

/**
 * A parameter that must hold some text.
 *
 * @throws NodeOperationError that names it
 */
export function readText(
	context: IExecuteFunctions,
	parameter: string,
	name: string,
	itemIndex: number,
	advice: string,
): string {
	const value = readParameter(context, parameter, itemIndex, '', { extractValue: true });
	const text = typeof value === 'number' ? String(value) : value;
	if (typeof text === 'string' && text.trim() !== '') return text;
	throw new NodeOperationError(context.getNode(), `"${name}" is empty`, {
		description: advice,
		itemIndex,
	});
}

/**
 * A JSON object that the user typed or an expression gave.
 *
 * @throws NodeOperationError if it is something else
 */
export function readJsonObject(
	context: IExecuteFunctions,
	name: string,
	value: unknown,
	itemIndex: number,
): JsonObject {
	if (value === undefined || value === null || value === '') return {};
	const parsed = typeof value === 'string' ? parseJson(value) : value;
	if (isJsonObject(parsed)) return parsed;
	throw new NodeOperationError(context.getNode(), `"${name}" is not a JSON object`, {
		description: 'It looks like this: { "seed": 42 }',
		itemIndex,
	});
}
