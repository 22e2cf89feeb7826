import { digestOf } from '../../util/digest';
import type { JsonObject } from '../../util/json';
import { createKeyEraser, eraseIn } from '../../util/keyEraser';
import { credentialProblem, readCredential, type Credential } from './credential';
import { GatewayError, withDetails } from './gatewayError';

/** A credential with its identity, and what removes its secrets from texts. */
export interface Account extends Credential {
	/** Whether the key can be sent: a run that only lists public models needs none. */
	hasKey: boolean;
	/**
	 * The paying account: a digest of the credential's identity and address. The key, the additional
	 * headers and the query, which may have a key, are renewed and no part of it.
	 */
	id: string;
	/**
	 * The same with the key and the additional headers, which may have limits of their own: for what
	 * a process remembers for a while.
	 */
	idWithKey: string;
	/**
	 * Removes the secrets from a text that leaves, because some gateways quote the key that they refuse.
	 * Inside, everything is as it came.
	 */
	withoutKey: (text: string) => string;
}

/**
 * The account of the fields of a credential.
 *
 * @param identity what stays the same when the key is renewed; the key itself without any
 * @param needsKey false for the public model list, which takes none (docs/protocol.md,
 *   "Authentication")
 * @throws GatewayError that names the field to correct
 */
export function accountOf(fields: JsonObject, identity?: string, needsKey = true): Account {
	const credential = readCredential(fields);
	const problem = credentialProblem(credential, needsKey);
	if (problem !== undefined) throw new GatewayError(problem);
	const { base, baseUrl, key, headers } = credential;
	const named = identity === undefined ? ['key', key] : ['credential', identity];
	return {
		...credential,
		hasKey: needsKey || credentialProblem(credential) === undefined,
		id: digestOf([baseUrl, named]),
		idWithKey: digestOf([baseUrl, base.query, named, key, headers]),
		withoutKey: createKeyEraser(secretsOf(credential)),
	};
}

/** An error as it leaves the client: without the secrets of the account in its texts. */
export const erasedError = (error: unknown, { withoutKey }: Pick<Account, 'withoutKey'>) =>
	error instanceof GatewayError ? withDetails(error, eraseIn(error.problem, withoutKey)) : error;

/** The key, and what else authenticates: in additional headers, and in the query of an address. */
const secretsOf = ({ key, headers, base, media }: Credential): string[] => [
	key,
	...[
		...headers.map(({ name, value }) => [name, value] as const),
		...[base, media].flatMap(({ query }) => [...new URLSearchParams(query)]),
	].flatMap(([name, value]) => secretIn(name, value) ?? []),
];

/** Names of secrets, such as `x-api-key`, `Ocp-Apim-Subscription-Key`, `sig`. */
const NAME_OF_SECRET =
	/(key|token|secret|auth|authorization|password|passwd|pwd|credentials?|cookie|jwt|signature|sig)$|^code$/i;

/** The beginning of a value that authenticates: a scheme of HTTP, or the mark of a kind of key. */
const SCHEME = /^(bearer|basic|token|apikey)\s+/i;
const MARK = /^((sk|pk|rk|pat|hf|gh[a-z]|xox[a-z])[-_]|eyJ)/;

/** What authenticates in a header or a parameter, by its name or the beginning of its value. */
function secretIn(name: string, value: string): string | undefined {
	if (SCHEME.test(value)) return value.replace(SCHEME, '');
	return NAME_OF_SECRET.test(name) || MARK.test(value) ? value : undefined;
}
