import { GatewayError } from '../protocol/gatewayError';
import { parseJson } from '../../util/json';
import { quote } from '../../util/text';
import type { MessageResponse } from './message';

/** A code fence and what is in it. Some models forget its end. */
const FENCE = /```\w*([^]*?)(?:```|$)/g;

/** Thinking that a gateway leaves in the text, where it may contain drafts. */
const THINKING = /^\s*<think>[^]*?<\/think>(?=\s*\S)/;

/*
 * The beginnings of JSON with text around it. Brackets around a word or a number are none: `{name}`
 * may be a placeholder, and `[1]` a footnote.
 */
const OBJECTS = /\{\s*["}]|\[\s*\{/;
const LIST = /\[\s*["[]/;

/**
 * The JSON in the text of a response: the whole text, the first code fence with JSON, or an object
 * or a list with text around it. Undefined if there is none.
 */
export function jsonInText(given: string): unknown {
	const text = given.replace(THINKING, '');
	const whole = parseJson(text);
	if (whole !== undefined) return whole;
	for (const [, inside = ''] of text.matchAll(FENCE)) {
		const value = parseJson(inside);
		if (value !== undefined) return value;
	}
	const [list, objects] = [between(text, LIST), between(text, OBJECTS)];
	// A list before the objects is only mentioned; they may also be in it.
	return list.value !== undefined && list.end > objects.start ? list.value : objects.value;
}

/** What a text has from a beginning to the last bracket of its kind, if it is JSON. */
function between(text: string, beginning: RegExp): { start: number; end: number; value: unknown } {
	const start = text.search(beginning);
	const end = start < 0 ? -1 : text.lastIndexOf(text[start] === '{' ? '}' : ']');
	return { start, end, value: end < start ? undefined : parseJson(text.slice(start, end + 1)) };
}

/** The stop reasons of a response that ends before its end. */
export const CUT_OFF = new Set(['max_tokens', 'model_context_window_exceeded']);

/**
 * The JSON that a message was sent for.
 *
 * @param hint what is known of the response: that it was cut off, or why it has no text
 * @throws GatewayError with the text of the response, which was paid for
 */
export function readJsonOf({ text, stopReason = '' }: MessageResponse, hint?: string): unknown {
	const value = jsonInText(text);
	if (value !== undefined) return value;
	const isCutOff = CUT_OFF.has(stopReason);
	const advice = isCutOff ? "Increase 'Max Tokens', or ask for a shorter response." : hint;
	const start = quote(text.slice(0, 200));
	throw new GatewayError({
		message: isCutOff
			? "The response was cut off at 'Max Tokens', so its JSON is incomplete"
			: 'The response is not JSON',
		description: [
			advice ?? 'Ask for nothing but JSON in the prompt.',
			start === '' ? NOT_AGAIN : `${PAID} The text begins with: ${start}`,
		].join(' '),
		text,
	});
}

const NOT_AGAIN = "A retry doesn't send the message again.";
/** The text stays in the details, and the payment in the record: no retry sends the message again. */
const PAID =
	"The message was charged, and a retry doesn't send it again. To get its text, turn off 'Output Content as JSON' and retry this execution.";
