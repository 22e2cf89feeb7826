/** What an action has left behind: items, errors, and the words in them. */
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { RunResult } from '../../../harness/engine/host.mjs';
import type { Played, Step } from '../execution/step.mjs';
import { textOf } from '../execution/text-of.mjs';
import { AGENT, isTool, nodesOf } from '../execution/workflow.mjs';
import type { ToolCall } from '../execution/nodes.mjs';

export type Item = N8n.INodeExecutionData;

/** One breach of an invariant. */
export interface Breach {
	/** 1 to 7, as the issue counts them. */
	invariant: number;
	text: string;
}

export interface NodeRun {
	node: string;
	run: number;
	/** Items by output. */
	outputs: Item[][];
	error?: unknown;
	/** The items that entered. */
	input: Item[];
	/** From when to when, in milliseconds since 1970. */
	from: number;
	to: number;
}

/** Whether an action goes on where another one has failed. */
export const isRetry = ({ action }: Step): boolean =>
	action.kind === 'retry' || action.kind === 'retryEdited';

/** The actions of one execution, from its run up to this action of it. */
export function historyOf({ steps }: Played, { number }: Step): Step[] {
	const first = steps.findLastIndex((step) => step.number <= number && !isRetry(step));
	return steps.slice(first, number + 1);
}

/** The runs of the package's nodes in an action, those of earlier actions left out. */
export function runsOf(step: Step, earlier?: Step): NodeRun[] {
	const { result, flow } = step;
	if (result === undefined || isTool(flow)) return [];
	return nodesOf(flow).flatMap((node) => {
		const tasks = result.runData[node] ?? [];
		const before =
			(isRetry(step) ? earlier : undefined)?.result?.runData[node]?.filter(({ error }) => !error)
				.length ?? 0;
		return tasks.flatMap((task, run): NodeRun[] => {
			if (run < before) return [];
			const input = inputOf(result, task);
			const outputs = (task.data?.main ?? []).map((items) => items ?? []);
			const from = task.startTime;
			const to = from + task.executionTime;
			return [{ node, run, outputs, error: task.error, input, from, to }];
		});
	});
}

function inputOf({ runData }: RunResult, { source: [from] }: N8n.ITaskData): Item[] {
	const { previousNode = '', previousNodeRun = 0, previousNodeOutput = 0 } = from ?? {};
	return runData[previousNode]?.[previousNodeRun]?.data?.main?.[previousNodeOutput] ?? [];
}

/** The calls that an agent has made of its tool. */
export function callsOf({ result }: Step): ToolCall[] {
	return (result?.json(AGENT)[0]?.calls ?? []) as ToolCall[];
}

const texts = new WeakMap<Step, string>();

/** All words that an action has put before a person or the next node. */
export function shownBy(step: Step): string {
	const known = texts.get(step);
	if (known !== undefined) return known;
	const { result } = step;
	const parts: unknown[] = [result?.error];
	for (const [name, tasks] of Object.entries(result?.runData ?? {})) {
		if (name === 'Give' || name === 'Again') continue;
		for (const { error, hints, data } of tasks) {
			parts.push(error, hints, data?.main ?? data?.ai_tool);
		}
	}
	if (isTool(step.flow)) parts.push(callsOf(step));
	const text = textOf(parts);
	texts.set(step, text);
	return text;
}

/** What a failed item that has come back says of itself. */
export interface Brought {
	charged?: string;
	outcome?: unknown;
	status?: unknown;
	taskId?: unknown;
	url?: unknown;
	index?: unknown;
	prompt?: unknown;
}

export const broughtBy = ({ json }: Item): Brought | undefined =>
	json.error === undefined ? undefined : (json.details as Brought | undefined);

/** Whether an item stands for one that failed; Image Task reports failed tasks as successes of its own. */
export const isFailed = ({ json }: Item): boolean =>
	json.error !== undefined && json.finished === undefined;
