/**
 * How many requests per second a gateway takes, found by the way it answers: slow start until the
 * first refusal, as TCP does (RFC 5681, section 3.1, with the initial window of RFC 6928), then
 * CUBIC (RFC 9438, section 4) for a rate instead of a window, as `DefaultRateLimiter` of
 * @smithy/util-retry has it. Named as there. One thing is from BIC, which CUBIC comes from: far
 * beyond the last maximum it is slow start again (max probing). docs/scaling.md says what the
 * numbers are chosen by.
 */

/** Until the first refusal this many may be in flight at any rate: test "begin with a handful". */
export const INITIAL_WINDOW = 10;
/** Requests per second beyond the initial window, at first: test "begin with a handful". */
const INITIAL_RATE = 50;
/** Slow start: by how much each accepted request raises the rate: test "and speed up". */
const SLOW_START_GAIN = 2;
/** A refusal multiplies the rate by this: bench row "refusing", tests "of 30 requests". */
const BETA = 0.94;
/** Fast convergence (section 4.7), always: the plateau leaves room below the rate that was refused. */
const PLATEAU = (1 + BETA) / 2;
/** How steep the cubic is, in requests per second per s³: bench row "refusing", tests "by chance". */
const C = 0.0003;
/** After so many times K without a refusal that limit is gone: test "10, after 10 s 100". */
const MAX_PROBING = 2;
/** A rate says something only while this share of it is sent: test "does not rise unused". */
const USED_SHARE = 0.5;
/** Requests per second: test "refusals without end leave a rate that ends". */
const MIN_RATE = 0.2;

/** What a send rate has found out, to begin another one with. */
export interface SendRateState {
	perSecond: number;
	lastMaxRate: number;
	inSlowStart: boolean;
	wasRefused: boolean;
	elapsedS: number;
}

/** A pure algorithm: it has no clock and sends nothing. */
export class SendRate {
	private state: SendRateState;

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
	 */
	accepted(seconds: number, sentRate: number): void {
		const { state } = this;
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
	 * @param sentRate how many requests were sent in the second up to this one, itself included
	 * @param isNew false if it was sent before the last refusal was known: one event lowers the rate
	 * once, and its other refusals only tell more exactly how many were accepted
	 * @param isRepeated whether nothing was accepted since the last refusal
	 */
	refused(sentRate: number, isNew: boolean, isRepeated = false): void {
		const { state } = this;
		// Not half way up to the plateau, a rate that was borne before is not the reason, unless it is
		// refused twice in a row: some gateways refuse a share of the requests at any rate.
		const isBorne = state.perSecond < (state.lastMaxRate * (BETA + PLATEAU)) / 2;
		if (isNew && isBorne && !isRepeated && !state.inSlowStart) return;
		const accepted = Math.max(1, sentRate - 1);
		const met = isNew ? state.perSecond : state.lastMaxRate;
		// Before the first refusal nothing else is known; in max probing the last maximum is.
		const known = state.elapsedS > 0 ? Math.max(state.lastMaxRate, accepted) : accepted;
		// The first requests after a quiet time are few, and say nothing of the limit.
		const isMeasured = !isNew && accepted >= state.perSecond * USED_SHARE;
		state.lastMaxRate = Math.min(met, state.inSlowStart ? known : isMeasured ? accepted : met);
		if (isNew) state.elapsedS = 0;
		// Refused within the initial window, it is not this run that has met the limit: slow start
		// again, from one request (RFC 6928, section 2, and RFC 5681, section 3.1).
		if (isNew && (state.wasRefused || accepted > INITIAL_WINDOW)) state.inSlowStart = false;
		state.wasRefused = true;
		const lowered = Math.max(MIN_RATE, state.lastMaxRate * BETA);
		state.perSecond = Math.min(state.perSecond, lowered);
	}
}
