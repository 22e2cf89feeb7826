import { isJsonObject, type JsonObject } from '../../util/json';
import { keyConflict } from './idempotency';
import type { Call } from './requestPlan';
import { wasNeverSent, type Fault } from './networkFault';
import { LONGEST_ADDRESS } from './url';
import { parseUrl } from '../../util/parseUrl';

/** The outcome of one attempt to send a plan. */
export type Outcome =
	| {
			kind: 'response';
			httpCode: number;
			/** Lower-case names. */
			headers: Record<string, string>;
			/** The body as text, up to the size limit of its reader. */
			text: string;
			/** The body as JSON; undefined if it isn't JSON. */
			json: unknown;
			/** The address that responded. */
			url?: string;
	  }
	| {
			kind: 'fault';
			fault: Fault;
			detail: string;
			/** The status, if the head of a response had arrived. */
			httpCode?: number;
			/** The beginning of the partial body. */
			received?: string;
			/** Those of the head, if it had arrived; lower-case names. */
			headers?: Record<string, string>;
	  };

export type HttpResponse = Extract<Outcome, { kind: 'response' }>;
export type FaultOutcome = Extract<Outcome, { kind: 'fault' }>;

/** A usable response: 2xx with a JSON object. */
export type GoodResponse = HttpResponse & { json: JsonObject };

/** Whether a response is usable. */
export const isGood = (outcome: Outcome): outcome is GoodResponse =>
	outcome.kind === 'response' && isSuccess(outcome.httpCode) && isJsonObject(outcome.json);

/** Whether a status is one of success. */
export const isSuccess = (httpCode: number): boolean => httpCode >= 200 && httpCode < 300;

/**
 * Whether the gateway says that it was too busy to begin with a message: with status 529, or with the
 * type of this error in a server error or in place of the message (docs/protocol.md, "Errors").
 */
export function isOverloaded(outcome: Outcome, call?: Call): boolean {
	if (call !== 'message' || outcome.kind === 'fault') return false;
	const { httpCode, json } = outcome;
	if (httpCode === 529) return true;
	if (!isJsonObject(json) || (httpCode >= 300 && httpCode < 500)) return false;
	const { error, content, partial } = json;
	const hasContent = content !== undefined || partial !== undefined;
	return isJsonObject(error) && error.type === 'overloaded_error' && !hasContent;
}

/** Redirects after which a client sends a GET: for the result, if it was a POST. */
export const AS_GET = [301, 302, 303];

/**
 * The same outcome; an accepted task that has no body but an address in `Location` gets an empty
 * object as its JSON, and a redirect to the image of the request, without JSON of its own, becomes a response with its address.
 */
export function withLocationAsBody(outcome: Outcome, call?: Call): Outcome {
	if (outcome.kind === 'fault') return outcome;
	const { location, ...headers } = outcome.headers;
	const isBare = !isJsonObject(outcome.json) && call !== 'message';
	if (isBare && AS_GET.includes(outcome.httpCode) && leadsToImage(location)) {
		const url = parseUrl(location ?? '', outcome.url)?.href ?? location;
		return { ...outcome, headers, httpCode: 200, json: { data: [{ url }] } };
	}
	if (![201, 202].includes(outcome.httpCode)) return outcome;
	const isEmpty = outcome.text.trim() === '' && outcome.headers.location !== undefined;
	return isEmpty ? { ...outcome, json: {} } : outcome;
}

/**
 * Whether a paid request may have been charged after an outcome that isn't a good response: not if the
 * gateway certainly didn't accept it. A conflict of its key is about an earlier request, which may have
 * been.
 */
export function chargedAfter(outcome: Outcome, call?: Call, isIdempotent = false): 'no' | 'maybe' {
	if (isIdempotent && outcome.kind === 'response' && keyConflict(outcome) !== undefined)
		return 'maybe';
	return wasRefused(outcome, call) ? 'no' : 'maybe';
}

function wasRefused(outcome: Outcome, call?: Call): boolean {
	const { kind, httpCode, headers } = outcome;
	if (kind === 'response' && (isOverloaded(outcome, call) || saysRefused(outcome))) return true;
	// The head of a partial response decides.
	if (httpCode !== undefined) return isRefusal(httpCode, headers?.location);
	return kind === 'fault' && wasNeverSent(outcome.fault);
}

/** Words and codes of gateways that pass requests on, and have nobody who takes this one. */
const NO_MODEL = /^model_not_found$|无可用渠道|\bno available channels? for (?!retry)/i;

/** The same for a request that they pass on to nobody: its model has no price, or its prompt isn't allowed. */
const NOT_PASSED_ON =
	/^(model_price_error|sensitive_words_detected|invalid_request)$|\bratio or price not set\b|倍率或价格未配置/i;

/** Codes of errors that may follow an attempt with another channel, whatever their message says. */
const AFTER_ATTEMPT = ['get_channel_failed', 'convert_request_failed'];

/** In characters: what of a message is searched for such words. */
const LONGEST_SEARCHED = 1000;

/** Whether an error, of any status, says so in its code or message. */
function says(pattern: RegExp, { httpCode, json }: HttpResponse): boolean {
	if (httpCode < 400 || !isJsonObject(json) || !isJsonObject(json.error)) return false;
	const { code, message } = json.error;
	if (AFTER_ATTEMPT.includes(String(code))) return false;
	return [code, message].some(
		(text) => typeof text === 'string' && pattern.test(text.slice(0, LONGEST_SEARCHED)),
	);
}

/** Whether a gateway knows nobody who has the model: some say so with a 503. */
export const hasNoModel = (response: HttpResponse): boolean => says(NO_MODEL, response);

/** Whether an error is a refusal by its own words, whatever its status is. */
export const saysRefused = (response: HttpResponse): boolean =>
	hasNoModel(response) || says(NOT_PASSED_ON, response);

/**
 * Whether a status means that the request wasn't accepted. With 501 the server has no such endpoint
 * (RFC 9110, section 15.6.2). After 408 (the gateway's time-out) and
 * 499 (a proxy gave up) the gateway may have begun. 303 is the response after the work is done (RFC
 * 9110, section 15.4.4). Other redirects refuse the request, unless they lead to its result.
 */
export function isRefusal(httpCode: number, location = ''): boolean {
	if ([303, 408, 499].includes(httpCode)) return false;
	if (httpCode >= 300 && httpCode < 400) return !leadsToResult(location);
	return httpCode === 501 || (httpCode >= 400 && httpCode < 500);
}

/** Whether a redirect of a paid request leads to what was made for it. */
export const leadsToResult = (location?: string): boolean =>
	leadsToTask(location) || leadsToImage(location);

/** Whether an address is one of an image file, with a query or without. Logos and icons of pages are none. */
const leadsToImage = (location = ''): boolean =>
	/^[^?#]+\.(png|jpe?g|webp|gif|avif|heic|bmp|tiff?|jxl)([?#]|$)/i.test(
		location.slice(0, LONGEST_ADDRESS),
	);

/** Whether an address leads to a task below its endpoint, or to a message. */
export const leadsToTask = (location = ''): boolean =>
	/\/(generations|edits|tasks?|jobs?|requests|predictions|messages|status)\/[^/?#]/i.test(
		location.slice(0, LONGEST_ADDRESS),
	);
