import type {
	ICredentialDataDecryptedObject,
	ICredentialsDecrypted,
	ICredentialTestFunctions,
	INodeCredentialTestResult,
} from 'n8n-workflow';
import { probeSettings, type Transport } from '../../../gateway';
import { isByteStream } from '../../../util/byteStream';
import { textOf } from '../errors/settingPlaces';
import { bodyOf } from './n8nTransport';

/**
 * The test behind the credential's button.
 *
 * It is a function, not n8n's declarative form, in which a 404 is always an error and wrong
 * addresses can't be told apart.
 */
export async function testMediaGateway(
	this: ICredentialTestFunctions,
	credential: ICredentialsDecrypted<ICredentialDataDecryptedObject>,
): Promise<INodeCredentialTestResult> {
	const verdict = await probeSettings(credential.data ?? {}, testTransport(this.helpers));
	return 'problem' in verdict
		? { status: 'Error', message: textOf(verdict.problem) }
		: { status: 'OK', message: verdict.good };
}

const SILENCE_MS = 15_000;

/** A response of n8n's older request function. */
interface TestResponse {
	statusCode: number;
	headers?: Record<string, string>;
	/** A stream. */
	body: unknown;
}

/** The transport through the only helper that n8n gives a test, its older request function. */
const testTransport =
	(helpers: ICredentialTestFunctions['helpers']): Transport =>
	async ({ method, url, headers, anyCertificate }, signal) => {
		const sent = helpers.request({
			method,
			uri: url,
			headers,
			rejectUnauthorized: !anyCertificate,
			followRedirect: false,
			followAllRedirects: false,
			simple: false,
			resolveWithFullResponse: true,
			useStream: true,
			// n8n's function takes no signal: this ends a connection on which nothing arrives.
			timeout: SILENCE_MS,
		}) as Promise<TestResponse>;
		const { statusCode, headers: received = {}, body } = await endedBy(signal, sent);
		return { httpCode: statusCode, headers: received, body: bodyOf(body) };
	};

/** The response, which the signal ends: n8n's function takes none. One that comes later is ended too. */
async function endedBy(signal: AbortSignal, sent: Promise<TestResponse>): Promise<TestResponse> {
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
