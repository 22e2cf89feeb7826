import type {
	IExecuteFunctions,
	IHttpRequestOptions,
	ILoadOptionsFunctions,
	IN8nHttpFullResponse,
} from 'n8n-workflow';
import { isBelow } from '../../../gateway/protocol/url';
import { isJsonObject, parseJson } from '../../../gateway/util/json';
import {
	faultOf,
	wasNotAccepted,
	type HttpResponse,
	type Connection,
	type FaultOutcome,
	type Outcome,
} from '../../../gateway/protocol/outcome';
import { planUrl, type RequestPlan } from '../../../gateway/protocol/requestPlan';
import { redirectTarget } from '../../../gateway/protocol/redirect';
import type { SendOnce } from '../../../gateway/client/client';
import { multipart, type MultipartBody } from './multipart';
import type { Requests } from './inFlight';
import { CREDENTIAL, type GatewayAddress, type RunLimits } from './gatewayAddress';
import { arrivedBefore, beginningOf, readBody, TooLargeError } from './responseBody';

/** A response of the gateway is JSON; images that come inline in it are the largest there is. */
const LARGEST_RESPONSE_BYTES = 64 * 1024 * 1024;
const MOST_REDIRECTS = 3;
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
		const home = plan.call === 'listing' ? address.mediaUrl : address.baseUrl;
		let url = planUrl(plan, home);
		const send = async (signal: AbortSignal): Promise<Outcome> => {
			for (let hop = 0; ; hop += 1) {
				const outcome = await sendHop(options, plan, url, signal);
				const target = redirectTarget(plan, outcome, url, home);
				if (target === undefined || hop >= MOST_REDIRECTS) return outcome;
				url = target;
			}
		};
		return await requests.run(timeoutMs, send, faultFrom);
	};
}

/** Reads the body of a response to its end: its text, and the JSON in it. @param chunks gets what arrives */
export async function readJson(
	{ body }: IN8nHttpFullResponse,
	chunks?: Uint8Array[],
): Promise<ResponseBody> {
	const text = (await readBody(body, LARGEST_RESPONSE_BYTES, chunks)).toString('utf8');
	return { text, json: parseJson(text) };
}

async function sendHop(
	options: TransportOptions,
	plan: RequestPlan,
	url: string,
	signal: AbortSignal,
): Promise<Outcome> {
	const form = await openForm(plan);
	try {
		const body = form?.body ?? plan.body;
		const response = await request(options, plan, url, body, signal).catch(
			async (error: unknown) =>
				await Promise.reject(canBeSerialized(plan.body) ? error : new InvalidBodyError()),
		);
		const { withoutKey, withoutCutKey } = options.address;
		const httpCode = response.statusCode;
		const received = (arrived: string): string =>
			withoutCutKey(withoutKey(arrived)).slice(0, LONGEST_RECEIVED);
		const chunks: Uint8Array[] = [];
		const { arriving } = options.requests;
		if (!wasNotAccepted({ kind: 'fault', fault: 'other', detail: '', httpCode })) {
			arriving.set(plan, () => received(beginningOf(chunks)));
		}
		const { text, json } = await (options.read ?? readJson)(response, chunks).catch(
			async (error: unknown) => {
				const arrived = received(arrivedBefore(error) ?? '');
				if (arriving.has(plan)) arriving.set(plan, () => arrived);
				return await Promise.reject(new CutResponse(httpCode, arrived, error));
			},
		);
		// Whole, it would stay in memory as long as the plan does: images can be in it.
		arriving.delete(plan);
		const erased = withoutKey(text);
		return {
			kind: 'response',
			httpCode,
			headers: plainHeaders(response.headers, withoutKey),
			// What is no JSON may be JSON that was cut.
			text: json === undefined ? withoutCutKey(erased) : erased,
			json: erased === text ? json : parseJson(erased),
		};
	} finally {
		form?.close();
	}
}

/** The body of a request could not be made: nothing was sent. */
class InvalidBodyError extends Error {
	override name = 'InvalidBodyError';
}

/** The form of a plan, each of whose files can be read: what cannot is found before it is sent. */
async function openForm({ form }: RequestPlan): Promise<MultipartBody | undefined> {
	if (form === undefined) return undefined;
	try {
		return await multipart(form);
	} catch {
		return await Promise.reject(new InvalidBodyError());
	}
}

/** Whether the HTTP library can have made JSON of a body: not of circles and of large integers. */
function canBeSerialized(body: unknown): boolean {
	try {
		JSON.stringify(body);
		return true;
	} catch {
		return false;
	}
}

async function request(
	{ context, address }: TransportOptions,
	plan: RequestPlan,
	url: string,
	body: IHttpRequestOptions['body'],
	signal: AbortSignal,
): Promise<IN8nHttpFullResponse> {
	const options: IHttpRequestOptions = {
		method: plan.method,
		url,
		headers: { ...plan.headers },
		body,
		encoding: 'stream',
		returnFullResponse: true,
		ignoreHttpStatusErrors: true,
		disableFollowRedirect: true,
		skipSslCertificateValidation: address.allowUnauthorizedCerts,
		// The deadline is the signal's: a time-out beside it would be one more timer for each request.
		abortSignal: signal,
	};
	if (plan.call === 'listing') {
		return (await context.helpers.httpRequest(options)) as IN8nHttpFullResponse;
	}
	// The helper attaches the execution's own stop signal, which knows nothing of our deadline: in
	// the context that it sees, the signal is this request's.
	const own = Object.create(context, {
		getExecutionCancelSignal: { value: () => signal },
	}) as IExecuteFunctions;
	return (await context.helpers.httpRequestWithAuthentication.call(
		own,
		CREDENTIAL,
		options,
		address.authentication,
	)) as IN8nHttpFullResponse;
}

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

/** A response that broke off, with what had come of it. */
class CutResponse extends Error {
	override name = 'CutResponse';

	constructor(
		readonly httpCode: number,
		readonly received: string,
		override readonly cause: unknown,
	) {
		super('The response was interrupted');
	}
}

/**
 * The fault behind what the platform threw. Its helper wraps the error of the network in one of its
 * own; only code and text are taken over, because the original holds the request with the key.
 */
export function faultFrom(error: unknown): FaultOutcome {
	if (error instanceof CutResponse) {
		const { httpCode, received, cause } = error;
		return { ...faultFrom(cause), httpCode, received };
	}
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
