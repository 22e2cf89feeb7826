import { withoutUndefined, type JsonObject } from '../../util/json';
import { withoutInlineImages } from '../../util/inlineImages';
import { CUT_OFF, readJsonOf } from '../../gateway/messages/jsonResponse';
import { readMessage, type MessageResponse, type Turn } from '../../gateway/messages/message';
import { missingTextHint } from '../../gateway/messages/missingText';
import type { ItemParameters } from '../shared/parameters/itemParameters';

/** How an item wants the response to its message. */
export interface MessageTarget {
	simplify: boolean;
	/** The field for the JSON in the response; undefined for none. */
	jsonField?: string;
	keepImages: boolean;
}

/** @throws NodeOperationError if one of the switches is neither on nor off */
export const readMessageTarget = (item: ItemParameters): MessageTarget => ({
	simplify: item.switch('simplify', 'Simplify', true),
	jsonField: item.options.switch('outputJson', 'Output Content as JSON', false)
		? (item.options.optionalText('jsonField', 'Put JSON in Field')?.trim() ?? 'json')
		: undefined,
	keepImages: item.options.switch('keepImages', 'Keep Images in Messages', false),
});

/** What a person should know of a response; undefined if it is as it should be. */
export function responseHint(message: JsonObject): string | undefined {
	const { stopReason = '' } = readMessage(message) ?? {};
	return CUT_OFF.has(stopReason)
		? "A response was cut off at 'Max Tokens'."
		: missingTextHint(message);
}

/**
 * The output of a message.
 *
 * @param turns the conversation that was sent, as the output shows it
 * @throws GatewayError if the response isn't the JSON that it must be
 */
export function messageOutput(
	message: JsonObject,
	turns: Turn[],
	{ simplify, jsonField }: MessageTarget,
	forTool: boolean,
): JsonObject {
	const response = readMessage(message);
	if (response === undefined) return message;
	const hint = responseHint(message);
	const json = jsonField === undefined ? {} : { [jsonField]: readJsonOf(response, hint) };
	const output = simplify ? simplified(response, json, turns, forTool) : { ...message, ...json };
	// An agent sees no hints.
	if (forTool)
		return withoutInlineImages(withoutUndefined({ ...output, note: hint })) as JsonObject;
	return output;
}

/** The simplified response, with the conversation so far for the next turn. */
function simplified(
	{ content, text, ...facts }: MessageResponse,
	json: JsonObject,
	turns: Turn[],
	forTool: boolean,
): JsonObject {
	const output = { text, ...facts, ...json };
	// An agent keeps the conversation itself, and pays for every word it reads.
	if (forTool) return withoutUndefined({ ...output, thinking: facts.thinking || undefined });
	return withoutUndefined({ ...output, messages: [...turns, { role: 'assistant', content }] });
}
