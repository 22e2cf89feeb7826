import type {
	ICredentialDataDecryptedObject,
	ICredentialsDecrypted,
	ICredentialTestFunctions,
	INodeCredentialTestResult,
} from 'n8n-workflow';
import { credentialHeaders, skipsCertificate } from '../../../gateway/protocol/auth';
import {
	asText,
	credentialProblem,
	readCredential,
	type Credential,
} from '../../../gateway/protocol/credential';
import { planModelList } from '../../../gateway/protocol/models';
import { parseJson } from '../../../gateway/util/json';
import type { Outcome } from '../../../gateway/protocol/outcome';
import { planUrl, type RequestPlan } from '../../../gateway/protocol/requestPlan';
import {
	isUnclear,
	listingProblem,
	namesProblem,
	planProbe,
	probeProblem,
} from '../../../gateway/client/credentialProbe';
import { planModelNames } from '../../../gateway/protocol/modelNames';
import { secretEraser } from './gatewayAddress';
import { faultFrom, plainHeaders } from './http';

const TIMEOUT_MS = 15_000;

/**
 * The test behind the credential's button. It is free: it queries a task that can't exist, or
 * requests the names of models from a gateway without tasks, and the model list if that has an address
 * of its own. Each error names the field to correct.
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
	const { baseUrl, mediaUrl } = read;

	const send = async (plan: RequestPlan, address: string): Promise<Outcome> =>
		await sendProbe(this.helpers, read, plan, planUrl(plan, address));
	const [probe, listing] = await Promise.all([
		send(planProbe(), baseUrl),
		mediaUrl === baseUrl ? undefined : send(planModelList(), mediaUrl).then(listingProblem),
	]);
	const found = probeProblem(probe);
	if (!isUnclear(probe)) return asResult(found ?? listing, 'The gateway accepts the API key');
	const named = namesProblem(await send(planModelNames(), baseUrl), found);
	// Some gateways list their models to anybody.
	return asResult(named ?? listing, 'The gateway responds and lists its models');
}

const asResult = (problem: string | undefined, good = ''): INodeCredentialTestResult => ({
	status: problem === undefined ? 'OK' : 'Error',
	message: problem ?? good,
});

/**
 * Sends a request once. Only the address that the key belongs to (protocol, host, path) gets it.
 */
async function sendProbe(
	helpers: ICredentialTestFunctions['helpers'],
	credential: Credential,
	{ method, headers }: RequestPlan,
	uri: string,
): Promise<Outcome> {
	try {
		const response = (await helpers.request({
			method,
			uri,
			headers: { ...headers, ...credentialHeaders(uri, credential) },
			rejectUnauthorized: !skipsCertificate(uri, credential),
			followRedirect: false,
			followAllRedirects: false,
			simple: false,
			resolveWithFullResponse: true,
			timeout: TIMEOUT_MS,
		})) as { statusCode: number; headers?: Record<string, string>; body: unknown };
		const { body, statusCode: httpCode } = response;
		const text = secretEraser(credential)(
			typeof body === 'string' ? body : JSON.stringify(body ?? ''),
		);
		return {
			kind: 'response',
			httpCode,
			headers: plainHeaders(response.headers ?? {}),
			text,
			json: parseJson(text),
		};
	} catch (error) {
		return faultFrom(error);
	}
}
