import { normalizeUrl, pathBelow } from './url';

/** The part of the credential that decides which headers a request carries. */
export interface KeySettings {
	baseUrl: string;
	apiKey: string;
	messageAuth?: 'authorization' | 'xApiKey';
	versionHeaderName?: string;
	versionHeaderValue?: string;
}

/** Marks that stand for a key, where a template leaves room for it. */
const TEMPLATES = [/[<>]/, /^\$?\{.*\}$/, /^\[.*\]$/, /^\$[a-z_]+$/i, /^%[a-z_]+%$/i];

/** Words that stand for a key in an example, alone or joined to one word. */
const EXAMPLE_WORDS =
	/^(?:your|api|keys|key|here|insert|paste|enter|replace|placeholder|changeme|example|sample|dummy|redacted)+$/;

/** Letters that fill the room of a key. */
const FILLER = /^[x*.\u2026]+$/;

/** Words that stand beside those; a key may have them too. */
const OTHER_WORDS =
	/^(?:sk|pk|my|mykey|myapikey|the|this|own|real|actual|a|an|in|with|me|proj|ant|live|secret|token|goes|it|put|\d{1,2})$/;

/** Whether a key is made of nothing but words that an example has in the place of one. */
function isPlaceholder(key: string): boolean {
	if (TEMPLATES.some((template) => template.test(key))) return true;
	const words = key
		.toLowerCase()
		.split(/[-_ ]/)
		.filter((word) => word !== '');
	const stands = (word: string): boolean => EXAMPLE_WORDS.test(word) || FILLER.test(word);
	if (!words.every((word) => stands(word) || OTHER_WORDS.test(word))) return false;
	const isAddressed = words.some((word) => /^(?:my|mykey|myapikey|the)$/.test(word));
	return words.some(stands) || words.includes('mykey') || (words[0] === 'sk' && isAddressed);
}

/** What copying adds around a key: blanks, invisible characters, quotes. */
const AROUND = /^[\s\u200b\ufeff"']$/;

function withoutAround(text: string): string {
	let start = 0;
	let end = text.length;
	while (start < end && AROUND.test(text.charAt(start))) start += 1;
	while (end > start && AROUND.test(text.charAt(end - 1))) end -= 1;
	return text.slice(start, end);
}

/**
 * A key without what copying adds: blanks around it, quotes, a pasted `Bearer `. The image
 * endpoints want `Bearer <key>`, the message endpoint wants the bare key (specification, section
 * 5), so the prefix is never part of what is stored.
 */
export function cleanApiKey(apiKey: unknown): string {
	if (typeof apiKey !== 'string') return '';
	const pasted = withoutAround(apiKey);
	return withoutAround(pasted.replace(/^(authorization\s*:\s*)?(bearer\s+)+/i, ''));
}

/**
 * What is wrong with a key that was typed in, as a sentence, or undefined if it may be sent.
 * A placeholder is refused here because the gateway would count it as a real, invalid key
 * (specification, section 5, rule 5).
 */
export function apiKeyProblem(apiKey: unknown): string | undefined {
	const key = cleanApiKey(apiKey);
	if (key === '' || /^bearer$/i.test(key)) {
		return "The API key is empty. Enter the key from your gateway's console in the Media Gateway credential.";
	}
	if (isPlaceholder(key)) {
		return 'The API key is still a placeholder. In the Media Gateway credential, replace it with the key from your gateway\'s console, which usually starts with "sk-".';
	}
	// A header can hold nothing else; n8n would fail later with a text about characters.
	if (!/^[\x21-\x7e]+$/.test(key)) {
		return "The API key contains a space or an invalid character. Copy it again from your gateway's console into the Media Gateway credential.";
	}
	return undefined;
}

/**
 * The headers that prove who is asking, chosen by the path (specification, section 5): `Bearer`
 * for images, the bare key or `x-api-key` for messages together with the version header (section
 * 9), nothing for the model listing, and nothing for any address that is not the gateway's own.
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
 * A request as n8n hands it to a credential: its helpers name the address `url`, the HTTP Request
 * node and other older nodes name it `uri`.
 */
export interface AddressedRequest {
	url?: unknown;
	uri?: unknown;
	baseURL?: unknown;
}

/**
 * The full address to which a request goes, joined as the HTTP library of n8n joins it.
 *
 * @returns undefined where that is not certain: no address, one that is neither a text nor a URL, or
 *   two that differ. Such a request must not carry the key.
 */
export function requestAddress({ url, uri, baseURL }: AddressedRequest): string | undefined {
	const given = [url, uri].filter((part) => part !== undefined && part !== null);
	const base = baseURL === undefined || baseURL === null ? '' : textOf(baseURL);
	const targets = given.map((part) => joined(base, textOf(part)));
	const [target] = targets;
	return targets.every((other) => other === target) ? target : undefined;
}

const textOf = (part: unknown): string | undefined =>
	part instanceof URL ? part.href : typeof part === 'string' ? part : undefined;

/** A base with a path keeps it, unlike in links of a web page, where `/` leads to the root. */
function joined(base: string | undefined, part: string | undefined): string | undefined {
	if (base === undefined || part === undefined) return undefined;
	try {
		if (base === '' || /^([a-z][a-z\d+\-.]*:)?\/\//i.test(part)) return new URL(part).href;
		const rest = part.slice(part.search(/[^/]|$/));
		const target = new URL(part === '' ? base : `${base.replace(/\/$/, '')}/${rest}`);
		// Whoever joins them like a link must come to the same host.
		return new URL(part, base).origin === target.origin ? target.href : undefined;
	} catch {
		return undefined;
	}
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
