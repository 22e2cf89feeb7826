import { jsonText } from '../../util/json';
import { MB } from '../../util/megabyte';
import type { Account } from '../protocol/account';
import { additionalHeaders, credentialHeaders, skipsCertificate } from '../protocol/auth';
import { isRefusal, type HttpResponse, type Outcome } from '../protocol/outcome';
import { planUrl, type Call, type RequestPlan } from '../protocol/requestPlan';
import { isBelow } from '../protocol/url';
import { parseUrl } from '../../util/parseUrl';
import { faultFrom } from './faultFrom';
import { jsonBody, readImageResponse } from './imageResponse';
import type { Requests } from './inFlight';
import { InvalidBodyError, jsonWithFiles, multipart } from './multipart';
import { redirectUrl } from './redirect';
import { beginningOf, readBody, type Reading, type ResponseBody } from './responseBody';
import type { Transport, WireBody, WireRequest, WireResponse } from './transport';
import { isByteStream } from '../../util/byteStream';

/** More than any image has, and less than the longest text of JavaScript. */
export const LARGEST_IMAGE_BYTES = 500 * MB;

/** Limits of a run, for all its items together. */
export interface RunLimits {
	concurrency: number;
	requestsPerSecond?: number;
	/** The timeout of one request. */
	timeoutMs: number;
	/**
	 * The largest image to download, and the longest response that may contain images;
	 * `LARGEST_IMAGE_BYTES` if undefined.
	 */
	maxResponseBytes?: number;
}

/** One attempt to send a plan. It never throws, except when the run is stopped. */
export type SendOnce = (plan: RequestPlan, timeoutMs?: number) => Promise<Outcome>;

/** The longest response without inline images: JSON, and much less than this. */
export const LARGEST_RESPONSE_BYTES = 64 * MB;
/** Calls whose responses may contain inline images: their limit is that of the run. */
const WITH_IMAGES: readonly Call[] = ['sync', 'submit', 'poll'];
/** The model list is public, and images lie on any host. */
const WITHOUT_KEY: readonly Call[] = ['listing', 'download'];
const MOST_REDIRECTS = 3;
const MOST_REDIRECTS_OF_IMAGE = 10;
/** The length, in characters, of what is kept of a response that was cut off. */
const LONGEST_RECEIVED = 2048;

/** An attempt to send a plan, for a log. */
export interface LoggedAttempt {
	plan: RequestPlan;
	/** The address of its last request, without a query, which may be a signature. */
	url: string;
	/** Undefined if the run was stopped. */
	outcome?: Outcome;
	/** How long it took, in milliseconds. */
	durationMs: number;
}

/** What sends a plan once. */
interface SendOnceOptions {
	account: Account;
	limits: Pick<RunLimits, 'timeoutMs' | 'maxResponseBytes'>;
	requests: Requests;
	transport: Transport;
	/** Whether the transport adds the key to the requests that carry it. */
	addsKey?: boolean;
	/** Told of each attempt once it has ended. */
	onAttempt?: (attempt: LoggedAttempt) => void;
	/** How many redirects are followed; by default as many as are usual. */
	mostRedirects?: number;
}

/** Reads the body of a response to its end. */
export type ReadBody = (response: WireResponse, reading?: Reading) => Promise<ResponseBody>;

/**
 * Creates the function that sends a plan once. Every fault becomes an outcome.
 *
 * Bodies are read as streams, so that a response that is too large or never ends can be cut off.
 * Redirects are followed here, because HTTP libraries would send the key to another host.
 *
 * @param read by default a body is read as JSON, or as images where it may have some
 */
