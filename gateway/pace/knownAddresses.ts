import type { Outcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { parseUrl } from '../protocol/url';
import { isJsonObject } from '../../util/json';
import { isLikelyWrongAddress } from './retryPolicy';

/** The addresses of a run: proven ones, and those that have given no usable response so far. */
export class KnownAddresses {
	/** Addresses that have given a response which only the right server gives. */
	private readonly proven = new Set<string>();

	/** By address, the time of its first failed request. */
	private readonly failingSince = new Map<string, number>();

	/** @param now milliseconds */
	constructor(private readonly now: () => number) {}

	note(plan: RequestPlan, outcome: Outcome): void {
		const address = addressOf(plan);
		const isResponse = outcome.kind === 'response' && outcome.httpCode < 500;
		if (isResponse && isJsonObject(outcome.json)) {
			this.proven.add(address);
			this.failingSince.delete(address);
		} else if (isLikelyWrongAddress(outcome) && !this.failingSince.has(address)) {
			this.failingSince.set(address, this.now());
		}
	}

	/**
	 * The time in milliseconds for which an address that is probably wrong has given no usable
	 * response; undefined if the address is worth waiting for.
	 *
	 * @param isForPaid whether the request is about something that was paid for
	 */
	nothingForMs(plan: RequestPlan, outcome: Outcome, isForPaid: boolean): number | undefined {
		if (!isLikelyWrongAddress(outcome)) return undefined;
		const address = addressOf(plan);
		// A server that returns a web page instead of an image keeps returning it.
		const isPage =
			plan.call === 'download' && outcome.kind === 'response' && /^\s*</.test(outcome.text);
		if (!isPage && (isForPaid || this.proven.has(address))) return undefined;
		return this.now() - (this.failingSince.get(address) ?? this.now());
	}
}

/**
 * The key of the server that a request goes to: the origin of an image, or one key each for the
 * gateway and the model list.
 */
export function addressOf({ call, path }: RequestPlan): string {
	if (call !== 'download') return call === 'listing' ? 'listing' : 'gateway';
	return parseUrl(path)?.origin ?? path;
}
