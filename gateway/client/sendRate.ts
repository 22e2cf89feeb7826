/**
 * How many requests per second a gateway takes, found by its responses: slow start until the
 * first refusal, as TCP does (RFC 5681, section 3.1, with the initial window of RFC 6928), then
 * CUBIC (RFC 9438, section 4) for a rate instead of a window, as `DefaultRateLimiter` of
 * @smithy/util-retry has it. Named as there. One thing is from BIC, which CUBIC comes from: far
 * beyond the last maximum it is slow start again (max probing). Refusals that come by chance, at any
 * rate, are told from the others by Page's CUSUM test. docs/scaling.md says what the numbers are
 * chosen by.
 */

/** Until the first refusal this many may be in flight at any rate: test "begin with a handful". */
export const INITIAL_WINDOW = 10;
/** Requests per second beyond the initial window, at first: test "begin with a handful". */
const INITIAL_RATE = 50;
/** Slow start: by how much each accepted request raises the rate: test "and speed up". */
const SLOW_START_GAIN = 2;
/** A refusal multiplies the rate by this: bench row "refusing", tests "of 30 requests". */
const BETA = 0.94;
/**
 * Fast convergence (section 4.7), always: the plateau leaves room below the rate that was refused:
 * test "30 for 13 s, with a Retry-After of a second".
 */
const PLATEAU = (1 + BETA) / 2;
/** How steep the cubic is, in requests per second per s³: bench row "refusing", tests "by chance". */
const C = 0.0003;
/** After so many times K without a refusal that limit is gone: test "10, after 10 s 100". */
const MAX_PROBING = 2;
/** A rate says something only while this share of it is sent: test "does not rise unused". */
const USED_SHARE = 0.5;
/** Requests per second: test "refusals without end leave a rate that ends". */
const MIN_RATE = 0.2;
/** A limit that is met refuses at least this share of what comes next: tests "by chance". */
const SHARE_AT_LIMIT = 0.5;
/**
 * The share that is taken for chance, at least and at most; of more than that the rate is the reason:
 * tests "halts the whole run for a moment", "20 % refused by chance".
 */
const [LEAST_CHANCE, MOST_CHANCE] = [0.01, 0.2];
/** Weight of a request in the share that is refused by chance: test "20 % refused by chance". */
const CHANCE_WEIGHT = 1 / 30;
/**
 * Sent at less than this share of a rate that was accepted, a request tells of chance only: tests
 * "20 % refused by chance", "30, after 10 s 100, after 20 s 10".
 */
const BORNE_SHARE = 0.9;
/** Where it was the rate after all, there is less chance than was thought: test "30, after 10 s 100, after 20 s 10". */
const CHANCE_DECAY = 0.8;
/**
 * Evidence at which it is the rate: with no chance a single refusal is enough, with a fifth three in a
 * row. Tests "halts the whole run for a moment", "20 % refused by chance".
 */
const DECISION = 2.4;

/** What a send rate has found out, to begin another one with. */
export interface SendRateState {
	perSecond: number;
	lastMaxRate: number;
	inSlowStart: boolean;
	wasRefused: boolean;
	elapsedS: number;
	/** The share of requests that is refused at any rate. */
	chance: number;
}

/** A pure algorithm: it has no clock and sends nothing. */
export class SendRate {
	private state: SendRateState;

	/** At which rate the last accepted request was sent. */
	private acceptedRate = 0;

	/** That a limit is met: the logarithm of how much likelier it makes the last responses than chance does. */
	private evidence = 0;

	/** Whether the last event of refusals lowered the rate. */
	private isCounted = true;

	/**
	 * @param highest requests per second that are never exceeded; begins with that many
	 * @param state of an earlier send rate to the same gateway, whose limit was not given
	 */
	constructor(
		private readonly highest = Infinity,
		state?: SendRateState,
	) {
		const inSlowStart = highest === Infinity;
		const perSecond = inSlowStart ? INITIAL_RATE : highest;
		this.state = state ?? {
			perSecond,
			lastMaxRate: perSecond,
			inSlowStart,
			wasRefused: false,
			elapsedS: 0,
			chance: 0,
		};
	}

	/** Requests per second allowed now. */
	get perSecond(): number {
		return this.state.perSecond;
	}

	/** Whether nothing is known yet: no limit was given, and no request was refused. */
	get isUnknown(): boolean {
		return this.state.inSlowStart && !this.state.wasRefused;
	}

	/** Whether the limit has not been met yet. */
	get inSlowStart(): boolean {
		return this.state.inSlowStart;
	}

	snapshot(): SendRateState {
		return { ...this.state };
	}

