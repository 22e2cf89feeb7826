import { MB } from '../../../gateway/util/megabyte';
import type { RunEnd } from '../run/summary';
import type { RunLimits } from '../transport/gatewayAddress';
import type { ItemParameters, ValueReader } from './itemParameters';

/** 0 sets no limit; a pace at which a run would never end is none that anybody means. */
const slowestPace = (perSecond: number): number | undefined =>
	perSecond === 0 ? undefined : Math.max(0.01, perSecond);

/**
 * How long a response with inline images may be, in bytes: room for a few of the largest that the
 * user wants, as Base64, and less than the longest text that JavaScript can hold.
 */
const largestResponse = (maxDownloadMb: number): number =>
	Math.min(500, Math.max(64, 4 * maxDownloadMb)) * MB;

/** The limits of the whole run. @param item the first one */
export function readLimits({ options }: ItemParameters): RunLimits {
	return {
		concurrency: Math.floor(options.number('concurrency')),
		requestsPerSecond: slowestPace(options.number('requestsPerSecond')),
		timeoutMs: options.milliseconds('timeout'),
		maxResponseBytes: largestResponse(options.number('maxDownloadMb')),
	};
}

/**
 * The option "Budget": the most that an execution may cost, in the gateway's currency.
 *
 * @returns 0 where the option is not set, or is 0: no limit
 * @throws NodeOperationError if it is set and no number, as where an expression gives nothing, or is
 *   negative: anything else would send without the limit that was meant
 */
export function readBudget(options: ValueReader): number {
	const budget = options.value('budget', 0);
	const isText = typeof budget === 'string' && budget.trim() !== '';
	const amount = isText || typeof budget === 'number' ? Number(budget) : NaN;
	if (amount >= 0) return options.number('budget');
	throw options.error(
		amount < 0 ? "'Budget' must not be negative" : "'Budget' must be a number",
		`It is ${JSON.stringify(budget)?.slice(0, 40) ?? 'empty'}. To send without a limit, remove 'Budget' from the options or set it to 0. Nothing was sent.`,
	);
}

/** The option "On Timeout" of a run: whether open tasks leave by an output of their own. */
export function hasSecondOutput({ options }: ItemParameters): boolean {
	return options.choice('onTimeout', 'On Timeout', ['error', 'output']) === 'output';
}

/** @param item the first one @throws NodeOperationError if an option says neither yes nor no */
export function readRunEnd(item: ItemParameters): RunEnd {
	return { addSummary: item.options.switch('addSummary', 'Add Summary', false) };
}
