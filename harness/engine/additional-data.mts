/** What n8n's server gives the engine for each execution, as far as nodes and the engine look at it. */
import type * as Core from 'n8n-core' with { 'resolution-mode': 'require' };
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Mode, RunOptions, WorkflowJson } from './host-types.mjs';
import { core } from './n8n.mjs';

/** Hooks that tell how an execution gets on. */
export function hooksFor(
	mode: Mode,
	executionId: string,
	json: WorkflowJson,
	workflow: N8n.Workflow,
	onProgress: RunOptions['onProgress'],
): Core.ExecutionLifecycleHooks {
	const hooks = new core.ExecutionLifecycleHooks(mode, executionId, {
		...json,
		id: workflow.id,
		name: workflow.name ?? '',
		active: false,
	} as WorkflowJson & N8n.IWorkflowBase);
	hooks.addHandler('nodeExecuteBefore', (node: string) => {
		onProgress?.({ type: 'nodeStarted', node });
	});
	hooks.addHandler('nodeExecuteAfter', (node: string, { data, error }: N8n.ITaskData) => {
		const items = data?.main?.reduce((sum, list) => sum + (list?.length ?? 0), 0) ?? 0;
		const output = data?.main?.[0] ?? [];
		onProgress?.({ type: 'nodeFinished', node, items, output, error });
	});
	return hooks;
}

// The engine appends to these addresses; nothing ever listens there.
const address = 'http://127.0.0.1:9';

/**
 * The engine's own word for it is additional data.
 * @param given what differs from execution to execution
 */
export function additionalDataFor(
	given: Partial<N8n.IWorkflowExecuteAdditionalData>,
): N8n.IWorkflowExecuteAdditionalData {
	return {
		...given,
		currentNodeExecutionIndex: 0,
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
	} as N8n.IWorkflowExecuteAdditionalData;
}
