import { isJsonObject } from '../util/json';
import type { Outcome } from '../protocol/outcome';
import { planTaskQuery, type RequestPlan } from '../protocol/requestPlan';
import { faultInWords } from '../errors/errorMessages';

/**
 * Plans the test of a key that costs nothing: the query of a task that cannot exist. A wrong key
 * is answered by 401, a right one by 404 (specification, section 7).
 */
export function planProbe(): RequestPlan {
	return planTaskQuery('generation', 'media-gateway-credential-test');
}

/** What the answer to the probe says about address and key. */
export function readProbe(outcome: Outcome): { ok: boolean; message: string } {
	if (outcome.kind === 'fault') {
		const code = outcome.detail === '' ? '' : ` (${outcome.detail})`;
		return { ok: false, message: faultInWords(outcome.fault) + code };
	}
	const { httpCode, json } = outcome;
	if (/^\s*</.test(outcome.text)) {
		return {
			ok: false,
			message: `The address returned a web page (${httpCode}). Check 'Base URL': enter the address of the API, not of the console.`,
		};
	}
	const looksLikeGateway = isJsonObject(json) && (isJsonObject(json.error) || 'status' in json);
	if (looksLikeGateway && (httpCode === 404 || (httpCode >= 200 && httpCode < 300))) {
		return { ok: true, message: 'The gateway accepts the API key' };
	}
	if (httpCode === 401 || httpCode === 403) {
		return {
			ok: false,
			message: `The gateway rejected the API key (${httpCode}). Copy the key again from the gateway's console.`,
		};
	}
	if (httpCode >= 300 && httpCode < 400) {
		return {
			ok: false,
			message: "The address redirects to another one. Enter that one as 'Base URL'.",
		};
	}
	if (httpCode === 429 || httpCode >= 500) {
		return {
			ok: false,
			message: `The gateway responds, but can't check the API key now (${httpCode}). Try again in a moment.`,
		};
	}
	return {
		ok: false,
		message: `A server responds at this address (${httpCode}), but it isn't a media gateway. Check 'Base URL'.`,
	};
}
