import type { ILoadOptionsFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { TtlCache, ttlMsOf, type Cached } from '../../../util/ttlCache';
import { errorFor } from '../../../gateway/errors/errorMessages';
import { countOf, MOST_PAGES, planNextPage, totalOf } from '../../../gateway/models/listPages';
import {
	holdsModels,
	planModel,
	planModelList,
	readModel,
	readModelList,
	type ModelRecord,
} from '../../../gateway/models/models';
import { KEY_IN_OWN_HEADER } from '../../../gateway/protocol/auth';
import { planModelNames, readModelNames } from '../../../gateway/models/modelNames';
import type { HttpResponse, Outcome } from '../../../gateway/protocol/outcome';
import { planUrl, type FreePlan } from '../../../gateway/protocol/requestPlan';
import { GatewayError } from '../../../gateway/protocol/gatewayError';
import type { JsonObject } from '../../../util/json';
import type { Sent } from '../../../gateway/pace/client';
import { problemOf } from '../run/nodeErrors';
import type { Run } from '../run/runContext';
import { Requests } from '../../../gateway/wire/inFlight';
import { type SendOnce, createSendOnce } from '../../../gateway/wire/sendOnce';
import { n8nTransport } from '../transport/n8nTransport';
import { CREDENTIAL, readAccount } from '../transport/nodeAccount';
import type { Account } from '../../../gateway/protocol/account';
import { saysFailure } from '../../../gateway/responses/errorBody';

/** After this, a run continues without the model list. */
const RUN_TIMEOUT_MS = 10_000;
/** After this, the editor shows an error in place of the drop-down list. */
const EDITOR_TIMEOUT_MS = 15_000;

const cache = new TtlCache<HttpResponse>(() => performance.now());

/** Requests a list. @throws GatewayError */
export type RequestList = (plan: FreePlan) => Promise<HttpResponse>;

/** The gateway has no such list: it responds, but not with models. */
export class NoListError extends GatewayError {
	override name = 'NoListError';
}

/**
 * The response to a request for a list of models, cached for as long as it allows
 * (docs/protocol.md, "Model list"), so that all items, and all nodes of this process, send one
 * request. The cache is by address, format and account, because each account has its own rate limit
 * and may have its own models.
 *
 * @param owner the run that sends the request, or a new object. A request in progress isn't shared
 *   with other runs, which may have longer timeouts
 * @returns the cached response, which must not be changed
 * @throws GatewayError if there is no good response, which isn't cached; NoListError if a retry
 *   would bring none either
 */
async function cachedListing(
	plan: FreePlan,
	owner: { account: Account },
	send: () => Promise<Sent>,
): Promise<HttpResponse> {
	const { media, base, allowUnauthorizedCerts, idWithKey } = owner.account;
	const url = planUrl(plan, plan.call === 'names' ? base : media);
	const key = [url, JSON.stringify(plan.headers), allowUnauthorizedCerts, idWithKey].join(' ');
	const load = async (): Promise<Cached<HttpResponse>> => {
		const { outcome, attempts } = await send();
		if (outcome.kind === 'response' && outcome.httpCode === 200 && isListing(plan, outcome)) {
			return { value: outcome, ttlMs: ttlMsOf(outcome.headers) };
		}
		const error = errorFor(plan, outcome, attempts);
		throw isMissing(outcome) ? new NoListError(error.problem) : error;
	};
	return await cache.get(key, load, owner);
}

/**
 * Whether a response without a list shows that the gateway has none, and not only that it failed or
 * that another attempt may bring one.
 */
function isMissing(outcome: Outcome): boolean {
	if (outcome.kind === 'fault') return false;
	const { httpCode, json, text } = outcome;
	// Text that is no JSON may be half a list, but not a web page.
	if (httpCode < 300) return json === undefined ? /^\s*</.test(text) : !saysFailure(json);
	// Some gateways answer 500 at a path that they don't know.
	return httpCode <= 501 && ![408, 425, 429].includes(httpCode);
}

const wantsText = (plan: FreePlan): boolean => plan.headers.Accept === 'application/jsonc';

/** Whether a response with status 200 is a model list, and not an error. */
function isListing(plan: FreePlan, { json, text }: HttpResponse): boolean {
	if (saysFailure(json)) return false;
	if (plan.call === 'names') return readModelNames(json) !== undefined;
	return wantsText(plan) ? isCommented(text) : holdsModels(plan, json);
}

const isCommented = (text: string): boolean => /^\s*[{/[]/.test(text);

/** Creates a function that requests a list in one attempt. */
const inOneAttempt =
	(owner: { account: Account }, sendOnce: SendOnce): RequestList =>
	async (plan) =>
		await cachedListing(plan, owner, async () => ({ outcome: await sendOnce(plan), attempts: 1 }));

/** Requests the model list, or one model, with retries. @throws GatewayError */
export async function requestListing(run: Run, plan: FreePlan): Promise<HttpResponse> {
	// JSONC counts as a good response if it was requested. Otherwise an incomplete document is
	// retried.
	const sendOnce: SendOnce = async (...request) => {
		const outcome = await run.sendOnce(...request);
		const isText = wantsText(plan) && outcome.kind === 'response' && isCommented(outcome.text);
		return isText ? { ...outcome, json: outcome.json ?? {} } : outcome;
	};
	return await cachedListing(plan, run, async () => await run.client.request(plan, { sendOnce }));
}

/**
 * Requests the media list for a run that also works without it: one attempt with a short timeout,
 * past the rate limiter, because a 429 of the public list says nothing about the other requests.
 *
 * @throws GatewayError
 */
export async function requestModels(run: Run): Promise<ModelList> {
	return await requestRecords(run.account, 'media', requestQuickly(run));
}

/**
 * Requests the names of all models of the account, in the same way: a list of models is also complete
 * without them.
 *
 * @throws GatewayError
 */
export async function requestNames(run: Run): Promise<ModelRecord[]> {
	return (await requestRecords(run.account, 'names', requestQuickly(run))).models;
}

/**
 * Requests one model of a media list that is cut off.
 *
 * @returns undefined if the gateway doesn't have it, or doesn't say
 */
export async function requestModel(run: Run, model: string): Promise<ModelRecord | undefined> {
	try {
		const { json } = await requestQuickly(run)(planModel(model));
		const { data } = json as { data: JsonObject };
		return readModel({ ...data, model });
	} catch (error) {
		if (error instanceof GatewayError) return undefined;
		throw error as Error;
	}
}

function requestQuickly(run: Run): RequestList {
	const timeoutMs = Math.min(RUN_TIMEOUT_MS, run.limits.timeoutMs);
	return inOneAttempt(run, async (plan) => {
		// This rejects if the run has ended.
		await run.clock.sleep(0);
		return await run.sendOnce(plan, timeoutMs);
	});
}

/**
 * Requests models from the media list, or only their names (docs/protocol.md, "Names of models").
 *
 * @param list `any`: the names if there is no media list
 * @throws GatewayError
 */
export async function requestRecords(
	{ hasKey, baseUrl, mediaUrl }: Account,
	list: 'media' | 'names' | 'any',
	request: RequestList,
): Promise<ModelList> {
	const readNames = (json: unknown) => readModelNames(json) ?? [];
	const namesBy = async (headers = {}) =>
		await requestPages(planModelNames(headers), baseUrl, request, readNames);
	// Some gateways take the key in a header of its own alone.
	const names = async () =>
		await namesBy().catch(async (error: unknown) => {
			const asked = isKeyRefused(error) ? namesBy(KEY_IN_OWN_HEADER) : undefined;
			const found = await asked?.catch(() => undefined);
			if (found === undefined) throw error;
			return found;
		});
	if (list === 'names') return await names();
	try {
		return await requestPages(planModelList(), mediaUrl, request, readModelList);
	} catch (error) {
		const mayAsk = list === 'any' && hasKey && error instanceof NoListError;
		if (!mayAsk) throw error as Error;
		return await names().catch((other: unknown) => {
			const isNone = other instanceof NoListError && !isKeyRefused(other);
			throw isNone ? error : other;
		});
	}
}

const isKeyRefused = (error: unknown): boolean =>
	error instanceof GatewayError && [401, 403].includes(error.problem.httpCode ?? 0);

/** The models of a gateway, and whether the list ended before it had all that it says it has. */
export interface ModelList {
	models: ModelRecord[];
	isCut: boolean;
}

/** The hint about a list that is cut off. */
export const LIST_IS_CUT =
	"The gateway's list of models has more pages than could be read, so models are missing here. 'Get' and the image nodes find them by their exact names.";

/**
 * Requests all pages of a list, up to a limit. A page that brings no other models is the last one.
 *
 * @throws GatewayError if there is no first page
 */
async function requestPages(
	plan: FreePlan,
	home: string,
	request: RequestList,
	read: (json: unknown) => ModelRecord[],
): Promise<ModelList> {
	const first = await request(plan);
	const models = read(first.json);
	const known = new Set(models.map(({ model }) => model));
	let count = countOf(first.json);
	let next = planNextPage(plan, first, home, { pages: 1, count });
	for (let pages = 2; next !== undefined && pages <= MOST_PAGES; pages += 1) {
		const response = await request(next).catch((error: unknown) => {
			if (error instanceof GatewayError) return undefined;
			throw error;
		});
		if (response === undefined) break;
		const others = read(response.json).filter(({ model }) => !known.has(model));
		if (others.length === 0) return { models, isCut: totalOf(first.json) > count };
		for (const other of others) known.add(other.model);
		models.push(...others);
		count += countOf(response.json);
		next = planNextPage(plan, response, home, { pages, count });
	}
	return { models, isCut: next !== undefined };
}

/**
 * Requests models for the editor.
 *
 * @throws NodeOperationError that also says how to use the node without the list
 */
export async function loadModels(
	context: ILoadOptionsFunctions,
	list: 'media' | 'names' | 'any',
): Promise<ModelRecord[]> {
	const credentials = await context.getCredentials(CREDENTIAL);
	const account = readAccount(credentials, context.getNode(), list === 'names');
	const sendOnce = createSendOnce({
		account,
		limits: { timeoutMs: EDITOR_TIMEOUT_MS },
		requests: new Requests(),
		transport: n8nTransport(context, account),
		addsKey: true,
	});
	const request = inOneAttempt({ account }, sendOnce);
	const { models } = await requestRecords(account, list, request).catch((error: unknown) => {
		const { message, description } = problemOf(error);
		// The editor's list shows the message alone.
		const [, advice] = /^(Check .{1,200}?)\.(?=\s|$)/.exec(description) ?? [];
		throw new NodeOperationError(context.getNode(), [message, advice ?? []].flat().join('. '), {
			description:
				`${description} You can run the node without the model list: enter the model 'By Name'.`.trim(),
		});
	});
	return models;
}
