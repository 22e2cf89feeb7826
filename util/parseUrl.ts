/** An address as a URL, relative to `base` if given; undefined if it is invalid. */
export function parseUrl(address: string, base?: string): URL | undefined {
	try {
		return new URL(address, base);
	} catch {
		return undefined;
	}
}
