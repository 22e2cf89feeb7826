import type {
	ICredentialDataDecryptedObject,
	ICredentialsDecrypted,
	ICredentialTestFunctions,
	INodeCredentialTestResult,
} from 'n8n-workflow';
import { normalizeUrl } from '../../../gateway/protocol/url';
import { apiKeyProblem, authHeaders, type KeySettings } from '../../../gateway/protocol/auth';
import { parseJson } from '../../../gateway/util/json';
import type { Outcome } from '../../../gateway/protocol/outcome';
import { planUrl } from '../../../gateway/protocol/requestPlan';
import { planProbe, readProbe } from '../../../gateway/client/credentialProbe';
import { faultFrom } from '../transport/http';

const TIMEOUT_MS = 15_000;

/**
 * The test behind the credential's button. It costs nothing: it asks for a task that cannot exist.
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
	if (problem !== undefined) return { status: 'Error', message: problem };
	const address = normalizeUrl(credentials.baseUrl);
	if (address === undefined) {
		return {
			status: 'Error',
			message: "'Base URL' is not a web address. It must begin with https:// or http://",
		};
	}
	const { ok, message } = readProbe(await probe(this, credentials, address));
	return { status: ok ? 'OK' : 'Error', message };
}

async function probe(
	{ helpers }: ICredentialTestFunctions,
	credentials: ICredentialDataDecryptedObject,
	address: string,
): Promise<Outcome> {
	const plan = planProbe();
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
		})) as { statusCode: number; body: unknown };
		const { body, statusCode } = response;
		const text = typeof body === 'string' ? body : JSON.stringify(body ?? '');
		return { kind: 'answer', httpCode: statusCode, headers: {}, text, json: parseJson(text) };
	} catch (error) {
		return faultFrom(error);
	}
}
