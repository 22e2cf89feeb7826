import { isJsonObject, type JsonObject } from '../util/json';
import { eraseIn } from '../util/keyEraser';
import { accountOf } from './protocol/account';
import { KEY_IN_OWN_HEADER } from './protocol/auth';
import { Requests } from './wire/inFlight';
import { createSendOnce } from './wire/sendOnce';
import type { Transport } from './wire/transport';
import { credentialProblem, readCredential } from './protocol/credential';
import { errorFor } from './errors/errorFor';
import { planModelNames, readModelNames } from './models/modelNames';
import { holdsModels, planModelList } from './models/models';
import type { Problem } from './protocol/gatewayError';
import { isGood, type Outcome } from './protocol/outcome';
import { planTaskQuery, planUrl, type FreePlan } from './protocol/requestPlan';

/**
 * A free test of the key: the query of a task that can't exist. A wrong key gets 401, a valid one 404
 * (docs/protocol.md, "Errors").
 */
const TASK: FreePlan = {
	...planTaskQuery('generation', 'media-gateway-credential-test'),
	call: 'test',
};
const NAMES: FreePlan = { ...planModelNames(), call: 'test' };

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
	if (problem !== undefined) return { problem };
	const account = accountOf(settings);
	const { base, media } = account;
	const limits = { timeoutMs: TIMEOUT_MS };
	const requests = new Requests();
	// A redirect is a problem of the address.
	const sendOnce = createSendOnce({ account, limits, requests, transport, mostRedirects: 0 });
	const ask = async (plan: FreePlan, key: ProbeKey): Promise<Outcome> => {
		const headers = { ...plan.headers, ...(key === 'xApiKey' ? KEY_IN_OWN_HEADER : {}) };
		return await sendOnce({ ...plan, headers, isKeyless: key === 'none' });
	};
	const list = planModelList(account);
	const isApart = planUrl(list, media) !== planUrl(list, base);
	const [verdict, listing] = await Promise.all([
		probeKey(ask),
		isApart ? sendOnce(list) : undefined,
	]);
	const isGoodList = listing === undefined || hasModelList(list, listing);
	const told = 'problem' in verdict || isGoodList ? verdict : problemOf(list, listing);
	return eraseIn(told, account.withoutKey);
}

/** What a test has shown. */
type Verdict = { good: string } | { problem: Problem };

const ACCEPTED: Verdict = { good: 'The gateway accepts the API key' };
// Some gateways list their models to anybody.
const LISTS: Verdict = { good: 'The gateway responds and lists its models' };

/**
 * Tests the key and the address. A gateway may answer 404 before it looks at the key, so a 404 counts
 * only where the same request without a key is refused; otherwise the names of models decide
 * (docs/protocol.md, "Names of models").
 *
 * @param ask sends a free request
 */
async function probeKey(
	ask: (plan: FreePlan, key: ProbeKey) => Promise<Outcome>,
): Promise<Verdict> {
	const task = await ask(TASK, 'usual');
	if (isTaskOrError(task)) return ACCEPTED;
	if (!leavesOpen(task)) return problemOf(TASK, task);
	const names = await ask(NAMES, 'usual');
	if (isRefused(names)) {
		// An endpoint of messages may take the key in another form only.
		const other = await ask(NAMES, 'xApiKey');
		return listsModels(other) ? LISTS : problemOf(NAMES, names);
	}
	if (isRefused(task)) return problemOf(TASK, task);
	if (listsModels(names)) return LISTS;
	if (!isMissing(task)) return problemOf(TASK, task);
	if (isRefused(await ask(TASK, 'none'))) return ACCEPTED;
	return problemOf(NAMES, names);
}

/** What went wrong, in the words of all errors. The time limit of a test is nobody's setting. */
function problemOf(plan: FreePlan, outcome: Outcome): Verdict {
	const isLate = outcome.kind === 'fault' && outcome.fault === 'timeout';
	const told: Outcome = isLate ? { ...outcome, fault: 'tooSlow' } : outcome;
	return { problem: errorFor(plan, told).problem };
}

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
const leavesOpen = ({ kind, httpCode = 0 }: Outcome): boolean =>
	kind === 'response' &&
	(httpCode < 300 || (httpCode >= 400 && httpCode < 500 && httpCode !== 429));

const isTaskOrError = (outcome: Outcome): boolean =>
	isGood(outcome) && (isJsonObject(outcome.json.error) || 'status' in outcome.json);

/** Whether there is a model list at its address: a 429 shows that too. */
const hasModelList = (list: FreePlan, outcome: Outcome): boolean =>
	outcome.httpCode === 429 || (isGood(outcome) && holdsModels(list, outcome.json));
