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
import type { HttpResponse, Outcome } from '../../../gateway/protocol/outcome';
import { planUrl, type RequestPlan } from '../../../gateway/protocol/requestPlan';
import type { SendOnce } from '../../../gateway/client/client';
import { Requests, RunEnded } from '../transport/inFlight';
import { type Run } from '../run/runContext';
import { readAddress, type GatewayAddress } from '../transport/gatewayAddress';
import { createSendOnce } from '../transport/http';

/** One way to ask for a listing. */
interface ListingRequest {
	send: (plan: RequestPlan) => Promise<{ outcome: Outcome; attempts: number }>;
	/** How long that may take and how often it is tried: only those share a request who wait alike. */
	policy: string;
}

/** A listing that is slower is done without. */
const RUN_TIMEOUT_MS = 10_000;
/** Long enough for a slow listing, short enough for a person who waits for a drop-down. */
const EDITOR_TIMEOUT_MS = 15_000;

const cache = new TtlCache<HttpResponse>(() => performance.now());

/** A listing could not be had; the outcome says why. */
export class ListingError extends Error {
	override name = 'ListingError';

	constructor(
		readonly plan: RequestPlan,
		readonly outcome: Outcome,
		readonly attempts: number,
	) {
		super(errorFor(plan, outcome, attempts).message);
	}

	/** What to do about it. */
	get advice(): string {
		return errorFor(this.plan, this.outcome).problem.description;
	}
}

/**
 * The response to a listing request, kept by its full address, format and account for as long as it
 * says (specification, 4.7: a change is visible within 60 s): a batch, and all nodes of this process,
 * ask once. By account, because a shared request waits for the rate limit of the account that sent it.
 *
 * @returns the cache's own: what is handed on of it must be a copy
 * @throws ListingError where there is no good response; that is not kept
 */
async function cachedListing(
	plan: RequestPlan,
	address: GatewayAddress,
	{ send, policy }: ListingRequest,
): Promise<HttpResponse> {
	const { mediaUrl, allowUnauthorizedCerts } = address;
	const url = planUrl(plan, mediaUrl);
	const key = [url, plan.headers.Accept, allowUnauthorizedCerts, address.account].join(' ');
	const load = async (): Promise<Kept<HttpResponse>> => {
		const { outcome, attempts } = await send(plan);
		if (outcome.kind === 'response' && outcome.httpCode === 200 && isListing(plan, outcome)) {
			return { value: outcome, keepMs: keepMsOf(outcome.headers) };
		}
		throw new ListingError(plan, outcome, attempts);
	};
	return await cache.get(key, load, policy);
}

const asksForText = (plan: RequestPlan): boolean => plan.headers.Accept === 'application/jsonc';

/** Whether a response is what was asked for: not an error that is sent with status 200. */
function isListing(plan: RequestPlan, { json, text }: HttpResponse): boolean {
	if (saysFailure(json)) return false;
	return asksForText(plan) ? isCommented(text) : holdsModels(plan, json);
}

const isCommented = (text: string): boolean => /^\s*[{/[]/.test(text);

/**
 * The usual way to send, for which JSONC is as good as JSON: half a document, which it would pass for,
 * is asked for again.
 */
function createTextSendOnce(run: Run): SendOnce {
	const sendOnce = createSendOnce(run);
	return async (...request) => {
		const outcome = await sendOnce(...request);
		if (outcome.kind === 'fault' || !isCommented(outcome.text)) return outcome;
		return { ...outcome, json: outcome.json ?? {} };
	};
}

/** A listing request of a running workflow, again where a fault may pass. @throws ListingError */
export async function requestListing(run: Run, plan: RequestPlan): Promise<HttpResponse> {
	const sendOnce = asksForText(plan) ? createTextSendOnce(run) : undefined;
	return await shared(run, plan, {
		send: async (asked) => await run.client.sendWithRetry(asked, sendOnce),
		policy: `again, each ${run.limits.timeoutMs} ms`,
	});
}

/**
 * The models for a run that can do without them: asked for once and not for long. Not in turn with
 * the other requests: a 429 of the listing must not hold them back.
 *
 * @throws ListingError
 */
export async function requestModels(run: Run): Promise<ModelRecord[]> {
	const sendOnce = createSendOnce(run);
	const timeoutMs = Math.min(RUN_TIMEOUT_MS, run.limits.timeoutMs);
	const response = await shared(run, planModelList(), {
		send: async (plan) => {
			// Rejects if the run has ended meanwhile.
			await run.clock.sleep(0);
			return { outcome: await sendOnce(plan, timeoutMs), attempts: 1 };
		},
		policy: `once, ${timeoutMs} ms`,
	});
	return readModelList(response.json);
}

/** A response may be on its way for another run; if that one is stopped, this one asks for itself. */
async function shared(run: Run, plan: RequestPlan, request: ListingRequest): Promise<HttpResponse> {
	return await cachedListing(plan, run.address, request).catch(async (error: unknown) => {
		if (!(error instanceof RunEnded)) return await Promise.reject(error);
		// Rejects if it is this run that has ended.
		await run.clock.sleep(0);
		return await shared(run, plan, request);
	});
}

/**
 * The models that the gateway publishes, for the editor.
 *
 * @throws NodeOperationError that says how to go on without the list
 */
export async function loadModels(context: ILoadOptionsFunctions): Promise<ModelRecord[]> {
	const address = await readAddress(context, false);
	const sendOnce = createSendOnce({
		context,
		address,
		limits: { concurrency: 1, timeoutMs: EDITOR_TIMEOUT_MS },
		requests: new Requests(),
	});
	const response = await cachedListing(planModelList(), address, {
		send: async (plan) => ({ outcome: await sendOnce(plan), attempts: 1 }),
		// With others of its kind only: a run that is stopped would end the search of a person.
		policy: 'editor',
	}).catch((error: unknown) => {
		const message = error instanceof Error ? error.message : String(error);
		const advice = error instanceof ListingError ? `${error.advice} ` : '';
		throw new NodeOperationError(context.getNode(), message, {
			description: `${advice}You can run the node without the model list: enter the model 'By Name'.`,
		});
	});
	return readModelList(response.json);
}
