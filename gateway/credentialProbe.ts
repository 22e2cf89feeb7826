import { isJsonObject, type JsonObject } from '../util/json';
import { accountOf } from './protocol/account';
import { KEY_IN_OWN_HEADER } from './protocol/auth';
import { Requests } from './wire/inFlight';
import { createSendOnce, LARGEST_RESPONSE_BYTES } from './wire/sendOnce';
import type { Transport } from './wire/transport';
import { asText, credentialProblem, readCredential, underSettings } from './protocol/credential';
import { needsHttps, reasonIn } from './responses/errorBody';
import { planModelNames, readModelNames } from './models/modelNames';
import { holdsModels, planModelList } from './models/models';
import type { FaultOutcome, HttpResponse, Outcome } from './protocol/outcome';
import { isOutOfQuota } from './responses/quota';
import { planTaskQuery, planUrl, type FreePlan } from './protocol/requestPlan';
import { TOP_UP } from './errors/errorTable';
import { faultTexts, GATEWAY, LISTING, type Server } from './errors/faultTexts';
import { afterColon } from '../util/text';

/**
 * Plans a free test of the key: the query of a task that can't exist. A wrong key gets 401, a valid
 * one 404 (docs/protocol.md, "Errors").
 */
function planProbe(): FreePlan {
	return planTaskQuery('generation', 'media-gateway-credential-test');
}

/** How a request of the test carries the key. */
type ProbeKey = 'usual' | 'xApiKey' | 'none';

/** For each request, from its beginning to the end of its response. */
const TIMEOUT_MS = 15_000;

/**
 * Tests the settings of a credential, at no cost: queries a task that can't exist, requests the names of
 * models where that says too little, and the model list if that has an address of its own. Each problem
 * names the field to correct.
 */
export async function probeSettings(settings: JsonObject, transport: Transport): Promise<Verdict> {
	const problem = credentialProblem(readCredential(settings));
	if (problem !== undefined) return { problem: asText(problem) };
	const account = accountOf(settings);
	const { base, media } = account;
	const limits = { timeoutMs: TIMEOUT_MS, maxResponseBytes: LARGEST_RESPONSE_BYTES };
	const requests = new Requests();
	// A redirect is a problem of the address.
	const sendOnce = createSendOnce({ account, limits, requests, transport, mostRedirects: 0 });
	const ask = async (plan: FreePlan, key: ProbeKey): Promise<Outcome> => {
		const headers = { ...plan.headers, ...(key === 'xApiKey' ? KEY_IN_OWN_HEADER : {}) };
		return await sendOnce({ ...plan, headers, isKeyless: key === 'none' });
	};
	const isApart = planUrl(planModelList(), media) !== planUrl(planModelList(), base);
	const names = account.withoutKey(planUrl(planModelNames(), base));
	const [verdict, listing] = await Promise.all([
		probeKey(ask, names),
		isApart ? sendOnce(planModelList()).then(listingProblem) : undefined,
	]);
	return 'good' in verdict && listing !== undefined ? { problem: listing } : verdict;
}

/** What a test has shown. */
type Verdict = { good: string } | { problem: string };

const ACCEPTED: Verdict = { good: 'The gateway accepts the API key' };
// Some gateways list their models to anybody.
const LISTS: Verdict = { good: 'The gateway responds and lists its models' };

/**
 * Tests the key and the address. A gateway may answer 404 before it looks at the key, so a 404 counts
 * only where the same request without a key is refused; otherwise the names of models decide
 * (docs/protocol.md, "Names of models").
 *
 * @param ask sends a free request
 * @param address as the error names it
 */
async function probeKey(
	ask: (plan: FreePlan, key: ProbeKey) => Promise<Outcome>,
	address: string,
): Promise<Verdict> {
	const task = await ask(planProbe(), 'usual');
	const problem = probeProblem(task);
	if (!leavesOpen(task)) return problem === undefined ? ACCEPTED : { problem };
	const names = await ask(planModelNames(), 'usual');
	if (isRefused(names)) {
		// An endpoint of messages may take the key in another form only.
		const other = await ask(planModelNames(), 'xApiKey');
		return listsModels(other) ? LISTS : { problem: probeProblem(names) ?? '' };
	}
	if (isRefused(task)) return { problem: problem ?? '' };
	if (listsModels(names)) return LISTS;
	if (!isMissing(task)) return { problem: problem ?? '' };
	if (isRefused(await ask(planProbe(), 'none'))) return ACCEPTED;
	return { problem: isMissing(names) ? noApiAt(address) : (probeProblem(names) ?? '') };
}

