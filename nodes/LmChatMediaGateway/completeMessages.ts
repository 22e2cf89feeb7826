/** A message of an agent or chain, of which only the content is looked at. */
interface AgentMessage {
	content: unknown;
}

interface CallOptions {
	tool_choice?: unknown;
}

/** The ways into the chat model that n8n's adapter makes of the package's one. */
export interface AdaptedModel {
	_generate(messages: AgentMessage[], options: CallOptions, ...more: unknown[]): Promise<unknown>;
	_streamResponseChunks(
		messages: AgentMessage[],
		options: CallOptions,
		...more: unknown[]
	): AsyncGenerator<unknown>;
	bindTools(tools: unknown[], options?: CallOptions): AdaptedModel;
}

/**
 * Makes n8n's adapter pass on messages as they are. By itself it drops every block that it doesn't
 * know, such as the images of n8n's own agents and chains, and the choice of a tool.
 *
 * @param toolChoice of the tools that the model has got
 */
export function withCompleteMessages(model: AdaptedModel, toolChoice?: unknown): AdaptedModel {
	const { _generate: generate, _streamResponseChunks: stream, bindTools } = model;
	const withChoice = (options: CallOptions): CallOptions =>
		toolChoice === undefined ? options : { tool_choice: toolChoice, ...options };
	return Object.assign(model, {
		_generate: (async (messages, options, ...more) =>
			await generate.call(
				model,
				messages.map(wrapped),
				withChoice(options),
				...more,
			)) satisfies AdaptedModel['_generate'],
		_streamResponseChunks: ((messages, options, ...more) =>
			stream.call(
				model,
				messages.map(wrapped),
				withChoice(options),
				...more,
			)) satisfies AdaptedModel['_streamResponseChunks'],
		bindTools: ((tools, options) =>
			withCompleteMessages(
				bindTools.call(model, tools, options),
				// An agent may bind its tools twice, the second time without a choice.
				options?.tool_choice ?? toolChoice,
			)) satisfies AdaptedModel['bindTools'],
	});
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
