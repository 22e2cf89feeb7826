import { isJsonObject, nonEmptyString } from '../util/json';
import { firstText } from '../util/text';
import type { HttpResponse, Outcome } from './outcome';

/** Fields in which gateways say why something failed; the protocol's own first (docs/protocol.md, "Errors"). */
// prettier-ignore
const REASON_FIELDS = [
	'error', 'message', 'detail', 'reason', 'fail_reason', 'failure_reason', 'failed_reason', 'error_message',
	'error_msg', 'msg', 'failReason', 'failureReason', 'errorMessage', 'errors', 'code',
];
/** Objects in which the same fields may stand. */
const AROUND = ['data', 'task', 'result', 'output', 'response'];
const DEEPEST = 4;

/**
 * Why a request or a task failed, in the gateway's own words: out of `error`, be it an object or a
 * text, or beside it, or the same in `data`. It is made fit to be shown, and what looks like a key is
 * taken out, because some gateways quote the key that they refuse.
 */
export const reasonIn = (body: unknown): string | undefined => firstText(reasonsIn(body, 0));

/** All that may be a reason, the likeliest first; of a list, what its first entry says. */
function reasonsIn(value: unknown, depth: number): unknown[] {
	if (typeof value === 'string') return [value];
	if (depth > DEEPEST) return [];
	if (Array.isArray(value)) return reasonsIn(value[0], depth + 1);
	if (!isJsonObject(value)) return [];
	const own = REASON_FIELDS.flatMap((field) => reasonsIn(value[field], depth + 1));
	const around = AROUND.map((field) => [value[field]].flat()[0]).filter(isJsonObject);
	return [...own, ...around.flatMap((inner) => reasonsIn(inner, depth + 1))];
}

/** The gateway's own words as the end of a sentence; empty where there are none. */
export const afterColon = (said: string | undefined): string =>
	said === undefined ? '' : `: ${said}`;

/** Whether a response is an error in the gateway's own form (docs/protocol.md, "Errors"). */
export function isGatewayError(outcome: Outcome): boolean {
	if (outcome.kind === 'fault') return false;
	const error = isJsonObject(outcome.json) ? outcome.json.error : undefined;
	return isJsonObject(error) && nonEmptyString(error.message) !== undefined;
}

/**
 * Whether a response is the gateway's own 404, which says that it does not know a task (docs/protocol.md,
 * "Errors"). Whatever stands before the gateway also responds with 404 while it is being set up, with a
 * page or a document of its own: that says nothing about the task.
 */
export function isUnknownTask(outcome: Outcome): boolean {
	return outcome.kind === 'response' && outcome.httpCode === 404 && isGatewayError(outcome);
}

/** Whether a server asks for https, as servers respond to plain text at the port for TLS. */
export function needsHttps({ httpCode, text, json }: HttpResponse): boolean {
	return httpCode === 400 && json === undefined && /\bHTTPS\b/.test(text.slice(0, 2000));
}