/** The problem of the address or the key by a response. */
export const probeProblem = (outcome: Outcome): string | undefined =>
	addressProblem(outcome, GATEWAY) ?? keyProblem(outcome as HttpResponse);

const noApiAt = (address: string): string =>
	`There is no such API at ${address} (404). Check 'Base URL': enter the address of the API as the gateway's documentation shows it.`;

const isRefused = (outcome: Outcome): boolean =>
	outcome.kind === 'response' && [401, 403].includes(outcome.httpCode);

const isMissing = (outcome: Outcome): boolean =>
	outcome.kind === 'response' && outcome.httpCode === 404;

const listsModels = (outcome: Outcome): boolean =>
	outcome.kind === 'response' &&
	outcome.httpCode === 200 &&
	readModelNames(outcome.json) !== undefined;

/**
 * Whether a response to the probe says too little, because not every gateway knows the path. Only
 * that of a task, a redirect and a temporary error say enough.
 */
function leavesOpen(outcome: Outcome): boolean {
	if (outcome.kind === 'fault') return false;
	const { httpCode } = outcome;
	if (httpCode < 300) return !isTaskOrError(outcome);
	return httpCode >= 400 && httpCode < 500 && httpCode !== 429;
}

const isTaskOrError = ({ json }: HttpResponse): boolean =>
	isJsonObject(json) && (isJsonObject(json.error) || 'status' in json);

/** The problem of the model list's address by its response (docs/protocol.md, "Model list"). */
const listingProblem = (outcome: Outcome): string | undefined =>
	addressProblem(outcome, LISTING) ?? listProblem(outcome as HttpResponse);

function keyProblem(response: HttpResponse): string | undefined {
	const { httpCode, json } = response;
	if (httpCode < 300 && isTaskOrError(response)) return undefined;
	const reason = reasonIn(json);
	const said = afterColon(reason?.replace(/\.$/, ''));
	if (isOutOfQuota(response)) {
		return `Insufficient quota (${httpCode})${said}. ${TOP_UP}`;
	}
	if (httpCode === 401 || httpCode === 403) {
		return `The gateway rejected the API key (${httpCode})${said}. Check the key in the gateway's console, and copy it again into 'API Key'.`;
	}
	if (reason !== undefined && httpCode === 400) {
		return `The server rejected the test request (400)${said}. Check 'API Key', 'Base URL', and ${underSettings('Additional Headers')}.`;
	}
	if (httpCode === 429 || httpCode >= 500) {
		return `The gateway responds, but can't check the API key now (${httpCode}). Try again in a moment.`;
	}
	return `A server responds at this address (${httpCode}), but it isn't a media gateway. Check 'Base URL'.`;
}

function listProblem({ httpCode, json }: HttpResponse): string | undefined {
	// A 429 shows that the model list exists.
	if (httpCode === 429 || (httpCode === 200 && holdsModels(planModelList(), json)))
		return undefined;
	if (httpCode >= 500) {
		return `The model list at ${LISTING.field} isn't available now (${httpCode}). Try again in a moment.`;
	}
	return `There is no model list at ${LISTING.field} (${httpCode}). Check the address, or leave it empty if the list is at 'Base URL'.`;
}

/**
 * The problem of an address without a gateway; undefined if the response can be the gateway's own.
 */
function addressProblem(outcome: Outcome, server: Server): string | undefined {
	if (outcome.kind === 'fault') return faultProblem(outcome, server);
	const { httpCode, text, headers } = outcome;
	const { field } = server;
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

function faultProblem(outcome: FaultOutcome, server: Server): string {
	const { happened, advice } = faultTexts(outcome, server);
	const check = advice.includes(server.field)
		? ''
		: ` Check ${server.field}, and whether it must begin with http:// or https://`;
	const code = outcome.detail === '' ? '' : ` (${outcome.detail})`;
	return `${happened.charAt(0).toUpperCase()}${happened.slice(1)}. ${advice}${check}${code}`;
}
