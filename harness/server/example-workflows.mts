/** The example workflows, made ready for a server: with its credentials, and with a trigger to taste. */
import * as fs from 'node:fs';
import * as path from 'node:path';

import { repositoryRoot } from '../install/folders.mjs';
import { until } from '../wait-until.mjs';
import type { Execution, Json, N8nServer } from './server.mjs';

/** A workflow as n8n exports it. */
export interface Workflow {
	name: string;
	nodes: Json[];
	connections: Json;
	settings?: Json;
	[key: string]: Json;
}

/** What stands in a node's `credentials`, by type. */
export type Credentials = Record<string, { id: string; name: string }>;

const MANUAL = 'n8n-nodes-base.manualTrigger';
/** Where `npm run gateway` and `npm run editor` have the embedded gateway, if nothing else is there. */
export const USUAL_GATEWAY_PORT = 8787;
const USUAL_GATEWAY = `http://127.0.0.1:${USUAL_GATEWAY_PORT}`;
const STICKY = 'n8n-nodes-base.stickyNote';

/**
 * The files of the folder `examples`.
 * @returns base names such as `first-image`, sorted
 */
export function exampleNames(): string[] {
	return fs
		.readdirSync(path.join(repositoryRoot(), 'examples'))
		.filter((file) => file.endsWith('.json'))
		.map((file) => path.basename(file, '.json'))
		.sort();
}

/**
 * Reads an example.
 * @param name as exampleNames gives it
 * @param credentials what its nodes get instead of the ids in the file; a type that is not here is
 * taken out, as n8n does with what it does not find
 */
export function readExample(name: string, credentials: Credentials = {}): Workflow {
	return readWorkflow(`examples/${name}.json`, credentials);
}

/**
 * Reads the file of a workflow.
 * @param file its path in the repository
 * @param credentials see `readExample`
 * @param gatewayUrl what stands in place of the embedded gateway's usual address
 */
export function readWorkflow(
	file: string,
	credentials: Credentials = {},
	gatewayUrl = USUAL_GATEWAY,
): Workflow {
	const text = fs.readFileSync(path.join(repositoryRoot(), file), 'utf8');
	const workflow = JSON.parse(text.replaceAll(USUAL_GATEWAY, gatewayUrl)) as Workflow;
	for (const node of workflow.nodes) {
		if (!node.credentials) continue;
		node.credentials = Object.fromEntries(
			Object.keys(node.credentials)
				.filter((type) => credentials[type])
				.map((type) => [type, credentials[type]]),
		);
	}
	return workflow;
}

/** Whether an example starts by its button, so that it may be started otherwise too. */
export function startsByHand({ nodes }: Workflow): boolean {
	return nodes.some(({ type }) => type === MANUAL);
}

/**
 * The same workflow, started by a webhook.
 * @param workflow one that starts by hand
 * @param webhookPath path of the webhook, unique on the server
 */
export function withWebhook(workflow: Workflow, webhookPath: string): Workflow {
	const copy = structuredClone(workflow);
	const manual = copy.nodes.findIndex(({ type }) => type === MANUAL);
	if (manual < 0) throw new Error(`"${workflow.name}" does not start by hand`);
	// The name stays, and with it every connection and expression.
	const { id, name, position } = copy.nodes[manual];
	copy.nodes[manual] = {
		...{ id, name, position },
		type: 'n8n-nodes-base.webhook',
		typeVersion: 2,
		webhookId: webhookPath,
		parameters: {
			httpMethod: 'POST',
			path: webhookPath,
			responseMode: 'onReceived',
			options: {},
		},
	};
	return copy;
}

/**
 * What a node gave out in its last run.
 * @param execution as the server stored it
 * @param node the node's name
 * @param output number of its output
 */
export function itemsOf(execution: Execution, node: string, output = 0): Json[] {
	const runs = execution.data?.resultData?.runData?.[node] ?? [];
	return runs.at(-1)?.data?.main?.[output] ?? [];
}

/** Names of the nodes that an execution has to have run: all but notes. One that is switched off hands on its input. */
export function nodeNames(workflow: Workflow): string[] {
	return workflow.nodes.filter(({ type }) => type !== STICKY).map(({ name }) => name as string);
}

/** Every item with binary data that an execution holds, in the order of its nodes. */
export function itemsWithBinary(execution: Execution): Json[] {
	const runs: Json[] = Object.values(execution.data?.resultData?.runData ?? {}).flat();
	return runs
		.flatMap((run) => run.data?.main ?? [])
		.flatMap((items: Json) => items ?? [])
		.filter((item: Json) => Object.keys(item.binary ?? {}).length > 0);
}

/**
 * Waits for the executions of a workflow that was started by its trigger.
 * @param server where it runs
 * @param workflowId its id
 * @param count how many have to be over
 * @param withinMs milliseconds; throws when they have passed. Default 60 000
 * @returns them with their data, newest first
 */
export async function executionsOf(
	server: N8nServer,
	workflowId: string,
	count = 1,
	withinMs = 60_000,
): Promise<Execution[]> {
	const found = await until(`${count} executions of a workflow`, withinMs / 1000, async () => {
		const executions = await server.executions({ workflowId });
		return executions.length >= count && executions;
	});
	return await Promise.all(found.map(async ({ id }) => await server.settled(id, withinMs)));
}
