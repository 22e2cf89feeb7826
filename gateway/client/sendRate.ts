/** This many requests may be in flight at any rate until one is refused. */
export const INITIAL_WINDOW = 10;
/** The first rate beyond the initial window, in requests per second. */
const INITIAL_RATE = 50;
/** Each accepted request raises the rate by this many requests per second. */
const RISE = 2;
/** A refusal leaves this share of the rate. */
const BACKOFF = 0.95;
/** After a limit was met the rate does not rise for this long, in milliseconds. */
const HOLD_MS = 15_000;
/** One refused request among this many may be chance; this many refused requests are not. */
const CHANCE = 4;

/**
 * How many requests per second a gateway takes. The rate rises with each accepted request until a
 * limit is met, stays just below it for a while, and rises again. Some gateways refuse a share of the
 * requests at any rate: a refusal by chance only lowers the rate by a little.
 *
 * A pure algorithm: it has no clock and sends nothing.
 */
export class SendRate {
	/** Requests per second allowed now. */
	perSecond: number;

	/** Whether the rate is a guess: no limit was given, and none was met. */
	isGuess: boolean;

	private holdsUntil: number;

	/** Refused requests, less the share of the accepted ones that chance may refuse. */
	private doubt = CHANCE;

	/**
	 * @param highest requests per second that are never exceeded; begins with that many
	 * @param known a limit that was met before at the same gateway, and until when the rate holds
	 */
	constructor(
		private readonly highest = Infinity,
		private known?: { perSecond: number; holdsUntil: number },
	) {
		this.isGuess = known === undefined && highest === Infinity;
		this.perSecond = known?.perSecond ?? (highest === Infinity ? INITIAL_RATE : highest);
		this.holdsUntil = known?.holdsUntil ?? 0;
	}

	/** What another send rate can begin with, if a limit was met. */
	get limit(): { perSecond: number; holdsUntil: number } | undefined {
		return this.known && { perSecond: this.perSecond, holdsUntil: this.holdsUntil };
	}

	/**
	 * A request was accepted.
	 *
	 * @param now milliseconds
	 * @param isUsed whether other requests wait for their turn: an unused rate says nothing
	 */
	accepted(now: number, isUsed: boolean): void {
		const wasFull = this.doubt >= CHANCE;
		this.doubt = wasFull ? 0 : Math.max(0, this.doubt - 1 / (CHANCE - 1));
		if (!isUsed || now < this.holdsUntil) return;
		this.perSecond = Math.min(this.highest, this.perSecond + RISE);
	}

	/**
	 * A request was refused for its rate.
	 *
	 * @param accepted how many requests of the second before it were accepted, as far as is known
	 * @returns what it shows; after anything but chance the run should pause
	 */
	refused(now: number, accepted: number, isUsed: boolean): 'chance' | 'limit' | 'outage' {
		const isOutage = this.doubt >= CHANCE || !isUsed;
		this.doubt = Math.min(CHANCE, this.doubt + 1);
		if (this.doubt < CHANCE) {
			this.lowerTo(this.perSecond);
			return 'chance';
		}
		this.isGuess = false;
		if (isOutage) {
			// Nothing is learned of the limit, and a run that knows none begins again with one request.
			if (this.known === undefined) this.lowerTo(1);
			return 'outage';
		}
		// So few within the initial window show the limit only the second time: others may have used it.
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
