import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import type { Problem } from '../../../gateway/util/gatewayError';
import { startSubWorkflow, subNode, subWorkflow, workflowName } from './n8nEngine';
import { problemOf, type UnreturnedPayment } from './nodeErrors';

/** The node whose output is the list of what a stopped run leaves. */
const LIST = 'Image Tasks of the Stopped Run';

/**
 * Reports the tasks and payments of a stopped run: in n8n's log, and as the output of a
 * sub-execution, because n8n stores nothing of a node that was stopped. Image Wait takes that
 * output. The sub-execution sends nothing.
 */
export async function reportStopped(context: IExecuteFunctions, error: unknown): Promise<void> {
	// The error of a stopped run has what was paid for (itemRunner.ts).
	const stopped: Problem & { paid?: UnreturnedPayment[] } = problemOf(error);
	const { description, paid = [] } = stopped;
	if (paid.length === 0) return;
	const where = `Media Gateway, "${context.getNode().name}", execution ${context.getExecutionId()}`;
	context.logger?.warn(`${where}: The execution was stopped. ${description}`);
	const settings = { executionOrder: 'v1', saveDataSuccessExecution: 'all' } as const;
	const name = `${workflowName(context)} (stopped)`;
	const workflow = subWorkflow(name, [subNode(LIST, 'n8n-nodes-base.noOp')], {}, settings);
	const items = paid.map((payment) => ({ json: payment as IDataObject }));
	// The log has the list too, and an unsaved workflow has no sub-executions.
	await startSubWorkflow(context, workflow, items, false).catch(() => undefined);
}
