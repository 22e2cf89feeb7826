import { MB } from '../../../util/megabyte';
import { optionOf } from '../fields/optionFields';
import type { RunLimits } from '../../../gateway';
import { attempt } from './attempt';
import { numberIn, type ItemParameters, type ValueReader } from './itemParameters';

/** A rate above 0 that lets a run end within reason; undefined for 0, which means no limit. */
const atLeastSlow = (perSecond: number): number | undefined =>
	perSecond === 0 ? undefined : Math.max(0.01, perSecond);

/**
 * The maximum size of a response, in bytes: room for a few Base64 images of the maximum download
 * size, and less than the longest text of JavaScript.
 */
const largestResponse = (maxDownloadMb: number): number =>
	Math.min(500, Math.max(64, 4 * maxDownloadMb)) * MB;

/**
 * The size limit of the first item's downloads. One that can't be read fails that item alone, when
 * it is prepared.
 */
const downloadLimit = (options: ValueReader): number =>
	attempt(() => options.number('maxDownloadMb')) ?? Number(optionOf('maxDownloadMb').default);

/** The limits of the whole run. @param item the first item */
export function readLimits({ options }: ItemParameters): RunLimits {
	return {
		concurrency: Math.floor(options.number('concurrency')),
		requestsPerSecond: atLeastSlow(options.number('requestsPerSecond')),
		timeoutMs: options.milliseconds('timeout'),
		maxResponseBytes: largestResponse(downloadLimit(options)),
	};
}

/**
 * The option "Budget": the maximum cost of an execution, in the gateway's own unit.
 *
 * @returns Infinity without the option
 * @throws NodeOperationError if it isn't a number above 0: sending without the limit could be
 *   expensive
 */
export function readBudget(options: ValueReader): number {
	if (!options.has('budget')) return Infinity;
	const given = options.value('budget');
	const budget = numberIn(given);
	if (budget > 0 && budget < Infinity) return budget;
	const advice = "To send without a limit, remove 'Budget' from the options.";
	throw options.invalid('Budget', 'a number above 0', given, advice);
}

/** The option "On Timeout": whether open tasks are returned at the second output. */
export function hasSecondOutput({ options }: ItemParameters): boolean {
	return options.choice('onTimeout', 'On Timeout', ['error', 'output']) === 'output';
}

/** The option "Add Summary". */
export const readAddSummary = ({ options }: ItemParameters): boolean =>
	options.switch('addSummary', 'Add Summary', false);
