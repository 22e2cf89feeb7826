import type { Credential } from './credential';
import { isBelow, parseUrl, pathBelow, type ApiAddress } from './url';

/**
 * The headers that the credential adds to a request: the key in the form of its path, and the
 * additional headers. Nothing goes to another origin, also not after a redirect.
 *
 * @param url the full address of the request
 */
export function credentialHeaders(url: string, credential: Credential): Record<string, string> {
	return { ...additionalHeaders(url, credential), ...authHeaders(url, credential) };
}

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
export const apiKeyHeaders = (credential: Credential): Record<string, string> => ({
	'x-api-key': credential.key,
	...versionHeader(credential),
});

const versionHeader = ({ version }: Credential) => ({ [version.name]: version.value });

/** The path of an endpoint without the version of the API; empty for a path of another version. */
function withoutVersion(path: string, { version }: ApiAddress): string {
	return path.startsWith(`${version}/`) ? path.slice(version.length) : '';
}

/**
 * The full address of a request, joined like in n8n's HTTP library. n8n's helpers call it `url`,
 * the HTTP Request node and older nodes `uri`.
 *
 * @returns undefined if the address is missing, not a text or URL, or ambiguous: then the request
 *   must not carry the key
 */
export function requestAddress(request: {
	url?: unknown;
	uri?: unknown;
	baseURL?: unknown;
}): string | undefined {
	const { url, uri, baseURL } = request;
	const given = [url, uri].filter((part) => part !== undefined && part !== null);
	const targets = given.map((part) => joined(textOf(baseURL ?? ''), textOf(part)));
	const [target] = targets;
	return targets.every((other) => other === target) ? target : undefined;
}

const textOf = (part: unknown): string | undefined =>
	part instanceof URL ? part.href : typeof part === 'string' ? part : undefined;

/**
 * Joins a base and a path. Unlike in a link of a web page, a leading `/` keeps the path of the
 * base.
 */
function joined(base: string | undefined, part: string | undefined): string | undefined {
	if (base === undefined || part === undefined) return undefined;
	if (base === '' || /^([a-z][a-z\d+\-.]*:)?\/\//i.test(part)) return parseUrl(part)?.href;
	const rest = part.slice(part.search(/[^/]|$/));
	const target = parseUrl(part === '' ? base : `${base.replace(/\/$/, '')}/${rest}`);
	// Joined like a link, the address must have the same host.
	return target?.origin === parseUrl(part, base)?.origin ? target?.href : undefined;
}

/**
 * Whether n8n may follow redirects of a request that carries these headers, within the same host.
 * n8n removes only the `Authorization` header at another port or protocol, and doesn't know the
 * gateway's path.
 */
export function mayFollowRedirects(
	headers: Record<string, string>,
	{ baseUrl, headers: additional }: Credential,
): boolean {
	const isWholeHost = parseUrl(baseUrl)?.origin === baseUrl;
	return isWholeHost && additional.length === 0 && 'Authorization' in headers;
}
