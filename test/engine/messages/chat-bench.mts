/** The chat model hanging on a root node whose work is done by the test. */
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { AIMessageChunk, BaseMessage } from '@langchain/core/messages';
import { DynamicStructuredTool } from '@langchain/core/tools';
import type { IExecuteFunctions } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { z } from 'zod';
import type {
	Host,
	RunOptions,
	RunResult,
	RunningExecution,
} from '../../../harness/engine/host.mjs';
import { hostFor, type Settings } from '../workbench.mjs';

export interface Model
	extends Pick<BaseChatModel, 'invoke' | 'stream' | 'pipe' | 'withStructuredOutput'> {
	bindTools(tools: DynamicStructuredTool[]): Model;
}
/** Gets a model from n8n, anew each time, as an agent does after each round of tools. */
export type Supply = () => Promise<Model>;
/** What it brings is of no interest, except `again`: then the root node runs once more, in a loop. */
export type Use = (supply: Supply, context: IExecuteFunctions) => Promise<unknown>;

export const KEY = 'sk-embedded-gateway-one';

/** The node under test hangs on a root node whose work is done by the test. */
export class ChatBench {
	private use: Use = async () => undefined;

	private constructor(private readonly host: Host) {}

	static async at(baseUrl: string, credential: Record<string, unknown> = {}): Promise<ChatBench> {
		const holder: { bench?: ChatBench } = {};
		const host = await hostFor(
			{ baseUrl, ...credential },
			{
				extraNodeTypes: {
					'test.root': {
						description: {
							name: 'root',
							displayName: 'Root',
							description: 'Root',
							group: ['transform'],
							version: [1],
							defaults: { name: 'Root' },
							inputs: ['main', { type: 'ai_languageModel', maxConnections: 1 }],
							outputs: ['main', 'main'],
							properties: [],
						},
						async execute(this: IExecuteFunctions) {
							const supply: Supply = async () =>
								(await this.getInputConnectionData('ai_languageModel', 0)) as Model;
							const again = (await holder.bench!.use(supply, this)) === 'again';
							const items = [{ json: {}, pairedItem: { item: 0 } }];
							return again ? [[], items] : [items, []];
						},
					},
				},
			},
		);
		holder.bench = new ChatBench(host);
		return holder.bench;
	}

	/** @param settings of the root node @param input the items that the root node gets */
	start(
		parameters: Record<string, unknown>,
		use: Use,
		settings: Settings = {},
		input?: RunOptions['input'],
	): RunningExecution {
		this.use = use;
		return this.host.start(
			{
				nodes: [
					{ name: 'Start', type: 'n8n-nodes-base.manualTrigger' },
					{ name: 'Root', type: 'test.root', ...settings },
					{
						name: 'Model',
						type: 'n8n-nodes-media-gateway.lmChatMediaGateway',
						parameters: { model: 'reason-large', ...parameters } as never,
					},
				],
				connections: {
					Start: { main: [[{ node: 'Root', type: 'main', index: 0 }]] },
					Root: { main: [[], [{ node: 'Root', type: 'main', index: 0 }]] },
					Model: {
						ai_languageModel: [[{ node: 'Root', type: 'ai_languageModel', index: 0 }]],
					},
				},
			},
			{ startNode: 'Start', input },
		);
	}

	async run(
		parameters: Record<string, unknown>,
		use: Use,
		settings: Settings = {},
		input?: RunOptions['input'],
	): Promise<RunResult> {
		return await this.start(parameters, use, settings, input).promise;
	}

	/** What `use` brings; its failure, or that of the node, is one of the test. */
	async with<T>(
		parameters: Record<string, unknown>,
		use: (supply: Supply, context: IExecuteFunctions) => Promise<T>,
		input?: RunOptions['input'],
	): Promise<T> {
		let brought: { value: T } | undefined;
		const noteValue: Use = async (supply, context) => {
			brought = { value: await use(supply, context) };
		};
		const { error } = await this.run(parameters, noteValue, {}, input);
		if (brought === undefined) throw error ?? new Error('The root node did not run');
		return brought.value;
	}
}

export const collect = async (stream: AsyncIterable<AIMessageChunk>) => {
	const chunks: AIMessageChunk[] = [];
	for await (const chunk of stream) chunks.push(chunk);
	const [first, ...others] = chunks as [AIMessageChunk, ...AIMessageChunk[]];
	return { chunks, whole: others.reduce((sum, chunk) => sum.concat(chunk), first) };
};

export const ask = async (model: Model, way: 'invoke' | 'stream', messages: BaseMessage[]) =>
	way === 'invoke'
		? await model.invoke(messages)
		: (await collect(await model.stream(messages))).whole;

export const toolNamed = (name: string) =>
	new DynamicStructuredTool({
		name,
		description: `Is ${name}`,
		schema: z.object({ query: z.string() }),
		func: async () => 'never called here',
	});
