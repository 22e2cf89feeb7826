import type {
	IExecuteFunctions,
	IHttpRequestOptions,
	ILoadOptionsFunctions,
	IN8nHttpFullResponse,
} from 'n8n-workflow';
import { sleep } from 'n8n-workflow';
import type { Ports, Transport } from '../../../gateway';
import { isByteStream } from '../../../util/byteStream';
import { isLongerThan } from '../../../util/json';
import { CREDENTIAL, type NodeAccount } from './nodeAccount';

/** How n8n's HTTP helper returns every response: unchanged, redirects and errors too. */
const STREAMED = {
	encoding: 'stream',
	returnFullResponse: true,
	ignoreHttpStatusErrors: true,
	disableFollowRedirect: true,
} as const;

/**
 * A gateway may refuse a request before it has read all of it. If it closed the connection then, as
 * n8n's helper asks it to, writing would fail and its response be lost: the outcome would be unknown.
 */
const KEPT_OPEN = { connection: 'keep-alive' };

/** In characters: a body that leaves together with its headers. */
const SHORT_BODY = 8000;

const isLong = ({ body }: Parameters<Transport>[0]): boolean =>
	body !== undefined &&
	// One with files has a tag.
	(Symbol.toStringTag in body || isLongerThan(body, SHORT_BODY));

/** What n8n has for a gateway's client. @param context of an execution, or of the editor */
export const portsOf = (
	context: IExecuteFunctions | ILoadOptionsFunctions,
	account: NodeAccount,
): Pick<Ports<unknown>, 'transport' | 'addsKey' | 'sleep'> => ({
	transport: n8nTransport(context, account),
	addsKey: true,
	// n8n before 2.34 ignores the signal.
	sleep: async (ms, signal) => await sleep(ms, signal),
});

/** A body as the client reads it: n8n's helpers return a stream, unless a mock of n8n's answers. */
export const bodyOf = (body: unknown): Awaited<ReturnType<Transport>>['body'] =>
	isByteStream(body) || body instanceof Uint8Array || typeof body === 'string'
		? body
		: JSON.stringify(body ?? '');

/**
 * The transport through n8n's HTTP helper, which adds the key: it checks whether the credential may be
 * used for the address.
 */
function n8nTransport(
	context: IExecuteFunctions | ILoadOptionsFunctions,
	{ authentication }: NodeAccount,
): Transport {
	return async (request, signal) => {
		const { method, url, body, withKey, anyCertificate } = request;
		// No `timeout`: the signal has the deadline, and each request would set a second timer.
		const options: IHttpRequestOptions = {
			method,
			url,
			headers: { ...(isLong(request) && KEPT_OPEN), ...request.headers },
			skipSslCertificateValidation: anyCertificate,
			body: body as IHttpRequestOptions['body'],
			abortSignal: signal,
			...STREAMED,
		};
		// The helper uses the execution's cancel signal instead of `abortSignal`. The context it gets
		// returns the signal of this request, which has the deadline as well.
		const requestContext = Object.create(context, {
			getExecutionCancelSignal: { value: () => signal },
		}) as IExecuteFunctions;
		const response = (await (withKey
			? context.helpers.httpRequestWithAuthentication.call(
					requestContext,
					CREDENTIAL,
					options,
					authentication,
				)
			: context.helpers.httpRequest(options))) as IN8nHttpFullResponse;
		const { statusCode, headers } = response;
		return { httpCode: statusCode, headers, body: bodyOf(response.body) };
	};
}
