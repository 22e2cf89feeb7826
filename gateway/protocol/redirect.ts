import { isBelow, parseUrl } from './url';
import type { Outcome } from './outcome';
import type { RequestPlan } from './requestPlan';

/**
 * Where a redirect may be followed to, or undefined if it may not. Only within the gateway's own
 * address, so that the key never leaves for another host; and with a POST only where the status
 * says that the same request is meant (307, 308). Whether a paid request may have been charged that
 * got a redirect, `wasNotAccepted` says.
 *
 * @param url the address that responded
 * @param address the gateway's address
 */
export function redirectTarget(
	plan: RequestPlan,
	outcome: Outcome,
	url: string,
	address: string,
): string | undefined {
	if (outcome.kind !== 'response') return undefined;
	const sameRequest = outcome.httpCode === 307 || outcome.httpCode === 308;
	const anyRedirect = [301, 302, 303].includes(outcome.httpCode);
	if (!sameRequest && !(anyRedirect && plan.method === 'GET')) return undefined;
	const target = parseUrl(outcome.headers.location ?? '', url)?.href ?? url;
	return target !== url && isBelow(target, address) ? target : undefined;
}

/**
 * Where a download is redirected to, or undefined if it is not: any web address, as it carries no
 * key.
 */
export function downloadTarget(
	httpCode: number,
	location: string | undefined,
	url: string,
): string | undefined {
	if (![301, 302, 303, 307, 308].includes(httpCode) || location === undefined) return undefined;
	const target = parseUrl(location, url);
	return /^https?:$/.test(target?.protocol ?? '') ? target?.href : undefined;
}
