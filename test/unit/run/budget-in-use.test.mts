import type {
	IDataObject,
	IExecuteFunctions,
} from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Budget } from '../../../nodes/shared/create/budget.js';
import { openBudget } from '../../../nodes/shared/create/openBudget.js';

/** Opens the budget of a node for one execution, which has static data of its own. */
function open(workflow: string): Budget {
	const staticData: IDataObject = {};
	const context = {
		getExecutionId: () => 'one',
		getMode: () => 'trigger',
		getNode: () => ({ name: 'Node' }),
		getTimezone: () => 'UTC',
		getWorkflow: () => ({ id: workflow, name: workflow }),
		getWorkflowStaticData: () => staticData,
	};
	return openBudget(context as unknown as IExecuteFunctions, { budget: 1, budgetPeriod: 'day' });
}

const half = new Map([[0, 0.6]]);

test('what a first run has set aside counts while budgets of hundreds of others are opened', () => {
	const running = open('mine');
	running.reserve(half);
	for (let other = 0; other < 250; other += 1) {
		const budget = open(`other ${other}`);
		budget.reserve(half);
		budget.settle(() => true);
	}
	// It began before the first one has ended, so it has no copy that holds the other's.
	const beside = open('mine');
	expect(() => beside.reserve(half)).toThrow('remaining budget for today: 0.4 of 1');
	beside.settle(() => false);
	running.settle(() => true);
});
