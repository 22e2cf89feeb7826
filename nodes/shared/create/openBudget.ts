import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { readBudget, readChoice } from '../parameters/optionValues';
import type { Budget } from './budget';
import { PeriodBudget } from './periodBudget';
import { RunBudget } from './runBudget';

const PERIODS = ['run', 'day', 'month'] as const;

const UNLIMITED: Budget = {
	isSet: false,
	reserve: () => undefined,
	decided: () => undefined,
	settle: () => undefined,
};

/**
 * The options "Budget" and "Budget Period".
 *
 * @throws NodeOperationError if an option cannot be read
 */
export function openBudget(context: IExecuteFunctions, options: IDataObject): Budget {
	const amount = readBudget(context, options.budget);
	const period = readChoice(context, 'Budget Period', options.budgetPeriod, PERIODS, 0);
	if (amount <= 0) return UNLIMITED;
	return period === 'run'
		? new RunBudget(context, amount)
		: new PeriodBudget(context, amount, period);
}
