import { LruMap } from '../../util/lruMap';
import type { Account } from '../protocol/account';
import type { Clock } from '../protocol/clock';
import type { RunLimits } from '../wire/runLimits';
import { AccountRate } from './accountRate';
import { RateLimiter } from './rateLimiter';

/**
 * The rates of the accounts that this process uses. Runs at the same time share one, and a node that
 * waits starts with what the node that submitted has found.
 */
const accountRates = new LruMap<string, AccountRate>(200);

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
	const earlier = accountRates.get(limited);
	const isValid = earlier !== undefined && !earlier.isOutdated(clock.now());
	const account = isValid ? earlier : new AccountRate();
	accountRates.set(limited, account);
	return new RateLimiter({ concurrency, requestsPerSecond, clock, account });
}
