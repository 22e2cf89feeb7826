import { isJsonObject, type JsonObject } from '../../util/json';
import type { Advice, Setting } from '../protocol/gatewayError';

/**
 * Hints about a message that is sent anyway: a model suffix that contradicts the thinking setting
 * (docs/protocol.md, "Messages"), and the legacy form of thinking.
 *
 * @param body of the request
 */
export function messageHints({ model, thinking }: JsonObject): Advice[] {
	const hints: Advice[] = [];
	const type = isJsonObject(thinking) ? thinking.type : undefined;
	const [suffix, no] = /-(no)?thinking$/i.exec(String(model).trim()) ?? [];
	const switchedOn = type === 'adaptive' || type === 'enabled';
	if (suffix !== undefined && type !== undefined && switchedOn !== (no === undefined)) {
		hints.push({
			description: `The model name ends in "${suffix}", but "thinking" says the opposite. Which one applies depends on the gateway. Leave it to the model, or remove the suffix.`,
			settings: ['thinking'],
		});
	}
	if (type === 'enabled') {
		hints.push({
			description:
				'"thinking" has its legacy form with a token budget, which newer models reject. Use adaptive thinking with an effort instead.',
			settings: ['thinking', 'effort'],
		});
	}
	return hints;
}

/** The fields about how a model chooses its words. */
export const SAMPLING = ['temperature', 'top_p', 'top_k'] satisfies Setting[];

/**
 * Advice after a 400 to a message: the hints about it, sampling fields, a forced tool call, and
 * changed or missing thinking blocks (docs/protocol.md, "Messages").
 *
 * @param said the gateway's reason, or an empty text
 */
export function refusalAdvice(body: JsonObject, said: string): Advice[] {
	const advice = messageHints(body);
	const sampling = SAMPLING.filter((name) => body[name] !== undefined);
	const aboutSampling = said === '' || /temperature|top_?[pk]|sampl|support|parameter/i.test(said);
	if (sampling.length > 0 && aboutSampling) {
		advice.push({
			description: `Newer models don't accept sampling parameters. Remove ${sampling.join(', ')} and try again.`,
			settings: sampling,
		});
	}
	if (/tool_choice|forces? tool/i.test(said) && isJsonObject(body.tool_choice)) {
		advice.push({
			description: 'Let the agent force no tool call, or turn thinking off.',
			settings: ['toolChoice', 'thinking'],
		});
	}
	const blocks = [body.messages].flat().flatMap((turn) => (isJsonObject(turn) ? turn.content : []));
	const isThinking = (block: unknown) => isJsonObject(block) && block.type === 'thinking';
	if (/thinking|signature/i.test(said) && blocks.some(isThinking)) {
		advice.push({
			description:
				'Thinking blocks must be sent back unchanged: use the output "messages" of the earlier message without editing it. For an agent, clear its memory.',
			settings: ['history'],
		});
	}
	// The words of DeepSeek and Kimi.
	if (/must be passed back|reasoning_content is missing/i.test(said)) {
		advice.push({
			description:
				"The model needs its earlier thinking, which an agent's memory doesn't keep. Turn thinking off, or clear the memory.",
			settings: ['thinking'],
		});
	}
	return advice;
}
