import { isBelow } from '../protocol/url';
import { AS_GET, leadsToResult, type HttpResponse } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { parseUrl } from '../../util/parseUrl';

/** Redirects that repeat the same request. */
const SAME_REQUEST = [307, 308];

/**
 * The address of a redirect that may be followed; undefined otherwise. A download may go to any web
 * address, because it carries no key. Other requests stay within the gateway's address, so the key
 * never goes to another host. A POST is only repeated where the redirect asks for the same request, a
 * paid one not where it leads to a result: `chargedAfter` says of both whether they may have been
 * charged.
 *
 * @param url the address that responded
 * @param address the gateway's address
 */
export function redirectUrl(
	{ call, method, paid }: RequestPlan,
	{ httpCode, headers: { location = '' } }: HttpResponse,
	url: string,
	address: string,
): string | undefined {
	const isFollowed = method === 'GET' && AS_GET.includes(httpCode);
	if (location === '' || !(isFollowed || SAME_REQUEST.includes(httpCode))) return undefined;
	const next = parseUrl(location, url);
	if (next === undefined || next.href === url) return undefined;
	if (paid && leadsToResult(location)) return undefined;
	const isAllowed =
		call === 'download' ? /^https?:$/.test(next.protocol) : isBelow(next.href, address);
	return isAllowed ? next.href : undefined;
}
