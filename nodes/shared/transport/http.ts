import type {
	IExecuteFunctions,
	IHttpRequestOptions,
	ILoadOptionsFunctions,
	IN8nHttpFullResponse,
} from 'n8n-workflow';
import { additionalHeaders, skipsCertificate } from '../../../gateway/protocol/auth';
import { isJsonObject, jsonText } from '../../../gateway/util/json';
import { MB } from '../../../gateway/util/megabyte';
import { eraseInJson, type EraseField } from '../../../gateway/util/keyEraser';
import { faultOf, type Connection } from '../../../gateway/protocol/networkFault';
import {
	isRefusal,
	type HttpResponse,
	type FaultOutcome,
	type Outcome,
} from '../../../gateway/protocol/outcome';
import { planUrl, type Call, type RequestPlan } from '../../../gateway/protocol/requestPlan';
import { createFieldEraser } from '../../../gateway/protocol/fieldEraser';
import { redirectTarget } from '../../../gateway/protocol/redirect';
import type { SendOnce } from '../../../gateway/client/client';
import { InvalidBodyError, jsonWithFiles, jsonWithFilesInside, multipart } from './multipart';
import { jsonBody, readImageResponse } from './imageResponse';
import type { Requests } from './inFlight';
import { CREDENTIAL, type GatewayAddress } from './gatewayAddress';
import { beginningOf, readBody, TooLargeError, type ResponseBody } from './responseBody';
import type { RunLimits } from './runLimits';

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

export interface TransportOptions {
	/** The context of an execution, or of the editor when it requests the model list. */
	context: IExecuteFunctions | ILoadOptionsFunctions;
	address: GatewayAddress;
	limits: RunLimits;
	requests: Requests;
	/** Reads the body of a response; by default as JSON, or as images where it may have some. */
	read?: typeof readJson;
}

/** Transport options that some requests have in place of the run's. */
export type TransportOverrides = Partial<Pick<TransportOptions, 'requests' | 'read'>>;

/**
 * The transport: it sends a plan once, by n8n's HTTP helper. Every fault becomes an outcome.
 *
 * Bodies are read as streams, so that a response that is too large or never ends can be cut off.
 * Redirects are followed here, because n8n would send the key to another host.
 */
export function createSendOnce(options: TransportOptions): SendOnce {
	const { address, limits, requests } = options;
	return async (plan, timeoutMs = limits.timeoutMs) => {
		const isImage = plan.call === 'download';
		const api = plan.call === 'listing' ? address.media : address.base;
		const request: AddressedRequest = { plan, url: isImage ? plan.path : planUrl(plan, api) };
		const mostRedirects = isImage ? MOST_REDIRECTS_OF_IMAGE : MOST_REDIRECTS;
		const followRedirects = async (signal: AbortSignal): Promise<Outcome> => {
			for (let redirects = 0; ; redirects += 1) {
				const response = await requestAndRead(options, request, signal);
				const target = redirectTarget(plan, response, request.url, api.url);
				if (target === undefined || redirects >= mostRedirects) {
					const url = address.withoutKey(request.url);
					return { url, ...withoutKeyIn(response, address, plan.call) };
				}
				request.url = target;
			}
		};
		const outcome = await requests.run(timeoutMs, followRedirects, faultFrom);
		return outcome.kind === 'fault' ? { ...outcome, ...request.cut } : outcome;
	};
}

/**
 * Reads the body of a response to its end: its text, and the JSON in it; a list as the `data` of an
 * object.
 *
 * @param chunks filled as the body arrives
 * @param limit in bytes
 */
export async function readJson(
	{ body }: IN8nHttpFullResponse,
	chunks?: Uint8Array[],
	limit = LARGEST_RESPONSE_BYTES,
): Promise<ResponseBody> {
	return jsonBody((await readBody(body, limit, chunks)).toString());
}

