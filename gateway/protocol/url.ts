/**
 * The endpoints below `/v1` (docs/protocol.md, "Endpoints"), which users paste in place of the
 * gateway's address, some with a task ID or model name.
 */
const ENDPOINT =
	/\/v1(?:\/messages|\/images(?:\/(?:generations|edits)(?:\/[^/]*)?)?|\/media(?:\/models(?:\/[^/]*)?)?)?$/;

/** An address as a URL, relative to `base` if given; undefined if it is invalid. */
export const parseUrl = (address: string, base?: string): URL | undefined =>
	URL.canParse(address, base) ? new URL(address, base) : undefined;

/** An address of a response, which may be relative; the protocol's paths lie below the gateway's. */
export const fromGateway = (address: string, baseUrl: string): URL | undefined =>
	parseUrl(address.startsWith('/v1/') ? baseUrl + address : address, `${baseUrl}/`);

/** The full http(s) address of an image, which may be relative to the gateway's own. */
export function absoluteAddress(address: string, baseUrl: string): string | undefined {
	const url = fromGateway(address, baseUrl);
	return url !== undefined && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/**
 * The address of a gateway in the form of the plans: without trailing slash, `/v1` at its end
 * (docs/protocol.md, "Endpoints"), query, fragment, user name and password. An HTTP client would
 * make an `Authorization` header of the last two. Another path is kept.
 *
 * @param address the user's text, for example `https://gateway.example/v1/`
 * @returns for example `https://gateway.example`; undefined if it isn't an http(s) address
 */
export function normalizeUrl(address: unknown): string | undefined {
	const url = typeof address === 'string' ? parseUrl(address.trim()) : undefined;
	if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
	const own = withoutTrailingSlashes(url.pathname).replace(ENDPOINT, '');
	return url.origin + withoutTrailingSlashes(own);
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
 * @param address from `normalizeUrl`
 * @returns undefined if `url` isn't at or below `address`: same origin, same leading path, and no
 *   way out in the rest
 */
export function pathBelow(url: string, address: string): string | undefined {
	const target = parseUrl(url);
	if (target === undefined) return undefined;
	const { origin, pathname } = target;
	const place = origin + pathname;
	if (!`${place}/`.startsWith(`${address}/`)) return undefined;
	const below = place.slice(address.length);
	// There is nothing above a gateway without a path.
	return address !== origin && climbsOut(below) ? undefined : below;
}

/** Whether `url` lies at `address` or below it; `address` as `normalizeUrl` gives it. */
export function isBelow(url: string, address: string): boolean {
	return pathBelow(url, address) !== undefined;
}
