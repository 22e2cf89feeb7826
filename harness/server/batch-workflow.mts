/** The workflow of a batch: a webhook takes prompts, one node submits them, another waits for them. */
import type { Credentials, Workflow } from './example-workflows.mjs';
import type { Json } from './rest-session.mjs';

export interface BatchOptions {
	/** Path of the webhook, and name of the workflow. */
	path: string;
	credentials: Credentials;
	/** Default: the model that the embedded gateway has. */
	model?: string;
	/** Parameters of the node that submits; with a mode of its own it has no other behind it. */
	submit?: Json;
	/** Parameters of the node that waits. */
	wait?: Json;
	/** Settings of that node, such as `onError`. */
	waitSettings?: Json;
	/** Names of nodes that do nothing, one at each output of the last node. */
	ends?: string[];
	/** Settings of the workflow. */
	settings?: Json;
}

/**
 * Webhook → Prompts → Submit → Wait. The webhook takes `{ prompts: string[] }` by POST.
 * @returns the workflow, ready for `createWorkflow`
 */
export function batchWorkflow({
	path,
	credentials,
	model = 'aurora-image-1',
	submit = {},
	wait = {},
	waitSettings = {},
	ends = [],
	settings = {},
}: BatchOptions): Workflow {
	const step = (name: string, type: string, typeVersion: number, parameters: Json) => ({
		id: name,
		name,
		type,
		typeVersion,
		position: [0, 0],
		parameters,
		...(type.startsWith('n8n-nodes-base.') ? {} : { credentials }),
	});
	const to = (node: string) => [{ node, type: 'main', index: 0 }];
	const waits = submit.mode === undefined;
	const waitNode = {
		...step('Wait', 'n8n-nodes-media-gateway.imageWait', 1, wait),
		...waitSettings,
	};
	const webhook = step('Webhook', 'n8n-nodes-base.webhook', 2, { httpMethod: 'POST', path });
	return {
		name: path,
		nodes: [
			{ ...webhook, webhookId: path },
			step('Prompts', 'n8n-nodes-base.splitOut', 1, {
				fieldToSplitOut: 'body.prompts',
				options: {},
			}),
			step('Submit', 'n8n-nodes-media-gateway.imageGeneration', 1, {
				model: { __rl: true, mode: 'name', value: model },
				prompt: '={{ $json["body.prompts"] }}',
				mode: 'submit',
				...submit,
			}),
			...(waits ? [waitNode] : []),
			...ends.map((name) => step(name, 'n8n-nodes-base.noOp', 1, {})),
		],
		connections: {
			Webhook: { main: [to('Prompts')] },
			Prompts: { main: [to('Submit')] },
			...(waits ? { Submit: { main: [to('Wait')] } } : {}),
			...(ends.length > 0 ? { [waits ? 'Wait' : 'Submit']: { main: ends.map(to) } } : {}),
		},
		settings: { executionOrder: 'v1', ...settings },
	};
}