/** A request of a plan to one address: redirects may lead to others. */
interface AddressedRequest {
	plan: RequestPlan;
	url: string;
	/** A response that was cut off: its status, and the beginning of its body. */
	cut?: { httpCode: number; received: string };
}

/** Makes one request and reads its response. */
async function requestAndRead(
	options: TransportOptions,
	request: AddressedRequest,
	signal: AbortSignal,
): Promise<HttpResponse> {
	const { plan } = request;
	const { withoutKey } = options.address;
	const { arriving } = options.requests;
	const hasImages = WITH_IMAGES.includes(plan.call);
	const read = options.read ?? (hasImages ? readImageResponse : readJson);
	const limit = hasImages ? options.limits.maxResponseBytes : undefined;
	const files = await openFiles(plan);
	try {
		const body = (files?.body ?? plan.body) as IHttpRequestOptions['body'];
		const response = await callHelper(options, request, { body, abortSignal: signal });
		const httpCode = response.statusCode;
		const chunks: Uint8Array[] = [];
		const received = (): string => withoutKey(beginningOf(chunks)).slice(0, LONGEST_RECEIVED);
		if (!isRefusal(httpCode)) arriving.set(plan, received);
		try {
			const { text, json } = await read(response, chunks, limit);
			// A whole response, which may contain images, would stay in memory as long as the plan.
			arriving.delete(plan);
			return { kind: 'response', httpCode, headers: plainHeaders(response.headers), text, json };
		} catch (error) {
			const cut = { httpCode, received: received() };
			request.cut = cut;
			if (arriving.has(plan)) arriving.set(plan, () => cut.received);
			throw error as Error;
		}
	} finally {
		files?.close();
	}
}

/** The body of a request with files, opened for one attempt; undefined for any other request. */
async function openFiles({ form, inline, inside, body = {} }: RequestPlan) {
	if (form !== undefined) return await multipart(form);
	if (inside !== undefined) return await jsonWithFilesInside(body, inside);
	return inline && (await jsonWithFiles(body, inline));
}

/** The same response without the key: some gateways quote the key that they refuse. */
function withoutKeyIn(response: HttpResponse, address: GatewayAddress, call: Call): HttpResponse {
	const { text, json, headers, httpCode } = response;
	const isError = !isJsonObject(json) || (json.error ?? undefined) !== undefined;
	const isContent = call === 'message' && httpCode < 300 && !isError;
	const withoutKey = isContent ? address.withoutKeyInContent : address.withoutKey;
	const erase = createFieldEraser(address.baseUrl, withoutKey, address.withoutKeyInContent);
	const erased = withoutKey(text);
	return {
		kind: 'response',
		httpCode,
		headers: plainHeaders(headers, erase),
		text: erased,
		// JSON may spell any character of the key as an escape.
		json: erased === text && !text.includes('\\u') ? json : eraseInJson(json, erase),
	};
}

/** Calls n8n's HTTP helper, which adds the key. */
async function callHelper(
	{ context, address }: TransportOptions,
	{ plan, url }: AddressedRequest,
	own: Pick<IHttpRequestOptions, 'body' | 'abortSignal'>,
): Promise<IN8nHttpFullResponse> {
	const withKey = !WITHOUT_KEY.includes(plan.call);
	const added = withKey || plan.isForeign ? {} : additionalHeaders(url, address);
	// No `timeout`: the signal has the deadline, and each request would set a second timer.
	const options: IHttpRequestOptions = {
		method: plan.method,
		url,
		headers: { ...(isLong(plan) && KEPT_OPEN), ...plan.headers, ...added },
		skipSslCertificateValidation: skipsCertificate(url, address),
		...own,
		...STREAMED,
	};
	// The helper uses the execution's cancel signal instead of `abortSignal`. The context it gets
	// returns the signal of this request, which has the deadline as well.
	const requestContext = Object.create(context, {
		getExecutionCancelSignal: { value: () => own.abortSignal },
	}) as IExecuteFunctions;
	try {
		return (await (withKey
			? context.helpers.httpRequestWithAuthentication.call(
					requestContext,
					CREDENTIAL,
					options,
					address.authentication,
				)
			: context.helpers.httpRequest(options))) as IN8nHttpFullResponse;
	} catch (error) {
		// The HTTP library can't turn this body into JSON.
		throw jsonText(plan.body) === false ? new InvalidBodyError() : error;
	}
}

