import type { ICredentialDataDecryptedObject, INode } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { apiKeyProblem, cleanApiKey } from '../../../gateway/protocol/auth';
import { digestOf } from '../../../gateway/protocol/fingerprint';
import { nonEmptyString } from '../../../gateway/util/json';
import { addressesIn } from '../../../gateway/protocol/url';
import { createCutKeyEraser, createKeyEraser } from '../../../gateway/util/keyEraser';
import { createKeyFilter } from '../../../gateway/util/keyFilter';

export const CREDENTIAL = 'mediaGatewayApi';

/** The gateway's addresses, the account, and what adds and removes its key. */
export type GatewayAddress = ReturnType<typeof readAddress>;

/** Limits of a run, for all its items together. */
export interface RunLimits {
	concurrency: number;
	requestsPerSecond?: number;
	/** The timeout of one request. */
	timeoutMs: number;
	/** The longest response that may contain inline images. */
	maxResponseBytes?: number;
}

/**
 * Reads the addresses and the key of a credential. One that can't work is rejected before anything
 * is sent.
 *
 * @param node named by the errors
 * @param needsKey false for the public listing, which takes none (docs/protocol.md,
 *   "Authentication")
 * @throws NodeOperationError that names the field to correct
 */
export function readAddress(
	credentials: ICredentialDataDecryptedObject,
	node: INode,
	needsKey = true,
) {
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
		/** Address of the image and message endpoints, without `/v1`. */
		baseUrl,
		/** Address of the model list, without `/v1`. */
		mediaUrl,
		allowUnauthorizedCerts: credentials.allowUnauthorizedCerts === true,
		/**
		 * The paying account: a digest of the credential's ID and address, not of its key, which is
		 * renewed.
		 */
		account: digestOf([baseUrl, identity]),
		/**
		 * The same with the key, which may have limits of its own: for what a process remembers for a
		 * while.
		 */
		accountAndKey: digestOf([baseUrl, identity, key]),
		/**
		 * The credential for n8n's HTTP helper, which adds the key to a request. It is read once:
		 * otherwise n8n would read and decrypt it for each of a thousand polls.
		 */
		authentication: {
			credentialsDecrypted: { id: '', name: '', type: CREDENTIAL, data: credentials },
		},
		/** Removes the key from a response: some gateways quote the key that they refuse. */
		withoutKey,
		/** Removes the beginning of the key from the end of a text that was cut off. */
		withoutCutKey: createCutKeyEraser(key),
		/** Creates a filter that removes the key from a text that arrives in pieces. */
		createKeyFilter: () => createKeyFilter(key, withoutKey),
	};
}
