import type {
	IExecuteFunctions,
	IHttpRequestOptions,
	ILoadOptionsFunctions,
	IN8nHttpFullResponse,
} from 'n8n-workflow';
import { isBelow } from '../../../gateway/protocol/url';
import { isJsonObject, jsonText, parseJson } from '../../../gateway/util/json';
import { eraseInJson } from '../../../gateway/util/keyEraser';
import {
	faultOf,
	wasNotAccepted,
	type HttpResponse,
	type Connection,
	type FaultOutcome,
	type Outcome,
} from '../../../gateway/protocol/outcome';
import { planUrl, type Call, type RequestPlan } from '../../../gateway/protocol/requestPlan';
import { downloadTarget, redirectTarget } from '../../../gateway/protocol/redirect';
import type { SendOnce } from '../../../gateway/client/client';
import { InvalidBodyError, multipart } from './multipart';
import type { Requests } from './inFlight';
import { CREDENTIAL, type GatewayAddress, type RunLimits } from './gatewayAddress';
import { beginningOf, readBody, TooLargeError } from './responseBody';

/** A response of the gateway is JSON: this is plenty where no images come inline in it. */
export const LARGEST_RESPONSE_BYTES = 64 * 1024 * 1024;
/** Responses that images may come inline in: their limit is that of the run. */
const WITH_IMAGES: readonly Call[] = ['sync', 'submit', 'poll'];
/** The model list is public, and images lie on any host. */
const WITHOUT_KEY: readonly Call[] = ['listing', 'download'];
/** Those of an image lead from host to host, and carry no key. */
const MOST_REDIRECTS = 3;
const MOST_REDIRECTS_OF_IMAGE = 10;
/** As much is kept of a response that broke off, in characters. */
const LONGEST_RECEIVED = 2048;

export interface TransportOptions {
	/** Of an execution; the editor's has what a listing needs. */
	context: IExecuteFunctions | ILoadOptionsFunctions;
	address: GatewayAddress;
	limits: RunLimits;
	requests: Requests;
	/** Reads the body of a response; as JSON in one piece, unless told otherwise. */
	read?: typeof readJson;
}

/** What a sender of requests may do in its own way, in place of the run's. */
export type OwnWays = Partial<Pick<TransportOptions, 'requests' | 'read'>>;

export type ResponseBody = Pick<HttpResponse, 'text' | 'json'>;

/**
 * The one place where a plan becomes a request of n8n. Every fault becomes an outcome: what it
 * means is decided elsewhere.
 *
 * Bodies are read as streams, so that a response that is too large or never ends can be cut off; and
 * redirects are followed here, because the platform would show the key to another host.
 */
export function createSendOnce(options: TransportOptions): SendOnce {
	const { address, limits, requests } = options;
	return async (plan, timeoutMs = limits.timeoutMs) => {
		const isImage = plan.call === 'download';
		const home = plan.call === 'listing' ? address.mediaUrl : address.baseUrl;
		const hop: Hop = { plan, url: isImage ? plan.path : planUrl(plan, home) };
		const mostRedirects = isImage ? MOST_REDIRECTS_OF_IMAGE : MOST_REDIRECTS;
		const followRedirects = async (signal: AbortSignal): Promise<Outcome> => {
			for (let redirects = 0; ; redirects += 1) {
				const outcome = await requestAndRead(options, hop, signal);
				const target = isImage
					? downloadTarget(outcome.httpCode, outcome.headers.location, hop.url)
					: redirectTarget(plan, outcome, hop.url, home);
				if (target === undefined || redirects >= mostRedirects) {
					return withoutKeyIn(outcome, address);
				}
				hop.url = target;
			}
		};
		const outcome = await requests.run(timeoutMs, followRedirects, faultFrom);
		return outcome.kind === 'fault' ? { ...outcome, ...hop.cut } : outcome;
	};
}

/**
 * Reads the body of a response to its end: its text, and the JSON in it.
 *
 * @param chunks gets what arrives
 * @param limit in bytes
 */
export async function readJson(
	{ body }: IN8nHttpFullResponse,
	chunks?: Uint8Array[],
	limit = LARGEST_RESPONSE_BYTES,
): Promise<ResponseBody> {
	const text = (await readBody(body, limit, chunks)).toString('utf8');
	return { text, json: parseJson(text) };
}

/** One request of a plan at one address: redirects may lead to others. */
interface Hop {
	plan: RequestPlan;
	url: string;
	/** Of a response that broke off: its status, and the beginning of what had arrived. */
	cut?: { httpCode: number; received: string };
}

