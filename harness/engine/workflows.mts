import { randomUUID } from 'node:crypto';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { WorkflowJson } from './host-types.mjs';
import { n8nWorkflow } from './n8n.mjs';
import { throughStorage } from './results.mjs';

/**
 * Makes the engine's workflow of exported JSON.
 * @param credentialTypes of which there is one: a node that wants it needs not name it
 */
export function toWorkflow(
	json: WorkflowJson,
	nodeTypes: N8n.INodeTypes,
	credentialTypes: ReadonlySet<string>,
): N8n.Workflow {
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
			for (const { name } of nodeTypes.getByNameAndVersion(node.type, node.typeVersion).description
				.credentials ?? []) {
				if (credentialTypes.has(name)) {
					node.credentials = { [name]: { id: name, name }, ...node.credentials };
				}
			}
			return node;
		});
	return new n8nWorkflow.Workflow({
		id: json.id ?? 'workflow',
		name: json.name ?? 'Workflow',
		nodes,
		connections: throughStorage(json.connections),
		active: false,
		nodeTypes,
		settings: { executionOrder: 'v1', ...json.settings },
		staticData: throughStorage(json.staticData ?? {}),
	});
}

/** The node of that name, or the one that nothing leads to. */
export function findStartNode(workflow: N8n.Workflow, name?: string): N8n.INode {
	const enabled = Object.values(workflow.nodes).filter((node) => !node.disabled);
	const node = name
		? workflow.getNode(name)
		: enabled.find(
				({ name, type }) =>
					workflow.getParentNodes(name, 'main', 1).length === 0 &&
					(enabled.length === 1 || workflow.getChildNodes(name, 'ALL', 1).length > 0) &&
					workflow.nodeTypes
						.getByNameAndVersion(type)
						.description.outputs.includes(n8nWorkflow.NodeConnectionTypes.Main),
			);
	if (!node) throw new Error('The workflow has no node to begin with.');
	return node;
}
