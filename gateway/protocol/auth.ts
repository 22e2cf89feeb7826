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

/** Placeholders for a key: `<API_KEY>`, `${KEY}`, `$KEY`; `your-api-key-here`; `sk-xxxx`, `sk-...`. */
const PLACEHOLDERS = [
	/[<>]|^\$?[{[].*[}\]]$|^[$%][a-z_]+%?$/i,
	/^(sk[-_])?((your|my|the|insert|paste)[-_ ]?){0,2}(api|secret)?[-_ ]?key([-_ ](goes[-_ ])?here)?$/i,
	/(^|[-_ ])([x*.]{3,}|\u2026|placeholder|example|changeme)$/i,
];

/** What copying adds around a key: blanks, invisible characters, quotes. */
const AROUND = /[\s\u200b\ufeff"']/;

/**
 * A key without what copying adds: blanks around it, quotes, a pasted `Bearer `. The image
 * endpoints want `Bearer <key>`, the message endpoint wants the bare key (docs/protocol.md,
 * "Authentication"), so the prefix is never part of what is stored.
 */
export function cleanApiKey(apiKey: unknown): string {
	if (typeof apiKey !== 'string') return '';
	const pasted = trimBy(apiKey, AROUND);
	return trimBy(pasted.replace(/^(authorization\s*:\s*)?(bearer\s+)+/i, ''), AROUND);
}

/**
 * What is wrong with a key that was typed in, as a sentence, or undefined if it may be sent.
 * A placeholder is refused here because the gateway would count it as a real, invalid key
 * (docs/protocol.md, "Authentication").
 */
export function apiKeyProblem(apiKey: unknown): string | undefined {
	const key = cleanApiKey(apiKey);
	if (key === '' || /^bearer$/i.test(key)) {
		return "The API key is empty. Enter the key from your gateway's console in the Media Gateway credential.";
	}
	if (PLACEHOLDERS.some((placeholder) => placeholder.test(key))) {
		return 'The API key is still a placeholder. In the Media Gateway credential, replace it with the key from your gateway\'s console, which usually starts with "sk-".';
	}
	// A header can hold nothing else; n8n would fail later with a text about characters.
	if (!/^[\x21-\x7e]+$/.test(key)) {
		return "The API key contains a space or an invalid character. Copy it again from your gateway's console into the Media Gateway credential.";
	}
	return undefined;
}

/**
 * The headers that prove who is asking, chosen by the path (docs/protocol.md, "Authentication"): `Bearer`
 * for images, the bare key or `x-api-key` for messages together with the version header ("Versions"
 * there), nothing for the model listing, and nothing for any address that is not the gateway's own.
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
 * The full address to which a request goes, joined as the HTTP library of n8n joins it. Its helpers
 * name the address `url`, the HTTP Request node and other older nodes name it `uri`.
 *
 * @returns undefined where that is not certain: no address, one that is neither a text nor a URL, or
 *   two that differ. Such a request must not carry the key.
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

/** A base with a path keeps it, unlike in links of a web page, where `/` leads to the root. */
function joined(base: string | undefined, part: string | undefined): string | undefined {
	if (base === undefined || part === undefined) return undefined;
	if (base === '' || /^([a-z][a-z\d+\-.]*:)?\/\//i.test(part)) return parseUrl(part)?.href;
	const rest = part.slice(part.search(/[^/]|$/));
	const target = parseUrl(part === '' ? base : `${base.replace(/\/$/, '')}/${rest}`);
	// Whoever joins them like a link must come to the same host.
	return target?.origin === parseUrl(part, base)?.origin ? target?.href : undefined;
}

/**
 * Whether n8n may follow redirects of a request that carries the key, provided that it stays on the
 * same host. n8n takes the `Authorization` header away where a redirect leads to another port or
 * protocol, and no other header; and it knows nothing of the path at which the gateway lives.
 */
export function mayFollowRedirects(
	headers: Record<string, string>,
	{ baseUrl }: Pick<KeySettings, 'baseUrl'>,
): boolean {
	const address = normalizeUrl(baseUrl);
	const isWholeHost = address !== undefined && new URL(address).origin === address;
	return isWholeHost && 'Authorization' in headers;
}
