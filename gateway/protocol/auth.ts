import type { Credential } from './credential';
import { isBelow, pathBelow, type ApiAddress } from './url';
import { parseUrl } from '../../util/parseUrl';

/**
 * The headers that the credential adds to a request: the key in the form of its path, and the
 * additional headers. Nothing goes to another origin, also not after a redirect.
 *
 * @param url the full address of the request
 * @param planned the headers of the request; `KEY_IN_OWN_HEADER` takes the key out of `Authorization`
 */
export function credentialHeaders(
	url: string,
	credential: Credential,
	planned: Record<string, unknown> = {},
): Record<string, string> {
	const usual = authHeaders(url, credential);
	const isOther = planned['x-api-key'] === '' && 'Authorization' in usual;
	const auth = isOther ? apiKeyHeaders(credential) : usual;
	return { ...additionalHeaders(url, credential), ...auth };
}

/** Planned by a request for names of models after `Authorization` was refused. */
export const KEY_IN_OWN_HEADER = { 'x-api-key': '' };

/** The additional headers, at every address with the gateway's origin, and at no other. */
export function additionalHeaders(url: string, { baseUrl, headers }: Credential) {
	const sent = headers.length > 0 && isAtOriginOf(baseUrl, url) ? headers : [];
	return Object.fromEntries(sent.map(({ name, value }) => [name, value]));
}

/**
 * Whether an untrusted certificate is accepted: only if the user chose so, and only at the gateway
 * and its model list.
 */
export function skipsCertificate(url: string, credential: Credential): boolean {
	const { allowUnauthorizedCerts, baseUrl, mediaUrl } = credential;
	return allowUnauthorizedCerts && [baseUrl, mediaUrl].some((home) => isAtOriginOf(home, url));
}

function isAtOriginOf(address: string, url: string): boolean {
	const origin = parseUrl(address)?.origin;
	return origin !== undefined && isBelow(url, origin);
}

/**
 * The authentication headers of a request to the gateway, by its path (docs/protocol.md,
 * "Authentication"): for messages in the form of 'Message Authentication' with the version header,
 * none for the public media list, else `Bearer`. None at any other address.
 */
export function authHeaders(url: string, credential: Credential): Record<string, string> {
	const { base, baseUrl, key, messageAuth } = credential;
	const path = baseUrl === '' ? undefined : pathBelow(url, baseUrl);
	if (path === undefined) return {};
	const [, endpoint] = /^(\/media|\/messages)(?:\/|$)/.exec(withoutVersion(path, base)) ?? [];
	if (endpoint === '/media') return {};
	const bearer = { Authorization: `Bearer ${key}` };
	if (endpoint === undefined) return bearer;
	const own = messageAuth === 'bearer' ? bearer : { Authorization: key };
	return messageAuth === 'xApiKey'
		? apiKeyHeaders(credential)
		: { ...own, ...versionHeader(credential) };
}

/** The headers of the other way to send a key, with the version of messages. */
const apiKeyHeaders = (credential: Credential): Record<string, string> => ({
	'x-api-key': credential.key,
	...versionHeader(credential),
});

const versionHeader = ({ version }: Credential) => ({ [version.name]: version.value });

/** The path of an endpoint without the version of the API; empty for a path of another version. */
function withoutVersion(path: string, { version }: ApiAddress): string {
	return path.startsWith(`${version}/`) ? path.slice(version.length) : '';
}
