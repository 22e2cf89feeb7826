import type { ILoadOptionsFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { TtlCache, keepMsOf, type Kept } from '../../../gateway/util/ttlCache';
import { errorFor } from '../../../gateway/errors/errorMessages';
import {
	holdsModels,
	planModelList,
	readModelList,
	saysFailure,
	type ModelRecord,
} from '../../../gateway/protocol/models';
import type { HttpResponse } from '../../../gateway/protocol/outcome';
import { planUrl, type RequestPlan } from '../../../gateway/protocol/requestPlan';
import type { SendOnce, Sent } from '../../../gateway/client/client';
import { problemOf } from '../run/nodeErrors';
import type { Run } from '../run/runContext';
import { Requests } from '../transport/inFlight';
import { CREDENTIAL, readAddress, type GatewayAddress } from '../transport/gatewayAddress';
import { createSendOnce } from '../transport/http';

/** After this, a run continues without the model list. */
const RUN_TIMEOUT_MS = 10_000;
/** After this, the editor shows an error in place of the drop-down list. */
const EDITOR_TIMEOUT_MS = 15_000;

const cache = new TtlCache<HttpResponse>(() => performance.now());

/**
 * The response to a request for the model list, cached for as long as it allows (docs/protocol.md,
 * "Model list"), so that all items, and all nodes of this process, send one request. The cache is
 * by address, format and account, because each account has its own rate limit.
 *
 * @param asker the run that sends the request, or a new object. A request in progress isn't shared
 *   with other runs, which may have longer timeouts
 * @returns the cached response, which must not be changed
 * @throws GatewayError if there is no good response; it isn't cached
 */
async function cachedListing(
	plan: RequestPlan,
	asker: { address: GatewayAddress },
	send: () => Promise<Sent>,
): Promise<HttpResponse> {
	const { mediaUrl, credential, accountAndKey } = asker.address;
	const url = planUrl(plan, mediaUrl);
	const { allowUnauthorizedCerts } = credential;
	const key = [url, plan.headers.Accept, allowUnauthorizedCerts, accountAndKey].join(' ');
	const load = async (): Promise<Kept<HttpResponse>> => {
		const { outcome, attempts } = await send();
		if (outcome.kind === 'response' && outcome.httpCode === 200 && isListing(plan, outcome)) {
			return { value: outcome, keepMs: keepMsOf(outcome.headers) };
		}
		throw errorFor(plan, outcome, attempts);
	};
	return await cache.get(key, load, asker);
}

const wantsText = (plan: RequestPlan): boolean => plan.headers.Accept === 'application/jsonc';

/** Whether a response with status 200 is a model list, and not an error. */
function isListing(plan: RequestPlan, { json, text }: HttpResponse): boolean {
	if (saysFailure(json)) return false;
	return wantsText(plan) ? isCommented(text) : holdsModels(plan, json);
}

const isCommented = (text: string): boolean => /^\s*[{/[]/.test(text);

/** Requests the model list, or one model, with retries. @throws GatewayError */
export async function requestListing(run: Run, plan: RequestPlan): Promise<HttpResponse> {
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
 * Requests the models for a run that also works without them: one attempt with a short timeout,
 * past the rate limiter, because a 429 of the public list says nothing about the other requests.
 *
 * @throws GatewayError
 */
export async function requestModels(run: Run): Promise<ModelRecord[]> {
	const timeoutMs = Math.min(RUN_TIMEOUT_MS, run.limits.timeoutMs);
	return await requestOnce(run, async (plan) => {
		// This rejects if the run has ended.
		await run.clock.sleep(0);
		return await run.sendOnce(plan, timeoutMs);
	});
}

/** Requests the models, in one attempt. */
async function requestOnce(
	asker: { address: GatewayAddress },
	sendOnce: SendOnce,
): Promise<ModelRecord[]> {
	const plan = planModelList();
	const send = async () => ({ outcome: await sendOnce(plan), attempts: 1 });
	return readModelList((await cachedListing(plan, asker, send)).json);
}

/**
 * Requests the models for the editor.
 *
 * @throws NodeOperationError that also says how to use the node without the list
 */
export async function loadModels(context: ILoadOptionsFunctions): Promise<ModelRecord[]> {
	const credentials = await context.getCredentials(CREDENTIAL);
	const address = readAddress(credentials, context.getNode(), false);
	const limits = { concurrency: 1, timeoutMs: EDITOR_TIMEOUT_MS };
	const sendOnce = createSendOnce({ context, address, limits, requests: new Requests() });
	return await requestOnce({ address }, sendOnce).catch((error: unknown) => {
		const { message, description } = problemOf(error);
		throw new NodeOperationError(context.getNode(), message, {
			description:
				`${description} You can run the node without the model list: enter the model 'By Name'.`.trim(),
		});
	});
}
