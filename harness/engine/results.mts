/** What an execution leaves behind, and how a test reads it. */
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Items, Mode, RunResult, WorkflowJson } from './host-types.mjs';

/** What storing and reading an execution leaves of it. */
export function throughStorage<T>(value: T): T {
	return JSON.parse(JSON.stringify(value)) as T;
}

/** What the engine gave back, with ways to look into it. */
export function toResult(
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

/** The items of the node that ran last, for each of its outputs. */
export function lastOutput({ data, runData }: RunResult): Array<Items | null> {
	const last = data.resultData.lastNodeExecuted;
	return (last && runData[last]?.at(-1)?.data?.main) || [[]];
}
