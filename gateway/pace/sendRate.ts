/** The number of requests that may be in flight at any rate until one is refused. */
export const INITIAL_WINDOW = 10;
/** The first rate beyond the initial window, in requests per second. */
const INITIAL_RATE = 50;
/** Each accepted request raises the rate by this many requests per second. */
const RISE = 2;
/** The share of the rate that a refusal leaves. */
const BACKOFF = 0.95;
/**
 * The least share of the rate that a limit leaves: other processes may have used up what this one
 * happened not to get in the last second.
 */
const LEAST_LEFT = 0.7;
/** A limit below this share of the highest one isn't held: others have used the rest for a moment. */
const NEAR_HIGHEST = 0.5;
/** After a limit was met the rate does not rise for this long, in milliseconds. */
const HOLD_MS = 15_000;
/**
 * The size of the leaky bucket of refusals: up to one refusal in this many requests is sporadic, and
 * fewer than this many in a row.
 */
const BUCKET_SIZE = 4;

/**
 * Finds how many requests per second a gateway accepts. The rate rises with each accepted request
 * until a limit is met, stays just below it for a while, and rises again. Some gateways refuse a
 * share of the requests at any rate: such a refusal lowers the rate only a little.
 *
 * A pure algorithm: it has no clock and sends nothing.
 */
export class SendRate {
	/** Requests per second allowed now. */
	perSecond = INITIAL_RATE;

	/** Whether the rate is a guess: no limit was met. */
	isGuess = true;

	private holdsUntil = 0;

	/**
	 * The highest limit met so far, in requests per second; with each further one, earlier ones count
	 * less. 0 if none was met.
	 */
	private highestLimit = 0;

	/** The level of the bucket: a refusal adds one, an accepted request takes away a third. */
	private bucket = BUCKET_SIZE;

	/**
	 * Records an accepted request.
	 *
	 * @param now milliseconds
	 * @param isUsed whether other requests wait: a rate that isn't used up can't be judged
	 */
	accepted(now: number, isUsed: boolean): void {
		const wasFull = this.bucket >= BUCKET_SIZE;
		this.bucket = wasFull ? 0 : Math.max(0, this.bucket - 1 / (BUCKET_SIZE - 1));
		if (!isUsed || now < this.holdsUntil) return;
		this.perSecond += RISE;
	}

	/**
	 * Records a refusal for the rate limit.
	 *
	 * @param second the requests sent in the second before it, and those of them that were accepted,
	 *   as far as is known
	 * @returns the cause; after any but a sporadic refusal the runs should pause
	 */
	refused(
		now: number,
		second: { sent: number; accepted: number },
		isUsed: boolean,
	): 'sporadic' | 'limit' | 'outage' {
		const isOutage = this.bucket >= BUCKET_SIZE || !isUsed;
		this.bucket = Math.min(BUCKET_SIZE, this.bucket + 1);
		if (this.bucket < BUCKET_SIZE) {
			this.lowerTo(this.perSecond);
			return 'sporadic';
		}
		this.isGuess = false;
		if (isOutage) {
			// An outage shows no limit; an account that knows none begins again with one request.
			if (this.highestLimit === 0) this.lowerTo(1);
			return 'outage';
		}
		this.meetLimit(now, second);
		return 'limit';
	}

	/** Lowers the rate to what was accepted, and holds it there unless others have used most of it. */
	private meetLimit(now: number, { sent, accepted }: { sent: number; accepted: number }): void {
		const used = Math.min(this.perSecond, sent);
		this.perSecond = Math.min(
			this.perSecond,
			Math.max(BACKOFF * Math.max(1, accepted), LEAST_LEFT * used),
		);
		const isFirst = this.highestLimit === 0;
		this.highestLimit = Math.max(this.perSecond, LEAST_LEFT * this.highestLimit);
		const isShown = isFirst
			? accepted > INITIAL_WINDOW
			: this.perSecond >= NEAR_HIGHEST * this.highestLimit;
		if (!isShown) this.holdsUntil = now;
		else if (now >= this.holdsUntil) this.holdsUntil = now + HOLD_MS;
	}

	/** Lowers the rate to just below so many requests per second, or one. */
	private lowerTo(perSecond: number): void {
		this.perSecond = Math.min(this.perSecond, BACKOFF * Math.max(1, perSecond));
	}
}
