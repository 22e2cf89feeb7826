import { digestOf } from '../../util/digest';
import type { JsonObject } from '../../util/json';
import { createKeyEraser, ERASED } from '../../util/keyEraser';
import { createKeyFilter, type KeyFilter } from '../../util/keyFilter';
import { credentialProblem, readCredential, type Credential } from './credential';
import { GatewayError } from './gatewayError';
import { isBelow } from './url';
import { parseUrl } from '../../util/parseUrl';

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
	/** Removes the secrets from a text: some gateways quote the key that they refuse. */
	withoutKey: (text: string) => string;
	/**
	 * The same for what a model has written, for names and for addresses, of which a key that is a word
	 * may be a part.
	 */
	withoutKeyInContent: (text: string) => string;
	/** Creates a filter that removes the secrets from what a model writes, which arrives in pieces. */
	createKeyFilter: () => KeyFilter;
	/**
	 * An address as it is requested. The gateway's own key, which was removed from what is shown and
	 * recorded, is in it again at the gateway's own server, and at no other.
	 */
	toRequest: (address: string) => string;
}

/**
 * The account of a credential.
 *
 * @param identity what stays the same when the key is renewed; the key itself without any
 */
export function openAccount(credential: Credential, identity?: string): Account {
	const { base, baseUrl, key, headers } = credential;
	const named = identity === undefined ? ['key', key] : ['credential', identity];
	const secrets = secretsOf(credential);
	const inContent = secrets.filter((secret) => !WORD.test(secret));
	const withoutKeyInContent = createKeyEraser(inContent);
	return {
		...credential,
		hasKey: credentialProblem(credential) === undefined,
		id: digestOf([baseUrl, named]),
		idWithKey: digestOf([baseUrl, base.query, named, key, headers]),
		withoutKey: secretEraser(credential),
		withoutKeyInContent,
		createKeyFilter: () => createKeyFilter(inContent),
		toRequest: (address) =>
			isBelow(address, parseUrl(baseUrl)?.origin ?? baseUrl)
				? withKeyAgain(address, key)
				: withoutKeyInContent(address),
	};
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
	return openAccount(credential, identity);
}

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

/** A key that is a word, for a server that needs none: it may be in any text. */
const WORD = /^[a-z _-]{1,12}$/i;

/** An address with the key in place of the mark of its removal; in a query as it is written there. */
function withKeyAgain(address: string, key: string): string {
	const [path = '', query] = address.split(/(\?.*)/s);
	const inQuery = query?.replaceAll(ERASED, () => encodeURIComponent(key)) ?? '';
	return path.replaceAll(ERASED, () => key) + inQuery;
}

/** Removes the key, and what else authenticates, from a text. */
const secretEraser = (credential: Credential): ((text: string) => string) =>
	createKeyEraser(secretsOf(credential));
