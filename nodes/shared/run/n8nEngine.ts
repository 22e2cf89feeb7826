import type {
	IExecuteFunctions,
	IExecuteWorkflowInfo,
	INode,
	INodeExecutionData,
	IPairedItemData,
	IWorkflowBase,
	IWorkflowSettings,
} from 'n8n-workflow';
import * as n8n from 'n8n-workflow';
import { mapValues, nonEmptyString } from '../../../util/json';
import { tryForAMinute } from './tryForAMinute';

/*
 * Everything about n8n's engine that the nodes rely on and that n8n doesn't document, as
 * seen in n8n 2.41.1. test/engine/suspend/n8n-engine.test.mts tries each function on the installed
 * engine.
 */

/** Whether an execution can wait for a sub-execution and get its result: since n8n 2. */
export const canWaitForSubExecution = (): boolean => n8n.WAIT_FOR_SUB_EXECUTION !== undefined;

/**
 * Whether an execution that is resumed can get more than the first output; known by a later
 * feature.
 */
export const canForwardAllOutputs = (): boolean => n8n.isTerminalExecutionStatus !== undefined;

/** A node of a sub-workflow, whose place in the editor follows from the order of the nodes. */
export type SubNode = Omit<INode, 'position'>;

/** Creates a node of a sub-workflow. @param more further fields of the node, such as `onError` */
export const subNode = (name: string, type: string, more: Partial<SubNode> = {}): SubNode => ({
	id: name,
	name,
	type,
	typeVersion: 1,
	parameters: {},
	...more,
});

/** The note of a node in the canvas, which cuts off longer ones. */
export const inFlow = (notes: string): Partial<SubNode> => ({ notes, notesInFlow: true });

/** The name of the user's workflow, under which n8n lists the sub-executions. */
export const workflowName = (context: IExecuteFunctions): string =>
	context.getWorkflow().name ?? 'Workflow';

const NOTE = { height: 220, width: 480 };

/** The nodes in a row: n8n fits all of them into the window, and the note must be readable there. */
const IN_ROW = 5;

const sticky = (content: string): SubNode =>
	subNode('Note', 'n8n-nodes-base.stickyNote', { parameters: { content, ...NOTE } });

/** The first node of each sub-workflow. */
export const START = 'Start';

/**
 * Creates a sub-workflow, which begins with the first of its nodes. Its result is the output of the
 * node that ran last.
 *
 * @param wires the nodes behind each output of a node, by its name
 * @param note what a person reads above the nodes who opens the execution, as Markdown
 */
export function subWorkflow(
	name: string,
	nodes: SubNode[],
	wires: Record<string, string[][]>,
	settings: IWorkflowSettings,
	note?: string,
): IExecuteWorkflowInfo {
	const start = subNode(START, 'n8n-nodes-base.executeWorkflowTrigger', {
		typeVersion: 1.1,
		parameters: { inputSource: 'passthrough' },
	});
	const positioned = [start, ...nodes].map(
		(node, index): INode => ({
			...node,
			position: [200 * (index % IN_ROW), 220 * Math.floor(index / IN_ROW)],
		}),
	);
	if (note !== undefined) positioned.push({ ...sticky(note), position: [0, -NOTE.height - 40] });
	const all = { [START]: [[nodes[0]?.name ?? '']], ...wires };
	const to = (node: string) => ({ node, type: n8n.NodeConnectionTypes.Main, index: 0 });
	const connections = mapValues(all, (outputs) => ({
		main: outputs.map((names) => names.map(to)),
	}));
	const code: Partial<IWorkflowBase> = {
		name,
		active: false,
		nodes: positioned,
		connections,
		settings,
	};
	return { code: code as IExecuteWorkflowInfo['code'] };
}

/** A sub-execution that has ended, or is suspended. */
export interface SubExecution {
	executionId: string;
	isSuspended: boolean;
	/** The items of each output; those of the moment if it is suspended. */
	outputs: INodeExecutionData[][];
}

/**
 * Starts a sub-workflow, and returns when it has ended or is suspended. If it is suspended, n8n
 * suspends this execution as well, once the node that called this has returned.
 *
 * @param resumesThis whether n8n resumes this execution when the other one has ended
 * @param outlivesThis whether it goes on alone: otherwise n8n ends it at the time limit of this execution,
 *   and this returns once it has ended
 * @throws whatever n8n throws, such as the error of its database
 */
export async function startSubWorkflow(
	context: IExecuteFunctions,
	workflow: IExecuteWorkflowInfo,
	items: INodeExecutionData[],
	{ resumesThis = false, outlivesThis = false } = {},
): Promise<SubExecution> {
	const { executionId, waitTill, data } = await context.executeWorkflow(
		workflow,
		items,
		undefined,
		{
			doNotWaitToFinish: outlivesThis,
			parentExecution: {
				executionId: context.getExecutionId(),
				workflowId: String(context.getWorkflow().id),
				shouldResume: resumesThis,
			},
		},
	);
	const outputs = data.map((list) => list ?? []);
	return { executionId, isSuspended: Boolean(waitTill), outputs };
}

