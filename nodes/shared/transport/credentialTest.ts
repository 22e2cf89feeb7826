import type {
	ICredentialDataDecryptedObject,
	ICredentialsDecrypted,
	ICredentialTestFunctions,
	INodeCredentialTestResult,
} from 'n8n-workflow';
import {
	additionalHeaders,
	credentialHeaders,
	KEY_IN_OWN_HEADER,
	skipsCertificate,
} from '../../../gateway/protocol/auth';
import {
	asText,
	credentialProblem,
	readCredential,
	type Credential,
} from '../../../gateway/protocol/credential';
import { planModelList } from '../../../gateway/models/models';
import { parseJson } from '../../../util/json';
import type { Outcome } from '../../../gateway/protocol/outcome';
import { planUrl, type RequestPlan } from '../../../gateway/protocol/requestPlan';
import { listingProblem, probeKey, type ProbeKey } from '../../../gateway/credentialProbe';
import { planModelNames } from '../../../gateway/models/modelNames';
import { secretEraser } from '../../../gateway/protocol/account';
import { faultFrom } from '../../../gateway/wire/faultFrom';
import { Requests } from '../../../gateway/wire/inFlight';
import { isByteStream, readBody } from '../../../gateway/wire/responseBody';
import { LARGEST_RESPONSE_BYTES, plainHeaders } from '../../../gateway/wire/sendOnce';

/** For each request, from its beginning to the end of its response. */
const TIMEOUT_MS = 15_000;

/**
 * The test behind the credential's button. It is free: it queries a task that can't exist, requests
 * the names of models where that says too little, and the model list if that has an address of its
 * own. Each error names the field to correct.
 *
 * It is a function, not n8n's declarative form, in which a 404 is always an error and wrong
 * addresses can't be told apart. n8n gives it a single helper, the older request function.
 */
export async function testMediaGateway(
	this: ICredentialTestFunctions,
	credential: ICredentialsDecrypted<ICredentialDataDecryptedObject>,
): Promise<INodeCredentialTestResult> {
	const read = readCredential(credential.data ?? {});
	const problem = credentialProblem(read);
	if (problem !== undefined) return asResult(asText(problem));
	const { base, media } = read;
	const send = async (plan: RequestPlan, uri: string, key?: ProbeKey): Promise<Outcome> =>
		await sendProbe(this.helpers, read, uri, {
			...plan,
			headers: { ...plan.headers, ...headersFor(uri, read, key) },
		});
	const [names, list] = [planUrl(planModelNames(), base), planUrl(planModelList(), media)];
	const isApart = list !== planUrl(planModelList(), base);
	const [verdict, listing] = await Promise.all([
		probeKey(
			async (plan, key) => await send(plan, planUrl(plan, base), key),
			secretEraser(read)(names),
		),
		isApart ? send(planModelList(), list).then(listingProblem) : undefined,
	]);
	return 'problem' in verdict ? asResult(verdict.problem) : asResult(listing, verdict.good);
}

const asResult = (problem: string | undefined, good = ''): INodeCredentialTestResult => ({
	status: problem === undefined ? 'OK' : 'Error',
	message: problem ?? good,
});

/** Only the address that the key belongs to (protocol, host, path) gets it. */
function headersFor(uri: string, credential: Credential, key?: ProbeKey): Record<string, string> {
	if (key === 'none') return additionalHeaders(uri, credential);
	return credentialHeaders(uri, credential, key === 'xApiKey' ? KEY_IN_OWN_HEADER : {});
}

/** A response of n8n's older request function. */
interface ProbeResponse {
	statusCode: number;
	headers?: Record<string, string>;
	/** A stream. */
	body: unknown;
}

/**
 * Sends a request once. The whole of it has a deadline, and its response the limit of all others: n8n
 * runs the test in its main process, and its function only limits for how long nothing arrives.
 */
async function sendProbe(
	helpers: ICredentialTestFunctions['helpers'],
	credential: Credential,
	uri: string,
	{ method, headers }: RequestPlan,
): Promise<Outcome> {
	const send = async (signal: AbortSignal): Promise<Outcome> => {
		const sent = helpers.request({
			method,
			uri,
			headers,
			rejectUnauthorized: !skipsCertificate(uri, credential),
			followRedirect: false,
			followAllRedirects: false,
			simple: false,
			resolveWithFullResponse: true,
			useStream: true,
			timeout: TIMEOUT_MS,
		}) as Promise<ProbeResponse>;
		const response = await endedBy(signal, sent);
		const bytes = await readBody(response.body, LARGEST_RESPONSE_BYTES);
		const text = secretEraser(credential)(bytes.toString());
		return {
			kind: 'response',
			httpCode: response.statusCode,
			headers: plainHeaders(response.headers ?? {}),
			text,
			json: parseJson(text),
		};
	};
	return await new Requests().run(TIMEOUT_MS, send, faultFrom);
}

/** The response, which the signal ends: n8n's function takes none. One that comes later is ended too. */
async function endedBy(signal: AbortSignal, sent: Promise<ProbeResponse>): Promise<ProbeResponse> {
	const aborted = new Promise<never>((_, reject) => {
		signal.addEventListener('abort', () => reject(signal.reason as Error));
	});
	const closing = sent.then(({ body }) => {
		if (!isByteStream(body)) return;
		// Without a listener, an error of the stream would end n8n.
		body.on('error', () => undefined);
		if (signal.aborted) body.destroy();
		else signal.addEventListener('abort', () => void body.destroy());
	});
	// Its error is that of the request.
	closing.catch(() => undefined);
	return await Promise.race([sent, aborted]);
}
