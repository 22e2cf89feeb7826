import { LruMap } from '../../util/lruMap';
import type { Account } from '../protocol/account';
import type { Clock } from '../protocol/clock';
import type { RunLimits } from '../wire/runLimits';
import { mergeRateStates, RateLimiter, type RateState } from './rateLimiter';

/**
 * The rate limits found by the runs of this process, by account: a node that waits starts with the
 * limit that the node that submitted has found.
 */
const rateStates = new LruMap<string, RateState>(200);

/**
 * The rate limiter of a run, and what keeps its findings for later runs. The public model list has
 * a limit of its own, as it is often on another host.
 *
 * @param needsKey false for a run that only requests the public model list
 */
export function openLimiter(
	{ idWithKey, mediaUrl }: Account,
	limits: RunLimits,
	clock: Clock,
	needsKey: boolean,
) {
	const limited = needsKey ? idWithKey : `listing ${mediaUrl} ${idWithKey}`;
	const limiter = new RateLimiter({ ...limits, clock, rateState: rateStates.get(limited) });
	const keepFindings = (): void => {
		const found = limiter.rateState();
		if (found === undefined) return;
		rateStates.set(limited, mergeRateStates(rateStates.get(limited), found));
	};
	return { limiter, keepFindings };
}