/**
 * Starts a sub-workflow that waits. n8n resumes this execution when the other one has ended.
 *
 * @returns the ID of its execution
 * @throws whatever n8n throws; NodeOperationError if it isn't suspended: n8n could not store it, and
 *   hands out what it has so far as if it had ended
 */
export async function startSuspended(
	context: IExecuteFunctions,
	workflow: IExecuteWorkflowInfo,
	items: INodeExecutionData[],
): Promise<string> {
	const started = await startSubWorkflow(context, workflow, items, { resumesThis: true });
	if (started.isSuspended) return started.executionId;
	throw new n8n.NodeOperationError(context.getNode(), 'n8n could not store the wait', {
		description: "n8n's log says why.",
	});
}

/**
 * Prepares the node that waits for a suspended sub-execution: when that has ended, n8n puts its
 * result in place of the node's input, and passes it on without running the node again.
 *
 * @param allOutputs whether each output of the result goes to the node's own; else only the first
 *   does
 */
export function passOnResult(context: IExecuteFunctions, allOutputs: boolean): void {
	// Without `preserveSourceOverwrite`, n8n replaces the links that `withoutLink` has made.
	const forwarding = allOutputs ? { forwardAllOutputs: true } : {};
	context.setMetadata({ preserveSourceOverwrite: true, ...forwarding });
	// Without a result (n8n's Retry of an execution that was stopped meanwhile), n8n would pass on
	// the node's input as if it were the result.
	context.getExecuteData().data = { main: [[]] };
}

/**
 * The same item, linked to no input item. When n8n passes on a result, it links each item to the
 * input item at its own position; `$('Node').item` then fails for this one, with the reason.
 */
export function withoutLink(item: INodeExecutionData, reason: string): INodeExecutionData {
	const sourceOverwrite = { previousNode: reason };
	return { ...item, pairedItem: { ...(item.pairedItem as IPairedItemData), sourceOverwrite } };
}

/**
 * The time after which a suspended execution is due. n8n looks for due executions once a minute, so
 * this one is resumed in n8n's next round. By then it is stored, and so are those that wait for it.
 */
const SUSPEND_MS = 5000;

/** Suspends this execution until n8n's next round. On resume, n8n passes on this node's input. */
export async function suspendUntilNextRound(context: IExecuteFunctions): Promise<void> {
	await context.putExecutionToWait(new Date(Date.now() + SUSPEND_MS));
}

/**
 * What tells an agent's call of a tool from all others: the input, which n8n hands to each try of one call
 * as the same object (test/engine/money/calls-at-once). Equal calls have equal inputs, and each try a run
 * index of its own.
 */
export const callOf = (context: Pick<IExecuteFunctions, 'getInputData'>): object =>
	context.getInputData()[0]?.json ?? {};

/**
 * Values that n8n stores with the execution: those of the node that is running, or of all nodes.
 */
export const notesOf = <T extends object>(context: IExecuteFunctions, scope: 'node' | 'flow'): T =>
	context.getContext(scope) as T;

/** An execution in n8n's database. */
export interface StoredExecution {
	isSuspended: boolean;
	/**
	 * The name and text of the error that ended it; undefined if it has succeeded, or hasn't ended.
	 */
	error?: string;
	/** The input of the node that runs next. */
	nextInput: INodeExecutionData[];
	/** The notes of one of its nodes. */
	notes: (node: string) => object | undefined;
}

/** @returns undefined if n8n has no such execution: it was deleted, or isn't stored yet */
export async function readExecution(
	context: IExecuteFunctions,
	executionId: string,
): Promise<StoredExecution | undefined> {
	const data = await tryForAMinute(context, () => context.getExecutionDataById(executionId));
	if (data === undefined) return undefined;
	const { error } = data.resultData;
	const { nodeExecutionStack = [], contextData = {} } = data.executionData ?? {};
	return {
		isSuspended: data.waitTill !== undefined,
		error: error && `${error.name} ${error.message}`,
		nextInput: nodeExecutionStack[0]?.data.main?.[0] ?? [],
		notes: (node) => contextData[`node:${node}`],
	};
}

/**
 * What names an execution and its retries alike: the token that n8n 2 creates with an execution's data,
 * stores before the first node runs, and takes over in Retry, also after a crash. Undefined in n8n 1.
 */
export function tokenOfRetries(context: object): string | undefined {
	const { runExecutionData } = context as { runExecutionData?: { resumeToken?: unknown } };
	return nonEmptyString(runExecutionData?.resumeToken);
}

/** Whether an execution was stopped by a person. @param error its name and text */
export const isStop = (error: string): boolean => /cancel/i.test(error);
