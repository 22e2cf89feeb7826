import type { Fault } from '../../gateway/protocol/networkFault.js';
import type { Outcome } from '../../gateway/protocol/outcome.js';
import type { FakeClock } from './fake-clock.mjs';

/** Every kind of fault. */
export const FAULTS = Object.keys({
	refused: 0,
	notFound: 0,
	unconnected: 0,
	connectTimeout: 0,
	certificate: 0,
	invalidAddress: 0,
	invalidHeader: 0,
	invalidBody: 0,
	blocked: 0,
	reset: 0,
	timeout: 0,
	ended: 0,
	tooSlow: 0,
	notAnImage: 0,
	tooLarge: 0,
	diskFull: 0,
	other: 0,
} satisfies Record<Fault, 0>) as Fault[];

/**
 * Whether a request that arrives at that moment (milliseconds) is let through, while so many others
 * are being worked on.
 */
export type RateLimit = (now: number, inFlight: number) => boolean;

/** At most so many in each whole window of time, as most gateways count. */
export function fixedWindows(most: number, windowMs = 1000): RateLimit {
	let window = -1;
	let count = 0;
	return (now) => {
		const current = Math.floor(now / windowMs);
		if (current !== window) [window, count] = [current, 0];
		if (count >= most) return false;
		count += 1;
		return true;
	};
}

/** At most so many within any span of time, whole or not. */
export function slidingWindow(most: number, spanMs = 1000): RateLimit {
	const accepted: number[] = [];
	return (now) => {
		while (accepted.length > 0 && now - accepted[0] >= spanMs) accepted.shift();
		if (accepted.length >= most) return false;
		accepted.push(now);
		return true;
	};
}

/** So many a second on average, and as many at once as the bucket holds. */
export function tokenBucket(perSecond: number, burst: number): RateLimit {
	let tokens = burst;
	let filledAt = 0;
	return (now) => {
		tokens = Math.min(burst, tokens + ((now - filledAt) / 1000) * perSecond);
		filledAt = now;
		if (tokens < 1) return false;
		tokens -= 1;
		return true;
	};
}

/** So many at the same time, whatever their rate. */
export const inFlight =
	(most: number): RateLimit =>
	(_now, others) =>
		others < most;

/** Refuses a share of the requests, whatever their rate. */
export const atRandom =
	(share: number, random: () => number): RateLimit =>
	() =>
		random() > share;

/** At most so many within any second, and from certain moments on (milliseconds) another number. */
export function changing(steps: ReadonlyArray<[from: number, most: number]>): RateLimit {
	const accepted: number[] = [];
	return (now) => {
		const most = steps.filter(([from]) => from <= now).at(-1)?.[1] ?? 0;
		while (accepted.length > 0 && now - accepted[0] >= 1000) accepted.shift();
		if (accepted.length >= most) return false;
		accepted.push(now);
		return true;
	};
}

/** A response with a JSON body. */
export function response(
	httpCode: number,
	json: unknown = {},
	headers: Record<string, string> = {},
): Outcome {
	return { kind: 'response', httpCode, headers, text: JSON.stringify(json) ?? '', json };
}

/** A response whose body is no JSON. */
export function page(httpCode: number, text: string): Outcome {
	return { kind: 'response', httpCode, headers: {}, text, json: undefined };
}

export function fault(kind: Extract<Outcome, { kind: 'fault' }>['fault'], detail = ''): Outcome {
	return { kind: 'fault', fault: kind, detail };
}

/** What is known at the first attempt to send a request. */
export const FIRST_ATTEMPT = {
	attempts: 1,
	rateRefusals: 0,
	quotaRefusals: 0,
	refusalsInARow: 1,
	random: 0,
	nowMs: 0,
};

export const TOO_OFTEN = { error: { message: 'Too many requests', type: 'rate_limit_error' } };

/** A gateway that responds after a while, on virtual time, and counts what arrives. */
export class VirtualGateway {
	requests = 0;
	refused = 0;
	acceptedAt: number[] = [];
	private inFlight = 0;

	/** @param retryAfter header of its refusals */
	constructor(
		private readonly clock: FakeClock,
		private readonly limit: RateLimit,
		private readonly latencyMs: () => number,
		private readonly retryAfter?: string,
	) {}

	/** Takes one request on; `reply` is asked only if it may pass. */
	async receive(reply: () => Outcome): Promise<Outcome> {
		const latency = this.latencyMs();
		await this.clock.sleep(latency / 2);
		this.requests += 1;
		const isAccepted = this.limit(this.clock.now(), this.inFlight);
		let outcome: Outcome;
		if (isAccepted) {
			this.acceptedAt.push(this.clock.now());
			this.inFlight += 1;
			outcome = reply();
		} else {
			this.refused += 1;
			const { retryAfter } = this;
			outcome = response(429, TOO_OFTEN, retryAfter ? { 'retry-after': retryAfter } : {});
		}
		await this.clock.sleep(latency / 2);
		if (isAccepted) this.inFlight -= 1;
		return outcome;
	}
}
