/** What n8n's editor asks of a node while a person fills in its panel: lists, and forms of models. */
import { join } from 'node:path';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { additionalDataFor } from './additional-data.mjs';
import { builtInNodeTypes } from './built-in-nodes.mjs';
import { HostCredentials } from './credentials.mjs';
import { core } from './n8n.mjs';
import { HostNodeTypes } from './node-types.mjs';
import { toWorkflow } from './workflows.mjs';

const ownFolder = join(import.meta.dirname ?? __dirname, '..', '..');

export interface EditorCalls {
	/** The list behind a resource locator. */
	search(filter?: string): Promise<N8n.INodeListSearchResult>;
	/** The form behind a resource mapper. */
	form(): Promise<N8n.ResourceMapperFields>;
}

/**
 * The panel of a node of the built package, with n8n's own context.
 * @param type such as `n8n-nodes-media-gateway.imageGeneration`
 * @param parameters as the editor sends them: those of the panel, saved or not
 * @param credentials by type; the node has each of them
 */
export async function openPanel(
	type: string,
	parameters: Record<string, unknown>,
	credentials: Record<string, Record<string, unknown>>,
): Promise<EditorCalls> {
	const loader = new core.PackageDirectoryLoader(ownFolder);
	await loader.loadAll();
	const nodeTypes = new HostNodeTypes(loader, builtInNodeTypes);
	const workflow = toWorkflow(
		{
			nodes: [{ name: 'Node', type, parameters: parameters as N8n.INodeParameters }],
			connections: {},
		},
		nodeTypes,
		new Set(Object.keys(credentials)),
	);
	const node = workflow.getNode('Node')!;
	const context = new core.LoadOptionsContext(
		workflow,
		node,
		additionalDataFor({
			credentialsHelper: new HostCredentials(loader, credentials),
			currentNodeParameters: parameters as N8n.INodeParameters,
		}),
		'',
	);
	const { methods } = nodeTypes.getByNameAndVersion(type);
	return {
		search: async (filter) => await methods!.listSearch!.searchModels!.call(context, filter),
		form: async () => await methods!.resourceMapping!.getModelParameters!.call(context),
	};
}
