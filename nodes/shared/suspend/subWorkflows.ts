import type {
	IExecuteFunctions,
	IExecuteWorkflowInfo,
	INode,
	IWorkflowSettings,
} from 'n8n-workflow';
import { inFlow, START, subNode, subWorkflow, workflowName, type SubNode } from '../run/n8nEngine';
import { HOW_TO_COPY, LIST_NOTE } from '../run/stoppedRun';
import type { WaitPlan } from './storedWaits';

/** The step that Image Wait performs in a sub-execution, in its hidden parameter "Step". */
type Step = 'supervise' | 'keep' | 'check' | 'progress' | 'result' | 'fail';

/**
 * Names of nodes in the sub-executions. Users see them, and the engine stores their notes by name.
 */
export const CHECKS = 'Check Image Tasks';
export const KEEPER = 'Keep Image Results';
const SUPERVISOR = 'Wait for Image Tasks';
const RESULT = 'Image Results';
const SUBMITTED = 'Submitted Image Tasks';

/**
 * What a person reads who opens one of these executions. After a crash, n8n marks those that ran as
 * failed, before any node runs again; they must stay, because the checks continue from what they have.
 */
const HELPER = `## Helper of Survive Restarts

Your run is another row of the list, and waits for this one. **Red after a crash is normal:** your run continues, and its result is in its own row.

*Retry* doesn't work here. Delete nothing while your run waits.`;

/** The same of the list of submitted tasks. */
const HELPER_OF_SUBMITS = `## Helper of Survive Restarts

n8n was killed, or your run was stopped, while it submitted tasks. **${SUBMITTED}** has those that the gateway accepted, except for the last two seconds.

${HOW_TO_COPY} *Retry* doesn't work here.`;

/**
 * Settings of the sub-workflows: their finished files and state must stay until they are returned. The
 * time limit of all workflows counts the time in which they are stored.
 */
const SETTINGS: IWorkflowSettings = {
	executionOrder: 'v1',
	executionTimeout: -1,
	saveDataSuccessExecution: 'all',
	saveDataErrorExecution: 'all',
	saveExecutionProgress: false,
};

/**
 * A node of a sub-workflow that performs a step, with the credential of the user's node.
 *
 * @param more fields of the node, such as how it treats errors
 */
function stepNode(
	context: IExecuteFunctions,
	step: Step,
	name: string,
	{ parameters, ...more }: Partial<SubNode> = {},
): SubNode {
	const { type, typeVersion, credentials } = context.getNode();
	// Image Wait has the steps, whichever node waits. The prefix of a type is the package's name in
	// n8n.
	const imageWait = `${type.slice(0, type.lastIndexOf('.') + 1)}imageWait`;
	const own = { typeVersion, credentials, parameters: { ...parameters, step } };
	return subNode(name, imageWait, { ...more, ...own });
}

const ROUND_NOTES = ['Starts the checks', 'Takes their result'];
const IF_CRASHED = 'Only after a crash';

/** How often the checks are restarted: a batch that crashes n8n must not do so forever. */
export const MOST_RESTARTS = 10;

/**
 * The supervisor, which starts the keeper with its checks, and restarts them after a crash. It is a
 * chain of nodes, each of which runs when n8n resumes the one before it. No output leads back, so the
 * chain ends whatever the engine does with an error. After a crash, n8n's recovery leaves a suspended
 * execution as it is, and ends one that was running, or had its turn in the queue: for the supervisor
 * these are a few milliseconds.
 */
export function supervisorWorkflow(
	context: IExecuteFunctions,
	plan: WaitPlan,
): IExecuteWorkflowInfo {
	const rounds = Array.from({ length: MOST_RESTARTS + 2 }, (_, index) =>
		index === 0 ? SUPERVISOR : `${SUPERVISOR} ${index + 1}`,
	);
	// The node that throws the error has the name of the user's own, which n8n shows with it.
	const isTaken = [START, RESULT, ...rounds].includes(plan.nodeName);
	const fail = isTaken ? `${plan.nodeName} 1` : plan.nodeName;
	// An error of the checks becomes an item, for the next node of the chain.
	const onError = 'continueRegularOutput';
	const nodes = [
		...rounds.map((name, index) =>
			stepNode(context, 'supervise', name, {
				onError,
				...inFlow(ROUND_NOTES[index] ?? IF_CRASHED),
			}),
		),
		stepNode(context, 'result', RESULT),
		stepNode(context, 'fail', fail),
	];
	const wires = rounds.map((name, index) => [
		name,
		[rounds.slice(index + 1, index + 2), [RESULT], [fail]],
	]);
	const title = `${plan.workflowName} (waiting for images)`;
	return subWorkflow(title, nodes, Object.fromEntries(wires), SETTINGS, HELPER);
}

/**
 * The keeper of the results, between the supervisor and the checks. A worker that shuts down finishes
 * its last check and takes up nothing else: what waits for the checks is in the queue until the next
 * start, where n8n ends it. That is the keeper, which n8n has given the results, and not the
 * supervisor, which finds them there.
 */
export function keepWorkflow(context: IExecuteFunctions, plan: WaitPlan): IExecuteWorkflowInfo {
	const title = `${plan.workflowName} (keeping images)`;
	const keep = stepNode(context, 'keep', KEEPER, inFlow('Has the images meanwhile'));
	return subWorkflow(title, [keep], {}, SETTINGS, HELPER);
}

/** The checks, which poll the tasks once a minute and are suspended in between. */
export function checkWorkflow(context: IExecuteFunctions, plan: WaitPlan): IExecuteWorkflowInfo {
	const check = stepNode(context, 'check', CHECKS, {
		parameters: { options: plan.options } as INode['parameters'],
		onError: plan.continuesOnFail ? 'continueRegularOutput' : undefined,
		...inFlow('Checks the tasks each minute'),
	});
	// Its output is the result of the workflow.
	const result = subNode(RESULT, 'n8n-nodes-base.noOp');
	const title = `${plan.workflowName} (checking images)`;
	const wires = { [CHECKS]: [[CHECKS], [RESULT]] };
	return subWorkflow(title, [check, result], wires, SETTINGS, HELPER);
}

/** The storage of task IDs while a batch is submitted. n8n deletes the execution if it succeeds. */
export function submittedWorkflow(context: IExecuteFunctions): IExecuteWorkflowInfo {
	const nodes = [stepNode(context, 'progress', SUBMITTED, LIST_NOTE)];
	const title = `${workflowName(context)} (submitted image tasks)`;
	const wires = { [SUBMITTED]: [[], [SUBMITTED]] };
	const settings: IWorkflowSettings = {
		...SETTINGS,
		saveExecutionProgress: true,
		saveDataSuccessExecution: 'none',
	};
	return subWorkflow(title, nodes, wires, settings, HELPER_OF_SUBMITS);
}
