import { isJsonObject } from '../util/json';
import { needsHttps } from '../protocol/errorBody';
import { holdsModels, planModelList } from '../protocol/models';
import type { Answer, Fault, Outcome } from '../protocol/outcome';
import { planTaskQuery, type RequestPlan } from '../protocol/requestPlan';
import { faultTexts, GATEWAY, LISTING, type Place } from '../errors/faultTexts';

/** What a test of the credential says. */
export interface Verdict {
	ok: boolean;
	message: string;
}

/**
 * Plans the test of a key that costs nothing: the query of a task that cannot exist. A wrong key
 * is answered by 401, a right one by 404 (specification, section 7).
 */
export function planProbe(): RequestPlan {
	return planTaskQuery('generation', 'media-gateway-credential-test');
}

/** What the answer to the probe says about address and key. */
export function readProbe(outcome: Outcome): Verdict {
	if (outcome.kind === 'fault') return { ok: false, message: faultMessage(outcome, GATEWAY) };
	const { httpCode, json } = outcome;
	const wrongPlace = readWrongPlace(outcome, GATEWAY);
	if (wrongPlace !== undefined) return wrongPlace;
	const looksLikeGateway = isJsonObject(json) && (isJsonObject(json.error) || 'status' in json);
	if (looksLikeGateway && (httpCode === 404 || (httpCode >= 200 && httpCode < 300))) {
		return { ok: true, message: 'The gateway accepts the API key' };
	}
	if (httpCode === 401 || httpCode === 403) {
		return {
			ok: false,
			message: `The gateway refused the API key (${httpCode}). Copy the key again from the gateway's console into "API Key".`,
		};
	}
	if (httpCode === 429 || httpCode >= 500) {
		return {
			ok: false,
			message: `The gateway answers, but cannot check the API key now (${httpCode}). Try again in a moment.`,
		};
	}
	return {
		ok: false,
		message: `Something answers at the address (${httpCode}), but it is no media gateway. Check "Base URL".`,
	};
}

/** Plans the test of the listing's address (specification, 4.7). It needs no key. */
export function planListingProbe(): RequestPlan {
	return planModelList();
}

/** What the answer of the listing says about its address. */
export function readListingProbe(outcome: Outcome): Verdict {
	if (outcome.kind === 'fault') return { ok: false, message: faultMessage(outcome, LISTING) };
	const { httpCode, json } = outcome;
	const wrongPlace = readWrongPlace(outcome, LISTING);
	if (wrongPlace !== undefined) return wrongPlace;
	// Held back for a moment, it is there.
	const isThere = httpCode === 200 ? holdsModels(planModelList(), json) : httpCode === 429;
	if (isThere) return { ok: true, message: 'The model listing can be read' };
	if (httpCode >= 500) {
		return {
			ok: false,
			message: `The model listing at "Media URL" is not available now (${httpCode}). Try again in a moment.`,
		};
	}
	return {
		ok: false,
		message: `There is no model listing at "Media URL" (${httpCode}). Check "Media URL", or leave it empty if the listing is at "Base URL".`,
	};
}

/** What to tell where only the other of http and https is spoken at an address. */
export function wrongProtocol(address: string, { name, field }: Place): Verdict {
	const isHttps = address.startsWith('https:');
	return {
		ok: false,
		message: `The server of ${name} uses ${isHttps ? 'http' : 'https'} at this address. ${field} must begin with ${isHttps ? 'http' : 'https'}://`,
	};
}

/** Whether it may be that only the other of http and https is spoken at an address. */
export function mayBeWrongProtocol(outcome: Outcome): boolean {
	if (outcome.kind === 'fault') return OF_THE_CONNECTION.includes(outcome.fault);
	return needsHttps(outcome);
}

const OF_THE_CONNECTION: readonly Fault[] = [
	'refused',
	'unconnected',
	'invalidAddress',
	'reset',
	'timeout',
	'other',
];

/** Whether an outcome shows that an address is answered by its protocol. */
export function speaksProtocol(outcome: Outcome): boolean {
	if (outcome.kind === 'fault') return ['certificate', 'tlsMismatch'].includes(outcome.fault);
	return !needsHttps(outcome);
}

function readWrongPlace(
	{ httpCode, text, headers }: Answer,
	{ name, field }: Place,
): Verdict | undefined {
	if (httpCode >= 300 && httpCode < 400) {
		const secure = /^https:/i.test(headers.location ?? '')
			? ` If it only asks for https, ${field} must begin with https://`
			: '';
		return {
			ok: false,
			message: `The address points to another one. Enter the address that it points to as ${field}.${secure}`,
		};
	}
	if (!/^\s*</.test(text)) return undefined;
	return {
		ok: false,
		message: `The address answers with a web page (${httpCode}), not as ${name} does. Check ${field}: it is the address of the API, not that of the console.`,
	};
}

function faultMessage(
	{ fault, detail }: Extract<Outcome, { kind: 'fault' }>,
	place: Place,
): string {
	const { happened, advice } = faultTexts({ fault, detail }, place);
	const code = detail === '' ? '' : ` (${detail})`;
	const isOfField = advice.includes(place.field) || /"/.test(advice.replace('"Timeout"', ''));
	const field = isOfField ? '' : ` Check ${place.field}.`;
	const shown = advice.replace(', or raise "Timeout" in the options', '');
	return `${happened.charAt(0).toUpperCase()}${happened.slice(1)}. ${shown}${field}${code}`;
}
