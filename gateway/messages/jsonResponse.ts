import { GatewayError } from '../protocol/gatewayError';
import { parseJson } from '../../util/json';
import { quote } from '../../util/text';
import type { MessageResponse } from './message';
import { UNFINISHED } from './responseHint';

/** A code fence and what is in it. Some models forget its end. */
const FENCE = /```\w*([^]*?)(?:```|$)/g;

/** Thinking that a gateway leaves in the text, where it may contain drafts. */
const THINKING = /^\s*<(think|thinking)>[^]*?<\/\1>(?=\s*\S)/;

/*
 * The beginnings of JSON with text around it. Brackets around a word or a number are none: `{name}`
 * may be a placeholder, and `[1]` a footnote.
 */
const BEGINNING = /\{\s*["}]|\[\s*[{"[]/g;

/** After so many beginnings of no JSON the text has none: each of them may be read to the end. */
const MOST_MISTAKES = 50;

/**
 * The JSON in the text of a response: the whole text, the first code fence with JSON, or an object or
 * a list with text around it. Undefined if there is none.
 */
export function jsonInText(given: string): unknown {
	const text = given.replace(THINKING, '');
	const whole = parseJson(text);
	if (whole !== undefined) return whole;
	for (const [, inside = ''] of text.matchAll(FENCE)) {
		const value = parseJson(inside);
		if (value !== undefined) return value;
	}
	const found = partsOf(text);
	const isObject = ({ value }: Part): boolean => !Array.isArray(value);
	// A list beside objects is only mentioned.
	const likely = found.some(isObject) ? found.filter(isObject) : found;
	return (likely.findLast(({ beginsLine }) => beginsLine) ?? likely[0])?.value;
}

/** A whole object or list in a text, and whether it begins a line. */
interface Part {
	value: unknown;
	beginsLine: boolean;
}

/** The whole objects and lists in a text, outside of each other. */
function partsOf(text: string): Part[] {
	const parts: Part[] = [];
	BEGINNING.lastIndex = 0;
	for (let mistakes = 0; mistakes < MOST_MISTAKES; ) {
		const start = BEGINNING.exec(text)?.index;
		if (start === undefined) break;
		const end = endOf(text, start);
		const value = parseJson(text.slice(start, end));
		BEGINNING.lastIndex = value === undefined ? start + 1 : end;
		if (value === undefined) mistakes += 1;
		const line = text.slice(text.lastIndexOf('\n', start) + 1, start);
		if (value !== undefined) parts.push({ value, beginsLine: line.trim() === '' });
	}
	return parts;
}

/** The index behind the bracket that matches the one at `start`; that of the start if none does. */
function endOf(text: string, start: number): number {
	let depth = 0;
	let inString = false;
	for (let at = start; at < text.length; at += 1) {
		const sign = text[at];
		if (sign === '"') inString = !inString;
		else if (inString) at += sign === '\\' ? 1 : 0;
		else if (sign === '{' || sign === '[') depth += 1;
		else if (sign === '}' || sign === ']') depth -= 1;
		if (depth === 0) return at + 1;
	}
	return start;
}

/**
 * The JSON that a message was sent for.
 *
 * @param hint what is known of the response: why it ends early, or has no text
 * @throws GatewayError with the text of the response, which was paid for
 */
export function readJsonOf({ text, stopReason }: MessageResponse, hint?: string): unknown {
	const value = jsonInText(text);
	if (value !== undefined) return value;
	const early = UNFINISHED.get(stopReason);
	const start = quote(text.slice(0, 200));
	throw new GatewayError({
		message:
			early === undefined
				? 'The response is not JSON'
				: `The response ${early.what}, so its JSON is incomplete`,
		description: [
			early?.advice ?? hint ?? 'Ask for nothing but JSON in the prompt.',
			start === '' ? NOT_AGAIN : `${PAID} The text begins with: ${start}`,
		].join(' '),
		text,
	});
}

const NOT_AGAIN = "A retry doesn't send the message again.";
/** The text stays in the details, and the payment in the record: no retry sends the message again. */
const PAID =
	"The message was charged, and a retry doesn't send it again. To get its text, turn off 'Output Content as JSON' and retry this execution.";
