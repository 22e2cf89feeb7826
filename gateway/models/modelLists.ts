import type { JsonObject } from '../../util/json';
import { errorFor } from '../errors/errorFor';
import type { Client, Sent } from '../pace/client';
import type { RateLimiter } from '../pace/rateLimiter';
import { erasedError, type Account } from '../protocol/account';
import { KEY_IN_OWN_HEADER } from '../protocol/auth';
import type { Clock } from '../pace/stoppableClock';
import { GatewayError, hasCode } from '../protocol/gatewayError';
import type { HttpResponse, Outcome } from '../protocol/outcome';
import { planGet, planUrl, type FreePlan } from '../protocol/requestPlan';
import { pathAtGateway } from '../protocol/url';
import { saysFailure } from '../responses/errorBody';
import type { RunLimits, SendOnce } from '../wire/sendOnce';
import { readImageModels, readImagePrice } from './imageModels';
import { countOf, MOST_PAGES, planNextPage, totalOf } from './listPages';
import { ttlMsOf } from './listTtl';
import { planModelNames, readModelNames } from './modelNames';
import {
	holdsModels,
	planModel,
	planModelList,
	readModel,
	readModelList,
	type ListingFormat,
	type ModelRecord,
} from './models';

/** After this, in milliseconds, a run continues without the model list. */
const QUICK_TIMEOUT_MS = 10_000;

/** Requests a list. @throws GatewayError */
type RequestList = (plan: FreePlan) => Promise<HttpResponse>;

/** The lists that this process knows, by address, format and account, until they are outdated. */
const known = new Map<string, { until: number; response: HttpResponse }>();

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

/** What the lists of a run share with its other requests. */
interface ListContext {
	account: Account;
	clock: Pick<Clock, 'now'>;
	client: Pick<Client, 'request'>;
	limiter: Pick<RateLimiter, 'elsewhere'>;
	limits: Pick<RunLimits, 'timeoutMs'>;
	sendOnce: SendOnce;
}

const TOO_LATE: Outcome = { kind: 'fault', fault: 'timeout', detail: '' };

/** Whether the models of the pages so far are enough. */
type IsEnough = (models: ModelRecord[]) => boolean;

/** Which list is requested; `any`: the names if there is no media list. */
type ListName = 'media' | 'names' | 'any';

/** The lists of a gateway's models, as a run requests them. */
export class ModelLists {
	/** Requests what a list doesn't have of single models, all by one deadline. */
	private single?: RequestList;

	/** The requests in progress. Other runs don't share them: they may have longer timeouts, or be stopped. */
	private readonly pending = new Map<string, Promise<HttpResponse>>();

	constructor(private readonly context: ListContext) {}

	/**
	 * Requests a list for somebody who also goes on without it: each page in one attempt, past the rate
	 * of the account, because a 429 of the public list says nothing about the other requests.
	 *
	 * @param timeoutMs of all pages together, in milliseconds; the list is cut then
	 * @throws GatewayError
	 */
	async readOnce(list: ListName, timeoutMs = QUICK_TIMEOUT_MS): Promise<ModelList> {
		return await requestRecords(this.context.account, list, this.inOneAttempt(timeoutMs));
	}

	/** Requests a list with retries, to its end or until there is enough. @throws GatewayError */
	async readWithRetries(list: ListName, isEnough?: IsEnough): Promise<ModelList> {
		return await requestRecords(this.context.account, list, this.withRetries, isEnough);
	}

	/**
	 * Requests one model of a media list that is cut off, as `readOnce` does.
	 *
	 * @returns undefined if the gateway doesn't have it, or doesn't say
	 */
	async readModelOnce(model: string): Promise<ModelRecord | undefined> {
		const request = (this.single ??= this.inOneAttempt(QUICK_TIMEOUT_MS));
		const response = await unlessFailed(async () => await request(planModel(model)));
		const { data } = (response?.json ?? {}) as { data?: JsonObject };
		return response && readModel({ ...data, model });
	}

