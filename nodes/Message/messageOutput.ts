import { withoutUndefined, type JsonObject } from '../../util/json';
import { withoutInlineImages } from '../../util/inlineImages';
import type { Bill } from '../../gateway';
import { readJsonOf, readMessage, responseHint, type Turn } from '../../gateway/messages';
import { withPlaces } from '../shared/errors/settingPlaces';
import type { ItemParameters } from '../shared/parameters/itemParameters';

/** How an item wants the response to its message. */
export interface MessageTarget {
	simplify: boolean;
	/** Whether the JSON in the response has a field of its own. */
	outputJson: boolean;
}

/** @throws NodeOperationError if one of the switches is neither on nor off */
export const readMessageTarget = (item: ItemParameters): MessageTarget => ({
	simplify: item.switch('simplify', 'Simplify', true),
	outputJson: item.options.switch('outputJson', 'Output Content as JSON', false),
});

/**
 * The output of a message.
 *
 * @param turns the conversation that was sent, as the output shows it
 * @param about what was billed, and whether it is for an agent
 * @throws GatewayError if the response isn't the JSON that it must be
 */
export function messageOutput(
	message: JsonObject,
	turns: Turn[],
	{ simplify, outputJson }: MessageTarget,
	{ forTool, bill }: { forTool: boolean; bill: Bill },
): JsonObject {
	const response = readMessage(message);
	if (response === undefined) return message;
	const hint = responseHint(message);
	const json = outputJson ? { json: readJsonOf(response, hint) } : {};
	const output = simplify
		? { ...simplified(response, json, turns, forTool), ...(forTool ? {} : withoutUndefined(bill)) }
		: unsimplified(message, json);
	// An agent sees no hints.
	if (forTool)
		return withoutInlineImages(
			withoutUndefined({ ...output, note: hint && withPlaces(hint) }),
		) as JsonObject;
	return output;
}

/**
 * The response as it came. n8n takes an item with an `error` for a failed one, and n8n 1 also where it
 * is null: with Retry On Fail it would pay for all items again.
 */
function unsimplified({ error, ...message }: JsonObject, json: JsonObject): JsonObject {
	const isNone = error === undefined || error === null || error === false;
	return withoutUndefined({ ...message, ...json, responseError: isNone ? undefined : error });
}

/** The simplified response, with the conversation so far for the next turn. */
function simplified(
	{ content, text, ...others }: NonNullable<ReturnType<typeof readMessage>>,
	json: JsonObject,
	turns: Turn[],
	forTool: boolean,
): JsonObject {
	// The JSON stands beside the text.
	const output = { text, ...json, ...others };
	// An agent keeps the conversation itself, and pays for every word it reads.
	if (forTool) return withoutUndefined({ ...output, thinking: others.thinking || undefined });
	return withoutUndefined({ ...output, messages: [...turns, { role: 'assistant', content }] });
}
