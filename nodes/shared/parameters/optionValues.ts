import type { RunLimits } from '../../../gateway';
import { numberIn, type ItemParameters, type ValueReader } from './itemParameters';

/** A rate above 0 that lets a run end within reason; undefined for 0, which means no limit. */
const atLeastSlow = (perSecond: number): number | undefined =>
	perSecond === 0 ? undefined : Math.max(0.01, perSecond);

/** The limits of the whole run. @param item the first item */
export function readLimits({ options }: ItemParameters): RunLimits {
	return {
		concurrency: Math.floor(options.number('concurrency')),
		requestsPerSecond: atLeastSlow(options.number('requestsPerSecond')),
		timeoutMs: options.milliseconds('timeout'),
	};
}

/**
 * The option "Budget": the maximum cost of an execution, in the unit of the gateway's prices.
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