/**
 * A gateway may refuse a request before it has read all of it. If it closed the connection then, as
 * n8n's helper asks it to, writing would fail and its response be lost: the outcome would be unknown.
 */
const KEPT_OPEN = { connection: 'keep-alive' };

/** In characters of JSON: a body that leaves together with its headers. */
const SHORT_BODY = 8000;

const isLong = ({ body, form, inline, inside }: RequestPlan): boolean =>
	(form ?? inline ?? inside) !== undefined || (jsonText(body) || '').length > SHORT_BODY;

/** How n8n's HTTP helper returns every response: unchanged, redirects and errors too. */
const STREAMED = {
	encoding: 'stream',
	returnFullResponse: true,
	ignoreHttpStatusErrors: true,
	disableFollowRedirect: true,
} as const;

/** Headers with names in lower case and values as one string, without the key. */
export function plainHeaders(
	headers: IN8nHttpFullResponse['headers'],
	erase: EraseField = (text) => text,
): Record<string, string> {
	const plain: Record<string, string> = {};
	for (const [name, value] of Object.entries(headers ?? {})) {
		plain[name.toLowerCase()] = erase(String(value), name.toLowerCase());
	}
	return plain;
}

/**
 * The fault of a request, from the error that n8n's helper threw, which wraps the error of the
 * network. Only its code and text are used: the error contains the request, and with it the key.
 */
export function faultFrom(error: unknown): FaultOutcome {
	if (error instanceof InvalidBodyError) return { kind: 'fault', fault: 'invalidBody', detail: '' };
	if (error instanceof TooLargeError) return { kind: 'fault', fault: 'tooLarge', detail: '' };
	const chain: Array<Record<string, unknown>> = [];
	for (let link: unknown = error; isLink(link) && chain.length < 5; link = link.cause)
		chain.push(link);
	const code = chain.map((link) => link.code).find((value) => typeof value === 'string');
	const texts = chain.map((link) => link.message).filter((value) => typeof value === 'string');
	const fault = chain.some(({ name }) => NOT_SENT_BY_NAME.includes(String(name)))
		? 'blocked'
		: faultOf(code, texts.join(' '), connectionOf(chain));
	// n8n's code for a request that it ended itself says nothing about the network.
	const detail = typeof code === 'string' && code !== 'ERR_CANCELED' ? code : '';
	return { kind: 'fault', fault, detail };
}

/** Errors of n8n's protection against server-side request forgery. */
const NOT_SENT_BY_NAME = ['SsrfBlockedIpError', 'SsrfBlockedHostnameError'];

/**
 * The state of a request's connection, read from its socket, which the HTTP library attaches to its
 * errors. Node.js sends nothing of a request before the connection and its TLS handshake are
 * complete.
 */
function connectionOf(chain: Array<Record<string, unknown>>): Connection | undefined {
	for (const { request: sent } of chain) {
		const socket = isLink(sent) ? sent.socket : undefined;
		if (!isLink(socket)) continue;
		if (socket.connecting === true || socket.secureConnecting === true) return 'pending';
		// Node.js keeps the data here until the connection is complete.
		if (socket._pendingData !== undefined && socket._pendingData !== null) return 'pending';
		return socket.secureConnecting === false ? 'open' : undefined;
	}
	return undefined;
}

function isLink(value: unknown): value is Record<string, unknown> {
	return isJsonObject(value) || value instanceof Error;
}
