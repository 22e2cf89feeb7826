import type {
	ICredentialDataDecryptedObject,
	ICredentialsDecrypted,
	ICredentialTestFunctions,
	INodeCredentialTestResult,
} from 'n8n-workflow';
import { addressesIn } from '../../../gateway/protocol/url';
import { apiKeyProblem, authHeaders, type KeySettings } from '../../../gateway/protocol/auth';
import { planModelList } from '../../../gateway/protocol/models';
import { parseJson } from '../../../gateway/util/json';
import type { Outcome } from '../../../gateway/protocol/outcome';
import { planUrl, type RequestPlan } from '../../../gateway/protocol/requestPlan';
import {
	planProbe,
	readListingProbe,
	readProbe,
	type Verdict,
} from '../../../gateway/client/credentialProbe';
import { faultFrom, plainHeaders } from './http';

const TIMEOUT_MS = 15_000;

/**
 * The test behind the credential's button. It costs nothing: it queries a task that cannot exist, and
 * reads the model listing where that has an address of its own. Each error names the field to correct.
 *
 * A function and not the declarative form, because there a 404 is always an error, and because only
 * so each kind of wrong address gets a sentence of its own. Its context has a single helper, the
 * older request function.
 */
export async function testMediaGateway(
	this: ICredentialTestFunctions,
	credential: ICredentialsDecrypted<ICredentialDataDecryptedObject>,
): Promise<INodeCredentialTestResult> {
	const credentials = credential.data ?? {};
	const problem = apiKeyProblem(credentials.apiKey);
	if (problem !== undefined) return asResult({ ok: false, message: problem });
	const addresses = addressesIn(credentials);
	if (typeof addresses === 'string') {
		const message = `The ${addresses} is not a web address. It must begin with https:// or http://`;
		return asResult({ ok: false, message });
	}
	const { baseUrl, mediaUrl } = addresses;

	const probe = createProbe(this.helpers, credentials);
	const [key, listing] = await Promise.all([
		probe(planProbe(), baseUrl).then(readProbe),
		mediaUrl === undefined ? undefined : probe(planModelList(), mediaUrl).then(readListingProbe),
	]);
	return asResult(key.ok && listing?.ok === false ? listing : key);
}

const asResult = ({ ok, message }: Verdict): INodeCredentialTestResult => ({
	status: ok ? 'OK' : 'Error',
	message,
});

/**
 * A way to ask once. The key goes along where it belongs to the address: to no other protocol, host
 * or path.
 */
function createProbe(
	helpers: ICredentialTestFunctions['helpers'],
	credentials: ICredentialDataDecryptedObject,
) {
	return async (plan: RequestPlan, address: string): Promise<Outcome> => {
		const uri = planUrl(plan, address);
		try {
			const response = (await helpers.request({
				method: plan.method,
				uri,
				headers: { ...plan.headers, ...authHeaders(uri, credentials as unknown as KeySettings) },
				rejectUnauthorized: credentials.allowUnauthorizedCerts !== true,
				followRedirect: false,
				followAllRedirects: false,
				simple: false,
				resolveWithFullResponse: true,
				timeout: TIMEOUT_MS,
			})) as { statusCode: number; headers?: Record<string, string>; body: unknown };
			const { body, statusCode: httpCode } = response;
			const text = typeof body === 'string' ? body : JSON.stringify(body ?? '');
			const headers = plainHeaders(response.headers ?? {});
			return { kind: 'response', httpCode, headers, text, json: parseJson(text) };
		} catch (error) {
			return faultFrom(error);
		}
	};
}
