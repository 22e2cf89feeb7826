import type {
	IAdditionalCredentialOptions,
	ICredentialDataDecryptedObject,
	INode,
} from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { apiKeyProblem, cleanApiKey } from '../../../gateway/protocol/auth';
import { digestOf } from '../../../gateway/protocol/fingerprint';
import { nonEmptyString } from '../../../gateway/util/json';
import { addressesIn } from '../../../gateway/protocol/url';
import { createCutKeyEraser, createKeyEraser } from '../../../gateway/util/keyEraser';
import { createKeyFilter, type KeyFilter } from '../../../gateway/util/keyFilter';

export const CREDENTIAL = 'mediaGatewayApi';

/** Where the gateway is, and how to be let in. */
export interface GatewayAddress {
	/** Of the image and message endpoints, without `/v1`. */
	baseUrl: string;
	/** Of the model listing, without `/v1`. */
	mediaUrl: string;
	allowUnauthorizedCerts: boolean;
	/** Who pays: a digest of the credential's ID and address, which stays the same when its key is renewed. */
	account: string;
	/** Tells apart what a process remembers for a while: also by the key, as another may have other limits. */
	accountAndKey: string;
	/**
	 * The credential for n8n's own helper, which puts the key into a request: given what was read
	 * once, it need not read and decrypt it anew for each of a thousand polls.
	 */
	authentication: IAdditionalCredentialOptions;
	/** Takes the key out of what a gateway sends back: some quote the key that they refuse. */
	withoutKey(text: string): string;
	/** Takes the beginning of the key away from the end of a text that was cut there. */
	withoutCutKey(text: string): string;
	/** Makes what takes the key out of a text that arrives in pieces. */
	createKeyFilter(): KeyFilter;
}

/** Limits of a run; they hold for all its items together. */
export interface RunLimits {
	concurrency: number;
	requestsPerSecond?: number;
	/** For one request, in milliseconds. */
	timeoutMs: number;
	/** Of a response that images may come inline in. */
	maxResponseBytes?: number;
}

/**
 * Reads where the gateway is, and refuses a credential that cannot work before anything is sent.
 *
 * @param node for its errors
 * @param needsKey false for the public listing, which takes none (docs/protocol.md, "Authentication")
 * @throws NodeOperationError that names the field to correct
 */
export function readAddress(
	credentials: ICredentialDataDecryptedObject,
	node: INode,
	needsKey = true,
): GatewayAddress {
	const problem = needsKey ? apiKeyProblem(credentials.apiKey) : undefined;
	if (problem !== undefined) throw new NodeOperationError(node, problem);
	const addresses = addressesIn(credentials);
	if (typeof addresses === 'string') {
		const message = `'${addresses}' in the Media Gateway credential is not a web address`;
		const description =
			'It must begin with https:// or http://, for example https://gateway.example.com';
		throw new NodeOperationError(node, message, { description });
	}
	const { baseUrl, mediaUrl = baseUrl } = addresses;
	const key = cleanApiKey(credentials.apiKey);
	const withoutKey = createKeyEraser(key);
	const { id, name } = node.credentials?.[CREDENTIAL] ?? {};
	const known = nonEmptyString(id) ?? nonEmptyString(name);
	const identity = known === undefined ? ['key', key] : ['credential', known];
	return {
		baseUrl,
		mediaUrl,
		allowUnauthorizedCerts: credentials.allowUnauthorizedCerts === true,
		account: digestOf([baseUrl, identity]),
		accountAndKey: digestOf([baseUrl, identity, key]),
		authentication: {
			credentialsDecrypted: { id: '', name: '', type: CREDENTIAL, data: credentials },
		},
		withoutKey,
		withoutCutKey: createCutKeyEraser(key),
		createKeyFilter: () => createKeyFilter(key, withoutKey),
	};
}
