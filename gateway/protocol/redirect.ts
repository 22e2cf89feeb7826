import { isBelow, parseUrl } from './url';
import type { Outcome } from './outcome';
import type { RequestPlan } from './requestPlan';

/**
 * The target of a redirect that may be followed; undefined otherwise. Only targets within the
 * gateway's address are followed, so the key never goes to another host, and a POST only after 307
 * and 308, which repeat the same request. `wasNotAccepted` decides whether a redirected paid
 * request may have been charged.
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
 * The target of a redirected download, which can be any web address because it carries no key;
 * undefined without a redirect.
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
