import { firstOf } from './responseFields';

/**
 * The headers with the number of a request, which a gateway's support asks for first. The gateway's own
 * comes before that of a proxy in front of it.
 */
const HEADERS = ['x-request-id', 'request-id', 'x-litellm-call-id', 'cf-ray'];

/** In characters: the longest ones are addresses or several numbers. */
const LONGEST = 128;

/**
 * The number of a request, from the headers of its response: printable ASCII in one line, shortened.
 *
 * @param headers in any case of names
 */
export function readRequestId(headers: Record<string, unknown> = {}): string | undefined {
	const named = Object.fromEntries(
		Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
	);
	return firstOf(
		HEADERS.map((name) => named[name]),
		idIn,
	);
}

function idIn(value: unknown): string | undefined {
	const [first] = Array.isArray(value) ? (value as unknown[]) : [value];
	if (typeof first !== 'string') return undefined;
	const id = first
		.slice(0, 2 * LONGEST)
		.trim()
		.replace(/[^\x21-\x7e].*$/s, '')
		.slice(0, LONGEST);
	return id === '' ? undefined : id;
}

/** The number as the end of a text; empty where there is none. */
export const withRequestId = (text: string, requestId?: string): string =>
	requestId === undefined ? text : `${text} (request ID ${requestId})`.trim();
