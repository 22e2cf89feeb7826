import type { FaultOutcome, Outcome } from '../../../gateway/protocol/outcome';
import type { RequestPlan } from '../../../gateway/protocol/requestPlan';

/** Thrown into everything that waits when a run ends early. It is nobody's error. */
export class RunEnded extends Error {
	override name = 'RunEnded';
}

const TIMED_OUT = new Error('Timed out');

/** The requests of a run that are under way. */
export class Requests {
	/**
	 * What has arrived so far of the response to a plan that may have been accepted, without the key: a
	 * Stop must not take along the ID in it.
	 */
	readonly arriving = new WeakMap<RequestPlan, () => string>();

	private readonly inFlight = new Set<AbortController>();

	/**
	 * Runs one request that ends at its deadline, or when the run is stopped.
	 *
	 * @param timeoutMs for everything: connecting, sending, waiting, and reading the response
	 * @param faultFrom what an error that is thrown means otherwise
	 * @throws RunEnded when the run was stopped
	 */
	async run(
		timeoutMs: number,
		send: (signal: AbortSignal) => Promise<Outcome>,
		faultFrom: (error: unknown) => FaultOutcome,
	): Promise<Outcome> {
		const controller = new AbortController();
		const { signal } = controller;
		// It takes whole numbers only, and what is left until a deadline is none.
		const timer = AbortSignal.timeout(Math.ceil(timeoutMs));
		const onTimeout = (): void => controller.abort(TIMED_OUT);
		timer.addEventListener('abort', onTimeout);
		this.inFlight.add(controller);
		try {
			return await send(signal);
		} catch (error) {
			const isLate = signal.reason === TIMED_OUT;
			if (signal.aborted && !isLate) return await Promise.reject(new RunEnded('Stopped'));
			const outcome = faultFrom(error);
			// Late or not: without a connection nothing was sent.
			if (!isLate || outcome.fault === 'unconnected') return outcome;
			return { ...outcome, fault: 'timeout', detail: '' };
		} finally {
			timer.removeEventListener('abort', onTimeout);
			this.inFlight.delete(controller);
		}
	}

	/** Ends them all: the run is stopped, or over. */
	abort(): void {
		for (const controller of this.inFlight) controller.abort();
	}
}
