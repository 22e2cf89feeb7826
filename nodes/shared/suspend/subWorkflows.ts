import type {
	IConnections,
	IDataObject,
	IExecuteFunctions,
	IExecuteWorkflowInfo,
	INode,
	IWorkflowSettings,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import type { WaitPlan } from './parcels';

/** What a node of this package is in a sub-execution, by its hidden parameter "Role". */
export const ROLES = ['fail', 'keep', 'progress', 'result', 'wait', 'watch'] as const;
export type Role = (typeof ROLES)[number];

/** Names of nodes in the sub-executions: what a node notes is stored under its name. */
export const WATCHER = 'Check Image Tasks';
const KEEPER = 'Keep Image Tasks';
const RESULT = 'Image Results';
/** People find this one in the list of executions. */
const SUBMITTED = 'Submitted Image Tasks';

/** The finished files and the state must not vanish before the execution that waits has them. */
const KEPT: IWorkflowSettings = {
	executionOrder: 'v1',
	saveDataSuccessExecution: 'all',
	saveDataErrorExecution: 'all',
	saveExecutionProgress: false,
};

type Settings = Partial<Pick<INode, 'credentials' | 'onError'>>;

/** Nodes of a sub-workflow, from left to right, each of them playing a role. */
function roleNode(
	context: IExecuteFunctions,
	name: string,
	role: Role,
	position: [number, number],
	parameters: IDataObject = {},
	settings: Settings = {},
): INode {
	const { type, typeVersion } = context.getNode();
	return {
		id: name,
		name,
		// Whichever node waits: the roles are Image Wait's. A prefix other than the package's is kept.
		type: `${type.slice(0, type.lastIndexOf('.') + 1)}imageWait`,
		typeVersion,
		position,
		parameters: { ...parameters, role } as INode['parameters'],
		...settings,
	};
}

const START = 'Start';
const startNode: INode = {
	id: START,
	name: START,
	type: 'n8n-nodes-base.executeWorkflowTrigger',
	typeVersion: 1.1,
	position: [0, 0],
	parameters: { inputSource: 'passthrough' },
};

const to = (node: string) => ({ node, type: NodeConnectionTypes.Main, index: 0 });

function subWorkflow(
	name: string,
	nodes: INode[],
	connections: IConnections,
	settings: IWorkflowSettings,
): IExecuteWorkflowInfo {
	const code = { name, active: false, nodes: [startNode, ...nodes], connections, settings };
	return { code: code as unknown as IExecuteWorkflowInfo['code'] };
}

/** An error carries the name of the node that throws it: users know their own. */
const failName = ({ nodeName }: WaitPlan, taken: string[]): string =>
	taken.includes(nodeName) ? `${nodeName} 1` : nodeName;

/** How often a watcher can be started again: after as many crashes, each of them within a check. */
export const MOST_RESTARTS = 20;

/**
 * Holds the tasks until they are settled, and starts a watcher as often as it takes: a chain of
 * keepers, each of which is run when n8n resumes the one before it. No output leads back, so nothing
 * can run for ever, whatever the engine does with an error. And n8n's recovery after a crash takes a
 * node that was started, and has no output stored, for one that crashed: it marks the execution as
 * failed for a keeper that was killed in its few milliseconds, and leaves one alone that is suspended.
 */
export function keeperWorkflow(context: IExecuteFunctions, plan: WaitPlan): IExecuteWorkflowInfo {
	const { credentials } = context.getNode();
	const keepers = Array.from({ length: MOST_RESTARTS + 2 }, (_, index) =>
		index === 0 ? KEEPER : `${KEEPER} ${index + 1}`,
	);
	const fail = failName(plan, [START, RESULT, ...keepers]);
	const nodes = [
		...keepers.map((name, index) =>
			roleNode(
				context,
				name,
				'keep',
				[200 + 200 * index, 0],
				{},
				// An error of the watcher comes as an item, which the next keeper judges.
				{ credentials, onError: 'continueRegularOutput' },
			),
		),
		roleNode(context, RESULT, 'result', [400, 200]),
		roleNode(context, fail, 'fail', [400, 400]),
	];
	const connections: IConnections = { [START]: { main: [[to(KEEPER)]] } };
	keepers.forEach((name, index) => {
		const next = keepers[index + 1];
		const resume = next === undefined ? [] : [to(next)];
		connections[name] = { main: [resume, [to(RESULT)], [to(fail)]] };
	});
	return subWorkflow(`${plan.workflowName} (waiting for images)`, nodes, connections, KEPT);
}

/** Asks the gateway, suspended between two checks. */
export function watcherWorkflow(context: IExecuteFunctions, plan: WaitPlan): IExecuteWorkflowInfo {
	const { credentials } = context.getNode();
	const onError = plan.goOn ? ('continueRegularOutput' as const) : undefined;
	const fail = failName(plan, [START, WATCHER, RESULT]);
	const nodes = [
		roleNode(context, WATCHER, 'watch', [200, 0], plan.parameters, { credentials, onError }),
		// The result of a workflow is what the first output of its last node gives.
		{
			id: RESULT,
			name: RESULT,
			type: 'n8n-nodes-base.noOp',
			typeVersion: 1,
			position: [400, 0] as [number, number],
			parameters: {},
		},
		roleNode(context, fail, 'fail', [400, 200]),
	];
	const connections = {
		[START]: { main: [[to(WATCHER)]] },
		[WATCHER]: { main: [[to(WATCHER)], [to(RESULT)], [to(fail)]] },
	};
	const settings = { ...KEPT, errorWorkflow: plan.errorWorkflow };
	return subWorkflow(`${plan.workflowName} (checking images)`, nodes, connections, settings);
}

/** Keeps the IDs of tasks while a batch is submitted: it is deleted when all goes well. */
export function progressWorkflow(
	context: IExecuteFunctions,
	workflowName: string,
): IExecuteWorkflowInfo {
	const nodes = [roleNode(context, SUBMITTED, 'progress', [200, 0])];
	const connections = {
		[START]: { main: [[to(SUBMITTED)]] },
		[SUBMITTED]: { main: [[], [to(SUBMITTED)]] },
	};
	return subWorkflow(`${workflowName} (submitted image tasks)`, nodes, connections, {
		executionOrder: 'v1',
		saveExecutionProgress: true,
		saveDataSuccessExecution: 'none',
		saveDataErrorExecution: 'all',
	});
}
