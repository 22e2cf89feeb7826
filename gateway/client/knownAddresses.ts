import type { Outcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { parseUrl } from '../protocol/url';
import { isJsonObject } from '../util/json';
import { isLikelyWrongAddress } from './retryPolicy';

/** What a run has found out about the addresses that it sends requests to. */
export class KnownAddresses {
	/** From these something has come that only the right server sends. */
	private readonly proven = new Set<string>();

	/** When a request to the others first came to nothing. */
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
	 * For how long nothing of use has come from an address that is likely to be wrong, in
	 * milliseconds; undefined where it is worth waiting for.
	 *
	 * @param isForPaid whether the request leads to something that was paid for
	 */
	nothingForMs(plan: RequestPlan, outcome: Outcome, isForPaid: boolean): number | undefined {
		if (!isLikelyWrongAddress(outcome)) return undefined;
		const address = addressOf(plan);
		// A server that gives a web page in place of an image goes on giving it.
		const isPage =
			plan.call === 'download' && outcome.kind === 'response' && /^\s*</.test(outcome.text);
		if (!isPage && (isForPaid || this.proven.has(address))) return undefined;
		return this.now() - (this.failingSince.get(address) ?? this.now());
	}
}

/** What is on one server: images may lie on any. */
export function addressOf({ call, path }: RequestPlan): string {
	if (call !== 'download') return call === 'listing' ? 'listing' : 'gateway';
	return parseUrl(path)?.origin ?? path;
}
