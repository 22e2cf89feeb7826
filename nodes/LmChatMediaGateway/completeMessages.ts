import type { Bill } from '../../gateway';
import { isJsonObject } from '../../util/json';
import { type Billed, loggedAs, logTokens, type Listeners, type OnBill } from './callLog';
import { structuredOutput, type Answer, type OutputConfig } from './structuredOutput';

/** A message of an agent or chain, of which only the content is looked at. */
interface AgentMessage {
	content: unknown;
}

interface CallOptions {
	tool_choice?: unknown;
	/** The adapter passes it on to the package's own model. */
	onBill?: OnBill;
}

/** A response, or a piece of one. */
interface Generation extends Billed {
	message: AgentMessage & Answer & { additional_kwargs: Record<string, unknown> };
}

/** The ways into the chat model that n8n's adapter makes of the package's one. */
export interface AdaptedModel {
	callbacks?: Listeners;
	_generate(
		messages: AgentMessage[],
		options: CallOptions,
		...more: unknown[]
	): Promise<{ generations: Generation[] }>;
	_streamResponseChunks(
		messages: AgentMessage[],
		options: CallOptions,
		...more: unknown[]
	): AsyncGenerator<Generation>;
	bindTools(tools: unknown[], options?: CallOptions): AdaptedModel;
	withStructuredOutput(schema: object, config?: OutputConfig): unknown;
	pipe(step: (answer: Answer) => unknown): unknown;
	getNumTokens(content: unknown): Promise<number>;
}

/**
 * Makes n8n's adapter pass on messages as they are, and responses in the form that n8n's own chat
 * models give them. By itself it drops every block that it doesn't know, such as the images of n8n's
 * own agents and chains, and the choice of a tool, and makes a block of every text.
 *
 * @param name of the model at the gateway, and whether it may think
 * @param toolChoice of the tools that the model has got
 */
export function withCompleteMessages(
	model: AdaptedModel,
	of: { name: string; thinks: boolean },
	toolChoice?: unknown,
): AdaptedModel {
	const { _generate: generate, _streamResponseChunks: stream, bindTools } = model;
	const optionsOf = (given: CallOptions, bill: Bill): CallOptions => ({
		...(toolChoice === undefined ? {} : { tool_choice: toolChoice }),
		...given,
		onBill: (told) => Object.assign(bill, told),
	});
	logTokens(model.callbacks);
	const ways: Omit<AdaptedModel, 'callbacks' | 'pipe'> = {
		_generate: async (messages, options, ...more) => {
			const given = messages.map(wrapped);
			const bill: Bill = {};
			const result = await generate.call(model, given, optionsOf(options, bill), ...more);
			for (const generation of result.generations) {
				giveText(generation);
				generation.generationInfo = { ...generation.generationInfo, ...bill };
			}
			return result;
		},
		_streamResponseChunks: async function* (messages, options, ...more) {
			const given = messages.map(wrapped);
			const bill: Bill = {};
			for await (const chunk of stream.call(model, given, optionsOf(options, bill), ...more)) {
				giveText(chunk);
				// The response is complete by its last piece.
				const info = chunk.generationInfo;
				if (info?.finish_reason !== undefined) chunk.generationInfo = { ...info, ...bill };
				yield chunk;
			}
		},
		bindTools: (tools, options) => {
			const bound = bindTools.call(model, tools, options);
			// An agent may bind its tools twice, the second time without a choice.
			return withCompleteMessages(bound, of, options?.tool_choice ?? toolChoice);
		},
		withStructuredOutput: (schema, config) => structuredOutput(model, schema, config, of.thinks),
		getNumTokens: async (content) => Math.ceil(textLength(content) / BYTES_PER_TOKEN),
	};
	return Object.assign(model, loggedAs(of.name), ways);
}

/**
 * The bytes of a token, roughly. LangChain counts by a table from the internet, and without a
 * connection tries for a minute and a half to load it. Bytes, because a token has fewer letters of
 * other scripts.
 */
const BYTES_PER_TOKEN = 4;

/** The length in bytes of all text in the content of a message. */
function textLength(content: unknown): number {
	const parts = Array.isArray(content) ? content : [content];
	const texts = parts.map((part: unknown) => (isJsonObject(part) ? part.text : part));
	return Buffer.byteLength(texts.filter((text) => typeof text === 'string').join(''));
}

/** The message with each block as one of another provider, which the adapter passes on unread. */
function wrapped(message: AgentMessage): AgentMessage {
	const { content } = message;
	if (!Array.isArray(content)) return message;
	const blocks = content.map((value: unknown) => ({ type: 'non_standard', value }));
	// A copy of the same class, by which the adapter knows the author.
	const copy = Object.create(
		Object.getPrototypeOf(message) as object,
		Object.getOwnPropertyDescriptors(message),
	) as AgentMessage;
	return Object.assign(copy, { content: blocks });
}

/**
 * Makes the content of a response its text, because n8n's auto-fixing of an output reads no blocks,
 * and its older agents put a line break between those of a stream. Thinking goes where n8n has that
 * of other models.
 */
function giveText({ message }: Generation): void {
	const { content, text, tool_calls: calls = [] } = message;
	if (!Array.isArray(content) || calls.length > 0) return;
	const [thinking] = content.filter(isJsonObject).map(({ reasoning }) => reasoning);
	message.content = text;
	if (thinking !== undefined) message.additional_kwargs.reasoning_content = thinking;
}