	/**
	 * Adds the price of a model that has it at an address of its own, which must be the gateway's.
	 *
	 * @param isNeeded whether it is worth several attempts; otherwise there is one, as of `readModelOnce`
	 * @returns the same record if there is no price, or with why it can't be read
	 */
	async withPrice(record: ModelRecord, isNeeded = false): Promise<ModelRecord> {
		const { mediaUrl } = this.context.account;
		const path = pathAtGateway(record.pricesAt, mediaUrl);
		if (path === undefined) return record;
		const plan = planGet('listing', path);
		try {
			this.single ??= this.inOneAttempt(QUICK_TIMEOUT_MS);
			const request = isNeeded ? this.withRetries : this.single;
			return { ...record, billing: readImagePrice((await request(plan)).json) };
		} catch (error) {
			if (!(error instanceof GatewayError)) throw error as Error;
			return { ...record, noPrice: `Its price couldn't be read: ${error.message}.` };
		}
	}

	/** Requests one model with retries. @throws GatewayError, with the code `noList` if there is none */
	async model(model: string): Promise<ModelRecord> {
		const { models } = this.hasImageList ? await this.readWithRetries('media') : { models: [] };
		const listed = models.find((record) => record.model === model);
		if (listed !== undefined) return await this.withPrice(listed, true);
		const { json } = await this.withRetries(planModel(model));
		const { data } = json as { data: JsonObject };
		return readModel(data) ?? (readModel({ ...data, model }) as ModelRecord);
	}

	/**
	 * Requests the commented text of the media list, or of one model, with retries.
	 *
	 * @throws GatewayError, with the code `noList` if there is none
	 */
	async commented(model?: string): Promise<string> {
		const format: ListingFormat = 'jsonc';
		const isInList = model !== undefined && this.hasImageList;
		if (isInList) return JSON.stringify((await this.model(model)).raw, undefined, '\t');
		const { account } = this.context;
		const plan = model === undefined ? planModelList(account, format) : planModel(model, format);
		return (await this.withRetries(plan)).text;
	}

	/** Whether all that is published of a model but its price is in the list. */
	private get hasImageList(): boolean {
		return this.context.account.imageApi === 'openRouter';
	}

	private inOneAttempt(timeoutMs: number): RequestList {
		const { clock, limiter, limits, sendOnce } = this.context;
		let endsAt: number | undefined;
		return async (plan) =>
			await this.cached(plan, async () => {
				// This rejects if the run has ended.
				const outcome = await limiter.elsewhere.send(async () => {
					endsAt ??= clock.now() + timeoutMs;
					const leftMs = Math.min(endsAt - clock.now(), limits.timeoutMs);
					return leftMs > 0 ? await sendOnce(plan, leftMs) : TOO_LATE;
				});
				return { outcome, attempts: 1 };
			});
	}

	private readonly withRetries: RequestList = async (plan) => {
		// JSONC counts as a good response if it was requested. Otherwise an incomplete document is
		// retried.
		const sendOnce: SendOnce = async (...request) => {
			const outcome = await this.context.sendOnce(...request);
			const isText = wantsText(plan) && outcome.kind === 'response' && isCommented(outcome.text);
			return isText ? { ...outcome, json: outcome.json ?? {} } : outcome;
		};
		return await this.cached(plan, async () => await this.context.client.request(plan, sendOnce));
	};

