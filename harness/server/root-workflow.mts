/** A workflow in which one of n8n's own agents or chains gets a file and the chat model. */
import type { Credentials, Workflow } from './example-workflows.mjs';
import type { Json } from './rest-session.mjs';

/** Type, version and parameters of a node of n8n's own for AI. */
export type AiNode = [type: string, typeVersion: number, parameters: Json];

export const CHAT = 'When chat message received';
export const CHAT_MODEL = 'Media Gateway Chat Model';

export interface RootOptions {
	root: AiNode;
	credentials: Credentials;
	/** Parameters of the chat model. */
	model?: Json;
	/** A tool of the root, or the like, by the kind of its connection. */
	below?: Record<string, AiNode>;
	/** The chat model hangs on that node too. */
	withModel?: boolean;
}

const TO_BINARY = {
	operation: 'toBinary',
	sourceProperty: 'file',
	options: {
		dataIsBase64: true,
		fileName: '={{ $json.fileName }}',
		mimeType: '={{ $json.mimeType }}',
	},
};

/** Chat → File → Root. The item of the chat has the file in Base64: `{ file, fileName, mimeType }`. */
export function rootWorkflow(options: RootOptions): Workflow {
	const { root, credentials, model = {}, below = {}, withModel = false } = options;
	const step = (name: string, type: string, typeVersion: number, parameters: Json): Json => ({
		id: name,
		name,
		type,
		typeVersion,
		position: [0, 0],
		parameters,
	});
	const ai = (name: string, [type, typeVersion, parameters]: AiNode) =>
		step(name, `@n8n/n8n-nodes-langchain.${type}`, typeVersion, parameters);
	const to = (type: string, ...names: string[]) => ({
		[type]: [names.map((node) => ({ node, type, index: 0 }))],
	});
	const hanging = Object.entries(below);
	const modelled = withModel ? hanging.map(([kind]) => kind) : [];
	return {
		name: 'Root',
		nodes: [
			{ ...ai(CHAT, ['chatTrigger', 1.3, { options: {} }]), webhookId: 'root' },
			step('File', 'n8n-nodes-base.convertToFile', 1.1, TO_BINARY),
			ai('Root', root),
			{
				...step(CHAT_MODEL, 'n8n-nodes-media-gateway.lmChatMediaGateway', 1, {
					model: { __rl: true, mode: 'name', value: 'reason-large' },
					...model,
				}),
				credentials,
			},
			...hanging.map(([kind, node]) => ai(kind, node)),
		],
		connections: {
			[CHAT]: to('main', 'File'),
			File: to('main', 'Root'),
			[CHAT_MODEL]: to('ai_languageModel', 'Root', ...modelled),
			...Object.fromEntries(hanging.map(([kind]) => [kind, to(kind, 'Root')])),
		},
		settings: { executionOrder: 'v1' },
	};
}
