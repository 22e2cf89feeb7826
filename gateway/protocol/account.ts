import { digestOf } from '../../util/digest';
import { createKeyEraser } from '../../util/keyEraser';
import { createKeyFilter, type KeyFilter } from '../../util/keyFilter';
import { credentialProblem, type Credential } from './credential';

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
 * The account of a credential.
 *
 * @param identity what stays the same when the key is renewed; the key itself without any
 */
export function openAccount(credential: Credential, identity?: string): Account {
	const { base, baseUrl, key, headers } = credential;
	const named = identity === undefined ? ['key', key] : ['credential', identity];
	const secrets = secretsOf(credential);
	const inContent = secrets.filter((secret) =>
		secret === key ? !NO_KEY.test(key) : !isInTexts(secret),
	);
	return {
		...credential,
		hasKey: credentialProblem(credential) === undefined,
		id: digestOf([baseUrl, named]),
		idWithKey: digestOf([baseUrl, base.query, named, key, headers]),
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
