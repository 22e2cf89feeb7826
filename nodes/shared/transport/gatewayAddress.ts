import type { ICredentialDataDecryptedObject, ICredentialsDecrypted, INode } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import {
	credentialProblem,
	readCredential,
	type Credential,
} from '../../../gateway/protocol/credential';
import { digestOf } from '../../../gateway/protocol/fingerprint';
import { nonEmptyString } from '../../../gateway/util/json';
import { createKeyEraser } from '../../../gateway/util/keyEraser';
import { createKeyFilter, type KeyFilter } from '../../../gateway/util/keyFilter';

export const CREDENTIAL = 'mediaGatewayApi';

/** The normalized credential of a run, its account, and what adds and removes its key. */
export interface GatewayAddress extends Credential {
	/** Whether the key can be sent: a run that only lists public models needs none. */
	hasKey: boolean;
	/**
	 * The paying account: a digest of the credential's ID and address. The key, the additional
	 * headers and the query, which may have a key, are renewed and no part of it.
	 */
	account: string;
	/**
	 * The same with the key and the additional headers, which may have limits of their own: for what
	 * a process remembers for a while.
	 */
	accountAndKey: string;
	/**
	 * The credential for n8n's HTTP helper, which adds the key to a request. It is read once:
	 * otherwise n8n would read and decrypt it for each of a thousand polls.
	 */
	authentication: { credentialsDecrypted: ICredentialsDecrypted };
	/** Removes the secrets from a response: some gateways quote the key that they refuse. */
	withoutKey: (text: string) => string;
	/**
	 * The same for what a model has written, in which a header's value that can be a word stays:
	 * changed thinking blocks would be rejected.
	 */
	withoutKeyInContent: (text: string) => string;
	/** Creates a filter that removes the secrets from a text that arrives in pieces. */
	createKeyFilter: () => KeyFilter;
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
): GatewayAddress {
	const credential = readCredential(credentials);
	const problem = credentialProblem(credential, needsKey);
	if (problem !== undefined) {
		const { message, description } = problem;
		throw new NodeOperationError(node, message, { description });
	}
	const { base, baseUrl, key, headers } = credential;
	const { id, name } = node.credentials?.[CREDENTIAL] ?? {};
	const known = nonEmptyString(id) ?? nonEmptyString(name);
	const identity = known === undefined ? ['key', key] : ['credential', known];
	const secrets = secretsOf(credential);
	const inContent = secrets.filter((secret) =>
		secret === key ? !NO_KEY.test(key) : !isInTexts(secret),
	);
	const decrypted = { id: '', name: '', type: CREDENTIAL, data: credentials };
	return {
		...credential,
		hasKey: credentialProblem(credential) === undefined,
		account: digestOf([baseUrl, identity]),
		accountAndKey: digestOf([baseUrl, base.query, identity, key, headers]),
		authentication: { credentialsDecrypted: decrypted },
		withoutKey: secretEraser(credential),
		withoutKeyInContent: createKeyEraser(inContent),
		createKeyFilter: () => createKeyFilter(inContent),
	};
}

/** The key, the values of additional headers, and what in the query of an address may be a key. */
const secretsOf = ({ key, headers, base, media }: Credential): string[] => [
	key,
	...headers.map(({ value }) => value),
	...[base, media]
		.flatMap(({ query }) => [...new URLSearchParams(query).values()])
		.filter((value) => !VERSION_OR_WORD.test(value)),
];

/** The value of a parameter such as `api-version=2025-04-01-preview`. */
const VERSION_OR_WORD = /^v?[\d.-]{0,12}[a-z]{0,15}$/i;

/** A key for a server that needs none: a word, which can be in any text. */
const NO_KEY = /^[a-z _-]{1,12}$/i;

/** A header's value that can be in any text: the name of a provider or a team, a date, a version. */
const isInTexts = (value: string): boolean => /^\D*$/.test(value) || DATE_OR_VERSION.test(value);
const DATE_OR_VERSION = /^v?\d{1,4}([.-]\d{1,4}){1,3}$/i;

/** Removes the key and the values of additional headers from a text. */
export const secretEraser = (credential: Credential): ((text: string) => string) =>
	createKeyEraser(secretsOf(credential));
