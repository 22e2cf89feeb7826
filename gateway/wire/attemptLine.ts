import { oneLine } from '../../util/text';
import type { Outcome } from '../protocol/outcome';
import { readRequestId } from '../responses/requestId';
import type { LoggedAttempt } from './sendOnce';

/** In characters: the address of an image may be longer, and a log has many lines. */
const LONGEST_URL = 300;

/**
 * The line of a log for an attempt: what was sent, where to, how it ended and when, its number at the
 * gateway, and for which item. Never a query or a body.
 */
export function attemptLine({ plan, url, outcome, durationMs }: LoggedAttempt): string {
	const { call, method, item } = plan;
	const requestId = readRequestId(outcome?.headers);
	const parts = [
		`${call}, ${method} ${url.slice(0, LONGEST_URL)}: ${endOf(outcome)} after ${durationMs} ms`,
		requestId === undefined ? '' : `request ID ${requestId}`,
		item === undefined ? '' : `item ${item}`,
	];
	return oneLine(parts.filter((part) => part !== '').join(', '));
}

function endOf(outcome?: Outcome): string {
	if (outcome === undefined) return 'stopped';
	if (outcome.kind === 'response') return String(outcome.httpCode);
	return [outcome.fault, outcome.detail, outcome.httpCode].filter(Boolean).join(' ');
}
