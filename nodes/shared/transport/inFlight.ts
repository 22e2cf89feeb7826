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

	/** When each of them has to end. */
	private readonly deadlines = new Map<AbortController, number>();

	/** One timer for all of them: one for each costs a good part of what a request costs. */
	private timer?: AbortSignal;

	private wakeAt = Infinity;

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
		const deadline = performance.now() + timeoutMs;
		this.deadlines.set(controller, deadline);
		if (deadline < this.wakeAt) this.wake(deadline);
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
			this.deadlines.delete(controller);
		}
	}

	/** Ends them all: the run is stopped, or over. */
	abort(): void {
		for (const controller of this.deadlines.keys()) controller.abort();
	}

	private wake(at: number): void {
		this.wakeAt = at;
		// It takes whole numbers only, and what is left until a deadline is none.
		this.timer = AbortSignal.timeout(Math.ceil(Math.max(0, at - performance.now())));
		this.timer.addEventListener('abort', ({ target }) => {
			// Another one was set meanwhile, for an earlier deadline.
			if (target === this.timer) this.endWhatIsDue();
		});
	}

	private endWhatIsDue(): void {
		const now = performance.now();
		this.wakeAt = Infinity;
		let next = Infinity;
		for (const [controller, deadline] of this.deadlines) {
			if (deadline <= now) controller.abort(TIMED_OUT);
			else next = Math.min(next, deadline);
		}
		if (next < Infinity) this.wake(next);
	}
}
