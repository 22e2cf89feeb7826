import type { IAdditionalCredentialOptions, IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { apiKeyProblem, cleanApiKey } from '../../../gateway/protocol/auth';
import { digestOf } from '../../../gateway/protocol/fingerprint';
import { normalizeUrl } from '../../../gateway/protocol/url';
import { createCutKeyEraser, createKeyEraser } from '../../../gateway/util/keyEraser';

export const CREDENTIAL = 'mediaGatewayApi';

/** Where the gateway is, and how to be let in. */
export interface GatewayAddress {
	/** Of the image and message endpoints, without `/v1`. */
	baseUrl: string;
	/** Of the model listing, without `/v1`. */
	mediaUrl: string;
	allowUnauthorizedCerts: boolean;
	/** Tells accounts of all gateways apart. A hash, which gives no key away. */
	account: string;
	/**
	 * The credential for n8n's own helper, which puts the key into a request: given what was read
	 * once, it need not read and decrypt it anew for each of a thousand polls.
	 */
	authentication: IAdditionalCredentialOptions;
	/** Takes the key out of what a gateway sends back: some quote the key that they refuse. */
	withoutKey(text: string): string;
	/** Takes the beginning of the key away from the end of a text that was cut there. */
	withoutCutKey(text: string): string;
}

/** Limits of a run; they hold for all its items together. */
export interface RunLimits {
	concurrency: number;
	requestsPerSecond?: number;
	/** For one request, in milliseconds. */
	timeoutMs: number;
}

/**
 * Reads where the gateway is, and refuses a credential that cannot work before anything is sent.
 *
 * @param needsKey false for the public listing, which takes none (specification, section 5)
 * @throws NodeOperationError that names the field to correct
 */
export async function readAddress(
	context: Pick<IExecuteFunctions, 'getCredentials' | 'getNode'>,
	needsKey = true,
): Promise<GatewayAddress> {
	const credentials = await context.getCredentials(CREDENTIAL);
	const problem = needsKey ? apiKeyProblem(credentials.apiKey) : undefined;
	if (problem !== undefined) throw new NodeOperationError(context.getNode(), problem);
	const baseUrl = normalizeUrl(credentials.baseUrl);
	if (baseUrl === undefined) {
		throw new NodeOperationError(
			context.getNode(),
			"'Base URL' in the Media Gateway credential is not a web address",
			{
				description:
					'It must begin with https:// or http://, for example https://gateway.example.com',
			},
		);
	}
	const typed = typeof credentials.mediaUrl === 'string' ? credentials.mediaUrl.trim() : '';
	const mediaUrl = typed === '' ? baseUrl : normalizeUrl(typed);
	if (mediaUrl === undefined) {
		throw new NodeOperationError(
			context.getNode(),
			"'Media URL' in the Media Gateway credential is not a web address",
			{ description: 'Leave it empty if the model list is at the Base URL.' },
		);
	}
	return {
		baseUrl,
		mediaUrl,
		allowUnauthorizedCerts: credentials.allowUnauthorizedCerts === true,
		account: digestOf([baseUrl, cleanApiKey(credentials.apiKey)]),
		authentication: {
			credentialsDecrypted: { id: '', name: '', type: CREDENTIAL, data: credentials },
		},
		withoutKey: createKeyEraser(cleanApiKey(credentials.apiKey)),
		withoutCutKey: createCutKeyEraser(cleanApiKey(credentials.apiKey)),
	};
}
