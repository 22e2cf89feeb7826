/** The tokens of a call: n8n's adapter names them in one way, LangChain those of a stream in another. */
interface TokenUsage {
	input_tokens?: number;
	output_tokens?: number;
	promptTokens?: number;
	completionTokens?: number;
}

interface CallResult {
	llmOutput?: { tokenUsage?: TokenUsage };
}

/** Those who are told of each call, n8n's log among them. */
export type Listeners = Array<{
	options?: { tokensUsageParser?: (result: CallResult) => object };
}>;

/** Lets n8n's log show the tokens of streamed calls, which it would estimate. */
export function logTokens(listeners: Listeners = []): void {
	for (const { options } of listeners) {
		if (options?.tokensUsageParser !== undefined) options.tokensUsageParser = tokensOf;
	}
}

function tokensOf({ llmOutput }: CallResult): object {
	const { tokenUsage: usage = {} } = llmOutput ?? {};
	const promptTokens = usage.promptTokens ?? usage.input_tokens ?? 0;
	const completionTokens = usage.completionTokens ?? usage.output_tokens ?? 0;
	return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}

/** What LangChain tells the listeners of a model: its name, and nothing that could hold a key. */
export const loggedAs = (model: string): object => ({
	lc_serializable: true,
	lc_kwargs: { model },
	model,
});
