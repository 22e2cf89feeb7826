/**
 * Runs workflows on n8n's own engine, in this process and without a server: the nodes as they were
 * built, loaded by n8n's loader, called by n8n's contexts, their requests sent by n8n's HTTP helper.
 * What a server adds around the engine (credentials store, sub-executions, waking up suspended
 * executions) is done here in the smallest way that gives nodes the same results.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type * as Core from 'n8n-core' with { 'resolution-mode': 'require' };
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { additionalDataFor, hooksFor } from './additional-data.mjs';
import { builtInNodeTypes } from './built-in-nodes.mjs';
import { HostCredentials } from './credentials.mjs';
import type {
	Crash,
	Host,
	HostOptions,
	Items,
	RunningExecution,
	RunOptions,
	RunResult,
	WorkflowJson,
} from './host-types.mjs';
import { Container, core } from './n8n.mjs';
import { HostNodeTypes } from './node-types.mjs';
import { lastOutput, throughStorage, toResult } from './results.mjs';
import { findStartNode, toWorkflow } from './workflows.mjs';

export type * from './host-types.mjs';

/** The folder of the package: from there its manifest says which built files hold the nodes. */
const ownFolder = join(import.meta.dirname ?? __dirname, '..', '..');

async function useBinaryMode(mode: 'memory' | 'filesystem'): Promise<void> {
	Container.get(core.BinaryDataConfig).mode = mode === 'memory' ? 'default' : 'filesystem';
	await Container.get(core.BinaryDataService).init();
}

/** A package is loaded once for all hosts, as by n8n. */
const loaders = new Map<string, Promise<Core.PackageDirectoryLoader>>();

