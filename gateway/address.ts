/**
 * The address of a gateway as the plans expect it: no trailing slash, no `/v1` (the specification,
 * section 9, puts every path below `/v1`, and the plans name it).
 *
 * @param address what the user typed, for example `https://gateway.example/v1/`
 * @returns for example `https://gateway.example`, or undefined if it is no http(s) address
 */
export function normaliseAddress(address: unknown): string | undefined {
	if (typeof address !== 'string') return undefined;
	let url: URL;
	try {
		url = new URL(address.trim());
	} catch {
		return undefined;
	}
	if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
	const path = url.pathname.replace(/\/v1(\/.*)?$/, '').replace(/\/+$/, '');
	return url.origin + path;
}

/**
 * What of the path of `url` lies below `address`, with its leading slash.
 *
 * @param address as `normaliseAddress` gives it
 * @returns undefined if `url` does not lie at `address` or below it: same origin, same leading path
 */
export function pathBelow(url: string, address: string): string | undefined {
	try {
		const { origin, pathname } = new URL(url);
		const place = origin + pathname;
		return `${place}/`.startsWith(`${address}/`) ? place.slice(address.length) : undefined;
	} catch {
		return undefined;
	}
}

/** Whether `url` lies at `address` or below it; `address` as `normaliseAddress` gives it. */
export function isBelow(url: string, address: string): boolean {
	return pathBelow(url, address) !== undefined;
}
