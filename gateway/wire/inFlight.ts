import type { Charged } from '../protocol/charged';
import type { Fault } from '../protocol/networkFault';
import { chargedAfter, type FaultOutcome, type Outcome } from '../protocol/outcome';
import type { RequestPlan } from '../protocol/requestPlan';

const TIMED_OUT = new Error('Timed out');

/** The faults of a request that has ended too late, or by its own signal: without a connection, and with one. */
const LATE: [unsent: Fault, sent: Fault] = ['connectTimeout', 'timeout'];
const ENDED: typeof LATE = ['unconnected', 'ended'];

/** The rejection of everything that waits when a run ends early. Users of the nodes never see it. */
export class RunEnded extends Error {
	override name = 'RunEnded';

	/** @param charged whether the payment that has ended with the run may have been charged */
	constructor(
		message: string,
		readonly charged: Charged = 'no',
	) {
		super(message);
	}
}

/** The rejection of what the signal of a call ends before it is sent. */
const callEnded = (): RunEnded => new RunEnded('The call was ended');

/** @throws RunEnded if the signal of a call has ended it */
export function throwIfEnded(signal?: AbortSignal): void {
	if (signal?.aborted === true) throw callEnded();
}

type Executor<T> = (resolve: (value: T) => void, reject: (reason: unknown) => void) => void;

/** The executor of a promise that the signal of a call rejects as well. */
export const orEnded =
	<T>(ofCall: AbortSignal | undefined, wait: Executor<T>): Executor<T> =>
	(resolve, reject) => {
		if (ofCall === undefined) return wait(resolve, reject);
		if (ofCall.aborted) return reject(callEnded());
		// With many listeners on one signal, Node.js warns of a leak.
		const signal = AbortSignal.any([ofCall]);
		const end = (): void => reject(callEnded());
		signal.addEventListener('abort', end, { once: true });
		const settled =
			<V>(settle: (value: V) => void) =>
			(value: V): void => {
				signal.removeEventListener('abort', end);
				settle(value);
			};
		wait(settled(resolve), settled(reject));
	};

/** In milliseconds: a stream that is never silent ends as well. */
const LONGEST_STREAM_MS = 3_600_000;

/** The requests of a run that are in progress. */
export class Requests {
	/**
	 * The beginning of each response that is arriving, if its request may have been
	 * accepted. It may contain a task ID, which must not be lost by a Stop.
	 */
	readonly arriving = new WeakMap<RequestPlan, () => string>();

	private readonly inFlight = new Set<AbortController>();

	private isOver = false;

	/**
	 * Runs one request that ends at its deadline, or when the run is stopped.
	 *
	 * @param timeoutMs for everything: connecting, sending, waiting, and reading the response; after
	 *   each part of a streamed one, of which `send` tells, it begins anew
	 * @param faultFrom the fault behind an error other than these ends
	 * @param ofCall ends this request alone
	 * @throws RunEnded when the run was stopped
	 */
	async run(
		timeoutMs: number,
		send: (signal: AbortSignal, onPart: () => void) => Promise<Outcome>,
		faultFrom: (error: unknown) => FaultOutcome,
		ofCall?: AbortSignal,
	): Promise<Outcome> {
		if (this.isOver) throw new RunEnded('Stopped');
		const controller = new AbortController();
		const signal = ofCall ? AbortSignal.any([controller.signal, ofCall]) : controller.signal;
		let lastPartAt = -Infinity;
		const endsAt = Date.now() + LONGEST_STREAM_MS;
		let timer: AbortSignal | undefined;
		const onTimeout = (): void => {
			const leftMs = lastPartAt + timeoutMs - Date.now();
			if (leftMs > 0 && lastPartAt <= endsAt) startTimer(leftMs);
			else controller.abort(TIMED_OUT);
		};
		const startTimer = (ms: number): void => {
			// The time until a deadline may be a fraction, which this function rejects.
			timer = AbortSignal.timeout(Math.ceil(ms));
			timer.addEventListener('abort', onTimeout);
		};
		startTimer(timeoutMs);
		this.inFlight.add(controller);
		try {
			return await send(signal, () => {
				lastPartAt = Date.now();
			});
		} catch (error) {
			const isLate = controller.signal.reason === TIMED_OUT;
			const stopped = new RunEnded('Stopped');
			if (controller.signal.aborted && !isLate) throw stopped;
			const outcome = faultFrom(error);
			if (!signal.aborted) return outcome;
			// Without a connection nothing was sent, also after the deadline.
			const [unsent, sent] = isLate ? LATE : ENDED;
			const fault = chargedAfter(outcome) === 'no' ? unsent : sent;
			return { ...outcome, fault, detail: '' };
		} finally {
			timer?.removeEventListener('abort', onTimeout);
			this.inFlight.delete(controller);
		}
	}

	/** Ends all requests, when the run is stopped or over. No other one is sent then. */
	abort(): void {
		this.isOver = true;
		for (const controller of this.inFlight) controller.abort();
	}
}
