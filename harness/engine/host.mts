/**
 * Runs workflows on n8n's own engine, in this process and without a server: the nodes as they were
 * built, loaded by n8n's loader, called by n8n's contexts, their requests sent by n8n's HTTP helper.
 * What a server adds around the engine (credentials store, sub-executions, waking up parked
 * executions) is done here in the smallest way that gives nodes the same answers.
 */
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as Core from 'n8n-core' with { 'resolution-mode': 'require' };
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { builtInNodeTypes, type BuiltInNode } from './built-in-nodes.mjs';

const require = createRequire(import.meta.url);

// n8n-core reads these while it is loaded, and would otherwise use a folder in the home folder.
const userFolder = mkdtempSync(join(tmpdir(), 'media-gateway-n8n-'));
const removeUserFolder = () => rmSync(userFolder, { recursive: true, force: true });
// Inside jest there is no exit event, but a last hook of each test file.
if (typeof afterAll === 'function') afterAll(removeUserFolder);
else process.once('exit', removeUserFolder);
process.env.N8N_USER_FOLDER = userFolder;
process.env.N8N_ENCRYPTION_KEY = 'for tests only';
process.env.N8N_ENFORCE_SETTINGS_FILE_PERMISSIONS = 'false';
process.env.N8N_LOG_LEVEL ??= 'silent';

// n8n's packages work by `require` only. The container has to be the very one the engine uses.
const workflowModule = require('n8n-workflow') as typeof N8n;
const core = require('n8n-core') as typeof Core;
const { Container } = createRequire(require.resolve('n8n-core'))('@n8n/di') as {
	Container: { get<T>(token: abstract new (...args: never[]) => T): T };
};

type Items = N8n.INodeExecutionData[];
type Mode = 'manual' | 'trigger';

/** A workflow as n8n exports it; settings and ids may be missing in one written by hand. */
export interface WorkflowJson {
	id?: string;
	name?: string;
	nodes: Array<Partial<N8n.INode> & Pick<N8n.INode, 'name' | 'type'>>;
	connections: N8n.IConnections;
	settings?: N8n.IWorkflowSettings;
	[key: string]: unknown;
}

export interface HostOptions {
	/** The fields of each credential, by credential type. A node needs not name its credential. */
	credentials?: Record<string, Record<string, unknown>>;
	/** Where binary data goes: `memory` as base64 in the items, `filesystem` by id (the default). */
	binaryMode?: 'memory' | 'filesystem';
	/** Further node types, by their full names. */
	extraNodeTypes?: Record<string, BuiltInNode>;
	/** The package to load; by default this one. */
	packageFolder?: string;
	/** Called before a parked execution goes on, with the time for which it asked. */
	onWake?: (until: Date) => void;
}

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
	/** Until when a parked execution wants to sleep. */
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

export interface ToolOptions extends Pick<RunOptions, 'signal'> {
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
	 * Goes on with a parked execution at once, whatever time it asked for, from nothing but its
	 * stored JSON: as another process would. Parked sub-executions go on first.
	 */
	resume(parked: RunResult, options?: RunOptions): Promise<RunResult>;
	/** Calls a node as an AI agent calls its tool, and gives what the agent would read. */
	runAsTool(type: string, parameters: N8n.INodeParameters, options?: ToolOptions): Promise<string>;
	/** The bytes of an item's binary field, wherever they are kept. */
	binary(item: N8n.INodeExecutionData, field?: string): Promise<Buffer>;
	nodeType(type: string): N8n.INodeType;
	credentialType(type: string): N8n.ICredentialType;
}

/** The folder of the package: from there its manifest says which built files hold the nodes. */
const ownFolder = join(import.meta.dirname ?? __dirname, '..', '..');

class HostNodeTypes implements N8n.INodeTypes {
	private readonly tools = new Map<string, N8n.INodeType>();

	constructor(
		private readonly loader: Core.PackageDirectoryLoader,
		private readonly builtIn: Record<string, BuiltInNode>,
	) {}

	getByName(type: string): N8n.INodeType {
		return this.getByNameAndVersion(type);
	}

	getByNameAndVersion(type: string, version?: number): N8n.INodeType {
		const builtIn = this.builtIn[type];
		if (builtIn) return builtIn as unknown as N8n.INodeType;
		const [packageName, name] = type.split('.');
		if (packageName === this.loader.packageName && name) {
			if (name in this.loader.nodeTypes) {
				const loaded = this.loader.getNode(name).type;
				return workflowModule.NodeHelpers.getVersionedNodeType(loaded, version);
			}
			if (name.endsWith('Tool')) return this.getTool(type, version);
		}
		throw new Error(`There is no node type "${type}" here.`);
	}

