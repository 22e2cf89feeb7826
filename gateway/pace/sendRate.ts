/** The number of requests that may be in flight at any rate until one is refused. */
export const INITIAL_WINDOW = 10;
/** The first rate beyond the initial window, in requests per second. */
const INITIAL_RATE = 50;
/** Each accepted request raises the rate by this many requests per second. */
const RISE = 2;
/** The share of the rate that a refusal leaves. */
const BACKOFF = 0.95;
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
	perSecond: number;

	/** Whether the rate is a guess: no limit was given, and none was met. */
	isGuess: boolean;

	private holdsUntil: number;

	/** The level of the bucket: a refusal adds one, an accepted request takes away a third. */
	private bucket = BUCKET_SIZE;

	/**
	 * @param highest requests per second that are never exceeded; the rate begins with it
	 * @param known an earlier limit of the same gateway, and the time until which the rate stays
	 *   there
	 */
	constructor(
		private readonly highest = Infinity,
		private known?: { perSecond: number; holdsUntil: number },
	) {
		this.isGuess = known === undefined && highest === Infinity;
		this.perSecond = known?.perSecond ?? (highest === Infinity ? INITIAL_RATE : highest);
		this.holdsUntil = known?.holdsUntil ?? 0;
	}

	/** The limit with which another send rate can begin; undefined if the gateway has shown none. */
	get limit(): { perSecond: number; holdsUntil: number } | undefined {
		return this.known && { perSecond: this.perSecond, holdsUntil: this.holdsUntil };
	}

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
		this.perSecond = Math.min(this.highest, this.perSecond + RISE);
	}

	/**
	 * Records a refusal for the rate limit.
	 *
	 * @param accepted the number of accepted requests in the second before it, as far as is known
	 * @returns the cause; after any but a sporadic refusal the run should pause
	 */
	refused(now: number, accepted: number, isUsed: boolean): 'sporadic' | 'limit' | 'outage' {
		const isOutage = this.bucket >= BUCKET_SIZE || !isUsed;
		this.bucket = Math.min(BUCKET_SIZE, this.bucket + 1);
		if (this.bucket < BUCKET_SIZE) {
			this.lowerTo(this.perSecond);
			return 'sporadic';
		}
		this.isGuess = false;
		if (isOutage) {
			// An outage shows no limit; a run that knows none begins again with one request.
			if (this.known === undefined) this.lowerTo(1);
			return 'outage';
		}
		// A refusal within the initial window shows a limit only the second time: other runs may have
		// used the limit up.
		const isShown = this.known !== undefined || accepted > INITIAL_WINDOW;
		if (isShown && now >= this.holdsUntil) this.holdsUntil = now + HOLD_MS;
		this.lowerTo(accepted);
		this.known = { perSecond: this.perSecond, holdsUntil: this.holdsUntil };
		return 'limit';
	}

	/** Lowers the rate to just below so many requests per second, or one. */
	lowerTo(perSecond: number): void {
		this.perSecond = Math.min(this.perSecond, BACKOFF * Math.max(1, perSecond));
	}
}
