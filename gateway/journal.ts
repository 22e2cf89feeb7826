import type { Problem } from './protocol/gatewayError';
import type { Receipt } from './responses/paidResponse';

/** What has become of a paid request. */
export type Settled<R> =
	| { charged: 'no' }
	| { charged: 'maybe'; problem: Problem }
	| { charged: 'yes'; receipt: R };

/**
 * The record of what is paid for. The client asks it before a paid request, and tells it of each attempt:
 * no paid request is sent past it. `begin` and `settle` are synchronous: what the journal keeps of a
 * payment, in memory or on disk, it has when they return, because the client doesn't wait for a promise.
 * If `begin` throws, its attempt isn't sent, and the outcome is unknown.
 *
 * @typeParam Key what a request is known by, which the client doesn't look at
 */
export interface Journal<Key, R = Receipt> {
	/** What an earlier request has come to, in place of this one. */
	find(key: Key): Exclude<Settled<R>, { charged: 'no' }> | undefined;
	/**
	 * An attempt begins. Until it is settled it may be charged: a run that ends before leaves it so.
	 *
	 * @param pending the problem of a request that was left so, with what has arrived of its response
	 */
	begin(key: Key, pending: () => Problem): void;
	/**
	 * What the gateway is to know a payment by: the same for all attempts to make it, also of another
	 * process, and another one for another payment. Asked only where the gateway takes such keys; undefined
	 * if the request isn't the one that may have been charged.
	 */
	idempotencyKey?(key: Key): string | undefined;
	/** An attempt has ended; after `no`, another one may begin. */
	settle(key: Key, end: Settled<R>): void;
}

/** The journal of requests that nobody recovers: each is sent anew. */
export const UNRECORDED: Journal<unknown, never> = {
	find: () => undefined,
	begin: () => undefined,
	settle: () => undefined,
};
