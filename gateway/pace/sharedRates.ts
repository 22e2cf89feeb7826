import { digestOf } from '../../util/digest';
import { LruMap } from '../../util/lruMap';
import type { Account } from '../protocol/account';
import type { Clock } from './stoppableClock';
import type { RunLimits } from '../wire/sendOnce';
import { RateLimiter } from './rateLimiter';
import { SharedRate } from './sharedRate';

/**
 * The rates that this process uses. Runs at the same time share them, and a node that waits starts with
 * what the node that submitted has found. Their number is limited: names of models come from the input.
 */
const sharedRates = new LruMap<string, SharedRate>(200);

/**
 * The rate limiter of a run. The public model list has a rate of its own, as it is often on another
 * host.
 *
 * @param needsKey false for a run that only requests the public model list
 */
export function openLimiter(
	{ idWithKey, mediaUrl }: Pick<Account, 'idWithKey' | 'mediaUrl'>,
	{ concurrency, requestsPerSecond }: RunLimits,
	clock: Clock,
	needsKey: boolean,
): RateLimiter {
	const limited = needsKey ? idWithKey : `listing ${mediaUrl} ${idWithKey}`;
	const rateOf = (countedAs: string): SharedRate => {
		const id = digestOf([limited, countedAs]);
		const earlier = sharedRates.get(id);
		const isValid = earlier !== undefined && !earlier.isOutdated(clock.now());
		const rate = isValid ? earlier : new SharedRate();
		sharedRates.set(id, rate);
		return rate;
	};
	return new RateLimiter({ concurrency, requestsPerSecond, clock, rateOf });
}