export function createSendOnce(options: SendOnceOptions, read?: ReadBody): SendOnce {
	const { account, limits, requests } = options;
	return async (plan, timeoutMs = limits.timeoutMs) => {
		const isImage = plan.call === 'download';
		const api = plan.call === 'listing' ? account.media : account.base;
		const address = isImage ? plan.path : planUrl(plan, api);
		const request: AddressedRequest = { plan, url: address, read };
		const { mostRedirects = isImage ? MOST_REDIRECTS_OF_IMAGE : MOST_REDIRECTS } = options;
		const followRedirects = async (signal: AbortSignal, onPart: () => void): Promise<Outcome> => {
			for (let redirects = 0; ; redirects += 1) {
				const response = await requestAndRead(options, request, signal, onPart);
				const next = redirectUrl(plan, response, request.url, api.url);
				if (next === undefined || redirects >= mostRedirects) {
					return { url: request.url, ...response };
				}
				request.url = next;
			}
		};
		const startedAt = Date.now();
		let outcome: Outcome | undefined;
		try {
			outcome = await requests.run(timeoutMs, followRedirects, faultFrom, plan.signal);
			return outcome.kind === 'fault' ? { ...outcome, ...request.cut } : outcome;
		} finally {
			const url = request.url.replace(/[?#].*$/s, '');
			options.onAttempt?.({ plan, url, outcome, durationMs: Date.now() - startedAt });
		}
	};
}

/** Reads a body as its text, and the JSON in it; a list as the `data` of an object. @see ReadBody */
export async function readJson(
	{ body }: WireResponse,
	{ chunks, limit = LARGEST_RESPONSE_BYTES }: Reading = {},
): Promise<ResponseBody> {
	return jsonBody((await readBody(body, limit, chunks)).toString());
}

/** A request of a plan to one address: redirects may lead to others. */
interface AddressedRequest {
	plan: RequestPlan;
	url: string;
	read?: ReadBody;
	/** A response that was cut off: its head, and the beginning of its body. */
	cut?: { httpCode: number; headers: Record<string, string>; received: string };
}

/** Makes one request and reads its response. */
async function requestAndRead(
	options: SendOnceOptions,
	request: AddressedRequest,
	signal: AbortSignal,
	onPart: () => void,
): Promise<HttpResponse> {
	const { plan } = request;
	const { transport } = options;
	const { arriving } = options.requests;
	const hasImages = WITH_IMAGES.includes(plan.call);
	const { read = hasImages ? readImageResponse : readJson } = request;
	const limit = hasImages ? (options.limits.maxResponseBytes ?? LARGEST_IMAGE_BYTES) : undefined;
	const files = await openFiles(plan);
	try {
		const response = await transport(wireRequest(options, request, files?.body), signal).catch(
			(error: unknown) => {
				// The HTTP library can't turn this body into JSON.
				throw jsonText(plan.body) === false ? new InvalidBodyError() : error;
			},
		);
		const { httpCode, body } = response;
		if (plan.isStreamed) {
			onPart();
			// Together with the reader's own listener, as this one alone would lose what comes before.
			if (isByteStream(body)) body.on('data', onPart);
		}
		const chunks: Uint8Array[] = [];
		const received = (): string => beginningOf(chunks).slice(0, LONGEST_RECEIVED);
		const headers = plainHeaders(response.headers);
		if (!isRefusal(httpCode, headers.location)) arriving.set(plan, received);
		try {
			const { text, json } = await read(response, { chunks, limit, onPart });
			// A whole response, which may contain images, would stay in memory as long as the plan.
			arriving.delete(plan);
			return { kind: 'response', httpCode, headers, text, json };
		} catch (error) {
			const cut = { httpCode, headers, received: received() };
			request.cut = cut;
			if (arriving.has(plan)) arriving.set(plan, () => cut.received);
			throw error as Error;
		}
	} finally {
		files?.close();
	}
}

/** The request of a plan as it leaves. @param files its body with files; none by default */
function wireRequest(
	{ account, addsKey = false }: SendOnceOptions,
	{ plan, url }: AddressedRequest,
	files?: WireBody,
): WireRequest {
	const { method } = plan;
	const withKey = !WITHOUT_KEY.includes(plan.call) && plan.isKeyless !== true;
	const added = (): Record<string, string> => {
		if (withKey) return addsKey ? {} : credentialHeaders(url, account, plan.headers);
		return plan.isFromInput ? {} : additionalHeaders(url, account);
	};
	const { baseUrl, withoutKey } = account;
	// A gateway may write its key into the address of an image on another host.
	const isElsewhere =
		plan.call === 'download' && !isBelow(url, parseUrl(baseUrl)?.origin ?? baseUrl);
	return {
		method,
		url: isElsewhere ? withoutKey(url) : url,
		headers: { ...plan.headers, ...added() },
		body: files ?? plan.body,
		withKey,
		anyCertificate: skipsCertificate(url, account),
	};
}

/** The body of a request with files, opened for one attempt; undefined for any other request. */
async function openFiles({ form, inside, body = {} }: RequestPlan) {
	if (form !== undefined) return await multipart(form);
	return inside && (await jsonWithFiles(body, inside));
}

/** Headers with names in lower case and values as one string. */
export function plainHeaders(headers: WireResponse['headers']): Record<string, string> {
	const plain: Record<string, string> = {};
	for (const [name, value] of Object.entries(headers ?? {}))
		plain[name.toLowerCase()] = String(value);
	return plain;
}
