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

/** A listing that is slower is done without. */
const RUN_TIMEOUT_MS = 10_000;
/** Long enough for a slow listing, short enough for a person who waits for a drop-down. */
const EDITOR_TIMEOUT_MS = 15_000;

const cache = new TtlCache<HttpResponse>(() => performance.now());

/**
 * The response to a listing request, kept by its full address, format and account for as long as it
 * says (docs/protocol.md, "Model list": a change is visible within 60 s): a batch, and all nodes of this process,
 * ask once. By account, because the rate limits are those of the account that asks.
 *
 * @param asker shares its requests that are under way with nobody: others may wait longer, or be stopped
 * @returns the cache's own: what is handed on of it must be a copy
 * @throws GatewayError where there is no good response; that is not kept
 */
async function cachedListing(
	plan: RequestPlan,
	asker: { address: GatewayAddress },
	send: () => Promise<Sent>,
): Promise<HttpResponse> {
	const { mediaUrl, allowUnauthorizedCerts, accountAndKey } = asker.address;
	const url = planUrl(plan, mediaUrl);
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

const asksForText = (plan: RequestPlan): boolean => plan.headers.Accept === 'application/jsonc';

/** Whether a response is what was asked for: not an error that is sent with status 200. */
function isListing(plan: RequestPlan, { json, text }: HttpResponse): boolean {
	if (saysFailure(json)) return false;
	return asksForText(plan) ? isCommented(text) : holdsModels(plan, json);
}

const isCommented = (text: string): boolean => /^\s*[{/[]/.test(text);

/** A listing request of a running workflow, again where a fault may pass. @throws GatewayError */
export async function requestListing(run: Run, plan: RequestPlan): Promise<HttpResponse> {
	// JSONC is as good as JSON, where that is asked for; half a document of JSON is asked for again.
	const sendOnce: SendOnce = async (...request) => {
		const outcome = await run.sendOnce(...request);
		const isText = asksForText(plan) && outcome.kind === 'response' && isCommented(outcome.text);
		return isText ? { ...outcome, json: outcome.json ?? {} } : outcome;
	};
	return await cachedListing(plan, run, async () => await run.client.request(plan, { sendOnce }));
}

/**
 * The models for a run that can do without them: asked for once and not for long. Not in turn with
 * the other requests: a 429 of the listing must not hold them back.
 *
 * @throws GatewayError
 */
export async function requestModels(run: Run): Promise<ModelRecord[]> {
	const plan = planModelList();
	const timeoutMs = Math.min(RUN_TIMEOUT_MS, run.limits.timeoutMs);
	const response = await cachedListing(plan, run, async () => {
		// Rejects if the run has ended meanwhile.
		await run.clock.sleep(0);
		return { outcome: await run.sendOnce(plan, timeoutMs), attempts: 1 };
	});
	return readModelList(response.json);
}

/**
 * The models that the gateway publishes, for the editor.
 *
 * @throws NodeOperationError that says how to go on without the list
 */
export async function loadModels(context: ILoadOptionsFunctions): Promise<ModelRecord[]> {
	const credentials = await context.getCredentials(CREDENTIAL);
	const address = readAddress(credentials, context.getNode(), false);
	const limits = { concurrency: 1, timeoutMs: EDITOR_TIMEOUT_MS };
	const sendOnce = createSendOnce({ context, address, limits, requests: new Requests() });
	const plan = planModelList();
	const send = async () => ({ outcome: await sendOnce(plan), attempts: 1 });
	const response = await cachedListing(plan, { address }, send).catch((error: unknown) => {
		const { message, description } = problemOf(error);
		throw new NodeOperationError(context.getNode(), message, {
			description:
				`${description} You can run the node without the model list: enter the model 'By Name'.`.trim(),
		});
	});
	return readModelList(response.json);
}
