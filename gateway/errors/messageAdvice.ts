import { isJsonObject, type JsonObject } from '../../util/json';

/**
 * Hints about a message that is sent anyway: a model suffix that contradicts the thinking setting
 * (docs/protocol.md, "Messages"), and the legacy form of thinking.
 *
 * @param body of the request
 */
export function messageHints({ model, thinking }: JsonObject): string[] {
	const hints: string[] = [];
	const type = isJsonObject(thinking) ? thinking.type : undefined;
	const [suffix, no] = /-(no)?thinking$/i.exec(String(model).trim()) ?? [];
	const switchedOn = type === 'adaptive' || type === 'enabled';
	if (suffix !== undefined && type !== undefined && switchedOn !== (no === undefined)) {
		hints.push(
			`The model name ends in "${suffix}", but 'Thinking' says the opposite. Which one applies depends on the gateway. Set 'Thinking' to 'Model Default', or remove the suffix.`,
		);
	}
	if (type === 'enabled') {
		hints.push(
			"'Thinking' uses the legacy form with a token budget, which newer models reject. Use 'Adaptive' with 'Effort' instead.",
		);
	}
	return hints;
}

/** The fields about how a model chooses its words, with their names in the editor. */
const SAMPLING_NAMES = { temperature: 'Temperature', top_p: 'Top P', top_k: 'Top K' };
export const SAMPLING = Object.keys(SAMPLING_NAMES) as Array<keyof typeof SAMPLING_NAMES>;

/** Some of these, as a user knows them. */
export const samplingNames = (fields: typeof SAMPLING): string =>
	fields.map((field) => `'${SAMPLING_NAMES[field]}'`).join(', ');

/**
 * Advice after a 400 to a message: the hints about it, sampling fields, a forced tool call, and
 * changed or missing thinking blocks (docs/protocol.md, "Messages").
 *
 * @param said the gateway's reason, or an empty text
 */
export function refusalAdvice(body: JsonObject, said: string): string[] {
	const advice = messageHints(body);
	const sampling = SAMPLING.filter((name) => body[name] !== undefined);
	const aboutSampling = said === '' || /temperature|top_?[pk]|sampl|support|parameter/i.test(said);
	if (sampling.length > 0 && aboutSampling) {
		advice.push(
			`Newer models don't accept sampling parameters. Remove ${samplingNames(sampling)} from the options and try again.`,
		);
	}
	if (/tool_choice|forces? tool/i.test(said) && isJsonObject(body.tool_choice)) {
		advice.push(
			"Turn off 'Force Tool Call on First Iteration' in the agent, or set 'Thinking' to 'Disabled'.",
		);
	}
	const blocks = [body.messages].flat().flatMap((turn) => (isJsonObject(turn) ? turn.content : []));
	const isThinking = (block: unknown) => isJsonObject(block) && block.type === 'thinking';
	if (/thinking|signature/i.test(said) && blocks.some(isThinking)) {
		advice.push(
			'Thinking blocks must be sent back unchanged. In a Message node, use the output "messages" of the earlier one as \'History\' without editing it; for an agent, clear its memory.',
		);
	}
	// The words of DeepSeek and Kimi.
	if (/must be passed back|reasoning_content is missing/i.test(said)) {
		advice.push(
			"The model needs its earlier thinking, which an agent's memory doesn't keep. Set 'Thinking' to 'Disabled', or clear the memory.",
		);
	}
	return advice;
}
