import { isJsonObject } from '../util/json';
import { needsHttps, reasonIn } from '../protocol/errorBody';
import { readModelNames } from '../protocol/modelNames';
import { holdsModels, planModelList } from '../protocol/models';
import type { FaultOutcome, HttpResponse, Outcome } from '../protocol/outcome';
import { planTaskQuery, type RequestPlan } from '../protocol/requestPlan';
import { faultTexts, GATEWAY, LISTING, type Target } from '../errors/faultTexts';

/**
 * Plans a free test of the key: the query of a task that can't exist. A wrong key gets 401, a valid
 * one 404 (docs/protocol.md, "Errors").
 */
export function planProbe(): RequestPlan {
	return planTaskQuery('generation', 'media-gateway-credential-test');
}

/** The problem of the address or the key by the response to the probe, as a sentence. */
export const probeProblem = (outcome: Outcome): string | undefined =>
	addressProblem(outcome, GATEWAY) ?? keyProblem(outcome as HttpResponse);

/** The problem of the model list's address by its response (docs/protocol.md, "Model list"). */
export const listingProblem = (outcome: Outcome): string | undefined =>
	addressProblem(outcome, LISTING) ?? listProblem(outcome as HttpResponse);

function keyProblem({ httpCode, json }: HttpResponse): string | undefined {
	const looksLikeGateway = isJsonObject(json) && (isJsonObject(json.error) || 'status' in json);
	const isGood = httpCode === 404 || httpCode < 300;
	if (looksLikeGateway && isGood) return undefined;
	if (httpCode === 401 || httpCode === 403) {
		return `The gateway rejected the API key (${httpCode}). Copy the key again from the gateway's console into 'API Key'.`;
	}
	const said = isJsonObject(json) && httpCode === 400 ? reasonIn(json) : undefined;
	if (said !== undefined) {
		return `The server rejected the test request (400): ${said}. Check 'Additional Headers' and 'Base URL'.`;
	}
	if (httpCode === 429 || httpCode >= 500) {
		return `The gateway responds, but can't check the API key now (${httpCode}). Try again in a moment.`;
	}
	return `A server responds at this address (${httpCode}), but it isn't a media gateway. Check 'Base URL'.`;
}

/** Statuses that say something about the key, the address or the moment. */
const CLEAR = [301, 302, 303, 307, 308, 401, 403, 429];

/**
 * Whether a response to the probe leaves open if there is a gateway, because not every gateway knows
 * the path: then its names of models decide (docs/protocol.md, "Names of models").
 */
export function isUnclear(outcome: Outcome): boolean {
	if (outcome.kind === 'fault' || outcome.httpCode >= 500) return false;
	return probeProblem(outcome) !== undefined && !CLEAR.includes(outcome.httpCode);
}

/** What the names of models say in place of an unclear probe. @param unclear its problem */
export function namesProblem(outcome: Outcome, unclear?: string): string | undefined {
	const { httpCode } = outcome;
	if (outcome.kind === 'fault') return unclear;
	if (httpCode === 401 || httpCode === 403) return keyProblem(outcome);
	return httpCode === 200 && readModelNames(outcome.json) !== undefined ? undefined : unclear;
}

function listProblem({ httpCode, json }: HttpResponse): string | undefined {
	// A 429 shows that the model list exists.
	if (httpCode === 429 || (httpCode === 200 && holdsModels(planModelList(), json)))
		return undefined;
	if (httpCode >= 500) {
		return `The model list at 'Media URL' isn't available now (${httpCode}). Try again in a moment.`;
	}
	return `There is no model list at 'Media URL' (${httpCode}). Check 'Media URL', or leave it empty if the list is at 'Base URL'.`;
}

/**
 * The problem of an address without a gateway; undefined if the response can be the gateway's own.
 */
function addressProblem(outcome: Outcome, target: Target): string | undefined {
	if (outcome.kind === 'fault') return faultProblem(outcome, target);
	const { httpCode, text, headers } = outcome;
	const { field } = target;
	if (httpCode >= 300 && httpCode < 400) {
		const secure = /^https:/i.test(headers.location ?? '')
			? ` If it only asks for https, ${field} must begin with https://`
			: '';
		return `The address redirects to another one. Enter that one as ${field}.${secure}`;
	}
	if (needsHttps(outcome)) {
		return `The server uses https at this address. ${field} must begin with https://`;
	}
	if (!/^\s*</.test(text)) return undefined;
	return `The address returned a web page (${httpCode}). Check ${field}: enter the address of the API, not of the console.`;
}

function faultProblem(outcome: FaultOutcome, target: Target): string {
	const { happened, advice } = faultTexts(outcome, target);
	const check = advice.includes(target.field)
		? ''
		: ` Check ${target.field}, and whether it must begin with http:// or https://`;
	const code = outcome.detail === '' ? '' : ` (${outcome.detail})`;
	return `${happened.charAt(0).toUpperCase()}${happened.slice(1)}. ${advice}${check}${code}`;
}
