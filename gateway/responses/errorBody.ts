import { isJsonObject, nonEmptyString, numberOf, type JsonObject } from '../../util/json';
import { firstText } from '../../util/text';
import type { HttpResponse, Outcome } from '../protocol/outcome';
import { bestReason, reasonsIn } from './reasons';
import { isErrorCode } from './responseFields';

/**
 * The reason of a failed request or task in the gateway's own words, from `error` and similar fields
 * (`responseFields.ts`). The text is fit to be shown, and parts that look like a key are removed,
 * because some gateways quote the key.
 */
export const reasonIn = (body: unknown): string | undefined =>
	firstText([bestReason(reasonsIn(body))]);

/** The same with the code of an error that came with a success status, such as `402`. */
export function errorIn(body: JsonObject): string | undefined {
	const reason = reasonIn(body);
	return isErrorCode(body.code) ? [numberOf(body.code), reason].join(' ').trim() : reason;
}

/**
 * Whether a response is an error in the gateway's own form (docs/protocol.md, "Errors"). A server in front
 * of a gateway also responds with 404 during a deployment, with a page or document of its own, which says
 * nothing about a task.
 */
export function isGatewayError(outcome: Outcome): boolean {
	if (outcome.kind === 'fault') return false;
	const error = isJsonObject(outcome.json) ? outcome.json.error : undefined;
	return isJsonObject(error) && nonEmptyString(error.message) !== undefined;
}

/**
 * The kind of an error in the gateway's own word, such as `invalid_request_error`: `error.type`
 * (docs/protocol.md, "Errors").
 */
export function errorTypeIn(body: unknown): string | undefined {
	const error = isJsonObject(body) ? body.error : undefined;
	return isJsonObject(error) ? firstText([error.type]) : undefined;
}

/**
 * Whether a response says that the server expects https: servers respond so to http at a TLS port.
 */
export function needsHttps({ httpCode, text, json }: HttpResponse): boolean {
	return httpCode === 400 && json === undefined && /\bHTTPS\b/.test(text.slice(0, 2000));
}

/**
 * Whether a response of the model list reports a failure: `success` is false, whatever the status.
 */
export function saysFailure(body: unknown): boolean {
	return isJsonObject(body) && (body.success === false || body.success === 'false');
}
