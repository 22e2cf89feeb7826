import { isJsonObject, type JsonObject } from '../../util/json';
import { firstText, afterColon } from '../../util/text';
import type { Advice, Setting } from '../protocol/gatewayError';
import { isBlankText, isThinking, isToolCall } from './blockKinds';
import { readMessage } from './message';

interface Unfinished {
	/** Why a response ends early, for the middle of a sentence. */
	what: string;
	advice: string;
	settings?: Setting[];
}

/** What is known of a response that ends early, by its stop reason. */
export const UNFINISHED = new Map<string | undefined, Unfinished>([
	[
		'max_tokens',
		{
			what: 'was cut off at "max_tokens"',
			advice: 'Increase it.',
			settings: ['max_tokens'],
		},
	],
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
				'Let it go on: with its output "messages" and an empty prompt, in a chat with a further message.',
			settings: ['history'],
		},
	],
]);

/**
 * A hint about a response that was charged and doesn't have what was asked for: it is cut off or
 * paused, the model refused, sent neither text nor a tool call, or announced a call that isn't there.
 *
 * @param body of the response
 */
export function responseHint(body: JsonObject): Advice | undefined {
	const response = readMessage(body);
	if (response === undefined) return undefined;
	const { content, stopReason = '' } = response;
	if (REFUSALS.has(stopReason)) {
		const said = refusalReason(body, content)?.replace(/\.$/, '');
		const description = `The model refused to respond${afterColon(said)}. You may have been charged. Change the prompt, or use another model.`;
		return { description };
	}
	const early = UNFINISHED.get(stopReason);
	if (early !== undefined) {
		return { description: `A response ${early.what}. ${early.advice}`, settings: early.settings };
	}
	if (stopReason === 'tool_use' && !content.some(isToolCall)) return { description: NO_CALL };
	const isEmpty = content.every((block) => isThinking(block) || isBlankText(block));
	if (!isEmpty) return undefined;
	return content.some(isThinking)
		? { description: ONLY_THOUGHT, settings: ['thinking'] }
		: { description: EMPTY };
}

const ONLY_THOUGHT =
	'The model has only thought: its response has no text. You may have been charged. Run the workflow again, or turn thinking off.';
const EMPTY =
	'The response of the model is empty. You may have been charged. Run the workflow again, or change the prompt.';

const NO_CALL =
	"The model announced a tool call that isn't in its response, so no tool was called. You may have been charged. Run the workflow again, or use another model.";

const REFUSALS = new Set(['refusal', 'content_filter']);

/** The gateway's words about a refusal, fit to be shown. */
function refusalReason({ stop_details: details }: JsonObject, content: unknown[]) {
	const { explanation, message, reason, category } = isJsonObject(details) ? details : {};
	const refusals = content.filter(isJsonObject).map(({ refusal }) => refusal);
	return firstText([explanation, message, reason, ...refusals, details, category]);
}
