/** What n8n stores of an execution before its first node. */
import type { RunResult, WorkflowJson } from '../../../harness/engine/host.mjs';

/** @param token by which n8n names an execution and its retries alike */
export function storedStart(workflow: WorkflowJson, token: string): RunResult {
	const node = workflow.nodes.find(({ name }) => name === 'Give');
	const data = {
		version: 1,
		startData: {},
		resultData: { runData: {} },
		executionData: {
			contextData: {},
			nodeExecutionStack: [{ node, data: { main: [[{ json: {} }]] }, source: null }],
			metadata: {},
			waitingExecution: {},
			waitingExecutionSource: {},
		},
		resumeToken: token,
	};
	return { data, workflow, mode: 'manual' } as unknown as RunResult;
}