async function loaderOf(folder: string): Promise<Core.PackageDirectoryLoader> {
	const loader = new core.PackageDirectoryLoader(folder);
	const loaded = loaders.get(folder) ?? loader.loadAll().then(() => loader);
	loaders.set(folder, loaded);
	return await loaded;
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
	const loader = await loaderOf(packageFolder);
	await useBinaryMode(options.binaryMode ?? 'filesystem');

	const credentialTypes = new Set(Object.keys(options.credentials ?? {}));
	const nodeTypes = new HostNodeTypes(loader, { ...builtInNodeTypes, ...options.extraNodeTypes });
	const { credentials = {}, extraCredentialTypes } = options;
	const credentialsHelper = new HostCredentials(loader, credentials, extraCredentialTypes);
	/** Sub-executions that are suspended, by their ids. */
	const parkedChildren = new Map<string, RunResult>();
	/** What is stored of suspended executions and of ended children, by their ids: nodes may look at that. */
	const parkedData = new Map<string, N8n.IRunExecutionData>();

	async function runChild(
		info: N8n.IExecuteWorkflowInfo,
		inputData?: Items,
	): Promise<N8n.ExecuteWorkflowData> {
		if (!info.code) throw new Error('The host runs sub-workflows that are given as code only.');
		const child = await host.run(
			{ ...info.code },
			{
				input: inputData,
				mode: 'trigger',
				onProgress: options.onSubProgress,
			},
		);
		options.onSubExecution?.(child);
		if (child.status === 'waiting') parkedChildren.set(child.executionId, child);
		// As n8n does it: what was stored of the error is made one again.
		else if (child.error) throw Object.assign(new Error(child.error.message), child.error);
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
			let crash: Crash | undefined;
			while (child.status === 'waiting' && crash === undefined) {
				crash = options.onResume?.(child);
				if (crash === 'queued') {
					const stored = throughStorage(child.data);
					await finishChildren(stored);
					parkedData.set(id, stored);
					break;
				}
				const running = host.resume(child);
				const next = await (options.whileResumed?.(child, running) ?? running);
				crash ??= typeof next === 'string' ? next : undefined;
				// What a crashed one has done is done, but nothing of it is stored.
				if (crash === undefined) child = next as RunResult;
				parkedData.set(id, child.data);
			}
			if (crash === undefined) options.onSubExecution?.(child);
			parkedChildren.delete(id);
			const isSilent = crash === undefined || crash === 'output' || crash === 'queued';
			const error = isSilent ? child.error : errorOfCrash[crash as keyof typeof errorOfCrash];
			if (error) {
				entry!.metadata = { ...entry!.metadata, resumeError: error } as N8n.ITaskMetadata;
			} else entry!.data = { main: lastOutput(child) };
		}
	}

	function execute(
		json: WorkflowJson,
		{ mode = 'manual', signal, onProgress, onConsole, startNode, input }: RunOptions,
		stored?: N8n.IRunExecutionData,
		executionId: string = randomUUID(),
	): RunningExecution {
		const workflow = toWorkflow(json, nodeTypes, credentialTypes);
		const hooks = hooksFor(mode, executionId, json, workflow, onProgress);
		const additionalData = additionalDataFor({
			credentialsHelper,
			hooks,
			executionId,
			workflowId: workflow.id,
			restartExecutionId: stored ? executionId : undefined,
			sendDataToUI: (_type: string, data) =>
				[data]
					.flat()
					.forEach(({ messages }) =>
						(messages as unknown[]).forEach((message) => onConsole?.(message)),
					),
			executeWorkflow: async (
				info: N8n.IExecuteWorkflowInfo,
				_additionalData: unknown,
				{ inputData }: N8n.ExecuteWorkflowOptions,
			) => await runChild(info, inputData),
			getRunExecutionData: async (id: string) => {
				options.onRead?.();
				return parkedData.get(id);
			},
		});

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
					data: {
						data: { main: [throughStorage(input)] },
						startTime: 0,
						executionTime: 0,
						executionIndex: 0,
						source: [],
					},
				},
			});
		}
		const stop = () => running.cancel();
		if (signal?.aborted) stop();
		signal?.addEventListener('abort', stop, { once: true });
		const promise = Promise.resolve(running).then((run) => {
			signal?.removeEventListener('abort', stop);
			// As n8n does it: whole, also where an execution is suspended; the last one to end writes.
			if (mode !== 'manual' && workflow.staticData.__dataChanged === true) {
				json.staticData = throughStorage(workflow.staticData);
			}
			if (run.waitTill) parkedData.set(executionId, run.data);
			else parkedData.delete(executionId);
			return toResult(executionId, json, mode, run);
		});
		return { executionId, promise, stop };
	}

	const host: Host = {
		start: (workflow, runOptions = {}) => execute(workflow, runOptions),

		run: async (workflow, runOptions = {}) => await execute(workflow, runOptions).promise,

		async resume(suspended, runOptions = {}) {
			if (suspended.status !== 'waiting') throw new Error('This execution is not suspended.');
			if (suspended.waitTill) options.onWake?.(suspended.waitTill);
			const stored = throughStorage(suspended.data);
			await finishChildren(stored);
			const { executionId, workflow, mode } = suspended;
			return await execute(workflow, { mode, ...runOptions }, stored, executionId).promise;
		},

		async retry(failed, edited = failed.workflow, runOptions = {}) {
			const stored = throughStorage(failed.data);
			const { lastNodeExecuted, runData } = stored.resultData;
			delete stored.resultData.error;
			const runs = runData[lastNodeExecuted ?? ''];
			if (runs?.at(-1)?.error !== undefined) runs.pop();
			const now = toWorkflow(edited, nodeTypes, credentialTypes);
			for (const entry of stored.executionData?.nodeExecutionStack ?? []) {
				entry.node = now.getNode(entry.node.name) ?? entry.node;
			}
			return await execute(edited, { mode: failed.mode, ...runOptions }, stored).promise;
		},

		async runAsTool(type, parameters, toolOptions = {}) {
			const { args = {}, through = 'subNode', node, signal, onConsole } = toolOptions;
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
				{ startNode: 'Start', signal, onConsole },
			);
			if (result.error) throw result.error;
			return String(result.json('Agent')[0]?.answer);
		},

		delete: (executionId) => void parkedData.delete(executionId),

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

/** In n8n's own words. */
const errorOfCrash = {
	error: {
		name: 'WorkflowCrashedError',
		message: 'Workflow did not finish, possible out-of-memory issue',
	},
	startup: { name: 'Error', message: 'OTel settings not yet initialized' },
	stop: { name: 'ManualExecutionCancelledError', message: 'The execution was cancelled manually' },
} as Record<Exclude<Crash, 'output' | 'queued'>, N8n.ExecutionError>;
