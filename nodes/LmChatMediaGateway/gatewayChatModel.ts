import type {
	ChatModel,
	ChatModelConfig,
	GenerateResult,
	Message,
	MessageContent,
	StreamChunk,
	TokenUsage,
	Tool,
} from '@n8n/ai-node-sdk';
import { NodeOperationError } from 'n8n-workflow';
import {
	planChat,
	toConversation,
	type ChatCall,
	type ChatPart,
	type ChatSettings,
	type ChatTool,
	type ChatTurn,
} from '../../gateway/messages/chat';
import type { ChatResponse } from '../../gateway/messages/chatResponse';
import type { Piece } from '../../gateway/messages/messageStream';
import type { RequestPlan } from '../../gateway/protocol/requestPlan';
import { nodeError } from '../shared/run/nodeErrors';
import { RunEnded } from '../shared/transport/inFlight';
import type { Run } from '../shared/run/runContext';
import type { Messenger } from './messenger';
import { Queue } from './pieceQueue';

/** What all copies of a model share, with whatever tools each of them has. */
export interface Session {
	run: Run;
	settings: ChatSettings;
	messenger: Messenger;
	/** The JSON schema of a tool's input. */
	schemaOf: (tool: FunctionTool) => unknown;
	itemIndex: number;
	onResponse: (response: ChatResponse) => void;
}

type FunctionTool = Extract<Tool, { type: 'function' }>;

/** What n8n's adapter hands on: LangChain's names beside the SDK's own. */
type CallConfig = ChatModelConfig & { signal?: AbortSignal; stop?: string[] };

/** The message endpoint as n8n's AI nodes want to see it. */
export class GatewayChatModel implements ChatModel {
	readonly provider = 'media-gateway';

	readonly modelId: string;

	constructor(
		private readonly session: Session,
		private readonly tools: Tool[] = [],
	) {
		this.modelId = session.settings.model;
	}

	withTools(tools: Tool[]): GatewayChatModel {
		return new GatewayChatModel(this.session, [...this.tools, ...tools]);
	}

	/** Sends a message and gives its response in one piece. */
	async generate(messages: Message[], config: CallConfig = {}): Promise<GenerateResult> {
		const response = await this.ask(messages, config);
		return {
			id: response.id,
			finishReason: response.finishReason,
			usage: usageOf(response),
			message: {
				role: 'assistant',
				content: response.parts as MessageContent[],
				id: response.id,
			},
			providerMetadata: {
				id: response.id,
				stop_reason: response.stopReason,
				finish_reason: response.finishReason,
				usage: response.usage?.sent,
			},
		};
	}

	/**
	 * Sends a message and gives its response as it is written; in one go from a gateway that does not
	 * stream.
	 */
	async *stream(messages: Message[], config: CallConfig = {}): AsyncGenerator<StreamChunk> {
		const queue = new Queue<Piece>();
		const left = new AbortController();
		const asking = this.ask(messages, config, (piece) => queue.put(piece), left.signal);
		// It is awaited below; until then its failure must not count as unhandled.
		asking.catch(() => undefined).finally(() => queue.close());
		let streamed = false;
		try {
			for await (const { type, text } of queue) {
				streamed = true;
				yield textChunk(type, text);
			}
			const response = await asking;
			// Tool calls come last and whole: n8n's adapter would make half a call of half its pieces.
			const rest = response.parts.filter(({ type }) => !streamed || type === 'tool-call');
			yield* rest.flatMap(chunksOf);
			yield { type: 'finish', finishReason: response.finishReason, usage: usageOf(response) };
		} finally {
			left.abort();
		}
	}

	/** @throws NodeApiError or NodeOperationError */
	private async ask(
		messages: Message[],
		config: CallConfig,
		onPiece?: (piece: Piece) => void,
		left?: AbortSignal,
	): Promise<ChatResponse> {
		const { run, settings, messenger, itemIndex, onResponse } = this.session;
		const signals = [config.abortSignal, config.signal, left];
		try {
			const conversation = toConversation(messages);
			const response = await messenger.ask(conversation.turns, {
				plan: (turns) => this.plan(conversation.system, turns, config, onPiece !== undefined),
				model: String(settings.extraFields?.model ?? settings.model),
				signals: signals.filter((signal) => signal !== undefined),
				onPiece,
			});
			onResponse(response);
			return response;
		} catch (error) {
			if (error instanceof RunEnded) {
				// By this word, and by nothing else, the engine knows that the user has stopped it.
				throw new NodeOperationError(run.context.getNode(), 'The execution was canceled', {
					description: 'You may have been charged for a message that was being sent.',
					itemIndex,
				});
			}
			throw nodeError(run.context.getNode(), error, itemIndex, '');
		}
	}

	private plan(
		system: string | undefined,
		turns: ChatTurn[],
		config: CallConfig,
		stream: boolean,
	): RequestPlan {
		const { settings } = this.session;
		const call: ChatCall = {
			tools: this.tools.flatMap((tool) => this.chatTool(tool)),
			stopSequences: config.stopSequences ?? config.stop,
			stream,
		};
		return planChat(
			{
				...settings,
				maxTokens: config.maxTokens ?? settings.maxTokens,
				temperature: config.temperature ?? settings.temperature,
				topP: config.topP ?? settings.topP,
				topK: config.topK ?? settings.topK,
			},
			{ system, turns },
			call,
		);
	}

	/** Tools that a provider runs itself are none of the gateway's. */
	private chatTool(tool: Tool): ChatTool[] {
		if (tool.type !== 'function') return [];
		const { name, description } = tool;
		return [{ name, description, inputSchema: this.session.schemaOf(tool) }];
	}
}

function usageOf({ usage }: ChatResponse): TokenUsage | undefined {
	if (usage === undefined) return undefined;
	const { promptTokens, completionTokens, totalTokens, cacheRead, thinkingTokens } = usage;
	return {
		promptTokens,
		completionTokens,
		totalTokens,
		inputTokenDetails: cacheRead === undefined ? undefined : { cacheRead },
		outputTokenDetails: thinkingTokens === undefined ? undefined : { reasoning: thinkingTokens },
		additionalMetadata: usage.sent,
	};
}

function textChunk(type: Piece['type'], text: string): StreamChunk {
	return { type: type === 'text' ? 'text-delta' : 'reasoning-delta', delta: text };
}

function chunksOf(part: ChatPart): StreamChunk[] {
	if (part.type === 'text') return [textChunk('text', part.text)];
	if (part.type === 'reasoning') return [textChunk('thinking', part.text)];
	if (part.type !== 'tool-call') return [];
	const { toolCallId, toolName, input } = part;
	return [{ type: 'tool-call-delta', id: toolCallId, name: toolName, argumentsDelta: input }];
}