	getKnownTypes(): N8n.IDataObject {
		return {};
	}

	/** n8n's server offers each node with `usableAsTool` a second time, as a tool. */
	private getTool(type: string, version?: number): N8n.INodeType {
		let tool = this.tools.get(type);
		if (!tool) {
			const base = this.getByNameAndVersion(type.slice(0, -'Tool'.length), version);
			if (!base.description.usableAsTool) throw new Error(`"${type}" is not usable as a tool.`);
			const description = {
				...base.description,
				name: `${base.description.name}Tool`,
				displayName: `${base.description.displayName} Tool`,
				inputs: [],
				outputs: [workflowModule.NodeConnectionTypes.AiTool],
				properties: [
					{ displayName: 'Description', name: 'toolDescription', type: 'string', default: '' },
					...base.description.properties,
				],
			} as N8n.INodeTypeDescription;
			tool = Object.create(base, { description: { value: description } }) as N8n.INodeType;
			this.tools.set(type, tool);
		}
		return tool;
	}
}

/** Does with the credentials of the options what n8n does with those in its store. */
class HostCredentials extends workflowModule.ICredentialsHelper {
	constructor(
		private readonly loader: Core.PackageDirectoryLoader,
		private readonly values: Record<string, Record<string, unknown>>,
	) {
		super();
	}

	typeOf(name: string): N8n.ICredentialType {
		return this.loader.getCredential(name).type;
	}

	getParentTypes(): string[] {
		return [];
	}

	isCredentialUsableByNode(): boolean {
		return true;
	}

	async authenticate(
		credentials: N8n.ICredentialDataDecryptedObject,
		typeName: string,
		requestOptions: N8n.IHttpRequestOptions,
	): Promise<N8n.IHttpRequestOptions> {
		const { authenticate } = this.typeOf(typeName);
		if (typeof authenticate === 'function') return await authenticate(credentials, requestOptions);
		if (authenticate) throw new Error('The host knows only credentials with a function.');
		return requestOptions;
	}

	async preAuthentication(): Promise<undefined> {
		return undefined;
	}

	async runPreAuthentication(): Promise<undefined> {
		return undefined;
	}

	async getDecrypted(
		_additionalData: unknown,
		_nodeCredentials: unknown,
		type: string,
	): Promise<N8n.ICredentialDataDecryptedObject> {
		const values = this.values[type];
		if (!values) throw new Error(`The host was given no credential of the type "${type}".`);
		// As n8n does: fields that are not stored have their default.
		const filled = workflowModule.NodeHelpers.getNodeParameters(
			this.getCredentialsProperties(type),
			values as N8n.INodeParameters,
			true,
			true,
			null,
			null,
		);
		return { ...values, ...filled } as N8n.ICredentialDataDecryptedObject;
	}

	getCredentialsProperties(type: string): N8n.INodeProperties[] {
		return this.typeOf(type).properties;
	}

	async getCredentials(): Promise<never> {
		throw new Error('The host has no credentials store.');
	}

	async updateCredentials(): Promise<void> {}

	async updateCredentialsOauthTokenData(): Promise<void> {}
}

async function useBinaryMode(mode: 'memory' | 'filesystem'): Promise<void> {
	Container.get(core.BinaryDataConfig).mode = mode === 'memory' ? 'default' : 'filesystem';
	await Container.get(core.BinaryDataService).init();
}

/** What storing and reading an execution leaves of it. */
function throughStorage<T>(value: T): T {
	return JSON.parse(JSON.stringify(value)) as T;
}

function findStartNode(workflow: N8n.Workflow, name?: string): N8n.INode {
	const enabled = Object.values(workflow.nodes).filter((node) => !node.disabled);
	const node = name
		? workflow.getNode(name)
		: enabled.find(
				({ name, type }) =>
					workflow.getParentNodes(name, 'main', 1).length === 0 &&
					(enabled.length === 1 || workflow.getChildNodes(name, 'ALL', 1).length > 0) &&
					workflow.nodeTypes
						.getByNameAndVersion(type)
						.description.outputs.includes(workflowModule.NodeConnectionTypes.Main),
			);
	if (!node) throw new Error('The workflow has no node to begin with.');
	return node;
}

/**
 * Makes a host. The built nodes are loaded from `dist`, so the package has to be built. All hosts of
 * one process share n8n's binary data service: the mode of the latest one holds.
 */
