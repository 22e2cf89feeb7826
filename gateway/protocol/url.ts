import { parseUrl } from '../../util/parseUrl';

/** In characters: a longer address isn't read. */
export const LONGEST_ADDRESS = 2000;

/** The address of an API. */
export interface ApiAddress {
	/** The address without version, trailing slash and query: the key goes nowhere else. */
	url: string;
	/** The `/v1` of the plans' paths; empty if the address has a version of its own. */
	version: '/v1' | '';
	/** The query that goes with every request, without its question mark. */
	query: string;
}

/**
 * The endpoints (docs/protocol.md, "Endpoints"), which users paste in place of the gateway's address,
 * some with a task ID or model name.
 */
const ENDPOINT =
	/(\/v1)?(?:\/messages|\/images(?:\/(?:generations|edits|models)(?:\/[^/]*)?)?|\/media(?:\/models(?:\/[^/]*)?)?)$/;

/** A part of a path that is a version, such as `/v1`, `/v3` or `/v1beta`. */
const VERSION = /\/v\d+(\.\d+)?((alpha|beta|preview)\d*)?(?=\/|$)/i;

/** An address of a response, which may be relative; the protocol's paths lie below the gateway's. */
const fromGateway = (address: string, baseUrl: string): URL | undefined =>
	parseUrl(address.startsWith('/v1/') ? baseUrl + address : address, `${baseUrl}/`);

/** The full http(s) address of an image, which may be relative to the gateway's own. */
export function absoluteAddress(address: string, baseUrl: string): string | undefined {
	const url = fromGateway(address, baseUrl);
	return url !== undefined && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/**
 * Reads the address of an API as a person has entered it. `/v1` at its end means the same as none.
 * With another version anywhere, such as `/api/v3` or `/v1/openai`, it is the root of the API. The
 * fragment, user name and password are left out: an HTTP client would make an `Authorization` header
 * of the last two.
 *
 * @param address for example `https://gateway.example/v1/`
 * @returns undefined if it isn't an http(s) address
 */
export function readApiAddress(address: unknown): ApiAddress | undefined {
	const url = typeof address === 'string' ? parseUrl(address.trim()) : undefined;
	if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
	const entered = withoutTrailingSlashes(url.pathname);
	const [endpoint = '', ofEndpoint = ''] = ENDPOINT.exec(entered) ?? [];
	const hasVersion = ofEndpoint === '' && VERSION.test(entered) && !entered.endsWith('/v1');
	// Without a version before it, the name of an endpoint may be a part of the gateway's own path.
	const isPasted = ofEndpoint !== '' || hasVersion;
	const root = isPasted ? entered.slice(0, entered.length - endpoint.length) : entered;
	const own = isPasted ? root : root.replace(/\/v1$/, '');
	// That of a pasted request.
	url.searchParams.delete('async');
	return {
		url: url.origin + withoutTrailingSlashes(own),
		version: hasVersion ? '' : '/v1',
		query: url.searchParams.toString(),
	};
}

function withoutTrailingSlashes(path: string): string {
	let end = path.length;
	while (path[end - 1] === '/') end -= 1;
	return path.slice(0, end);
}

/**
 * Whether a path leads out of its folder on a server that decodes percent-encoded dots and slashes,
 * even repeatedly. URL parsers only decode dots (`%2e`).
 */
function climbsOut(path: string): boolean {
	const parts = path.replace(/%(?:25)*2e/gi, '.').split(/[/\\]|%(?:25)*(?:2f|5c)/i);
	let depth = 0;
	return parts.some((part) => {
		if (part === '..') depth -= 1;
		else if (part !== '.' && part !== '') depth += 1;
		return depth < 0;
	});
}

/**
 * The part of a URL's path below an address, with its leading slash.
 *
 * @param address the `url` of an `ApiAddress`
 * @returns undefined if `url` isn't at or below `address`: same origin, same leading path, and no
 *   way out in the rest
 */
export function pathBelow(url: string, address: string): string | undefined {
	const parsed = parseUrl(url);
	if (parsed === undefined) return undefined;
	const { origin, pathname } = parsed;
	const withoutQuery = origin + pathname;
	if (!`${withoutQuery}/`.startsWith(`${address}/`)) return undefined;
	const below = withoutQuery.slice(address.length);
	// There is nothing above a gateway without a path.
	return address !== origin && climbsOut(below) ? undefined : below;
}

/** Whether `url` lies at `address` or below it; `address` as for `pathBelow`. */
export function isBelow(url: string, address: string): boolean {
	return pathBelow(url, address) !== undefined;
}

/**
 * The path and query of an address below the gateway's; undefined for any other address, which must
 * not get the key.
 *
 * @param address absolute or relative, from a response or an input item
 */
export function pathAtGateway(address: string | undefined, home: string): string | undefined {
	if (address === undefined || address.length > LONGEST_ADDRESS) return undefined;
	const url = fromGateway(address, home);
	const path = url && pathBelow(url.href, home);
	return path === undefined || path === '' ? undefined : path + url?.search;
}
