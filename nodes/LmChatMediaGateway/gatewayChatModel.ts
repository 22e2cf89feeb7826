import type {
	ChatModel,
	ChatModelConfig,
	GenerateResult,
	Message,
	MessageContent,
	StreamChunk,
	Tool,
} from '@n8n/ai-node-sdk';
import { NodeOperationError, type NodeApiError } from 'n8n-workflow';
import { RunEnded } from '../../gateway';
import {
	type ChatPart,
	type ChatRequest,
	type ChatResponse,
	type MessageSettings,
	type Messenger,
	toConversation,
	toolChoiceField,
	toolFields,
	type WireNames,
	withOwnNames,
} from '../../gateway/messages';
import { nodeError } from '../shared/errors/nodeErrors';
import type { Run } from '../shared/run/runContext';
import type { OnBill } from './callLog';

/** The parts that all copies of a model share; each copy has its own tools. */
interface Session {
	run: Run;
	settings: MessageSettings;
	messenger: Messenger;
	/** The JSON schema of a tool's input. */
	schemaOf: (tool: FunctionTool) => unknown;
	itemIndex: number;
}

type FunctionTool = Extract<Tool, { type: 'function' }>;

/** The settings from n8n's adapter: LangChain's names beside the SDK's own. */
type CallConfig = ChatModelConfig & {
	signal?: AbortSignal;
	stop?: string[];
	tool_choice?: unknown;
	onBill?: OnBill;
};

/** The message endpoint as a chat model of the AI Node SDK. */
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

	/** Sends a message and returns the complete response. */
	async generate(messages: Message[], config: CallConfig = {}): Promise<GenerateResult> {
		const { id, finishReason, stopReason, usage, parts } = await this.respond(messages, config);
		return {
			id,
			finishReason,
			usage,
			message: { role: 'assistant', content: parts as MessageContent[], id },
			providerMetadata: {
				id,
				stop_reason: stopReason,
				finish_reason: finishReason,
				usage: usage?.additionalMetadata,
			},
		};
	}

	/**
	 * Sends a message and yields its response while it arrives; all at once if the gateway doesn't
	 * stream.
	 */
	async *stream(messages: Message[], config: CallConfig = {}): AsyncGenerator<StreamChunk> {
		const arrived: string[] = [];
		let isComplete = false;
		let wake = (): void => undefined;
		const put = (text: string): void => {
			arrived.push(text);
			wake();
		};
		const end = (): void => {
			isComplete = true;
			wake();
		};
		const abandoned = new AbortController();
		const responding = this.respond(messages, config, put, abandoned.signal);
		// Awaited below; until then a failure must not count as unhandled.
		responding.then(end, end);
		let streamed = false;
		try {
			while (!isComplete || arrived.length > 0) {
				if (arrived.length === 0) await new Promise<void>((resolve) => (wake = resolve));
				// All pieces at once: removing them one by one takes quadratic time.
				for (const delta of arrived.splice(0)) {
					streamed = true;
					yield { type: 'text-delta', delta };
				}
			}
			const response = await responding;
			// Tool calls come last and complete: n8n's adapter would make half a call of half its pieces.
			const rest = response.parts.filter(({ type }) => !streamed || type === 'tool-call');
			yield* rest.flatMap(chunksOf);
			yield { type: 'finish', finishReason: response.finishReason, usage: response.usage };
		} finally {
			abandoned.abort();
		}
	}

	/** @throws NodeApiError or NodeOperationError */
	private async respond(
		messages: Message[],
		config: CallConfig,
		onText?: (text: string) => void,
		abandoned?: AbortSignal,
	): Promise<ChatResponse> {
		const { run, messenger, itemIndex } = this.session;
		const signals = [config.abortSignal, config.signal, abandoned];
		const names: WireNames = new Map();
		try {
			const request = this.requestOf(messages, config, onText !== undefined, names);
			const response = await messenger.send(request, {
				signals: signals.filter((signal) => signal !== undefined),
				onText,
			});
			config.onBill?.(response.bill);
			return { ...response, parts: response.parts.map((part) => withNames(part, names)) };
		} catch (error) {
			if (error instanceof RunEnded) {
				// The engine recognizes a Stop only by the word "canceled".
				throw new NodeOperationError(run.node, 'The execution was canceled', {
					description: 'You may have been charged for a message that was being sent.',
					itemIndex,
				});
			}
			throw inOneText(nodeError(run.node, error, { itemIndex }));
		}
	}

	/** @param names gets the names of tools and their properties that are changed for the endpoint */
	private requestOf(
		messages: Message[],
		config: CallConfig,
		streamed: boolean,
		names: WireNames,
	): ChatRequest {
		const { settings, schemaOf } = this.session;
		const stopSequences = config.stopSequences ?? config.stop ?? [];
		// Tools that a provider runs itself don't go to the gateway.
		const functions = this.tools.filter((tool) => tool.type === 'function');
		const described = functions.map((tool) => ({ ...tool, inputSchema: schemaOf(tool) }));
		const tools = toolFields(described, names);
		return {
			...settings,
			...toConversation(messages),
			max_tokens: config.maxTokens ?? settings.max_tokens,
			temperature: config.temperature ?? settings.temperature,
			top_p: config.topP ?? settings.top_p,
			top_k: config.topK ?? settings.top_k,
			tools,
			tool_choice: tools && toolChoiceField(config.tool_choice),
			stop_sequences: stopSequences.length === 0 ? undefined : stopSequences,
			stream: streamed ? true : undefined,
		};
	}
}

/** The error, whose description says what happened, because a chat shows nothing else of it. */
function inOneText(error: NodeApiError | NodeOperationError) {
	const end = /[.!?]$/.test(error.message) ? '' : '.';
	error.description = `${error.message}${end} ${error.description ?? ''}`.trim();
	return error;
}

/** A call of a tool with the agent's own names. */
function withNames(part: ChatPart, names: WireNames): ChatPart {
	if (part.type !== 'tool-call' || names.size === 0) return part;
	const { toolName, input } = part;
	const own = withOwnNames(JSON.parse(input), names);
	return { ...part, toolName: names.get(toolName) ?? toolName, input: JSON.stringify(own) };
}

function chunksOf(part: ChatPart): StreamChunk[] {
	if (part.type === 'text') return [{ type: 'text-delta', delta: part.text }];
	if (part.type !== 'tool-call') return [];
	const { toolCallId, toolName, input } = part;
	return [{ type: 'tool-call-delta', id: toolCallId, name: toolName, argumentsDelta: input }];
}
