import type {
	ExecuteWorkflowData,
	IExecuteFunctions,
	IExecuteWorkflowInfo,
	INode,
	INodeExecutionData,
	IWorkflowSettings,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
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

type SubNode = Omit<INode, 'position'>;

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
	return {
		...more,
		id: name,
		name,
		// Whichever node waits: the roles are Image Wait's. A prefix other than the package's is kept.
		type: `${type.slice(0, type.lastIndexOf('.') + 1)}imageWait`,
		typeVersion,
		credentials,
		parameters: { ...parameters, role },
	};
}

const START = 'Start';

/** A node of n8n's own. */
const baseNode = (name: string, type: string, more: Partial<SubNode> = {}): SubNode => ({
	id: name,
	name,
	type: `n8n-nodes-base.${type}`,
	typeVersion: 1,
	parameters: {},
	...more,
});

/**
 * A workflow that begins with the first of its nodes.
 *
 * @param wires the nodes behind each output of a node, by its name
 */
function subWorkflow(
	name: string,
	nodes: SubNode[],
	wires: Record<string, string[][]>,
	settings: IWorkflowSettings,
): IExecuteWorkflowInfo {
	const start = baseNode(START, 'executeWorkflowTrigger', {
		typeVersion: 1.1,
		parameters: { inputSource: 'passthrough' },
	});
	const placed = [start, ...nodes].map((node, index) => ({ ...node, position: [200 * index, 0] }));
	const all = { [START]: [[nodes[0]?.name ?? '']], ...wires };
	const to = (node: string) => ({ node, type: NodeConnectionTypes.Main, index: 0 });
	const connections = Object.fromEntries(
		Object.entries(all).map(([from, outputs]) => [
			from,
			{ main: outputs.map((names) => names.map(to)) },
		]),
	);
	const code = { name, active: false, nodes: placed, connections, settings };
	return { code: code as unknown as IExecuteWorkflowInfo['code'] };
}

/**
 * Starts a sub-workflow.
 *
 * @param isWaitedFor whether n8n resumes this execution, once it is suspended, when that one has ended
 * @throws whatever n8n throws, such as the error of its database
 */
export async function startSubWorkflow(
	context: IExecuteFunctions,
	workflow: IExecuteWorkflowInfo,
	items: INodeExecutionData[],
	isWaitedFor: boolean,
): Promise<ExecuteWorkflowData> {
	return await context.executeWorkflow(workflow, items, undefined, {
		doNotWaitToFinish: false,
		parentExecution: {
			executionId: context.getExecutionId(),
			workflowId: String(context.getWorkflow().id),
			shouldResume: isWaitedFor,
		},
	});
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
		baseNode(RESULT, 'noOp'),
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