/** Makes one request and reads its response. */
async function requestAndRead(
	options: TransportOptions,
	hop: Hop,
	signal: AbortSignal,
): Promise<HttpResponse> {
	const { plan } = hop;
	const { withoutKey, withoutCutKey } = options.address;
	const { arriving } = options.requests;
	const limit = WITH_IMAGES.includes(plan.call) ? options.limits.maxResponseBytes : undefined;
	const form = plan.form && (await multipart(plan.form));
	try {
		const body = form?.body ?? plan.body;
		const response = await callHelper(options, hop, { body, abortSignal: signal });
		const httpCode = response.statusCode;
		const chunks: Uint8Array[] = [];
		const received = (): string =>
			withoutCutKey(withoutKey(beginningOf(chunks))).slice(0, LONGEST_RECEIVED);
		if (!wasNotAccepted({ kind: 'fault', fault: 'other', detail: '', httpCode })) {
			arriving.set(plan, received);
		}
		try {
			const { text, json } = await (options.read ?? readJson)(response, chunks, limit);
			// Whole, it would stay in memory as long as the plan does: images can be in it.
			arriving.delete(plan);
			return { kind: 'response', httpCode, headers: plainHeaders(response.headers), text, json };
		} catch (error) {
			const cut = { httpCode, received: received() };
			hop.cut = cut;
			if (arriving.has(plan)) arriving.set(plan, () => cut.received);
			return await Promise.reject(error);
		}
	} finally {
		form?.close();
	}
}

/** A response without the key in what people read: some gateways quote the key that they refuse. */
function withoutKeyIn(outcome: Outcome, { withoutKey, withoutCutKey }: GatewayAddress): Outcome {
	if (outcome.kind === 'fault') return outcome;
	const { text, json, headers } = outcome;
	const erased = withoutKey(text);
	return {
		...outcome,
		headers: plainHeaders(headers, withoutKey),
		// What is no JSON may be JSON that was cut.
		text: json === undefined ? withoutCutKey(erased) : erased,
		json: erased === text ? json : eraseInJson(json, withoutKey),
	};
}

/** Hands a request to n8n's HTTP helper, which adds the key. */
async function callHelper(
	{ context, address }: TransportOptions,
	{ plan, url }: Hop,
	own: Pick<IHttpRequestOptions, 'body' | 'abortSignal'>,
): Promise<IN8nHttpFullResponse> {
	// The deadline is the signal's: a time-out beside it would be one more timer for each request.
	const options: IHttpRequestOptions = {
		...own,
		...STREAMED,
		method: plan.method,
		url,
		headers: { ...plan.headers },
		skipSslCertificateValidation: skipsCertificate(url, address),
	};
	// The helper attaches the execution's own stop signal, which knows nothing of our deadline: in
	// the context that it sees, the signal is this request's.
	const seen = Object.create(context, {
		getExecutionCancelSignal: { value: () => own.abortSignal },
	}) as IExecuteFunctions;
	try {
		return (await (WITHOUT_KEY.includes(plan.call)
			? context.helpers.httpRequest(options)
			: context.helpers.httpRequestWithAuthentication.call(
					seen,
					CREDENTIAL,
					options,
					address.authentication,
				))) as IN8nHttpFullResponse;
	} catch (error) {
		// The HTTP library makes JSON of the body.
		return await Promise.reject(jsonText(plan.body) === false ? new InvalidBodyError() : error);
	}
}

/** How n8n's HTTP helper returns every response: unchanged, redirects and errors too. */
const STREAMED = {
	encoding: 'stream',
	returnFullResponse: true,
	ignoreHttpStatusErrors: true,
	disableFollowRedirect: true,
} as const;

/**
 * Whether a certificate that nobody vouches for is accepted at this address: only where the user
 * said so, and only at the gateway itself.
 */
export function skipsCertificate(url: string, address: GatewayAddress): boolean {
	if (!address.allowUnauthorizedCerts) return false;
	return [address.baseUrl, address.mediaUrl].some((home) => isBelow(url, new URL(home).origin));
}

/** Header names in lower case, values as one string, and without the key where they may hold it. */
export function plainHeaders(
	headers: IN8nHttpFullResponse['headers'],
	withoutKey: GatewayAddress['withoutKey'] = (text) => text,
): Record<string, string> {
	const plain: Record<string, string> = {};
	for (const [name, value] of Object.entries(headers ?? {})) {
		plain[name.toLowerCase()] = withoutKey(String(value));
	}
	return plain;
}

/**
 * The fault behind what the platform threw. Its helper wraps the error of the network in one of its
 * own; only code and text are taken over, because the original holds the request with the key.
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
	// n8n's own end of a request says nothing about the network.
	const detail = typeof code === 'string' && code !== 'ERR_CANCELED' ? code : '';
	return { kind: 'fault', fault, detail };
}

/** What n8n's protection against server-side request forgery throws. */
const NOT_SENT_BY_NAME = ['SsrfBlockedIpError', 'SsrfBlockedHostnameError'];

/**
 * How far the connection of a request had come, read from its socket, which the HTTP library hangs
 * on its errors. Nothing of a request leaves before the connection is made and TLS is agreed on:
 * until then Node.js keeps what is to be sent.
 */
function connectionOf(chain: Array<Record<string, unknown>>): Connection | undefined {
	for (const { request: sent } of chain) {
		const socket = isLink(sent) ? sent.socket : undefined;
		if (!isLink(socket)) continue;
		if (socket.connecting === true || socket.secureConnecting === true) return 'pending';
		// Kept for the moment of the connection, and still there where that never came.
		if (socket._pendingData !== undefined && socket._pendingData !== null) return 'pending';
		return socket.secureConnecting === false ? 'open' : undefined;
	}
	return undefined;
}

function isLink(value: unknown): value is Record<string, unknown> {
	return isJsonObject(value) || value instanceof Error;
}
