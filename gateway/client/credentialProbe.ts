import { isJsonObject } from '../util/json';
import { needsHttps } from '../protocol/errorBody';
import { holdsModels, planModelList } from '../protocol/models';
import type { HttpResponse, Fault, Outcome } from '../protocol/outcome';
import { planTaskQuery, type RequestPlan } from '../protocol/requestPlan';
import { faultTexts, GATEWAY, LISTING, type Place } from '../errors/faultTexts';

/** What a test of the credential says. */
export interface Verdict {
	ok: boolean;
	message: string;
}

/**
 * Plans the test of a key that costs nothing: the query of a task that cannot exist. A wrong key
 * gets 401, a right one 404 (specification, section 7).
 */
export function planProbe(): RequestPlan {
	return planTaskQuery('generation', 'media-gateway-credential-test');
}

/** What the response to the probe says about address and key. */
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
			message: `The gateway rejected the API key (${httpCode}). Copy the key again from the gateway's console into 'API Key'.`,
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

/** Plans the test of the listing's address (specification, 4.7). It needs no key. */
export function planListingProbe(): RequestPlan {
	return planModelList();
}

/** What the response of the listing says about its address. */
export function readListingProbe(outcome: Outcome): Verdict {
	if (outcome.kind === 'fault') return { ok: false, message: faultMessage(outcome, LISTING) };
	const { httpCode, json } = outcome;
	const wrongPlace = readWrongPlace(outcome, LISTING);
	if (wrongPlace !== undefined) return wrongPlace;
	// Held back for a moment, it is there.
	const isThere = httpCode === 200 ? holdsModels(planModelList(), json) : httpCode === 429;
	if (isThere) return { ok: true, message: 'The model list is available' };
	if (httpCode >= 500) {
		return {
			ok: false,
			message: `The model list at 'Media URL' isn't available now (${httpCode}). Try again in a moment.`,
		};
	}
	return {
		ok: false,
		message: `There is no model list at 'Media URL' (${httpCode}). Check 'Media URL', or leave it empty if the list is at 'Base URL'.`,
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

/** Whether an outcome shows that something at an address speaks its protocol. */
export function speaksProtocol(outcome: Outcome): boolean {
	if (outcome.kind === 'fault') return ['certificate', 'tlsMismatch'].includes(outcome.fault);
	return !needsHttps(outcome);
}

function readWrongPlace(
	{ httpCode, text, headers }: HttpResponse,
	{ field }: Place,
): Verdict | undefined {
	if (httpCode >= 300 && httpCode < 400) {
		const secure = /^https:/i.test(headers.location ?? '')
			? ` If it only asks for https, ${field} must begin with https://`
			: '';
		return {
			ok: false,
			message: `The address redirects to another one. Enter that one as ${field}.${secure}`,
		};
	}
	if (!/^\s*</.test(text)) return undefined;
	return {
		ok: false,
		message: `The address returned a web page (${httpCode}). Check ${field}: enter the address of the API, not of the console.`,
	};
}

function faultMessage(
	{ fault, detail }: Extract<Outcome, { kind: 'fault' }>,
	place: Place,
): string {
	const { happened, adviceOfTest } = faultTexts({ fault, detail }, place);
	const code = detail === '' ? '' : ` (${detail})`;
	return `${happened.charAt(0).toUpperCase()}${happened.slice(1)}. ${adviceOfTest}${code}`;
}
