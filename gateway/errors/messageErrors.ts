import { isJsonObject, type JsonObject } from '../util/json';
import type { Problem } from '../util/gatewayError';

/**
 * The errors that only the message endpoint has (docs/protocol.md, "Errors"), by the gateway's
 * reason; the first that fits counts.
 */
const ERRORS: Array<[httpCode: number, said: RegExp, message: string, description: string]> = [
	[
		401,
		/no token/i,
		'The message endpoint received no API key (401)',
		"Change 'Message Authentication' in the Media Gateway credential, usually to 'Authorization: Bearer' or 'X-Api-Key Header'.",
	],
	[
		401,
		/not enabled/i,
		'The API key is disabled, expired or out of quota (401)',
		"Enable, renew or top up the key in the gateway's console.",
	],
	[
		401,
		/^invalid key/i,
		"The gateway doesn't recognize the API key (401)",
		"Copy the key again from the gateway's console into the Media Gateway credential.",
	],
	[
		401,
		/^/,
		'The gateway rejected the API key (401)',
		"Check the API key in the Media Gateway credential. If it works for images, this gateway may expect it in another form: change 'Message Authentication', usually to 'Authorization: Bearer' or 'X-Api-Key Header'.",
	],
	[
		400,
		/incorrect model id/i,
		"The model isn't available to this API key (400)",
		"Check the spelling of 'Model' in the gateway's console, and that the key may use it.",
	],
];

/** The problem of a rejected message, if it is one of those. @param said the gateway's reason */
export function messageProblem(httpCode: number, said: string): Problem | undefined {
	const known = ERRORS.find(([code, pattern]) => code === httpCode && pattern.test(said));
	return known && { message: known[2], description: known[3] };
}

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

/**
 * Advice after a 400 to a message: the hints about it, sampling fields, and changed thinking blocks
 * (docs/protocol.md, "Messages").
 *
 * @param said the gateway's reason, or an empty text
 */
export function refusalAdvice(body: JsonObject, said: string): string[] {
	const advice = messageHints(body);
	const sampling = ['temperature', 'top_p', 'top_k'].filter((name) => body[name] !== undefined);
	const aboutSampling = said === '' || /temperature|top_?[pk]|sampl|support|parameter/i.test(said);
	if (sampling.length > 0 && aboutSampling) {
		advice.push(
			`Newer models don't accept sampling parameters. Remove ${sampling.join(', ')} from the options and try again.`,
		);
	}
	const blocks = [body.messages].flat().flatMap((turn) => (isJsonObject(turn) ? turn.content : []));
	const isThinking = (block: unknown) => isJsonObject(block) && block.type === 'thinking';
	if (/thinking|signature/i.test(said) && blocks.some(isThinking)) {
		advice.push(
			'Thinking blocks must be sent back unchanged. Use the output "messages" of the earlier Message node as \'History\' without editing it.',
		);
	}
	return advice;
}
