import { nonEmptyString, type JsonObject } from '../util/json';

/**
 * The endpoints below `/v1` (docs/protocol.md, "Endpoints"): people paste the address of one where that of the
 * gateway is meant. Behind some stands
 * a task ID or a model name.
 */
const ENDPOINT =
	/\/v1(?:\/messages|\/images(?:\/(?:generations|edits)(?:\/[^/]*)?)?|\/media(?:\/models(?:\/[^/]*)?)?)?$/;

/** An address taken apart, relative to `base` where that is given; undefined if it is none. */
export const parseUrl = (address: string, base?: string): URL | undefined =>
	URL.canParse(address, base) ? new URL(address, base) : undefined;

/**
 * The address of a gateway as the plans expect it: no trailing slash, no `/v1` at its end (the
 * docs/protocol.md, "Endpoints", puts every path below `/v1`, and the plans name it). A path is kept,
 * also one that has a `/v1` in it. Query and fragment belong to no request, and are left out.
 *
 * So are a user name and a password: the HTTP client would make an `Authorization` header of them
 * that takes the place of the key, and they would be shown wherever the address is.
 *
 * @param address what the user typed, for example `https://gateway.example/v1/`
 * @returns for example `https://gateway.example`, or undefined if it is no http(s) address
 */
export function normalizeUrl(address: unknown): string | undefined {
	const url = typeof address === 'string' ? parseUrl(address.trim()) : undefined;
	if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
	const own = withoutTrailingSlashes(url.pathname).replace(ENDPOINT, '');
	return url.origin + withoutTrailingSlashes(own);
}

/**
 * Where a gateway is, as a credential says: `mediaUrl` only where the listing has an address of its own.
 *
 * @returns the label of the field that holds no web address, if there is one
 */
export function addressesIn(
	credential: JsonObject,
): { baseUrl: string; mediaUrl?: string } | 'Base URL' | 'Media URL' {
	const baseUrl = normalizeUrl(credential.baseUrl);
	const mediaUrl = normalizeUrl(credential.mediaUrl);
	if (baseUrl === undefined) return 'Base URL';
	const isWrong = mediaUrl === undefined && nonEmptyString(credential.mediaUrl) !== undefined;
	return isWrong ? 'Media URL' : { baseUrl, mediaUrl };
}

function withoutTrailingSlashes(path: string): string {
	let end = path.length;
	while (path[end - 1] === '/') end -= 1;
	return path.slice(0, end);
}

/**
 * Whether a path climbs out of the folder that it is put below, for a server that reads percent-encoded
 * dots and slashes as dots and slashes, however often they are encoded. Parsers of addresses do that
 * with dots only (`%2e`).
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
 * What of the path of `url` lies below `address`, with its leading slash.
 *
 * @param address as `normalizeUrl` gives it
 * @returns undefined if `url` does not lie at `address` or below it: same origin, same leading path,
 *   and no way out of it in the rest
 */
export function pathBelow(url: string, address: string): string | undefined {
	const target = parseUrl(url);
	if (target === undefined) return undefined;
	const { origin, pathname } = target;
	const place = origin + pathname;
	if (!`${place}/`.startsWith(`${address}/`)) return undefined;
	const below = place.slice(address.length);
	// Above a gateway that has no path of its own is nothing.
	return address !== origin && climbsOut(below) ? undefined : below;
}

/** Whether `url` lies at `address` or below it; `address` as `normalizeUrl` gives it. */
export function isBelow(url: string, address: string): boolean {
	return pathBelow(url, address) !== undefined;
}
