import type { Clock } from '../util/clock';
import { errorFor } from '../errors/errorMessages';
import { isJsonObject, type JsonObject } from '../util/json';
import { isGood, retryAfterMs, type Outcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';
import { isQuotaRefusal } from '../protocol/quota';
import { NotSent, TakenBack, type Permit, type RateLimiter } from './rateLimiter';
import {
	decideRetry,
	isLikelyWrongAddress,
	isRateLimited,
	LONGEST_RETRY_AFTER_MS,
} from './retryPolicy';

/** One attempt to send a plan. It never throws, except when the run is stopped. */
export type SendOnce = (plan: RequestPlan, timeoutMs?: number) => Promise<Outcome>;

export interface ClientOptions {
	/** The usual way to make an attempt. */
	sendOnce: SendOnce;
	limiter: RateLimiter;
	/**
	 * Of a foreign host on which images lie: what it refuses says nothing about the gateway. Undefined
	 * where the gateway's own is meant.
	 *
	 * @param origin of the image's address
	 */
	hostLimiter?: (origin: string) => RateLimiter | undefined;
	clock: Clock;
	/** Milliseconds since 1970, for `Retry-After` with a date. */
	wallClock: () => number;
	/** Called for each request that was refused for the rate limit and is repeated. */
	onRepeat?: () => void;
}

/** What came of a plan, after as many attempts as the rules of sending again allow. */
export interface Sent {
	/** The last one, good or not. */
	outcome: Outcome;
	attempts: number;
}

/** Sends plans through the rate limiter, again where the rules allow it. */
export interface Client {
	/**
	 * One attempt, in turn.
	 *
	 * @param timeLeftMs what the attempt may take, in milliseconds, when its turn has come; with 0 it is
	 *   not sent
	 * @throws TakenBack if it was not sent for that reason
	 */
	sendOnce(plan: RequestPlan, timeLeftMs?: () => number): Promise<Outcome>;
	/**
	 * @param way how to make the attempts, if not in the usual way
	 * @param isForPaid whether it leads to something that was paid for: then an address that does not
	 *   respond is waited for, even if it has never responded in this run
	 */
	sendWithRetry(plan: RequestPlan, way?: SendOnce, isForPaid?: boolean): Promise<Sent>;
	/**
	 * The same for who can only work with a good response.
	 *
	 * @returns the JSON of the response
	 * @throws GatewayError or UnknownOutcomeError that says what happened and what to do
	 */
	send(plan: RequestPlan, way?: SendOnce): Promise<JsonObject>;
}

/** What a run has found out about the addresses that it sends requests to. */
class KnownAddresses {
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
function addressOf({ call, path }: RequestPlan): string {
	if (call !== 'download') return call === 'listing' ? 'listing' : 'gateway';
	try {
		return new URL(path).origin;
	} catch {
		return path;
	}
}

/** @see Client */
export function createClient({
	sendOnce: usualWay,
	limiter,
	hostLimiter,
	clock,
	wallClock,
	onRepeat,
}: ClientOptions): Client {
	const lastRefusals = new WeakMap<RateLimiter, Outcome>();
	const addresses = new KnownAddresses(wallClock);

	const foreignLimiter = (plan: RequestPlan): RateLimiter | undefined =>
		plan.call === 'download' ? hostLimiter?.(addressOf(plan)) : undefined;

	async function sendOnce(
		plan: RequestPlan,
		timeLeftMs?: () => number,
		way?: SendOnce,
		first?: boolean,
	): Promise<Outcome> {
		try {
			return await sendInTurn(plan, timeLeftMs, way, first);
		} catch (reason) {
			// What the gateway, or the host, said to the others holds for this one.
			const ofHost = lastRefusals.get(foreignLimiter(plan) ?? limiter);
			const lastRefusal = ofHost ?? lastRefusals.get(limiter);
			if (reason instanceof NotSent && lastRefusal !== undefined) return lastRefusal;
			return await Promise.reject(reason);
		}
	}

	async function sendInTurn(
		plan: RequestPlan,
		timeLeftMs?: () => number,
		way: SendOnce = usualWay,
		first?: boolean,
	): Promise<Outcome> {
		let timeoutMs: number | undefined;
		const isWanted = (): boolean => (timeoutMs = timeLeftMs?.()) !== 0;
		const foreign = foreignLimiter(plan);
		const judge = foreign ?? limiter;
		const send = async (permit: Permit): Promise<Outcome> => {
			const outcome = await way(plan, timeoutMs);
			addresses.note(plan, outcome);
			if (isRateLimited(outcome) && outcome.kind === 'response') {
				lastRefusals.set(judge, outcome);
				// Polls are repeated until their deadline, by whoever waits.
				if (plan.call === 'poll') onRepeat?.();
				const asked = retryAfterMs(outcome.headers['retry-after'], wallClock()) ?? 0;
				// A pause longer than that is no pause: the request fails and says so.
				judge.refused(permit, asked > LONGEST_RETRY_AFTER_MS ? 0 : asked);
			} else if (
				outcome.kind === 'response' &&
				outcome.httpCode < 500 &&
				outcome.httpCode !== 429
			) {
				// Good or not: it was not refused for its rate.
				judge.accepted(permit);
			}
			return outcome;
		};
		if (foreign === undefined) return await limiter.run(send, isWanted, first);
		// Numbers that the user has chosen hold for all requests of the run.
		for (;;) {
			try {
				const inTurn = async (permit: Permit): Promise<Outcome> => {
					const mayStart = (): boolean => !foreign.isPausedSince(permit);
					return await limiter.run(async () => await send(permit), mayStart, first);
				};
				return await foreign.run(inTurn, undefined, first);
			} catch (reason) {
				// The host has asked for a pause while this one was waiting for its turn.
				if (!(reason instanceof TakenBack)) return await Promise.reject(reason);
			}
		}
	}

	async function sendWithRetry(
		plan: RequestPlan,
		way?: SendOnce,
		isForPaid = plan.call === 'poll' || plan.call === 'download',
	): Promise<Sent> {
		let quotaRefusals = 0;
		let first = false;
		for (let attempts = 1; ; attempts += 1) {
			const outcome = await sendOnce(plan, undefined, way, first);
			if (isQuotaRefusal(outcome)) quotaRefusals += 1;
			const random = clock.random();
			const nowMs = wallClock();
			const nothingForMs = addresses.nothingForMs(plan, outcome, isForPaid);
			const decision = decideRetry({
				plan,
				outcome,
				attempts,
				quotaRefusals,
				random,
				nowMs,
				nothingForMs,
			});
			const { circuitOpen } = foreignLimiter(plan) ?? limiter;
			if (!decision.again || (decision.rateLimited && circuitOpen)) {
				return { outcome, attempts };
			}
			if (decision.rateLimited && plan.call !== 'poll') onRepeat?.();
			first = decision.first === true;
			// The rate limiter itself holds back what was sent too fast.
			if (!decision.rateLimited) await clock.sleep(decision.afterMs);
		}
	}

	async function send(plan: RequestPlan, way?: SendOnce): Promise<JsonObject> {
		const { outcome, attempts } = await sendWithRetry(plan, way);
		if (isGood(outcome)) return outcome.json;
		throw errorFor(plan, outcome, attempts);
	}

	return { sendOnce, sendWithRetry, send };
}
