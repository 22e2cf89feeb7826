import type {
	IExecuteFunctions,
	IExecuteWorkflowInfo,
	INode,
	IWorkflowSettings,
} from 'n8n-workflow';
import { START, subNode, subWorkflow, type SubNode } from './n8nEngine';
import type { WaitPlan } from './storedWaits';

/** What a node of this package is in a sub-execution, by its hidden parameter "Role". */
type Role = 'supervise' | 'check' | 'progress' | 'result' | 'fail';

/** Names of nodes in the sub-executions: people see them, and notes are stored under them. */
export const CHECKS = 'Check Image Tasks';
const SUPERVISOR = 'Keep Image Tasks';
const RESULT = 'Image Results';
const SUBMITTED = 'Submitted Image Tasks';

/** The finished files and the state must not vanish before the execution that waits has them. */
const KEPT: IWorkflowSettings = {
	executionOrder: 'v1',
	saveDataSuccessExecution: 'all',
	saveDataErrorExecution: 'all',
	saveExecutionProgress: false,
};

/**
 * A node of a sub-workflow that plays a role, with the type and credential of the user's node.
 *
 * @param more fields of the node, such as how it treats errors
 */
function roleNode(
	context: IExecuteFunctions,
	role: Role,
	name: string,
	{ parameters, ...more }: Partial<SubNode> = {},
): SubNode {
	const { type, typeVersion, credentials } = context.getNode();
	// Whichever node waits: the roles are those of Image Wait, in the package as n8n calls it.
	const imageWait = `${type.slice(0, type.lastIndexOf('.') + 1)}imageWait`;
	const own = { typeVersion, credentials, parameters: { ...parameters, role } };
	return subNode(name, imageWait, { ...more, ...own });
}

/** n8n lists a sub-execution under the name of the workflow that started it, whatever this is. */
export const workflowName = (context: IExecuteFunctions): string =>
	context.getWorkflow().name ?? 'Workflow';

/** An error carries the name of the node that throws it: users know their own. */
const failName = ({ nodeName }: WaitPlan, taken: string[]): string =>
	taken.includes(nodeName) ? `${nodeName} 1` : nodeName;

/** How often the checks can be started again: a batch that brings n8n down is not tried for ever. */
export const MOST_RESTARTS = 10;

/**
 * Holds the waits until they have ended, and starts the checks as often as it takes: a chain of nodes,
 * each of which is run when n8n resumes the one before it. No output leads back, so nothing can run
 * for ever, whatever the engine does with an error. And n8n's recovery after a crash takes a node that
 * was started, and has no output stored, for one that crashed: it marks the execution as failed for a
 * node that was killed in its few milliseconds, and leaves one alone that is suspended.
 */
export function supervisorWorkflow(
	context: IExecuteFunctions,
	plan: WaitPlan,
): IExecuteWorkflowInfo {
	const rounds = Array.from({ length: MOST_RESTARTS + 2 }, (_, index) =>
		index === 0 ? SUPERVISOR : `${SUPERVISOR} ${index + 1}`,
	);
	const fail = failName(plan, [START, RESULT, ...rounds]);
	// An error of the checks comes as an item, which the next round judges.
	const onError = 'continueRegularOutput';
	const nodes = [
		...rounds.map((name) => roleNode(context, 'supervise', name, { onError })),
		roleNode(context, 'result', RESULT),
		roleNode(context, 'fail', fail),
	];
	const wires = rounds.map((name, index) => [
		name,
		[rounds.slice(index + 1, index + 2), [RESULT], [fail]],
	]);
	const title = `${plan.workflowName} (waiting for images)`;
	return subWorkflow(title, nodes, Object.fromEntries(wires), KEPT);
}

/** Polls the tasks, suspended between two checks. */
export function checkWorkflow(context: IExecuteFunctions, plan: WaitPlan): IExecuteWorkflowInfo {
	const fail = failName(plan, [START, CHECKS, RESULT]);
	const nodes = [
		roleNode(context, 'check', CHECKS, {
			parameters: { options: plan.options } as INode['parameters'],
			onError: plan.goOn ? 'continueRegularOutput' : undefined,
		}),
		// The result of a workflow is what the first output of its last node gives.
		subNode(RESULT, 'n8n-nodes-base.noOp'),
		roleNode(context, 'fail', fail),
	];
	const wires = { [CHECKS]: [[CHECKS], [RESULT], [fail]] };
	const settings = { ...KEPT, errorWorkflow: plan.errorWorkflow };
	return subWorkflow(`${plan.workflowName} (checking images)`, nodes, wires, settings);
}

/** Stores the IDs of tasks while a batch is submitted: n8n deletes it when all goes well. */
export function progressWorkflow(context: IExecuteFunctions): IExecuteWorkflowInfo {
	const nodes = [roleNode(context, 'progress', SUBMITTED)];
	const title = `${workflowName(context)} (submitted image tasks)`;
	const wires = { [SUBMITTED]: [[], [SUBMITTED]] };
	return subWorkflow(title, nodes, wires, {
		...KEPT,
		saveExecutionProgress: true,
		saveDataSuccessExecution: 'none',
	});
}
