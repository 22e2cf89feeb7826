import { GatewayError, type Advice, type Setting } from '../protocol/gatewayError';
import { parseJson } from '../../util/json';
import { quote } from '../../util/text';
import type { MessageResponse } from './message';
import { UNFINISHED } from './responseHint';

/** A code fence and what is in it. Some models forget its end. */
const FENCE = /```\w*([^]*?)(?:```|$)/g;

/** Thinking that a gateway leaves in the text, where it may contain drafts. */
const THINKING = /^\s*<(think|thinking)>[^]*?<\/\1>(?=\s*\S)/;

/**
 * The beginning of JSON with text around it. Brackets around a word or a number are none: `{name}` may be
 * a placeholder, and `[1]` a footnote.
 */
const BEGINNING = /\{\s*["}]|\[\s*[{"[]/;

/** After so many ends of no JSON the text has none: each of them may be read to. */
const MOST_ENDS = 50;

/**
 * The JSON in the text of a response: the whole text, the first code fence with JSON, or what the first
 * bracket begins, to the last end that fits. Undefined if there is none.
 */
export function jsonInText(given: string): unknown {
	const text = given.replace(THINKING, '');
	const fenced = [...text.matchAll(FENCE)].map(([, inside = '']) => inside);
	const whole = [text, ...fenced].map(parseJson).find((value) => value !== undefined);
	return whole === undefined ? jsonInWords(text) : whole;
}

/** The JSON that the first bracket of a text begins. */
function jsonInWords(text: string): unknown {
	const start = text.search(BEGINNING);
	if (start === -1) return undefined;
	const closing = text[start] === '{' ? '}' : ']';
	let end = text.length;
	for (let tried = 0; tried < MOST_ENDS; tried += 1) {
		end = text.lastIndexOf(closing, end - 1);
		if (end < start) return undefined;
		const value = parseJson(text.slice(start, end + 1));
		if (value !== undefined) return value;
	}
	return undefined;
}

/**
 * The JSON that a message was sent for.
 *
 * @param hint what is known of the response: why it ends early, or has no text
 * @throws GatewayError with the text of the response, which was paid for
 */
export function readJsonOf({ text, stopReason }: MessageResponse, hint?: Advice): unknown {
	const value = jsonInText(text);
	if (value !== undefined) return value;
	const early = UNFINISHED.get(stopReason);
	const start = quote(text.slice(0, 200));
	const ofText: Setting[] = start === '' ? [] : ['json'];
	throw new GatewayError({
		message:
			early === undefined
				? 'The response is not JSON'
				: `The response ${early.what}, so its JSON is incomplete`,
		description: [
			early?.advice ?? hint?.description ?? 'Ask for nothing but JSON in the prompt.',
			start === '' ? NOT_AGAIN : `${PAID} The text begins with "${start}".`,
		].join(' '),
		settings: [...((early ?? hint)?.settings ?? []), ...ofText],
		text,
	});
}

const NOT_AGAIN = "A retry doesn't send the message again.";
/** The text stays in the details, and the payment in the record: no retry sends the message again. */
const PAID =
	"The message was charged, and a retry doesn't send it again. To get its text, ask for no JSON and retry this execution.";
