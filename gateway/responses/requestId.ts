import { nonEmptyString } from '../../util/json';
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
 * @param headers with names in lower case
 */
export const readRequestId = (headers: Record<string, unknown> = {}): string | undefined =>
	firstOf(
		HEADERS.map((name) => headers[name]),
		(value) => {
			const id = nonEmptyString(value)?.trim().slice(0, LONGEST);
			return nonEmptyString(id?.replace(/[^\x21-\x7e].*$/s, ''));
		},
	);

/** The number as the end of a text; empty where there is none. */
export const withRequestId = (text: string, requestId?: string): string =>
	requestId === undefined ? text : `${text} (request ID ${requestId})`.trim();
