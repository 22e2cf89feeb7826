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
	readChatAnswer,
	toConversation,
	type ChatAnswer,
	type ChatCall,
	type ChatSettings,
	type ChatTool,
	type ChatTurn,
} from '../../gateway/chat';
import type { Piece } from '../../gateway/events';
import { keepTurn, restoreTurns, type KeptTurn } from '../../gateway/keptTurns';
import type { RequestPlan } from '../../gateway/plan';
import type { JsonObject } from '../../gateway/json';
import { nodeError } from '../shared/errors';
import { Requests, RunEnded } from '../shared/requests';
import type { Run } from '../shared/run';
import { createExchange } from '../shared/transport';
import { readStreamed } from './answer';
import { Queue } from './queue';

/** What all copies of a model share, with whatever tools each of them has. */
export interface Session {
	run: Run;
	settings: ChatSettings;
	/** Turns that have to go back as they came; outlives the model. */
	kept: KeptTurn[];
	/** The JSON schema of a tool's input. */
	schemaOf: (tool: FunctionTool) => unknown;
	itemIndex: number;
	onAnswer: (answer: ChatAnswer) => void;
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

	/** Sends a message and gives its answer in one piece. */
	async generate(messages: Message[], config: CallConfig = {}): Promise<GenerateResult> {
		const answer = await this.ask(messages, config);
		return {
			id: answer.id,
			finishReason: answer.finishReason,
			usage: usageOf(answer),
			message: {
				role: 'assistant',
				content: answer.parts as MessageContent[],
				id: answer.id,
			},
			providerMetadata: {
				id: answer.id,
				stop_reason: answer.stopReason,
				finish_reason: answer.finishReason,
				usage: answer.usage?.sent,
			},
		};
	}

	/**
	 * Sends a message and gives its answer as it is written; in one go from a gateway that does not
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
			for await (const piece of queue) {
				streamed = true;
				yield chunkOf(piece);
			}
			const answer = await asking;
			if (!streamed) yield* chunksOf(answer);
			yield { type: 'finish', finishReason: answer.finishReason, usage: usageOf(answer) };
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
	): Promise<ChatAnswer> {
		const { run, kept, itemIndex, onAnswer } = this.session;
		const signals = [config.abortSignal, config.signal, left];
		try {
			const { system, turns: given } = toConversation(messages);
			const turns = restoreTurns(kept, given);
			const plan = this.plan(system, turns, config, onPiece !== undefined);
			const body = await this.send(plan, signals, onPiece);
			const answer = readChatAnswer(body);
			keepTurn(kept, turns, answer.content);
			onAnswer(answer);
			return answer;
		} catch (error) {
			if (error instanceof RunEnded) {
				throw new NodeOperationError(run.context.getNode(), 'The execution was canceled', {
					description: 'A message that was under way may have been charged.',
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

	private async send(
		plan: RequestPlan,
		signals: Array<AbortSignal | undefined>,
		onPiece?: (piece: Piece) => void,
	): Promise<JsonObject> {
		const { run } = this.session;
		const requests = new Requests();
		const given = signals.filter((signal) => signal !== undefined);
		const signal = AbortSignal.any(given);
		let cancel = (): void => undefined;
		const cancelled = new Promise<never>((_, reject) => {
			cancel = () => {
				reject(new RunEnded('The call was cancelled'));
				requests.abort();
			};
		});
		cancelled.catch(() => undefined);
		run.stopped.catch(cancel);
		signal.addEventListener('abort', cancel, { once: true });
		if (signal.aborted) cancel();

		const exchange = createExchange({
			...run,
			requests,
			read:
				onPiece &&
				(async (response) => await readStreamed(response, onPiece, run.address.withoutKey)),
		});
		try {
			return await Promise.race([
				// Between two attempts nothing is under way that could be aborted.
				run.sender.send(plan, async (...args) =>
					signal.aborted ? await cancelled : await exchange(...args),
				),
				cancelled,
			]);
		} finally {
			signal.removeEventListener('abort', cancel);
		}
	}
}

function usageOf({ usage }: ChatAnswer): TokenUsage | undefined {
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

function chunkOf(piece: Piece): StreamChunk {
	if (piece.type === 'toolCall') {
		// The ID with every piece: n8n's adapter numbers all calls of an answer alike.
		const { id, name, json } = piece;
		return { type: 'tool-call-delta', id, name, argumentsDelta: json };
	}
	const type = piece.type === 'text' ? 'text-delta' : 'reasoning-delta';
	return { type, delta: piece.text };
}

function* chunksOf({ parts }: ChatAnswer): Generator<StreamChunk> {
	for (const part of parts) {
		if (part.type === 'text') yield chunkOf({ type: 'text', text: part.text });
		if (part.type === 'reasoning') yield chunkOf({ type: 'thinking', text: part.text });
		if (part.type === 'tool-call') {
			const { toolCallId = '', toolName, input } = part;
			yield chunkOf({ type: 'toolCall', id: toolCallId, name: toolName, json: input });
		}
	}
}
