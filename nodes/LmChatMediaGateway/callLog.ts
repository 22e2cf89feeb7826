import type { Bill } from '../../gateway';
import { withoutUndefined } from '../../util/json';

/** Is told what a call has cost, if the gateway bills it. */
export type OnBill = (bill: Bill) => void;

/** The tokens of a call: n8n's adapter names them in one way, LangChain those of a stream in another. */
interface TokenUsage {
	input_tokens?: number;
	output_tokens?: number;
	promptTokens?: number;
	completionTokens?: number;
}

interface CallResult {
	llmOutput?: { tokenUsage?: TokenUsage };
	generations?: Billed[][];
}

/** A response, or the last piece of one, which n8n's log shows with its bill. */
export interface Billed {
	generationInfo?: Bill & { finish_reason?: string };
}

/** Those who are told of each call, n8n's log among them. */
export type Listeners = Array<{
	options?: { tokensUsageParser?: (result: CallResult) => object };
}>;

/** Lets n8n's log show what a call has cost, and the tokens of streamed calls, which it would estimate. */
export function logTokens(listeners: Listeners = []): void {
	for (const { options } of listeners) {
		if (options?.tokensUsageParser !== undefined) options.tokensUsageParser = tokensOf;
	}
}

function tokensOf({ llmOutput, generations }: CallResult): object {
	const { tokenUsage: usage = {} } = llmOutput ?? {};
	const promptTokens = usage.promptTokens ?? usage.input_tokens ?? 0;
	const completionTokens = usage.completionTokens ?? usage.output_tokens ?? 0;
	const { cost, costCurrency } = generations?.[0]?.[0]?.generationInfo ?? {};
	const totalTokens = promptTokens + completionTokens;
	return withoutUndefined({ promptTokens, completionTokens, totalTokens, cost, costCurrency });
}

/** What LangChain tells the listeners of a model: its name, and nothing that could hold a key. */
export const loggedAs = (model: string): object => ({
	lc_serializable: true,
	lc_kwargs: { model },
	model,
});
