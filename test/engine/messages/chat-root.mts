/** A root node that asks the chat model under test, for tests that look at it from outside. */
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { smallNode, type BuiltInNode } from '../../../harness/engine/built-in-nodes.mjs';
import type { WorkflowJson } from '../../../harness/engine/host.mjs';
import { NODE, type Settings } from '../workbench.mjs';

export const chatRoot: Record<string, BuiltInNode> = {
	'test.chatRoot': smallNode(
		'chatRoot',
		async function () {
			try {
				const model = (await this.getInputConnectionData('ai_languageModel', 0)) as BaseChatModel;
				let text = '';
				if (this.getNodeParameter('way', 0) === 'invoke') {
					({ text } = await model.invoke('hello'));
				} else for await (const chunk of await model.stream('hello')) text += chunk.text;
				return [[{ json: { text }, pairedItem: { item: 0 } }]];
			} catch (error) {
				if (!this.continueOnFail()) throw error;
				const { message } = error as Error;
				return [[{ json: { error: message }, pairedItem: { item: 0 } }]];
			}
		},
		{
			inputs: ['main', { type: 'ai_languageModel', maxConnections: 1 }],
			properties: [{ name: 'way', default: 'invoke' }],
		},
	),
};

/** Start → root, with the chat model hanging on it. The root is called `Node`. */
export function chatWorkflow(
	way: 'invoke' | 'stream',
	parameters: Record<string, unknown> = {},
	settings: Settings = {},
): WorkflowJson {
	return {
		nodes: [
			{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
			{ name: NODE, type: 'test.chatRoot', parameters: { way }, ...settings },
			{
				name: 'Model',
				type: 'n8n-nodes-media-gateway.lmChatMediaGateway',
				parameters: { model: 'reason-large', ...parameters } as N8n.INodeParameters,
			},
		],
		connections: {
			Start: { main: [[{ node: NODE, type: 'main', index: 0 }]] },
			Model: { ai_languageModel: [[{ node: NODE, type: 'ai_languageModel', index: 0 }]] },
		},
	};
}
