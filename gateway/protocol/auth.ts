import { trimBy } from '../util/text';
import { normalizeUrl, parseUrl, pathBelow } from './url';

/** The part of the credential that decides which headers a request carries. */
export interface KeySettings {
	baseUrl: string;
	apiKey: string;
	messageAuth?: 'authorization' | 'xApiKey';
	versionHeaderName?: string;
	versionHeaderValue?: string;
}

/**
 * Placeholders for a key: `<API_KEY>`, `${KEY}`, `$KEY`; `your-api-key-here`; `sk-xxxx`, `sk-...`.
 */
const PLACEHOLDERS = [
	/[<>]|^\$?[{[].*[}\]]$|^[$%][a-z_]+%?$/i,
	/^(sk[-_])?((your|my|the|insert|paste)[-_ ]?){0,2}(api|secret)?[-_ ]?key([-_ ](goes[-_ ])?here)?$/i,
	/(^|[-_ ])([x*.]{3,}|\u2026|placeholder|example|changeme)$/i,
];

/** Characters that copying adds around a key: spaces, invisible characters, quotes. */
const AROUND = /[\s\u200b\ufeff"']/;

/**
 * The key without the spaces, quotes and `Bearer ` that copying adds. The image endpoints take
 * `Bearer <key>`, the message endpoint the bare key (docs/protocol.md, "Authentication"), so the
 * prefix is never stored.
 */
export function cleanApiKey(apiKey: unknown): string {
	if (typeof apiKey !== 'string') return '';
	const pasted = trimBy(apiKey, AROUND);
	return trimBy(pasted.replace(/^(authorization\s*:\s*)?(bearer\s+)+/i, ''), AROUND);
}

/**
 * The problem of a typed key as a sentence; undefined if it can be sent. A placeholder is a problem
 * because the gateway would treat it as a real, invalid key (docs/protocol.md, "Authentication").
 */
export function apiKeyProblem(apiKey: unknown): string | undefined {
	const key = cleanApiKey(apiKey);
	if (key === '' || /^bearer$/i.test(key)) {
		return "The API key is empty. Enter the key from your gateway's console in the Media Gateway credential.";
	}
	if (PLACEHOLDERS.some((placeholder) => placeholder.test(key))) {
		return 'The API key is still a placeholder. In the Media Gateway credential, replace it with the key from your gateway\'s console, which usually starts with "sk-".';
	}
	// A header can contain only these characters; n8n's own error would come later and be less clear.
	if (!/^[\x21-\x7e]+$/.test(key)) {
		return "The API key contains a space or an invalid character. Copy it again from your gateway's console into the Media Gateway credential.";
	}
	return undefined;
}

/**
 * The authentication headers of a request, by its path (docs/protocol.md, "Authentication"):
 * `Bearer` for images, the bare key or `x-api-key` and the version header for messages, none for
 * the model list or any address outside of the gateway.
 *
 * @param url the full address of the request
 */
export function authHeaders(url: string, settings: KeySettings): Record<string, string> {
	const baseUrl = normalizeUrl(settings.baseUrl);
	const below = baseUrl === undefined ? undefined : pathBelow(url, baseUrl);
	if (below === undefined) return {};
	const path = below.endsWith('/') ? below.slice(0, -1) : below;
	const key = cleanApiKey(settings.apiKey);
	if (path.startsWith('/v1/images/')) return { Authorization: `Bearer ${key}` };
	if (path === '/v1/messages') {
		return {
			...(settings.messageAuth === 'xApiKey' ? { 'x-api-key': key } : { Authorization: key }),
			[settings.versionHeaderName?.trim() || 'anthropic-version']:
				settings.versionHeaderValue?.trim() || '2023-06-01',
		};
	}
	return {};
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
 * Whether n8n may follow redirects of a request that carries the key, within the same host. n8n
 * removes only the `Authorization` header at another port or protocol, and doesn't know the
 * gateway's path.
 */
export function mayFollowRedirects(
	headers: Record<string, string>,
	{ baseUrl }: Pick<KeySettings, 'baseUrl'>,
): boolean {
	const address = normalizeUrl(baseUrl);
	const isWholeHost = address !== undefined && new URL(address).origin === address;
	return isWholeHost && 'Authorization' in headers;
}
