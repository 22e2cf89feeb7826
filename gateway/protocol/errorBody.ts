import { isJsonObject, nonEmptyString } from '../util/json';
import type { HttpResponse, Outcome } from './outcome';

/** Whether a response is an error in the gateway's own form (specification, 2.5). */
export function isGatewayError(outcome: Outcome): boolean {
	if (outcome.kind === 'fault') return false;
	const error = isJsonObject(outcome.json) ? outcome.json.error : undefined;
	return isJsonObject(error) && nonEmptyString(error.message) !== undefined;
}

/**
 * Whether a response is the gateway's own 404, which says that it does not know a task (specification,
 * section 7). Whatever stands before the gateway also responds with 404 while it is being set up, with a
 * page or a document of its own: that says nothing about the task.
 */
export function isUnknownTask(outcome: Outcome): boolean {
	return outcome.kind === 'response' && outcome.httpCode === 404 && isGatewayError(outcome);
}

/** Whether a server asks for https, as servers respond to plain text at the port for TLS. */
export function needsHttps({ httpCode, text, json }: HttpResponse): boolean {
	return httpCode === 400 && json === undefined && /\bHTTPS\b/.test(text.slice(0, 2000));
}
