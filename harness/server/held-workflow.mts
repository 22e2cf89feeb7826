/** What the editor holds of the workflow that is open in it, and what looking into its nodes changes. n8n 2 only. */
import type { Editor } from './browser.mjs';
import { nodeNames, type Workflow } from './example-workflows.mjs';
import type { Json, N8nServer } from './server.mjs';

/** A node as the editor holds it. */
export interface HeldNode {
	parameters: Json;
	/** When the editor last took its parameters for changed: it marks the node's output as stale. */
	changedAt?: number;
}

/**
 * The nodes of the open workflow, from the editor's own store: what is seen is less.
 * @param editor with the workflow open
 * @param workflowId the workflow's id
 * @returns each node by its name
 */
export async function heldNodes(
	editor: Editor,
	workflowId: string,
): Promise<Record<string, HeldNode>> {
	return await editor.page.evaluate((id) => {
		const { __vue_app__: app } = document.querySelector('#app') as Json;
		const stores = app.config.globalProperties.$pinia.state.value;
		const { nodesByName, nodeMetadata } = stores[`workflowDocuments/${id}@latest`];
		const held = Object.values(nodesByName as Record<string, Json>).map(({ name, parameters }) => [
			name,
			{ parameters, changedAt: nodeMetadata[name]?.parametersLastUpdatedAt },
		]);
		return JSON.parse(JSON.stringify(Object.fromEntries(held))) as Record<string, HeldNode>;
	}, workflowId);
}

/**
 * Opens and closes the panel of every node of the open workflow but its notes.
 * @param editor with the workflow open
 * @param workflow the workflow
 */
export async function visitNodes(editor: Editor, workflow: Workflow): Promise<void> {
	for (const name of nodeNames(workflow)) {
		await editor.openNode(name);
		await editor.settle();
		await editor.closeNode();
	}
}

/**
 * Lets the editor save the open workflow, by moving a node: nothing else makes it save.
 * @param editor with the workflow open
 * @param server where it is stored
 * @param workflow the workflow
 * @param workflowId its id
 * @returns the nodes as they are stored then
 */
export async function saveByMoving(
	editor: Editor,
	server: N8nServer,
	workflow: Workflow,
	workflowId: string,
): Promise<Json[]> {
	const saved = editor.page.waitForResponse(
		(response) =>
			response.request().method() === 'PATCH' &&
			response.url().includes(`/rest/workflows/${workflowId}`),
	);
	const box = await editor.node(nodeNames(workflow)[0]!).boundingBox();
	if (!box) throw new Error(`"${workflow.name}" has no node that is seen`);
	const { mouse } = editor.page;
	const [x, y] = [box.x + box.width / 2, box.y + box.height / 3];
	await mouse.move(x, y);
	await mouse.down();
	await mouse.move(x + 40, y + 40, { steps: 8 });
	await mouse.up();
	await editor.page.keyboard.press('Control+s');
	await saved;
	const { nodes } = await server.rest('GET', `/workflows/${workflowId}`);
	return nodes;
}
