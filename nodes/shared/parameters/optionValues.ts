import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { isJsonObject, parseJson, type JsonObject } from '../../../gateway/util/json';
import { readParameter } from './reader';
import type { RunLimits } from '../transport/gatewayAddress';

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
	parkAfter: { name: 'Park After', fallback: 0, lowest: 0, highest: 3600 },
	budget: { name: 'Budget', fallback: 0, lowest: 0, highest: Number.MAX_SAFE_INTEGER },
	maxDownloadMb: { name: 'Max Download Size', fallback: 100, lowest: 0.001, highest: 2048 },
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
		throw new NodeOperationError(context.getNode(), `'${name}' must be a number`, {
			description: `Enter a number from ${lowest} to ${highest}.`,
			itemIndex,
		});
	}
	return Math.min(highest, Math.max(lowest, number));
}

/** The options of an item, as the user set them. @throws NodeOperationError if there is no reading them */
export function readOptions(context: IExecuteFunctions, itemIndex: number): IDataObject {
	const options = readParameter(context, 'options', itemIndex, {}) ?? {};
	if (isJsonObject(options)) return options as IDataObject;
	throw new NodeOperationError(context.getNode(), "'Options' must be a JSON object", { itemIndex });
}

const ON = ['true', '1', 'yes', 'on'];
const OFF = ['false', '0', 'no', 'off'];
const wordOf = (value: unknown): string => String(value).slice(0, 20).trim().toLowerCase();

/** Whether a field of a request that switches something on is off, or empty. */
export function isOff(value: unknown): boolean {
	if (typeof value === 'object') return value === null;
	return value === undefined || ['', ...OFF].includes(wordOf(value));
}

/**
 * A switch. An expression may give it as a text or a number, which mean what they say: a text "false"
 * must not switch on what costs money, nor "true" leave it off.
 *
 * @param fallback where nothing is set
 * @throws NodeOperationError if it says neither
 */
export function readSwitch(
	context: IExecuteFunctions,
	name: string,
	value: unknown,
	fallback: boolean,
	itemIndex: number,
): boolean {
	if (typeof value === 'boolean') return value;
	if (value === undefined || value === null || value === '') return fallback;
	const word = wordOf(value);
	if (ON.includes(word)) return true;
	if (OFF.includes(word)) return false;
	throw new NodeOperationError(context.getNode(), `'${name}' must be true or false`, {
		description: `It is ${String(value).slice(0, 40)}. Nothing was sent.`,
		itemIndex,
	});
}

/**
 * One of a fixed number of values, in whatever case.
 *
 * @param choices the first one is taken where nothing is set
 * @throws NodeOperationError that lists them, if it is none of them
 */
export function readChoice<T extends string>(
	context: IExecuteFunctions,
	name: string,
	value: unknown,
	choices: readonly [T, ...T[]],
	itemIndex: number,
): T {
	if (value === undefined || value === null || value === '') return choices[0];
	const word = String(value).slice(0, 40).trim().toLowerCase();
	const choice = choices.find((known) => known.toLowerCase() === word);
	if (choice !== undefined) return choice;
	throw new NodeOperationError(
		context.getNode(),
		`'${name}' must be one of ${choices.join(', ')}`,
		{
			description: `It is ${String(value).slice(0, 40)}. Nothing was sent.`,
			itemIndex,
		},
	);
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
		throw new NodeOperationError(context.getNode(), "'Budget' must not be negative");
	}
	// What else JavaScript makes a number of would be no limit at all: false, an empty list, a date.
	if (!['number', 'string', 'undefined'].includes(typeof value) && value !== null) {
		throw new NodeOperationError(context.getNode(), "'Budget' must be a number");
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
	// JavaScript makes a number of a list and of true as well.
	const count = typeof value === 'string' || typeof value === 'number' ? Number(value) : NaN;
	if (Number.isInteger(count) && count >= 1 && count <= highest) return count;
	const range = `a whole number from 1 to ${highest}`;
	throw new NodeOperationError(context.getNode(), `'${name}' must be ${range}`, {
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
	throw new NodeOperationError(context.getNode(), `'${name}' is empty`, {
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
	throw new NodeOperationError(context.getNode(), `'${name}' must be a JSON object`, {
		description: 'Example: { "seed": 42 }',
		itemIndex,
	});
}

/** The option "On Timeout" of a run: whether open tasks leave by an output of their own. */
export function hasSecondOutput(context: IExecuteFunctions): boolean {
	const { onTimeout } = readOptions(context, 0);
	return readChoice(context, 'On Timeout', onTimeout, ['error', 'output'], 0) === 'output';
}

/**
 * The option "Extra Fields". A streamed response could not be read, and would be paid for.
 *
 * @throws NodeOperationError if it is no JSON object, or asks for a stream
 */
export function readExtraFields(context: IExecuteFunctions, itemIndex: number): JsonObject {
	const { extraFields } = readOptions(context, itemIndex);
	const fields = readJsonObject(context, 'Extra Fields', extraFields, itemIndex);
	refuseStream(context, 'Extra Fields', fields, itemIndex);
	return fields;
}

/** @throws NodeOperationError if the fields of a request ask for a streamed response */
export function refuseStream(
	context: IExecuteFunctions,
	name: string,
	fields: JsonObject,
	itemIndex: number,
): void {
	if (isOff(fields.stream)) return;
	throw new NodeOperationError(context.getNode(), `'${name}' must not set "stream"`, {
		description:
			'This node can\'t read a streamed response, but you would be charged for it. Remove "stream". Nothing was sent.',
		itemIndex,
	});
}
