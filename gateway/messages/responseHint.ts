import { isJsonObject, type JsonObject } from '../../util/json';
import { firstText, afterColon } from '../../util/text';
import { isBlankText, isThinking, isToolCall } from './blockKinds';
import { readMessage } from './message';

/** By stop reason, why a response ends early, for the middle of a sentence, and what to do. */
export const UNFINISHED = new Map<string | undefined, { what: string; advice: string }>([
	['max_tokens', { what: "was cut off at 'Max Tokens'", advice: "Increase 'Max Tokens'." }],
	[
		'model_context_window_exceeded',
		{
			what: 'was cut off, because the conversation fills all that the model can read',
			advice: 'Make it shorter.',
		},
	],
	[
		'pause_turn',
		{
			what: 'is only a part, because the model has paused its turn',
			advice:
				"Let it go on: in a Message node with the output \"messages\" as 'History' and an empty 'Prompt', in a chat with a further message.",
		},
	],
]);

/**
 * A hint about a response that was charged and doesn't have what was asked for: it is cut off or
 * paused, the model refused, sent neither text nor a tool call, or announced a call that isn't there.
 *
 * @param body of the response
 */
export function responseHint(body: JsonObject): string | undefined {
	const response = readMessage(body);
	if (response === undefined) return undefined;
	const { content, stopReason = '' } = response;
	if (REFUSALS.has(stopReason)) {
		const said = refusalReason(body, content)?.replace(/\.$/, '');
		return `The model refused to respond${afterColon(said)}. You may have been charged. Change the prompt, or use another model.`;
	}
	const early = UNFINISHED.get(stopReason);
	if (early !== undefined) return `A response ${early.what}. ${early.advice}`;
	if (stopReason === 'tool_use' && !content.some(isToolCall)) return NO_CALL;
	const isEmpty = content.every((block) => isThinking(block) || isBlankText(block));
	if (!isEmpty) return undefined;
	return content.some(isThinking)
		? "The model has only thought: its response has no text. You may have been charged. Run the workflow again, or set 'Thinking' to 'Disabled'."
		: 'The response of the model is empty. You may have been charged. Run the workflow again, or change the prompt.';
}

const NO_CALL =
	"The model announced a tool call that isn't in its response, so no tool was called. You may have been charged. Run the workflow again, or use another model.";

const REFUSALS = new Set(['refusal', 'content_filter']);

/** The gateway's words about a refusal, fit to be shown. */
function refusalReason({ stop_details: details }: JsonObject, content: unknown[]) {
	const { explanation, message, reason, category } = isJsonObject(details) ? details : {};
	const refusals = content.filter(isJsonObject).map(({ refusal }) => refusal);
	return firstText([explanation, message, reason, ...refusals, details, category]);
}
