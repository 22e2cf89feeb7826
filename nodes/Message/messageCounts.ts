import { readMessage, readUsage } from '../../gateway/messages';
import { describeBills, sumOfBills, type Bill } from '../../util/bill';
import type { JsonObject } from '../../util/json';
import { counted } from '../../util/text';

/** What the messages of a run have taken. */
export interface MessageCounts {
	/** The messages of this try. */
	messages: number;
	/** Whether the gateway has told any tokens. */
	hasUsage: boolean;
	inputTokens: number;
	outputTokens: number;
	/** Those of the output tokens that were spent on thinking. */
	thinkingTokens: number;
	/** The gateway's bills, one for each currency. */
	bills: Bill[];
}

export const newCounts = (): MessageCounts => ({
	messages: 0,
	hasUsage: false,
	inputTokens: 0,
	outputTokens: 0,
	thinkingTokens: 0,
	bills: [],
});

/** Adds the response to a message. */
export function addMessage(counts: MessageCounts, message: JsonObject, bill: Bill): void {
	counts.messages += 1;
	counts.bills = sumOfBills([...counts.bills, bill]);
	const { usage, thinkingTokens = 0 } = readMessage(message) ?? {};
	if (usage === undefined) return;
	const { promptTokens, completionTokens } = readUsage(usage, thinkingTokens);
	counts.hasUsage = true;
	counts.inputTokens += promptTokens;
	counts.outputTokens += completionTokens;
	counts.thinkingTokens += Math.max(0, thinkingTokens);
}

/** The parts of the line that says what a run has done. */
export function describeMessages(counts: MessageCounts): string[] {
	const { messages, hasUsage, inputTokens, outputTokens, thinkingTokens, bills } = counts;
	const thinking = thinkingTokens > 0 ? ` (${thinkingTokens} for thinking)` : '';
	return [
		counted(messages, 'message'),
		hasUsage ? `${inputTokens} input and ${outputTokens} output tokens${thinking}` : '',
		bills.length === 0 ? '' : `cost ${describeBills(bills)}`,
	];
}