	/**
	 * A request was accepted.
	 *
	 * @param seconds since the one before
	 * @param sentRate how many requests were sent within the last second
	 * @param ownRate how many were sent in the second up to this one, itself included
	 */
	accepted(seconds: number, sentRate: number, ownRate = sentRate): void {
		const { state } = this;
		const byLimit = Math.log((1 - SHARE_AT_LIMIT) / (1 - this.chance()));
		this.evidence = Math.max(0, this.evidence + byLimit);
		this.noteChance(ownRate, 0);
		this.acceptedRate = ownRate;
		// RFC 9438, section 5.8: who does not use the rate learns nothing about it.
		if (sentRate < state.perSecond * USED_SHARE) return;
		if (state.inSlowStart) {
			state.perSecond = Math.min(this.highest, state.perSecond + SLOW_START_GAIN);
			return;
		}
		state.elapsedS += seconds;
		// RFC 9438, figures 1 and 2: after K seconds the rate is on the plateau.
		const plateau = state.lastMaxRate * PLATEAU;
		const k = Math.cbrt((plateau - state.lastMaxRate * BETA) / C);
		const cubic = plateau + C * (state.elapsedS - k) ** 3;
		state.perSecond = Math.min(this.highest, Math.max(state.perSecond, cubic));
		// BIC's max probing: who is that far beyond the last maximum has left it behind.
		state.inSlowStart = this.highest === Infinity && state.elapsedS > MAX_PROBING * k;
	}

	/**
	 * A request was refused for its rate.
	 *
	 * @param sentRate how many requests were sent in the second up to the first refusal of this event,
	 * less those of them that are known to be refused besides this one
	 * @param isNew false if it was sent before the last refusal was known: one event lowers the rate
	 * once, and its other refusals only tell more exactly how many were accepted
	 * @param isRepeated whether nothing was accepted since the last refusal
	 */
	refused(sentRate: number, isNew: boolean, isRepeated = false): void {
		const { state } = this;
		this.evidence += Math.log(SHARE_AT_LIMIT / this.chance());
		if (isNew) this.noteChance(sentRate, 1);
		// Not half way up to the plateau, a rate that was borne before is not the reason, unless more
		// than one is refused.
		const isBorne = state.perSecond < (state.lastMaxRate * (BETA + PLATEAU)) / 2;
		const isDoubtful = isNew && isBorne && !isRepeated && !state.inSlowStart;
		if (isNew) this.isCounted = false;
		const isFirst = !this.isCounted;
		if (isFirst && (isDoubtful || !this.isLimit())) return;
		this.isCounted = true;
		// Those that chance refused would have been accepted as well.
		const byChance = Math.min(MOST_CHANCE, state.chance);
		const accepted = Math.max(1, sentRate - 1) / (1 - byChance);
		const met = isFirst ? state.perSecond : state.lastMaxRate;
		// Before the first refusal nothing else is known; in max probing the last maximum is.
		const known = state.elapsedS > 0 ? Math.max(state.lastMaxRate, accepted) : accepted;
		// The first requests after a quiet time are few, and say nothing of the limit.
		const isMeasured = !isNew && accepted >= state.perSecond * USED_SHARE;
		state.lastMaxRate = Math.min(met, state.inSlowStart ? known : isMeasured ? accepted : met);
		if (isFirst) state.elapsedS = 0;
		// Refused within the initial window, it is not this run that has met the limit: slow start
		// again, from one request (RFC 6928, section 2, and RFC 5681, section 3.1).
		if (isFirst && (state.wasRefused || accepted > INITIAL_WINDOW)) state.inSlowStart = false;
		state.wasRefused = true;
		const lowered = Math.max(MIN_RATE, state.lastMaxRate * BETA);
		state.perSecond = Math.min(state.perSecond, lowered);
	}

	/**
	 * Whether a refusal shows a limit. Some gateways refuse a share of the requests at any rate.
	 *
	 * The cumulative sum test of E. S. Page, "Continuous inspection schemes", Biometrika 41, 1954:
	 * it tells when the share of refusals has risen from that of chance to that of a limit. What
	 * chance refuses is seen where a request was sent more slowly than one that was accepted before.
	 */
	private isLimit(): boolean {
		if (this.evidence < DECISION) return false;
		this.evidence = 0;
		this.state.chance *= CHANCE_DECAY;
		return true;
	}

	private chance(): number {
		return Math.min(MOST_CHANCE, Math.max(LEAST_CHANCE, this.state.chance));
	}

	private noteChance(ownRate: number, refused: 0 | 1): void {
		const { state } = this;
		if (!state.wasRefused || ownRate > this.acceptedRate * BORNE_SHARE) return;
		state.chance += (refused - state.chance) * CHANCE_WEIGHT;
	}
}
