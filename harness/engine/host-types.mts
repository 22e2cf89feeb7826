/** What goes into a host and what comes out of it. */
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { BuiltInNode } from './built-in-nodes.mjs';

export type Items = N8n.INodeExecutionData[];
export type Mode = 'manual' | 'trigger' | 'integrated';

/** A workflow as n8n exports it; settings and ids may be missing in one written by hand. */
export interface WorkflowJson {
	id?: string;
	name?: string;
	nodes: Array<Partial<N8n.INode> & Pick<N8n.INode, 'name' | 'type'>>;
	connections: N8n.IConnections;
	settings?: N8n.IWorkflowSettings;
	/** Each execution works on a copy; what one in production leaves there replaces it. */
	staticData?: N8n.IDataObject;
	[key: string]: unknown;
}

export interface HostOptions {
	/** The fields of each credential, by credential type. A node needs not name its credential. */
	credentials?: Record<string, Record<string, unknown>>;
	/** Further credential types, by their names. */
	extraCredentialTypes?: Record<string, N8n.ICredentialType>;
	/** Where binary data goes: `memory` as base64 in the items, `filesystem` by id (the default). */
	binaryMode?: 'memory' | 'filesystem';
	/** Further node types, by their full names. */
	extraNodeTypes?: Record<string, BuiltInNode>;
	/** The package to load; by default this one. */
	packageFolder?: string;
	/** Called before a suspended execution goes on, with the time for which it asked. */
	onWake?: (until: Date) => void;
	/** Called when a sub-execution has ended, or suspended for the first time. */
	onSubExecution?: (result: RunResult) => void;
	/** Called before a suspended sub-execution goes on: what it returns is how the process dies then. */
	onResume?: (suspended: RunResult) => Crash | undefined;
	/**
	 * Called when a suspended sub-execution goes on: gives what it comes to, or how the process dies while
	 * it is running. Then nobody waits for `running` any more.
	 */
	whileResumed?: (suspended: RunResult, running: Promise<RunResult>) => Promise<RunResult | Crash>;
	/** Called before a node gets what is stored of an execution: what it throws is n8n's error. */
	onRead?: () => void;
	/** Told how sub-executions get on. */
	onSubProgress?: RunOptions['onProgress'];
}

/**
 * What the execution that waits for a crashed one is given: what that one returned when it suspended
 * (`output`, the usual case), or an error: that of a crash, of an execution that n8n resumes before
 * it has started itself, or of a Stop. `queued`: as `output`, but it had its turn in the queue when n8n
 * ended it, with what it waited for.
 */
export type Crash = 'error' | 'output' | 'queued' | 'startup' | 'stop';

export interface ProgressEvent {
	type: 'nodeStarted' | 'nodeFinished';
	node: string;
	/** How many items came out, over all outputs; only when a node has finished. */
	items?: number;
	/** The items of the first output; only when a node has finished. */
	output?: Items;
	error?: Error;
}

export interface RunOptions {
	/** What the first node gives out. */
	input?: Items;
	/** `manual` as from the editor (the default), `trigger` as in production. */
	mode?: Mode;
	/** Stops the execution, as the Stop button does. */
	signal?: AbortSignal;
	onProgress?: (event: ProgressEvent) => void;
	/** What nodes write to the console of the browser; n8n lets them in mode `manual` only. */
	onConsole?: (message: unknown) => void;
	/** The node to begin with; by default the one that nothing leads to. */
	startNode?: string;
}

export interface RunResult {
	executionId: string;
	workflow: WorkflowJson;
	mode: Mode;
	status: N8n.ExecutionStatus;
	/** What ended the execution, if it failed. */
	error?: N8n.ExecutionError;
	/** Until when a suspended execution wants to sleep. */
	waitTill?: Date;
	data: N8n.IRunExecutionData;
	runData: N8n.IRunData;
	/** The items that a node gave out; an empty list if it did not run or that output is empty. */
	output(nodeName: string, outputIndex?: number, run?: number): Items;
	/** The JSON of these items. */
	json(nodeName: string, outputIndex?: number, run?: number): N8n.IDataObject[];
	hints(nodeName: string): N8n.NodeExecutionHint[];
}

export interface RunningExecution {
	executionId: string;
	/** Settles when the engine is done. A failed execution is a result, no rejection. */
	promise: Promise<RunResult>;
	/** What the Stop button does. */
	stop(): void;
}

export interface ToolOptions extends Pick<RunOptions, 'signal' | 'onConsole'> {
	/** What the language model gives for each `$fromAI` in the parameters. */
	args?: N8n.IDataObject;
	/**
	 * `subNode` (the default): the agent calls the tool itself, where `isToolExecution()` is true.
	 * `engine`: the engine runs the tool as a node of its own, as for the agents of n8n 2; there
	 * `isToolExecution()` is false and the node's `rewireOutputLogTo` is `ai_tool`.
	 */
	through?: 'subNode' | 'engine';
	/** Further settings of the node, such as `onError`. */
	node?: Partial<N8n.INode>;
}

export interface Host {
	start(workflow: WorkflowJson, options?: RunOptions): RunningExecution;
	run(workflow: WorkflowJson, options?: RunOptions): Promise<RunResult>;
	/**
	 * Goes on with a suspended execution at once, whatever time it asked for, from nothing but its
	 * stored JSON: as another process would. Suspended sub-executions go on first.
	 */
	resume(suspended: RunResult, options?: RunOptions): Promise<RunResult>;
	/**
	 * What "Retry" in the list of executions does: a new execution that goes on at the failed node,
	 * from nothing but what was stored.
	 *
	 * @param edited the workflow as it is now; by default as it was
	 */
	retry(failed: RunResult, edited?: WorkflowJson, options?: RunOptions): Promise<RunResult>;
	/** What deleting a suspended execution in n8n's list does. */
	delete(executionId: string): void;
	/** Calls a node as an AI agent calls its tool, and gives what the agent would read. */
	runAsTool(type: string, parameters: N8n.INodeParameters, options?: ToolOptions): Promise<string>;
	/** The bytes of an item's binary field, wherever they are kept. */
	binary(item: N8n.INodeExecutionData, field?: string): Promise<Buffer>;
	nodeType(type: string): N8n.INodeType;
	credentialType(type: string): N8n.ICredentialType;
}
