import type { IExecuteFunctions } from 'n8n-workflow';
import type { Outcome } from '../../../gateway/protocol/outcome';
import { readRequestId } from '../../../gateway/responses/requestId';
import type { Attempt } from '../../../gateway/wire/sendOnce';
import { oneLine } from '../../../util/text';

/** In characters: the address of an image may be longer, and a log has many lines. */
const LONGEST_PLACE = 300;

/** Writes a line for each attempt to n8n's log at debug level: never the key, a query or a body. */
export function attemptLog(context: IExecuteFunctions): (attempt: Attempt) => void {
	const { name } = context.getNode();
	return (attempt) =>
		context.logger?.debug(oneLine(`Media Gateway, "${name}": ${lineOf(attempt)}`));
}

/** What was sent, where to, how it ended and when, its number at the gateway, and for which item. */
function lineOf({ plan: { call, method, item }, place, outcome, durationMs }: Attempt): string {
	const parts = [
		`${call}, ${method} ${place.slice(0, LONGEST_PLACE)}: ${endOf(outcome)} after ${durationMs} ms`,
		requestIdOf(outcome),
		item === undefined ? '' : `item ${item}`,
	];
	return parts.filter((part) => part !== '').join(', ');
}

function endOf(outcome?: Outcome): string {
	if (outcome === undefined) return 'stopped';
	if (outcome.kind === 'response') return String(outcome.httpCode);
	return [outcome.fault, outcome.detail, outcome.httpCode].filter(Boolean).join(' ');
}

function requestIdOf(outcome?: Outcome): string {
	const id = outcome?.kind === 'response' ? readRequestId(outcome.headers) : outcome?.requestId;
	return id === undefined ? '' : `request ID ${id}`;
}
