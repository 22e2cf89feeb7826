import type * as Core from 'n8n-core' with { 'resolution-mode': 'require' };
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { BuiltInNode } from './built-in-nodes.mjs';
import { n8nWorkflow } from './n8n.mjs';

/** The node types of the package that is tested, and those that n8n has built in. */
export class HostNodeTypes implements N8n.INodeTypes {
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
		if (builtIn) return builtIn;
		const [packageName, name] = type.split('.');
		if (packageName === this.loader.packageName && name) {
			if (name in this.loader.nodeTypes) {
				const loaded = this.loader.getNode(name).type;
				return n8nWorkflow.NodeHelpers.getVersionedNodeType(loaded, version);
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
				outputs: [n8nWorkflow.NodeConnectionTypes.AiTool],
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
