import { readUsage } from '../../gateway/messages/chatResponse';
import { readMessage } from '../../gateway/messages/message';
import { finiteNumber, type JsonObject } from '../../util/json';
import { counted } from '../../util/text';
import { rounded } from '../../util/amount';

/** What the messages of a run have taken. */
export interface MessageTally {
	/** The messages of this try. */
	messages: number;
	/** Whether the gateway has told any tokens. */
	hasUsage: boolean;
	inputTokens: number;
	outputTokens: number;
	/** Those of the output tokens that were spent on thinking. */
	thinkingTokens: number;
	/** In the gateway's own unit; undefined if it doesn't tell the cost. */
	cost?: number;
}

export const newTally = (): MessageTally => ({
	messages: 0,
	hasUsage: false,
	inputTokens: 0,
	outputTokens: 0,
	thinkingTokens: 0,
});

/** Adds the response to a message. */
export function addMessage(tally: MessageTally, message: JsonObject): void {
	tally.messages += 1;
	const { usage, thinkingTokens = 0 } = readMessage(message) ?? {};
	if (usage === undefined) return;
	const { promptTokens, completionTokens } = readUsage(usage, thinkingTokens);
	const cost = finiteNumber(usage.cost);
	tally.hasUsage = true;
	tally.inputTokens += promptTokens;
	tally.outputTokens += completionTokens;
	tally.thinkingTokens += Math.max(0, thinkingTokens);
	if (cost !== undefined && cost >= 0) tally.cost = rounded((tally.cost ?? 0) + cost);
}

/** The parts of the line that says what a run has done. */
export function describeMessages(tally: MessageTally): string[] {
	const { messages, hasUsage, inputTokens, outputTokens, thinkingTokens, cost } = tally;
	const thinking = thinkingTokens > 0 ? ` (${thinkingTokens} for thinking)` : '';
	return [
		counted(messages, 'message'),
		hasUsage ? `${inputTokens} input and ${outputTokens} output tokens${thinking}` : '',
		cost === undefined ? '' : `cost ${cost}`,
	];
}
