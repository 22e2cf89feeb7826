/** The nodes of this package on n8n's engine, with their defaults unless the work says otherwise. */
import type { INodeParameters } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { createHost, type RunResult, type WorkflowJson } from '../../harness/engine/host.mjs';
import { MODEL, type Candidate, type Outcome, type Prepare, type Work } from '../work.mjs';
import { filesNode } from './files-node.mjs';

/** Nodes one after another; the first one gives out the items. */
export function chain(...nodes: WorkflowJson['nodes']): WorkflowJson {
	const connections: WorkflowJson['connections'] = {};
	nodes.slice(1).forEach(({ name }, index) => {
		connections[nodes[index]!.name] = { main: [[{ node: name, type: 'main', index: 0 }]] };
	});
	return { nodes, connections };
}

/** How many items the last node gave out, and what ended the run. */
export function outcomeOf(result: RunResult, last: string): Outcome {
	const good = (result.runData[last] ?? []).flatMap(({ data }) => data?.main?.[0] ?? []).length;
	return { good, error: result.error?.message };
}

export const START = { name: 'Start', type: 'n8n-nodes-base.manualTrigger' };

const LONGEST_WAIT_S = 3600;

function workflowFor(work: Work): WorkflowJson {
	const { concurrency, requestsPerSecond } = work;
	const limits = { concurrency, requestsPerSecond };
	const model = { __rl: true, mode: 'name', value: MODEL };
	const node = (type: string, parameters: object) => ({
		name: type,
		type: `n8n-nodes-media-gateway.${type}`,
		parameters: JSON.parse(JSON.stringify(parameters)) as INodeParameters,
	});
	const common = { model, prompt: '={{ $json.prompt }}', download: false };
	switch (work.kind) {
		case 'tasks': {
			const times = { pollInterval: work.pauseS, maxWait: LONGEST_WAIT_S };
			if (work.nodes === 1) {
				const options = { ...limits, ...times };
				return chain(START, node('imageGeneration', { ...common, mode: 'wait', options }));
			}
			return chain(
				START,
				node('imageGeneration', { ...common, mode: 'submit', options: limits }),
				node('imageWait', { ...times, download: false, options: limits }),
			);
		}
		case 'wait': {
			const { pauseS, download = false } = work;
			const times = { pollInterval: pauseS, maxWait: LONGEST_WAIT_S };
			return chain(START, node('imageWait', { ...times, download, options: limits }));
		}
		case 'generate':
			return chain(START, node('imageGeneration', { ...common, mode: 'sync', options: limits }));
		case 'edit':
			return chain(
				{ name: 'Start', type: 'bench.files', parameters: {} },
				node('imageEdit', { ...common, mode: 'sync', prompt: 'a harbor', options: limits }),
			);
	}
}

export function inputFor(work: Work): Array<{ json: { prompt: string; taskId?: string } }> {
	if (work.kind === 'wait') {
		return work.ids.map((taskId) => ({
			json: { prompt: 'a harbor', taskId, taskType: 'generation' },
		}));
	}
	return Array.from({ length: work.count }, () => ({ json: { prompt: 'a harbor' } }));
}

export async function thePackage({ url, key }: Prepare): Promise<Candidate> {
	const host = await createHost({
		credentials: { mediaGatewayApi: { baseUrl: url, apiKey: key } },
		extraNodeTypes: filesNode,
	});
	return {
		run: async (work) => {
			const workflow = workflowFor(work);
			const input = work.kind === 'edit' ? [{ json: { ...work } }] : inputFor(work);
			const result = await host.run(workflow, { input: input as never, mode: 'trigger' });
			return outcomeOf(result, workflow.nodes.at(-1)!.name);
		},
	};
}