	/**
	 * The response to a request for a list, known for as long as it allows (docs/protocol.md, "Model
	 * list"), so that all items, and all nodes of this process, send one request. Each account has its own
	 * rate limit, and may have its own models.
	 *
	 * @returns a response that must not be changed: others get the same
	 * @throws GatewayError if there is no good response; with the code `noList` if a retry would bring none
	 *   either
	 */
	private async cached(plan: FreePlan, send: () => Promise<Sent>): Promise<HttpResponse> {
		const { account, clock } = this.context;
		const { media, base, allowUnauthorizedCerts, idWithKey } = account;
		const url = planUrl(plan, plan.call === 'names' ? base : media);
		const id = [url, JSON.stringify(plan.headers), allowUnauthorizedCerts, idWithKey].join(' ');
		const now = clock.now();
		for (const [one, { until }] of known) if (until <= now) known.delete(one);
		const load = async (): Promise<HttpResponse> => {
			const { outcome, attempts } = await send();
			if (outcome.kind === 'response' && outcome.httpCode === 200 && isListing(plan, outcome)) {
				known.set(id, { until: now + ttlMsOf(outcome.headers), response: outcome });
				return outcome;
			}
			const { problem } = errorFor(plan, outcome, attempts);
			const error = new GatewayError(problem, isMissing(outcome) ? 'noList' : undefined);
			throw erasedError(error, account) as Error;
		};
		const response = known.get(id)?.response;
		if (response !== undefined) return response;
		const loading = this.pending.get(id) ?? load().finally(() => void this.pending.delete(id));
		this.pending.set(id, loading);
		return await loading;
	}
}

/**
 * Requests models from the media list, or only their names (docs/protocol.md, "Names of models").
 *
 * @throws GatewayError
 */
async function requestRecords(
	account: Account,
	list: ListName,
	request: RequestList,
	isEnough: IsEnough = () => false,
): Promise<ModelList> {
	const { hasKey, imageApi } = account;
	const readNames = (json: unknown) => readModelNames(json) ?? [];
	const namesBy = async (headers = {}) =>
		await requestPages(planModelNames(headers), { request, read: readNames, isEnough });
	// Some gateways take the key in a header of its own alone.
	const names = async () =>
		await namesBy().catch(async (error: unknown) => {
			if (!isKeyRefused(error)) throw error;
			return await namesBy(KEY_IN_OWN_HEADER).catch(() => {
				throw error;
			});
		});
	if (list === 'names') return await names();
	try {
		const read = imageApi === 'openRouter' ? readImageModels : readModelList;
		return await requestPages(planModelList(account), { request, read, isEnough });
	} catch (error) {
		const mayAsk = list === 'any' && hasKey && hasCode(error, 'noList');
		if (!mayAsk) throw error as Error;
		return await names().catch((other: unknown) => {
			const isNone = hasCode(other, 'noList') && !isKeyRefused(other);
			throw isNone ? error : other;
		});
	}
}

const isKeyRefused = (error: unknown): boolean =>
	error instanceof GatewayError && [401, 403].includes(error.problem.httpCode ?? 0);

/** What a request brings; undefined if it fails. */
const unlessFailed = async <T>(request: () => Promise<T>): Promise<T | undefined> =>
	await request().catch((error: unknown) => {
		if (error instanceof GatewayError) return undefined;
		throw error;
	});

/** The models of a gateway, and whether the list ended before it had enough, or all it says it has. */
export interface ModelList {
	models: ModelRecord[];
	isCut: boolean;
}

interface ListReading {
	request: RequestList;
	read: (json: unknown) => ModelRecord[];
	isEnough: IsEnough;
}

/**
 * Requests the pages of a list until there is enough, up to a limit. A page that brings no other models
 * is the last one.
 *
 * @throws GatewayError if there is no first page
 */
async function requestPages(
	plan: FreePlan,
	{ request, read, isEnough }: ListReading,
): Promise<ModelList> {
	const first = await request(plan);
	const models = read(first.json);
	const names = new Set(models.map(({ model }) => model));
	let count = countOf(first.json);
	let next = planNextPage(plan, first.json, { pages: 1, count });
	for (let pages = 2; next !== undefined && pages <= MOST_PAGES && !isEnough(models); pages += 1) {
		const page = next;
		const response = await unlessFailed(async () => await request(page));
		if (response === undefined) break;
		const others = read(response.json).filter(({ model }) => !names.has(model));
		if (others.length === 0) return { models, isCut: totalOf(first.json) > count };
		for (const other of others) names.add(other.model);
		models.push(...others);
		count += countOf(response.json);
		next = planNextPage(plan, response.json, { pages, count });
	}
	return { models, isCut: next !== undefined && !isEnough(models) };
}