export async function createHost(options: HostOptions = {}): Promise<Host> {
	const packageFolder = options.packageFolder ?? ownFolder;
	if (packageFolder === ownFolder && !existsSync(join(packageFolder, 'dist'))) {
		throw new Error('The package is not built: run "npm run build" first.');
	}
	const loader = new core.PackageDirectoryLoader(packageFolder);
	await loader.loadAll();
	await useBinaryMode(options.binaryMode ?? 'filesystem');

	const nodeTypes = new HostNodeTypes(loader, { ...builtInNodeTypes, ...options.extraNodeTypes });
	const credentialsHelper = new HostCredentials(loader, options.credentials ?? {});
	/** Sub-executions that are parked, by their ids. */
	const parkedChildren = new Map<string, RunResult>();
	/** What is stored of parked executions, by their ids: nodes may look at that. */
	const parkedData = new Map<string, N8n.IRunExecutionData>();

	function toWorkflow(json: WorkflowJson): N8n.Workflow {
		const nodes = json.nodes
			.filter(({ type }) => type !== 'n8n-nodes-base.stickyNote')
			.map((given) => {
				const node = throughStorage({
					id: randomUUID(),
					typeVersion: 1,
					position: [0, 0],
					parameters: {},
					...given,
				}) as N8n.INode;
				for (const { name } of nodeTypes.getByNameAndVersion(node.type, node.typeVersion)
					.description.credentials ?? []) {
					if (options.credentials?.[name]) {
						node.credentials = { [name]: { id: name, name }, ...node.credentials };
					}
				}
				return node;
			});
		return new workflowModule.Workflow({
			id: json.id ?? 'workflow',
			name: json.name ?? 'Workflow',
			nodes,
			connections: throughStorage(json.connections),
			active: false,
			nodeTypes,
			settings: { executionOrder: 'v1', ...json.settings },
		});
	}

	function toResult(
		executionId: string,
		workflow: WorkflowJson,
		mode: Mode,
		run: Pick<N8n.IRun, 'data' | 'status' | 'waitTill'>,
	): RunResult {
		const { runData, error } = run.data.resultData;
		const output = (nodeName: string, outputIndex = 0, runIndex = 0): Items =>
			runData[nodeName]?.[runIndex]?.data?.main?.[outputIndex] ?? [];
		return {
			executionId,
			workflow,
			mode,
			status: run.status,
			error: error as N8n.ExecutionError | undefined,
			waitTill: run.waitTill ?? undefined,
			data: run.data,
			runData,
			output,
			json: (...args) => output(...args).map((item) => item.json),
			hints: (nodeName) => (runData[nodeName] ?? []).flatMap((task) => task.hints ?? []),
		};
	}

	function lastOutput({ data, runData }: RunResult): Array<Items | null> {
		const last = data.resultData.lastNodeExecuted;
		return (last && runData[last]?.at(-1)?.data?.main) || [[]];
	}

	async function runChild(
		info: N8n.IExecuteWorkflowInfo,
		inputData?: Items,
	): Promise<N8n.ExecuteWorkflowData> {
		if (!info.code) throw new Error('The host runs sub-workflows that are given as code only.');
		const child = await host.run(info.code as unknown as WorkflowJson, {
			input: inputData,
			mode: 'trigger',
		});
		if (child.status === 'waiting') parkedChildren.set(child.executionId, child);
		else if (child.error) throw child.error;
		return {
			executionId: child.executionId,
			// A copy: the engine takes items out of what it gets, and the child is stored.
			data: throughStorage(lastOutput(child)),
			waitTill: child.waitTill,
		} as N8n.ExecuteWorkflowData;
	}

	/** n8n wakes a parent when its sub-execution is done, and hands it that one's result. */
	async function finishChildren(data: N8n.IRunExecutionData): Promise<void> {
		const entry = data.executionData?.nodeExecutionStack[0];
		for (const id of entry?.metadata?.waitingChildExecutionIds ?? []) {
			let child = parkedChildren.get(id);
			if (!child) throw new Error(`The sub-execution ${id} is not known to this host.`);
			while (child.status === 'waiting') child = await host.resume(child);
			parkedChildren.delete(id);
			if (child.error) {
				entry!.metadata = {
					...entry!.metadata,
					resumeError: child.error,
				} as N8n.ITaskMetadata;
			} else entry!.data = { main: lastOutput(child) };
		}
	}

	function execute(
		json: WorkflowJson,
		{ mode = 'manual', signal, onProgress, startNode, input }: RunOptions,
		stored?: N8n.IRunExecutionData,
		executionId: string = randomUUID(),
	): RunningExecution {
		const workflow = toWorkflow(json);
		const hooks = new core.ExecutionLifecycleHooks(mode, executionId, {
			...json,
			id: workflow.id,
			name: workflow.name ?? '',
			active: false,
		} as unknown as N8n.IWorkflowBase);
		hooks.addHandler('nodeExecuteBefore', (node: string) => {
			onProgress?.({ type: 'nodeStarted', node });
		});
		hooks.addHandler('nodeExecuteAfter', (node: string, { data, error }: N8n.ITaskData) => {
			const items = data?.main?.reduce((sum, list) => sum + (list?.length ?? 0), 0) ?? 0;
			const output = data?.main?.[0] ?? [];
			onProgress?.({ type: 'nodeFinished', node, items, output, error });
		});

		// The engine appends to these addresses; nothing ever answers there.
		const address = 'http://127.0.0.1:9';
		const additionalData = {
			credentialsHelper,
			hooks,
			executionId,
			workflowId: workflow.id,
			currentNodeExecutionIndex: 0,
			restartExecutionId: stored ? executionId : undefined,
			executeWorkflow: async (
				info: N8n.IExecuteWorkflowInfo,
				_additionalData: unknown,
				{ inputData }: N8n.ExecuteWorkflowOptions,
			) => await runChild(info, inputData),
			getRunExecutionData: async (id: string) => parkedData.get(id),
			getRuntimeCredential: async () => undefined,
			startRunnerTask: async () => {
				throw new Error('The host has no task runner.');
			},
			setExecutionStatus: () => {},
			logAiEvent: () => {},
			variables: {},
			restApiUrl: `${address}/rest`,
			instanceBaseUrl: `${address}/`,
			formBaseUrl: `${address}/form`,
			formWaitingBaseUrl: `${address}/form-waiting`,
			formTestBaseUrl: `${address}/form-test`,
			webhookBaseUrl: `${address}/webhook`,
			webhookWaitingBaseUrl: `${address}/webhook-waiting`,
			webhookTestBaseUrl: `${address}/webhook-test`,
			mcpBaseUrl: `${address}/mcp`,
			mcpTestBaseUrl: `${address}/mcp-test`,
		} as unknown as N8n.IWorkflowExecuteAdditionalData;

		let running: ReturnType<Core.WorkflowExecute['processRunExecutionData']>;
		if (stored) {
			running = new core.WorkflowExecute(additionalData, mode, stored).processRunExecutionData(
				workflow,
			);
		} else {
			const start = findStartNode(workflow, startNode);
			running = new core.WorkflowExecute(additionalData, mode).run({
				workflow,
				startNode: start,
				triggerToStartFrom: input && {
					name: start.name,
					data: { data: { main: [throughStorage(input)] } } as unknown as N8n.ITaskData,
				},
			});
		}
		const stop = () => running.cancel();
		if (signal?.aborted) stop();
		signal?.addEventListener('abort', stop, { once: true });
		const promise = Promise.resolve(running).then((run) => {
			signal?.removeEventListener('abort', stop);
			if (run.waitTill) parkedData.set(executionId, run.data);
			else parkedData.delete(executionId);
			return toResult(executionId, json, mode, run);
		});
		return { executionId, promise, stop };
	}

	const host: Host = {
		start: (workflow, runOptions = {}) => execute(workflow, runOptions),

		run: async (workflow, runOptions = {}) => await execute(workflow, runOptions).promise,

		async resume(parked, runOptions = {}) {
			if (parked.status !== 'waiting') throw new Error('This execution is not parked.');
			if (parked.waitTill) options.onWake?.(parked.waitTill);
			const stored = throughStorage(parked.data);
			await finishChildren(stored);
			const { executionId, workflow, mode } = parked;
			return await execute(workflow, { mode, ...runOptions }, stored, executionId).promise;
		},

		async runAsTool(type, parameters, { args = {}, through = 'subNode', node, signal } = {}) {
			const name = node?.name ?? 'Tool';
			const agent = { args: JSON.stringify(args), through };
			const result = await host.run(
				{
					nodes: [
						{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
						{ name: 'Agent', type: 'test.agent', parameters: agent },
						{ ...node, name, type: `${type}Tool`, parameters },
					],
					connections: {
						Start: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] },
						[name]: { ai_tool: [[{ node: 'Agent', type: 'ai_tool', index: 0 }]] },
					},
				},
				{ startNode: 'Start', signal },
			);
			if (result.error) throw result.error;
			return String(result.json('Agent')[0]?.answer);
		},

		async binary(item, field = 'data') {
			const binary = item.binary?.[field];
			if (!binary) throw new Error(`The item has no binary field "${field}".`);
			return await Container.get(core.BinaryDataService).getAsBuffer(binary);
		},

		nodeType: (type) => nodeTypes.getByNameAndVersion(type),

		credentialType: (type) => credentialsHelper.typeOf(type),
	};
	return host;
}
